"""`app.ingest`: transcripts and observations become events."""

from __future__ import annotations

import contextlib
import os
import sys

from howcome.app.clock import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from howcome.app.indexing import Indexing
    from howcome.clients.discover import Found as Transcript
    from howcome.ingest.file_pass import FileReport
    from howcome.ingest.pipeline import Ingester
    from howcome.ingest.spool import SpoolReport
    from howcome.settings import Settings
    from howcome.store.base import Store


AHEAD_BYTES = 20_000_000
"""One process reads less in a second; a reader starts and loads the rules in .2 s of a processor."""

MAX_JOBS = 4
"""Three readers make rows faster than one process commits and indexes them (docs/evaluation.md, "Speed of imports")."""


RETENTION, HOUR_MS, DAY_MS = "retention", 3_600_000, 24 * 3_600_000
"""The name of the note that old tool traffic was shortened today, or that it failed in this hour."""


class Ingesting:
    """Reads what is new into the log, and makes room."""

    def __init__(self, store: Store, settings: Settings, index: Indexing, fixed_root: str | None) -> None:
        self._store, self._settings, self._index, self._fixed_root = store, settings, index, fixed_root

    _ingester: Ingester | None = None

    def ingester(self) -> Ingester:
        """Reads transcripts into the store; new rows' texts are kept for the index."""
        if self._ingester is None:
            from howcome.ingest.pipeline import open_ingester

            self._ingester = open_ingester(
                self._store, self._settings, self._fixed_root, now_ms, self._index.keep_texts
            )
        return self._ingester

    def file(
        self, found: Transcript, *, deadline: float | None = None, on_progress: Callable[[int], None] | None = None
    ) -> FileReport:
        """Reads what is new in one transcript; what was read is made searchable now and then."""
        return self.ingester().ingest_file(found.path, found.client, deadline=deadline, on_progress=on_progress)

    @contextlib.contextmanager
    def ahead(self, found: Sequence[Transcript], jobs: int | None = None) -> Iterator[None]:
        """While this is entered, other processes read ahead of who reads these files in their order.

        `jobs` are all processes, this one among them; None: as many as the machine has cores, where it pays.
        """
        readers = (jobs or self._jobs_for(found)) - 1
        if readers <= 0:
            yield
            return
        from howcome.ingest.ahead import ReadAhead

        ingester, command = self.ingester(), [sys.executable, "-P", "-m", "howcome.app.reader"]
        with ReadAhead(found, command, readers, starts_over=ingester.starts_over) as ahead:
            ingester.ahead = ahead.batches
            try:
                yield
            finally:
                ingester.ahead = None

    def _jobs_for(self, found: Sequence[Transcript]) -> int:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if cores == 1 or sum(one.size_bytes for one in found) < AHEAD_BYTES:
            return 1
        known = {state.path: state for state in self._store.log.sources()}
        unread = 0
        for one in found:
            state = known.get(one.path)
            if state is None or (state.size_bytes, state.mtime_ns) != (one.size_bytes, one.mtime_ns):
                unread += max(0, one.size_bytes - (state.offset if state else 0))
        return min(cores, MAX_JOBS) if unread >= AHEAD_BYTES else 1

    def set_aside(self, paths: Collection[str] | None = None) -> dict[str, int]:
        """Reads the records that were set aside (of some transcripts; None: of all) again; see `Ingester`."""
        return self.ingester().retry_set_aside(paths)

    def session(self, paths: Iterable[str], deadline: float, *, and_others: bool = False) -> int:
        """What is new in a session's transcripts (its own and its subagents'), within the time; how many were refused.

        With `and_others` every other transcript on the machine with unread bytes follows. Paths outside of the
        clients' folders are not read.
        """
        folders = self._settings.transcript_folders
        refused = self.ingester().catch_up(folders, paths, deadline, and_others=and_others)
        self._index.finish(deadline)
        return refused

    def spool(
        self, deadline: float | None = None, *, retry_all: bool = False, wait_s: float = 0.0
    ) -> SpoolReport | None:
        """Observations that wait in the spool become events (not yet searchable); None when there are none.

        What the store refused before is tried again when its time has come, or at once with `retry_all`; another
        process that is at it is waited for so long. Nothing is lost by a StoreError.
        """
        from howcome.clients.spool import dead_letters, is_empty

        home = self._settings.home
        if is_empty(home) and not dead_letters(home):  # mostly so, and what comes next is dear to import
            return None
        from howcome.ingest.spool import ingest_spool

        return ingest_spool(self.ingester(), self._store, home, deadline=deadline, retry_all=retry_all, wait_s=wait_s)

    def shorten(
        self, days: int, rest: Callable[[], bool] = lambda: True, *, is_trial: bool = False
    ) -> tuple[int, int, int]:
        """Shortens tool traffic older than that, for good: how many texts, bytes, damaged; see `log.retention`."""
        return self._store.retention.shorten(now_ms() - days * DAY_MS, rest, is_trial=is_trial)

    def shorten_if_due(self, rest: Callable[[], bool]) -> int:
        """The same once a day, where the settings name an age: how many are damaged.

        What was ended, or failed (StoreError), is due again in an hour.
        """
        days, now, notes = self._settings.tool_text_days, now_ms(), self._store.model_answers
        if not days or notes.pause_of(RETENTION, now) is not None:
            return 0
        notes.pause(RETENTION, now, now + HOUR_MS, "")
        damaged = self.shorten(days, rest)[2]
        if rest():
            notes.pause(RETENTION, now, now + DAY_MS, "")
        return damaged

    def vacuum(self) -> None:
        """Writes the database anew without gaps."""
        self._store.purging.vacuum()
