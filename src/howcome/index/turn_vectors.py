"""Vectors of turns, wherever a store keeps them: derived of a log, caught up by position, made anew by anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from howcome.domain.stored import Filter, Hit, Turn

    FloatVector: TypeAlias = NDArray[np.float32]
    FloatMatrix: TypeAlias = NDArray[np.float32]


class VectorRows(Protocol):
    """Vectors of turns as rows."""

    @property
    def count(self) -> int:
        """How many there are."""

    def search(self, query: FloatVector, wanted: Filter, limit: int) -> list[Hit]:
        """The rows nearest to a vector, best first; a hit's score is the cosine."""

    def level(self, query: FloatVector, wanted: Filter) -> float:
        """The mean cosine of the rows that are wanted, or of enough of them."""

    def cosines(self, query: FloatVector, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """The same score for some rows, those that have a vector; nothing from `before_ms` on counts."""

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""

    def refresh(self) -> None:
        """Lets the next search see what was written since."""


class VectorWriting(Protocol):
    """The one that writes vectors now."""

    @property
    def is_open(self) -> bool:
        """Whether this is the one: another process may be at it."""

    @property
    def last_row(self) -> int:
        """The last event row that was considered: where to go on."""

    def append(self, turns: Sequence[Turn], vectors: FloatMatrix) -> None:
        """Adds the vectors of turns, in the order of their rows."""

    def commit(self, last_row: int) -> None:
        """Makes what was appended last; the next pass goes on behind `last_row`."""


class ModelVectors:
    """What there is of one model's vectors.

    Attributes:
        name: Of the folder or the table.
        model: The embedder's name and version.
        dimensions: Of each vector; 0 when not known.
        count: How many there are of these rows; 0 when they are another database's.
        turns_behind: How many turns have none yet.
        size_bytes: On disk.
        removal: The words of the command that removes them.
        problem: Why they cannot be used; "" when they can.
    """

    __slots__ = ("count", "dimensions", "model", "name", "problem", "removal", "size_bytes", "turns_behind")

    def __init__(self, name: str, model: str, size_bytes: int, removal: tuple[str, ...]) -> None:
        self.name, self.model, self.size_bytes, self.removal = name, model, size_bytes, removal
        self.dimensions, self.count, self.turns_behind, self.problem = 0, 0, 0, ""


class TurnVectors(Protocol):
    """All vectors of a store's turns, by model."""

    def open(self, model: str, dimensions: int) -> VectorRows:
        """The vectors of a model, to be searched; nothing is read yet."""

    def writer(self, model: str, dimensions: int) -> AbstractContextManager[VectorWriting]:
        """Who writes them within a `with` block; not open there when another process does."""

    def has_any(self) -> bool:
        """Whether there may be a vector of any model."""

    def held(self) -> list[ModelVectors]:
        """What there is of every model."""

    def give_up_broken(self) -> list[str]:
        """Reads all of them; what is wrong with those that are not as they were written, and are made anew next."""

    def refused(self) -> str:
        """The command by which its owner lets this user read them; "" where it may."""

    def move(self, joined: int, kept: int) -> None:
        """Makes the vectors of a project another's, which it became a part of."""
