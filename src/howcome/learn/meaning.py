"""What candidates are near to each other by meaning: the embedder's vectors of them, kept beside the candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from howcome.domain.reconciliation import Known
from howcome.errors import ProviderError
from howcome.learn.likeness import RELATED
from howcome.learn.reconcile import Near
from howcome.providers.base import Embedder, FloatMatrix
from howcome.store.base import Store

BATCH = 16
"""Texts embedded at once: a tenth of a second with the local model, then whoever asked may rest."""

VECTORS_PAUSE, PAUSE_MS = "memory vectors", 600_000
"""An embedder that failed is left alone for so long; memories are told apart by words meanwhile."""

MAX_COMPARED = 20_000
"""Above it only words are compared: all pairs of more vectors take minutes."""


class Meaning:
    """Vectors of memories. `redact` is what a text has to pass before an embedder sees it."""

    def __init__(
        self, store: Store, embedder: Embedder, now_ms: Callable[[], int], redact: Callable[[str], str] = str
    ) -> None:
        self._store, self._embedder, self._now_ms, self._redact = store, embedder, now_ms, redact

    def near(self, known: Known, goes_on: Callable[[], bool]) -> Near | None:
        """Tells for a key of a candidate or memory those whose cosine is above RELATED; None when nothing is embedded.

        What cannot be embedded now (an endpoint is down, the work has to end) is compared by words until it can be.
        """
        texts = {memory.key: memory.text for memory in known.kept}
        texts |= {one.key: one.text for one in known.candidates}
        if not texts or len(texts) > MAX_COMPARED:
            return None
        vectors = self._vectors(texts, goes_on)
        if not vectors:
            return None
        keys, matrix = _matrix(vectors)
        places = {key: place for place, key in enumerate(keys)}

        def near(key: bytes) -> Iterable[tuple[bytes, float]]:
            if key not in places:
                return
            cosines = matrix @ matrix[places[key]]
            for place in (cosines > RELATED).nonzero()[0]:
                if keys[place] != key:
                    yield keys[place], float(cosines[place])

        return near

    def nearest(self, said: Sequence[str], kept: Mapping[bytes, str], goes_on: Callable[[], bool]) -> list[bytes]:
        """The keys of memories by how near they are to any of some texts, the nearest first; [] when nothing embeds."""
        best = self._best(said, kept, goes_on)
        return sorted(best, key=lambda key: (-best[key], key))

    def cosines(self, said: str, kept: Mapping[bytes, str], goes_on: Callable[[], bool]) -> dict[bytes, float]:
        """The keys of memories whose cosine to a text is above RELATED; {} when nothing embeds."""
        return {key: cosine for key, cosine in self._best([said], kept, goes_on).items() if cosine > RELATED}

    def _best(self, said: Sequence[str], kept: Mapping[bytes, str], goes_on: Callable[[], bool]) -> dict[bytes, float]:
        vectors = self._vectors(dict(kept), goes_on) if said and 0 < len(kept) <= MAX_COMPARED else {}
        if not vectors:
            return {}
        try:
            questions = self._embedder.embed([self._redact(text) for text in said])
        except ProviderError:  # as above: by words until it answers again
            return {}
        keys, matrix = _matrix(vectors)
        return dict(zip(keys, (matrix @ questions.T).max(axis=1).tolist(), strict=True))

    def _vectors(self, texts: dict[bytes, str], goes_on: Callable[[], bool]) -> dict[bytes, bytes]:
        found = self._store.memory_vectors.of(self._embedder.name, texts)
        missing = sorted(key for key in texts if key not in found)
        if missing and self._store.model_answers.pause_of(VECTORS_PAUSE, self._now_ms()) is not None:
            return found
        for start in range(0, len(missing), BATCH):
            keys = missing[start : start + BATCH]
            try:
                rows = self._embedder.embed([self._redact(texts[key]) for key in keys])
            except ProviderError as error:
                now_ms = self._now_ms()
                self._store.model_answers.pause(VECTORS_PAUSE, now_ms, now_ms + PAUSE_MS, str(error))
                break
            new = {key: row.astype("float16").tobytes() for key, row in zip(keys, rows, strict=True)}
            self._store.memory_vectors.keep(self._embedder.name, new)
            found |= new
            if not goes_on():
                break
        return found


def _matrix(vectors: Mapping[bytes, bytes]) -> tuple[list[bytes], FloatMatrix]:
    import numpy as np

    keys = sorted(vectors)
    return keys, np.stack([np.frombuffer(vectors[key], np.float16) for key in keys]).astype(np.float32)
