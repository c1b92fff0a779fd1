"""What callers of a store name: the store, each part of which is reached by its name, and vectors behind ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from howcome.store.parts import StoreParts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.stored import Filter, Hit


Store: TypeAlias = StoreParts


class Vectors(Protocol):
    """Turns by meaning: an embedder's vectors of them, derived from the rows and caught up by row id."""

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """The turns nearest to a text, best first; a hit's score is the cosine."""

    def nearest(self, text: str, wanted: Filter) -> float:
        """How far the nearest turn's cosine stands above the mean of all that are wanted."""

    def cosines(self, text: str, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """The same score for some rows, those that have a vector; nothing from `before_ms` on counts."""

    def memories(self, text: str, wanted: Filter) -> dict[int, float]:
        """The cosine of every live memory that is wanted and has a vector, by row id."""

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""

    def refresh(self) -> None:
        """Lets the next search see what was written since."""
