"""Why an answer of a search is there: its tiers, what changed their sum, and where the question's words stand."""

from __future__ import annotations

from math import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE, BEFORE, EXCHANGE = "here", "before", "exchange"
"""Where a word stands: in the row itself, in the two turns before it, or elsewhere in its exchange."""


class TermMatch:
    """One term of the question in one answer.

    Attributes:
        term: The term as the index knows it (a stem, a part of a name).
        word: The question's own word for it.
        weight: How telling it is (idf among windows).
        places: Where it stands (HERE, BEFORE, EXCHANGE); empty when it does not.
        widened: Known words that it was widened to and that stand there, when nobody ever wrote the term itself.
    """

    __slots__ = ("places", "term", "weight", "widened", "word")

    def __init__(self, term: str, word: str, weight: float, places: Sequence[str], widened: Sequence[str]) -> None:
        self.term, self.word, self.weight = term, word, weight
        self.places, self.widened = tuple(places), tuple(widened)


class Explanation:
    """Why an answer is there.

    Attributes:
        tiers: Each tier's score (0 to 1) and what its word is worth.
        fused: Their scores as one, before anything else changed it.
        adjustments: What the fused score was multiplied with, by name.
        strength: How sure the surest tier is that it is about the question at all: what recall asks for.
        terms: The question's terms, the most telling first.
    """

    __slots__ = ("adjustments", "fused", "strength", "terms", "tiers")

    def __init__(
        self,
        score: float,
        tiers: Mapping[str, tuple[float, float]],
        adjustments: Mapping[str, float],
        strength: float,
        terms: Sequence[TermMatch],
    ) -> None:
        """Keeps the parts; `score` is the final one, `tiers` each tier's score and weight."""
        self.tiers, self.adjustments, self.strength, self.terms = dict(tiers), dict(adjustments), strength, list(terms)
        changed = prod(self.adjustments.values())
        self.fused = score / changed if changed else 0.0
