"""What a tier is asked (Situation), what it answers (Candidate), and the port itself (Tier)."""

from __future__ import annotations

from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.retrieve.situation import Candidate, Situation


class Tier(Protocol):
    """One source of candidates: scores from 0 to 1, empty on nothing, no writes."""

    name: str

    def candidates(self, situation: Situation) -> list[Candidate]:
        """The rows that this tier finds for a situation, in any order, each row once."""
        ...
