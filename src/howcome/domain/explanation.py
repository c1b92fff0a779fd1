"""Why an answer of a search is there: its tiers, what changed their sum, and where the question's words stand."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE, BEFORE, EXCHANGE = "here", "before", "exchange"
"""Where a word stands: in the row itself, in the two turns before it, or elsewhere in its exchange."""


@dataclass(slots=True, eq=False)
class TermMatch:
    """One term of the question in one answer.

    Attributes:
        term: The term as the index knows it (a stem, a part of a name).
        word: The question's own word for it.
        weight: How telling it is (idf among windows).
        places: Where it stands (HERE, BEFORE, EXCHANGE); empty when it does not.
        widened: Known words that it was widened to and that stand there, when nobody ever wrote the term itself.
    """

    term: str
    word: str
    weight: float
    places: tuple[str, ...]
    widened: Sequence[str]


@dataclass(slots=True, eq=False)
class Explanation:
    """Why an answer is there.

    Attributes:
        score: The final one.
        tiers: Each tier's score (0 to 1) and what its word is worth.
        adjustments: What the fused score was multiplied with, by name.
        strength: How sure the surest tier is that it is about the question at all: what recall asks for.
        terms: The question's terms, the most telling first.
    """

    score: float
    tiers: Mapping[str, tuple[float, float]]
    adjustments: Mapping[str, float]
    strength: float
    terms: Sequence[TermMatch]

    @property
    def fused(self) -> float:
        """Their scores as one, before anything else changed it."""
        changed = prod(self.adjustments.values())
        return self.score / changed if changed else 0.0
