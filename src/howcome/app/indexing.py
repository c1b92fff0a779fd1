"""`app.index`: what searches read is made of the events, and can be made again."""

from __future__ import annotations

import time
from contextlib import suppress

from howcome.domain.stored import Filter, Scope
from howcome.errors import IndexDamagedError, ProviderError, StoreError, StoreLockedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.app.models import Models
    from howcome.index.turn_vectors import ModelVectors
    from howcome.settings import Settings
    from howcome.store.base import Store

INDEX_EVERY_CHARS = 4 << 20
"""During an import new rows are made searchable this often; each commit of the index costs some 50 ms."""

WAIT_S, STALLED_S = 0.5, 120.0
"""How often another process that embeds is looked at, and how long it may do nothing: an endpoint may be slow."""

COMMANDS_S = 0.5
"""A hook that finds the commands of a whole history new leaves most of them to the next, and to the worker."""


class Indexing:
    """The search index and vectors: behind the log, and catching up."""

    def __init__(self, store: Store, settings: Settings, models: Models) -> None:
        self._store, self._settings, self._models = store, settings, models
        self._texts: dict[int, str] = {}
        self._text_chars = 0

    # -- words -----------------------------------------------------------------------------------------------------
    def keep_texts(self, texts: dict[int, str]) -> None:
        """New rows by their texts, as they are added: the index need not read them again."""
        self._texts.update(texts)
        self._text_chars += sum(map(len, texts.values()))
        if self._text_chars >= INDEX_EVERY_CHARS:
            self.catch_up()

    def catch_up(self, deadline: float | None = None) -> int | None:
        """Makes the rows that were added searchable; None when another process is at it. See `release`."""
        added = self._store.index.catch_up(self._texts, deadline=deadline)
        self._texts, self._text_chars = {}, 0
        return added

    def release(self) -> None:
        """Lets other processes write the index."""
        self._store.index.release()

    def finish(self, deadline: float | None = None) -> int | None:
        """Catches up, and lets others write."""
        added = self.catch_up(deadline)
        self.release()
        self.note_commands(None if deadline is None else min(deadline, time.monotonic() + COMMANDS_S))
        return added

    def note_commands(self, deadline: float | None = None) -> None:
        """Looks through what the shell ran in rows that are new: what failed, and what then worked."""
        from howcome.learn.command_runs import catch_up

        if not self._store.is_read_only:
            catch_up(self._store, deadline)

    def lag(self) -> int:
        """How many rows no search finds yet."""
        return self._store.index.lag()

    def within(self, limit_s: float, scope: Scope) -> int:
        """Adds rows that the index has not seen, within the time; how many are still not searchable."""
        with suppress(IndexDamagedError):  # it is given up: all its rows are to be added
            self._store.index.weigh((), scope)
        lag = self.lag()
        if not lag or limit_s <= 0 or self._store.is_read_only:
            return lag
        try:
            self.finish(time.monotonic() + limit_s)
            return self.lag()
        except StoreError:  # another process is at it, or it cannot be read: searching says which
            return lag

    def rebuild(self) -> int:
        """Makes the index anew; of how many rows."""
        rows = self._store.index.rebuild()
        self.release()
        return rows

    def verify(self) -> list[str]:
        """Reads all that is derived from the rows (1 GB a second): what is wrong with it, and is made anew next."""
        return self._store.verify_indexes() + self._store.turn_vectors.give_up_broken()

    def count(self) -> int:
        """How many events it holds."""
        return self._store.index.weigh(()).totals["events"]

    def try_out(self) -> None:
        """One question to each part of it; IndexDamagedError where it cannot be read."""
        words, wanted = dict.fromkeys(self._store.index.analyze("howcome"), 1.0), Filter(Scope.everything())
        for part in ("events", "exchanges", "fuzzy"):
            self._store.index.search(part, words, wanted, 1)

    # -- vectors ---------------------------------------------------------------------------------------------------
    def embed(
        self, deadline: float | None = None, *, threads: int = 1, on_progress: Callable[[int], None] | None = None
    ) -> int | None:
        """Writes vectors of turns and memories that have none; how many, None when another is at it or nothing embeds.

        The local model is built first when its weights are here and it is not; `on_progress` is told how many turns
        were done each time. What is written stays where the embedder fails (ProviderError).
        """
        models = self._models
        vectors = models.open_vectors(build=True, threads=threads)
        if vectors is None or models.embedder is None:
            return None
        from howcome.ingest.embedding import embed_new_memories, embed_new_turns
        from howcome.log.event_log import ensure_marks

        ensure_marks(self._store.log)
        prefix, name = models.passage_prefix, models.name_of(models.embedder)
        with self._store.turn_vectors.writer(name, models.embedder.dimensions) as writer:
            if not writer.is_open:
                return None
            added = embed_new_turns(self._store, models.embedder, writer, deadline, on_progress, prefix)
            if deadline is None or not added:
                added += embed_new_memories(self._store, models.embedder, deadline, prefix)
        vectors.refresh()
        return added

    def embed_all(
        self, *, threads: int = 1, on_progress: Callable[[int], None] | None = None, patience_s: float = STALLED_S
    ) -> int:
        """Embeds until every turn has a vector, and waits for another process that is at it; how many were done here.

        `on_progress` is told how many turns were done each time, also by the other one.

        Raises:
            ProviderError: nothing embeds here, or it failed.
            StoreLockedError: the other process has done none for `patience_s` seconds.
        """
        done, left, moved_s = 0, self.turns_to_embed(), time.monotonic()
        if left is None:
            raise ProviderError("nothing embeds here")
        while True:
            added = self.embed(threads=threads, on_progress=on_progress)
            done, before, left = done + (added or 0), left, self.turns_to_embed() or 0
            if not left:
                return done
            if left != before:
                moved_s = time.monotonic()
            elif time.monotonic() - moved_s > patience_s:
                raise StoreLockedError(f"another process holds the vectors and has made none for {patience_s:.0f} s")
            if added is None:
                if on_progress is not None:
                    on_progress(max(0, before - left))
                time.sleep(WAIT_S)

    @property
    def has_worker(self) -> bool:
        """Whether workers of sessions make what is missing; a store on a server has none."""
        return self._store.has_worker

    def turns_to_embed(self) -> int | None:
        """How many turns are to be embedded; None when nothing embeds."""
        self._models.open_vectors(build=True)
        embedder = self._models.embedder
        return None if embedder is None else self.turns_without(self._models.name_of(embedder))

    def turns_without(self, model: str) -> int:
        """How many turns have no vector of a model, as far as can be told without loading it."""
        held = [each.turns_behind for each in self.vectors() if each.model == model]
        return held[0] if held else self._store.log.count_turns_after(0)

    def memories_without(self, model: str) -> bool:
        """Whether a memory has no vector of a model."""
        return bool(self._store.memory_vectors.without(model, 1))

    def vectors_refused(self) -> str:
        """What a server's owner has to run before its vectors can be read here; "" where they can."""
        return self._store.turn_vectors.refused()

    def vectors(self) -> list[ModelVectors]:
        """What there is of vectors, by model; no model is loaded."""
        return self._store.turn_vectors.held()
