"""The embedder and the index of its vectors as one: text in, near turns out."""

from __future__ import annotations

from functools import lru_cache

from howcome.errors import IndexDamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from howcome.domain.stored import Filter, Hit
    from howcome.index.turn_vectors import VectorRows
    from howcome.log.memories import MemorySearch
    from howcome.providers.base import Embedder, FloatVector
    from howcome.store.base import Vectors

CACHED_QUESTIONS = 64


class EmbeddedTurns:
    """What the embedding tier asks: a question is embedded once, however many searches it needs."""

    def __init__(
        self, embedder: Embedder, rows: VectorRows, redact: Callable[[str], str], kept: MemorySearch | None = None
    ) -> None:
        self._rows, self._kept, self._model = rows, kept, embedder.name

        @lru_cache(CACHED_QUESTIONS)
        def vector(text: str) -> FloatVector:
            found: FloatVector = embedder.embed([redact(text)])[0]
            return found

        self._vector = vector

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """The turns nearest to a text by cosine, best first; none while the index waits to be made anew.

        Raises:
            ProviderError: the text cannot be embedded.
            StoreError: the index cannot be read now.
        """
        try:
            return self._rows.search(self._vector(text), wanted, limit) if self._rows.count else []
        except IndexDamagedError:  # `doctor` says so, and the worker's next pass makes it anew
            return []

    def nearest(self, text: str, wanted: Filter) -> float:
        """How far the nearest turn's cosine stands above the mean of all that are wanted; 0 where there are none.

        Raises:
            ProviderError: the text cannot be embedded.
            StoreError: the index cannot be read now.
        """
        best = self.near(text, wanted, 1)
        try:
            return best[0].score - self._rows.level(self._vector(text), wanted) if best else 0.0
        except IndexDamagedError:
            return 0.0

    def cosines(self, text: str, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """The same cosine for some rows, those that have a vector.

        Raises:
            ProviderError: the text cannot be embedded.
            StoreError: the index cannot be read now.
        """
        try:
            return self._rows.cosines(self._vector(text), rows, before_ms) if rows and self._rows.count else {}
        except IndexDamagedError:
            return {}

    def memories(self, text: str, wanted: Filter) -> dict[int, float]:
        """The cosine of every live memory that is wanted and has a vector, by row id.

        All of them are read and compared: memories are some thousands at most.

        Raises:
            ProviderError: the text cannot be embedded.
        """
        kept = self._kept.vectors(self._model, wanted) if self._kept is not None else []
        if not kept:
            return {}
        import numpy as np

        asked = self._vector(text)
        same = [(row, vector) for row, vector in kept if len(vector) == 2 * len(asked)]
        matrix = np.frombuffer(b"".join(vector for _, vector in same), np.float16).reshape(len(same), -1)
        cosines = matrix.astype(np.float32) @ asked
        return {row: float(cosine) for (row, _), cosine in zip(same, cosines, strict=True)}

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""
        try:
            return self._rows.lone_sessions(session_ids)
        except IndexDamagedError:
            return set()

    def refresh(self) -> None:
        """Lets the next search see what was written since."""
        self._rows.refresh()


if TYPE_CHECKING:
    _: type[Vectors] = EmbeddedTurns
