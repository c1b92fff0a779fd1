"""An embedder that is waited for only briefly: what a prompt's hook may ask."""

from __future__ import annotations

import _thread
import queue

from howcome.errors import ProviderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.providers.base import Embedder, FloatMatrix

LIMIT_S = 0.06
"""A question takes the local model 1.5 ms, a prompt of 2,000 characters 33 ms; a hook waits 0.15 s for everything."""


class BriefEmbedder:
    """Another embedder, asked by a thread of its own, so that who waits can stop waiting.

    Args:
        embedder: Who is asked, one call at a time: while it is still busy with an abandoned one there are no vectors.
        limit_s: How long it is waited for.
    """

    def __init__(self, embedder: Embedder, limit_s: float = LIMIT_S) -> None:
        self._embedder, self._limit_s = embedder, limit_s
        self._free = _thread.allocate_lock()

    @property
    def name(self) -> str:
        """The embedder's."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The embedder's."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """The embedder's vectors.

        Raises:
            ProviderError: it gives none, is still busy, or takes too long.
        """
        if not self._free.acquire(blocking=False):
            raise ProviderError(f"{self.name} is still busy with an earlier question")
        answers: queue.SimpleQueue[FloatMatrix | ProviderError] = queue.SimpleQueue()
        _thread.start_new_thread(self._ask, (texts, answers))
        try:
            found = answers.get(timeout=self._limit_s)
        except queue.Empty:
            raise ProviderError(f"{self.name} took longer than {self._limit_s:g} s") from None
        if isinstance(found, ProviderError):
            raise found
        return found

    def _ask(self, texts: Sequence[str], answers: queue.SimpleQueue[FloatMatrix | ProviderError]) -> None:
        try:
            answers.put(self._embedder.embed(texts))
        except ProviderError as error:
            answers.put(error)
        finally:
            self._free.release()
