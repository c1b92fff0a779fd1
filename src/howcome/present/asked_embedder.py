"""Questions' vectors from the process that is warm, so that of several servers on a machine one holds the model.

It is asked at the socket where hooks ask (`warm_client`). The payload is a text; the answer is the model's name, a line
feed and the vector as float32, little-endian; or nothing while the model is being loaded there.
"""

from __future__ import annotations

import time

from howcome.errors import ProviderError
from howcome.present import warm_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.providers.base import Embedder, FloatMatrix, FloatVector, Load
    from howcome.settings import Settings

LOADING_S = 1.0
"""How long a process that is loading its model is asked again and again: as long as loading one here might take."""

PAUSE_S = 0.05
ANYBODY = "-"
"""Stands for the agent in a request that no agent makes."""

MAX_TEXT_BYTES = 64 << 10


class AskedEmbedder:
    """Another process's embedder; when that does not answer any more, one of this process's own.

    Args:
        settings: Which embedder is meant; the other process answers for these settings or not at all.
        load: Opens one in this process.
        name: The model's name and version, as the other process says.
        dimensions: Of its vectors.
    """

    def __init__(self, settings: Settings, load: Load, name: str, dimensions: int) -> None:
        self._settings, self._load = settings, load
        self.name, self.dimensions = name, dimensions
        self._own: Embedder | None = None

    @classmethod
    def of(cls, settings: Settings, load: Load) -> AskedEmbedder | None:
        """The embedder of the process that is warm; None where none answers for these settings."""
        found = _ask(settings.home, "howcome")
        return None if found is None else cls(settings, load, found[0], len(found[1]))

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit row a text, in their order.

        Raises:
            ProviderError: nobody gives vectors of this model any more.
        """
        import numpy as np

        if self._own is None and len(texts) == 1:
            found = _ask(self._settings.home, texts[0])
            if found is not None and found[0] == self.name:
                return found[1][np.newaxis]
        if self._own is None:
            own = self._load(self._settings, threads=1, build=False)
            if own is None or own.name != self.name:
                raise ProviderError(f"the process that had {self.name} is gone; `howcome doctor` shows what is here")
            self._own = own
        return self._own.embed(texts)


def _ask(home: str, text: str) -> tuple[str, FloatVector] | None:
    """The model's name and the vector of a text."""
    data, deadline = text.encode("utf-8", "replace"), time.monotonic() + LOADING_S
    answer: bytes | None = b""
    while answer == b"" and len(data) <= MAX_TEXT_BYTES and time.monotonic() < deadline:
        answer = warm_client.ask(home, warm_client.EMBED, ANYBODY, data, warm_client.EMBED_WAIT_S)
        if answer == b"":
            time.sleep(PAUSE_S)
    return _read(answer) if answer else None


def _read(answer: bytes) -> tuple[str, FloatVector] | None:
    import numpy as np

    name, _, values = answer.partition(b"\n")
    if not name or not values or len(values) % 4:
        return None
    return name.decode("ascii", "replace"), np.frombuffer(values, "<f4").astype(np.float32)


def encoded(name: str, vector: FloatVector) -> bytes:
    """An answer."""
    return name.encode("ascii", "replace") + b"\n" + vector.astype("<f4").tobytes()
