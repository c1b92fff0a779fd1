"""The one embedder of a server's process: loaded when it is first needed, shared by its worker, its tools and hooks.

Of several servers on a machine one holds the model. The others ask it at the socket where hooks ask (`warm_client`):
the payload is a text; the answer is the model's name, a line feed and the vector as float32, little-endian; or nothing
while the model is being loaded there.
"""

from __future__ import annotations

import _thread
import os
import queue
import threading
import time

from howcome.errors import ProviderError
from howcome.present import warm_client
from howcome.present.guarded import guarded
from howcome.providers.embed import open_embedder

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

BRIEF_S = 0.06
"""A question takes the local model 1.5 ms, a prompt of 2,000 characters 33 ms; a hook waits 0.15 s for everything."""

BUILDING_S = 1.0
"""Loading takes 0.15 to 0.4 s; who finds it taking longer (a model is being built) does without meanwhile."""

RETRY_S = 60.0
"""How soon prompts may have an embedder loaded again: after a failure, or when their settings mean another one."""

QUESTION_LIMIT_S = 5.0
BATCH_LIMIT_S = 60.0
"""How long an endpoint may take: for a question that an agent waits for, and for the worker's texts."""


class AskedEmbedder:
    """Another process's embedder; when that does not answer any more, one of this process's own, opened by `load`.

    The other process answers for these settings or not at all; the model's name, and the size of vectors, are its own.
    """

    def __init__(self, settings: Settings, load: Load, name: str, dimensions: int) -> None:
        self._settings, self._load = settings, load
        self.name, self.dimensions = name, dimensions
        self._own: Embedder | None = None

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit row a text, in their order (ProviderError: nobody gives vectors of this model any more)."""
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
    name, _, values = (answer or b"").partition(b"\n")
    if not name or not values or len(values) % 4:
        return None
    import numpy as np

    return name.decode("ascii", "replace"), np.frombuffer(values, "<f4").astype(np.float32)


def encoded(name: str, vector: FloatVector) -> bytes:
    """An answer."""
    return name.encode("ascii", "replace") + b"\n" + vector.astype("<f4").tobytes()


class BriefEmbedder:
    """Another embedder, asked by a thread of its own, so that who waits (so long at most) can stop waiting.

    It is asked one call at a time: while it is still busy with an abandoned one there are no vectors.
    """

    def __init__(self, embedder: Embedder, limit_s: float = BRIEF_S) -> None:
        self._embedder, self._limit_s = embedder, limit_s
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._free = _thread.allocate_lock()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """The embedder's vectors (ProviderError: it gives none, is still busy, or takes too long)."""
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


class SharedEmbedder:
    """Whatever the settings mean at the moment: other settings, another embedder, and the one before is let go.

    Other processes ask this one if it `is_host`. If not, it asks the host, and loads its own only when nobody answers.
    """

    def __init__(self, load: Load = open_embedder) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._held: dict[str, tuple[tuple[str, ...], Embedder]] = {}
        self._brief: tuple[Embedder, BriefEmbedder] | None = None
        self._due_s = 0.0
        self._told: set[str] = set()
        self.is_host = False

    def get(self, settings: Settings, *, threads: int = 1, build: bool = True) -> Embedder | None:
        """The embedder of the settings, loaded if need be; None where there is none, or while another thread builds it.

        `threads` are the cores that it may use, if it is not loaded yet; `build` is as for `open_embedder`: only the
        worker builds, and only it hands over many texts. Raises ProviderError: the chosen one cannot be had.
        """
        if settings.embedding == "off":
            return None
        slot, key = _slot(settings, is_worker=build), _key(settings)
        found = self._found(slot, key, is_worker=build)
        if found is not None or not self._lock.acquire(timeout=-1 if build else BUILDING_S):
            return found
        try:
            found = self._found(slot, key, is_worker=build) or self._opened(settings, threads, build=build)
            if found is not None:
                self._held[slot] = key, found
            return found
        finally:
            self._lock.release()

    def for_prompts(self, settings: Settings) -> Embedder | None:
        """The embedder if it is loaded, waited for only briefly; None if it is not: then it is loaded meanwhile.

        Endpoints are never asked for a prompt: even looking up an address may take longer than a person waits.
        """
        if settings.embedding in ("off", "http"):
            return None
        found = self._found(_slot(settings, is_worker=False), _key(settings), is_worker=False)
        if found is None:
            self._load_meanwhile(settings)
            return None
        held = self._brief
        if held is None or held[0] is not found:
            held = self._brief = found, BriefEmbedder(found)
        return held[1]

    def _found(self, slot: str, key: tuple[str, ...], *, is_worker: bool) -> Embedder | None:
        held_key, held = self._held.get(slot, ((), None))
        would_ask_itself = isinstance(held, AskedEmbedder) and (is_worker or self.is_host)
        return None if held_key != key or would_ask_itself else held

    def _opened(self, settings: Settings, threads: int, *, build: bool) -> Embedder | None:
        is_asker = settings.embedding != "http" and not build and not self.is_host
        if is_asker and (asked := _ask(settings.home, "howcome")) is not None:
            return AskedEmbedder(settings, self._load, asked[0], len(asked[1]))
        limit_s = BATCH_LIMIT_S if build else QUESTION_LIMIT_S
        return self._load(settings, threads=threads, build=build, limit_s=limit_s)

    def _load_meanwhile(self, settings: Settings) -> None:
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + RETRY_S
        work = ("embedder", lambda: self.get(settings, build=False), settings.home, self._told)
        threading.Thread(target=guarded, args=work, name="howcome-embedder", daemon=True).start()


def _slot(settings: Settings, *, is_worker: bool) -> str:
    """A model on this machine is held once; of an endpoint only how long it may take, which is not the same for all."""
    return "batches" if is_worker and settings.embedding == "http" else "questions"


def _key(settings: Settings) -> tuple[str, ...]:
    variable = settings.embedding_key_env
    return (
        settings.home, settings.embedding, settings.embedding_model, settings.embedding_url, settings.embedding_weights,
        settings.embedding_passage_prefix, variable, os.environ.get(variable, "") if variable else "",
    )  # fmt: skip
