"""The one embedder of a server's process: loaded when it is first needed, shared by its worker, its tools and hooks."""

from __future__ import annotations

import os
import threading
import time

from howcome.present.asked_embedder import AskedEmbedder
from howcome.present.brief_embedder import BriefEmbedder
from howcome.present.guarded import guarded
from howcome.providers.embed import open_embedder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.providers.base import Embedder, Load
    from howcome.settings import Settings

BUILDING_S = 1.0
"""Loading takes 0.15 to 0.4 s; who finds it taking longer (a model is being built) does without meanwhile."""

RETRY_S = 60.0
"""How soon prompts may have an embedder loaded again: after a failure, or when their settings mean another one."""

QUESTION_LIMIT_S = 5.0
BATCH_LIMIT_S = 60.0
"""How long an endpoint may take: for a question that an agent waits for, and for the worker's texts."""


class SharedEmbedder:
    """Whatever the settings mean at the moment: other settings, another embedder, and the one before is let go.

    Args:
        load: Opens one.

    Attributes:
        is_host: Whether other processes ask this one. One that is no host asks the host, and loads its own only when
            nobody answers.
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

        Args:
            settings: Which one.
            threads: Cores it may use, if it is not loaded yet.
            build: As for `open_embedder`; only the worker builds, and only it hands over many texts.

        Raises:
            ProviderError: the chosen one cannot be had.
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
        held = self._held.get(slot)
        if held is None or held[0] != key:
            return None
        if isinstance(held[1], AskedEmbedder) and (is_worker or self.is_host):  # it would ask itself
            return None
        return held[1]

    def _opened(self, settings: Settings, threads: int, *, build: bool) -> Embedder | None:
        if settings.embedding != "http" and not build and not self.is_host:
            asked = AskedEmbedder.of(settings, self._load)
            if asked is not None:
                return asked
        limit_s = BATCH_LIMIT_S if build else QUESTION_LIMIT_S
        return self._load(settings, threads=threads, build=build, limit_s=limit_s)

    def _load_meanwhile(self, settings: Settings) -> None:
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + RETRY_S

        def load() -> None:
            guarded("embedder", lambda: self.get(settings, build=False), settings.home, self._told)

        threading.Thread(target=load, name="howcome-embedder", daemon=True).start()


def _slot(settings: Settings, *, is_worker: bool) -> str:
    """A model on this machine is held once; of an endpoint only how long it may take, which is not the same for all."""
    return "batches" if is_worker and settings.embedding == "http" else "questions"


def _key(settings: Settings) -> tuple[str, ...]:
    """What tells embedders apart."""
    variable = settings.embedding_key_env
    return (
        settings.home, settings.embedding, settings.embedding_model, settings.embedding_url, settings.embedding_weights,
        settings.embedding_passage_prefix, variable, os.environ.get(variable, "") if variable else "",
    )  # fmt: skip
