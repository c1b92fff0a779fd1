"""What the worker does with its time: unread transcripts into the store, newest first, a small piece at a time.

Every piece is followed by a rest as long as itself, so that the worker never takes more than half of one core, and the
write lock of the store and of the index are free at least as long as they are held.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from recollect.app import open_app
from recollect.capture.discover import known_transcripts
from recollect.errors import TranscriptError
from recollect.present.hook_handlers import ingest_observations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.app import App
    from recollect.capture.discover import Found
    from recollect.present.patience import Patience
    from recollect.settings import Settings

INDEX_ROWS = 1000
"""New rows are made searchable in pieces of this size: a hook that ends a turn waits for the index's lock, so a piece
holds it for some 0.15 s."""

BUSY_MS = 250
MIN_REST_S = 0.005
SPOOL_S = 0.2
TRIM_BYTES = 4 << 20


class CatchUp:
    """Scan after scan of this machine's transcripts; what was read to its end is looked at again when it changed."""

    def __init__(self, settings: Settings, patience: Patience) -> None:
        self._settings, self._patience = settings, patience
        self._known: dict[str, tuple[int, int]] = {}
        self._store_key: object = None
        self._rows = 0
        self._stuck: tuple[int, int] | None = None
        self._read_bytes = 0

    def scan(self) -> bool:
        """Reads and indexes whatever is new; False when it had to end before that.

        Raises:
            RecollectError: the store cannot be used; what was committed stays.
            OSError: the file system failed.
        """
        found = known_transcripts(os.path.expanduser("~"), os.environ)[::-1]
        with open_app(self._settings, busy_ms=BUSY_MS) as app:
            if self._store_key != (key := app.store.meta("key")):  # the first one, or another than before
                self._store_key = key
                self._known = {state.path: (state.size_bytes, state.mtime_ns) for state in app.store.sources()}
            unread = [item for item in found if self._known.get(item.path) != (item.size_bytes, item.mtime_ns)]
            is_whole = all(self._read(app, item) for item in unread) and self._take_spool(app) and self._index(app)
        if self._read_bytes > TRIM_BYTES:
            self._read_bytes = 0
            _give_memory_back()
        return is_whole

    def _read(self, app: App, found: Found) -> bool:
        """One transcript to its end, a batch at a time; False when the work has to end."""
        while True:
            started = time.monotonic()
            try:
                report = app.ingest_file(found, deadline=started)
            except (TranscriptError, OSError):  # one unreadable file must not keep the others from being read
                break
            self._rows += report.counts["accepted"]
            self._read_bytes += report.bytes_read
            if not self._rest(started):
                return False
            if self._rows >= INDEX_ROWS and not self._index(app):
                return False
            if report.is_complete or not report.bytes_read:  # nothing read: another process is at it
                break
        self._known[found.path] = (found.size_bytes, found.mtime_ns)
        return True

    def _take_spool(self, app: App) -> bool:
        """Observations of agents without transcripts."""
        started = time.monotonic()
        ingest_observations(app, started + SPOOL_S)
        return self._rest(started)

    def _index(self, app: App) -> bool:
        """Makes new rows searchable, whoever added them; False when the work has to end."""
        while (lag := (app.store.last_row(), app.store.index_lag()))[1] and lag != self._stuck:
            started = time.monotonic()
            added = app.index_new_rows(started)
            app.store.release_index()
            if not self._rest(started):
                return False
            if added is None:  # another process is writing the index: it adds ours too
                break
            if (app.store.last_row(), app.store.index_lag()) == lag:
                self._stuck = lag  # the newest rows hold nothing to index
        app.store.catch_up_memories()
        self._rows = 0
        return True

    def _rest(self, started: float) -> bool:
        return self._patience.rest(max(MIN_REST_S, time.monotonic() - started))


def _give_memory_back() -> None:
    """Lets the C library return what it keeps for later: 47 of 110 MB after a catch-up of 30 MB."""
    import ctypes

    with suppress(AttributeError, OSError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
