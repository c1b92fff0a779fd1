"""What the worker does with its time: unread transcripts into the store, newest first, a small piece at a time.

Every piece is followed by a rest as long as itself, so that the worker never takes more than half of one core, and the
write lock of the store and of the index are free at least as long as they are held.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from howcome.app import open_app
from howcome.clients.discover import known_transcripts
from howcome.errors import ProviderError, SettingsError, StoreMissingError, TranscriptError, UsageError
from howcome.log.place import database_path
from howcome.present.shared_embedder import SharedEmbedder
from howcome.providers.embed import model_name
from howcome.worker.active import Active

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.app import App
    from howcome.clients.discover import Found
    from howcome.learn.in_step import Seen
    from howcome.present.patience import Patience
    from howcome.settings import Settings

INDEX_ROWS = 1000
"""New rows are made searchable in pieces of this size: a hook that ends a turn waits for the index's lock, so a piece
holds it for some 0.15 s."""

PIECE_S = 0.05
"""A piece of reading is one batch at least, and of a database as many small sessions as fit: each piece lists all."""

BUSY_MS = 250
EMBED_RETRY_S = 600.0
"""An embedder that failed (an endpoint that is down, a full disk) is left alone so long; reading goes on meanwhile."""

VERIFY_EVERY_S = 3600.0
"""How often it reads all files of the indexes: what nobody asks for may be damaged, too."""

MIN_REST_S = 0.005
MOST_ASKED = 3
"""Exchanges, and batches, that a language model is asked about in one pass, where one has a budget."""

LAST_LOOK_S = 0.4
"""How long what is unread is read when a server ends: an agent may write its last words after its last hook."""

SHARED = "shared.json"
"""What `memory.team` keeps where memories are shared; nowhere else its room is loaded."""

MEMBERSHIP = "team.json"
"""The same of `memory.team_server`."""

SPOOL_S = COMMANDS_S = 0.2
IDENTITY_S = 1.0
CONSOLIDATE_S = 10.0
TRIM_BYTES = 4 << 20
FIRST_RETRY_S = 60.0
MAX_RETRY_S = 3600.0
"""A transcript that could not be read is tried again when it has changed, or after a pause that doubles."""


class CatchUp:
    """Scan after scan of this machine's transcripts; what was read to its end is looked at again when it changed.

    Args:
        settings: Where the store is.
        patience: When to rest, and when to end.
        first_retry_s: How long after its first failure a transcript is tried again.
        embedder: The process's; None: one of its own.
        current: The settings as they are now, asked before each scan; those that cannot be read change nothing.
    """

    def __init__(
        self,
        settings: Settings,
        patience: Patience,
        *,
        first_retry_s: float = FIRST_RETRY_S,
        embedder: SharedEmbedder | None = None,
        current: Callable[[], Settings] | None = None,
    ) -> None:
        self._settings, self._patience, self._first_retry_s = settings, patience, first_retry_s
        self._embedder, self._current = embedder or SharedEmbedder(), current
        self._known: dict[str, tuple[int, int]] = {}
        self._failed: dict[str, tuple[tuple[int, int], float, float]] = {}
        self._in_step: Seen = {}
        self._file: tuple[int, int] | None = None
        self._seen = (0, "")
        self._active = Active()
        self._rows = 0
        self._stuck: tuple[int, int] | None = None
        self._read_bytes = 0
        self._embed_due_s = self._verify_due_s = 0.0

    def scan(self, *, create: bool = True) -> bool:
        """Reads and indexes whatever is new; False when it had to end before that.

        Args:
            create: Whether to make the store when there is none.

        Raises:
            HowcomeError: the store cannot be used; what was committed stays.
            OSError: the file system failed.
        """
        if self._current is not None:
            with suppress(SettingsError):  # the tools and hooks say so
                current = self._current()
                if current is not self._settings:  # another embedder, perhaps: one that failed is no reason to wait
                    self._settings, self._embed_due_s = current, 0.0
        found = known_transcripts(os.path.expanduser("~"), os.environ, newest_first=True)
        self._active.found(found, time.time_ns())
        try:
            is_whole = self._catch_up(found, create=create)
        except StoreMissingError:  # taken away since it was looked for
            return False
        if self._read_bytes > TRIM_BYTES:
            self._read_bytes = 0
            _give_memory_back()
        return is_whole

    def follow(self) -> None:
        """Reads what sessions have said since, and makes it searchable: between scans, every second.

        Raises:
            HowcomeError: as for `scan`.
            OSError: the file system failed.
        """
        grown = self._active.grown(self._is_due) if self._file is not None else []
        if not grown or self._store_file() != self._file:
            return
        with (
            suppress(StoreMissingError),
            open_app(self._settings, busy_ms=BUSY_MS, create=False, opener=self._embedder.get, is_embedded=True) as app,
        ):
            if app.health.holds(*self._seen) and all(self._read(app, item) for item in grown) and self._index(app):
                self._seen = app.health.position()

    def last_look(self, limit_s: float = LAST_LOOK_S) -> None:
        """Reads what is unread, for so long at most: the server ends, and whoever comes next may come tomorrow.

        Raises:
            HowcomeError: as for `scan`.
            OSError: the file system failed.
        """
        if self._store_file() == self._file:
            with open_app(self._settings, busy_ms=BUSY_MS, create=False, is_embedded=True) as app:
                app.ingest.session((), time.monotonic() + limit_s, and_others=True)

    def _catch_up(self, found: list[Found], *, create: bool) -> bool:
        with open_app(
            self._settings, busy_ms=BUSY_MS, create=create, opener=self._embedder.get, is_embedded=True
        ) as app:
            self._file = self._store_file()
            row, mark = self._seen
            if not app.health.holds(row, mark):  # the first one, another than before, or an older copy
                self._known = {state.path: (state.size_bytes, state.mtime_ns) for state in app.health.cursors()}
                self._in_step.clear()
            unread = filter(self._is_due, found)
            is_read = all(self._read(app, item) for item in unread) and self._take_spool(app)
            self._seen = app.health.position()
            return is_read and all(work(app) for work in self._works())

    def _works(self) -> tuple[Callable[[App], bool], ...]:
        """What follows reading, in this order; a search finds the new rows as soon as the first is done."""
        return (
            self._verify, self._index, self._note_commands, self._identify, self._distil, self._keep_in_step,
            self._explain, self._refresh, self._distil_by_model, self._consolidate, self._embed,
            self._back_up, self._receive, self._meet_team, self._shorten,
        )  # fmt: skip

    def _verify(self, app: App) -> bool:
        """Reads the indexes now and then; what is damaged is made anew by what follows."""
        if time.monotonic() >= self._verify_due_s:
            app.index.verify()
            self._verify_due_s = time.monotonic() + VERIFY_EVERY_S
        return True

    @property
    def has_opened(self) -> bool:
        """Whether it has seen a store."""
        return self._file is not None

    def _is_due(self, found: Found) -> bool:
        """Whether a transcript is unread, and not one that failed as it is now not long ago."""
        state = (found.size_bytes, found.mtime_ns)
        if self._known.get(found.path) == state:
            return False
        failed, _, due_s = self._failed.get(found.path, (None, 0.0, 0.0))
        return failed != state or time.monotonic() >= due_s

    def _put_off(self, found: Found) -> None:
        """A transcript could not be read: the next time is when it has changed, or after a longer pause than before."""
        state = (found.size_bytes, found.mtime_ns)
        failed, pause_s, _ = self._failed.get(found.path, (None, 0.0, 0.0))
        pause_s = min(MAX_RETRY_S, 2 * pause_s) if failed == state else self._first_retry_s
        self._failed[found.path] = (state, pause_s, time.monotonic() + pause_s)

    def _read(self, app: App, found: Found) -> bool:
        """One transcript to its end, a batch at a time; False when the work has to end."""
        while True:
            started = time.monotonic()
            try:
                report = app.ingest.file(found, deadline=started + PIECE_S)
            except (TranscriptError, OSError):  # one unreadable file must not keep the others from being read
                self._put_off(found)
                return self._rest(started)
            self._rows += report.counts["accepted"]
            self._read_bytes += report.bytes_read
            if not self._rest(started):
                return False
            if self._rows >= INDEX_ROWS and not self._index(app):
                return False
            if report.is_complete:
                self._known[found.path] = (found.size_bytes, found.mtime_ns)
                self._failed.pop(found.path, None)
                return True
            if not report.bytes_read:  # another process is at it: the next scan sees what it left
                return True

    def _take_spool(self, app: App) -> bool:
        """Observations of agents without transcripts."""
        started = time.monotonic()
        app.ingest.spool(started + SPOOL_S)
        return self._rest(started)

    def _index(self, app: App) -> bool:
        """Makes new rows searchable, whoever added them; False when the work has to end."""
        while (lag := (app.events.last_row(), app.index.lag()))[1] and lag != self._stuck:
            started = time.monotonic()
            added = app.index.finish(started)
            if not self._rest(started):
                return False
            if added is None:  # another process is writing the index: it adds ours too
                break
            if (app.events.last_row(), app.index.lag()) == lag:
                self._stuck = lag  # the newest rows hold nothing to index
        self._rows = 0
        return True

    def _note_commands(self, app: App) -> bool:
        """What the shell ran in rows that are new; False when the work has to end."""
        started = time.monotonic()
        app.index.note_commands(started + COMMANDS_S)
        return self._rest(started)

    def _refresh(self, app: App) -> bool:
        """Import graphs that are old, where there are any; False when the work has to end."""
        return app.graphs.refresh(self._resting())

    def _identify(self, app: App) -> bool:
        """What git shows of projects that nobody looked at yet; False when the work has to end."""
        started = time.monotonic()
        app.projects.look(IDENTITY_S)
        return self._rest(started)

    def _distil(self, app: App) -> bool:
        """Memories from what is new, where something distils; False when the work has to end."""
        if app.learn.distillation is None:
            return True
        return app.learn.distillation.run(rest=self._resting()).is_whole

    def _keep_in_step(self, app: App) -> bool:
        """What files say, where something distils; False when the work has to end."""
        if app.settings.distiller == "off":
            return True
        return app.learn.in_step(self._in_step).run(rest=self._resting()).is_whole

    def _explain(self, app: App) -> bool:
        """Rationales of what is new, where something distils; False when the work has to end."""
        if app.settings.distiller == "off":
            return True
        return app.learn.rationales().run(rest=self._resting(), most_asked=MOST_ASKED).is_whole

    def _distil_by_model(self, app: App) -> bool:
        """What a language model says of what is new, where it may be asked; False when the work has to end."""
        if app.settings.distiller != "llm":
            return True
        return app.learn.batches().run(rest=self._resting(), most_asked=MOST_ASKED).is_whole

    def _consolidate(self, app: App) -> bool:
        """Memories that say the same, and those that nobody used, every few hours; False when the work has to end."""
        if app.settings.distiller == "off":
            return True
        end_s, rest = time.monotonic() + CONSOLIDATE_S, self._resting()
        app.learn.consolidation.run_if_due(lambda: rest() and time.monotonic() < end_s)
        return rest()

    def _shorten(self, app: App) -> bool:
        """Old tool traffic, where the settings say so; False when the work has to end."""
        rest = self._resting()
        app.ingest.shorten_if_due(rest)
        return rest()

    def _back_up(self, app: App) -> bool:
        """Once a day, what no transcript holds; False when the work has to end."""
        started = time.monotonic()
        return not app.health.back_up_memories() or self._rest(started)

    def _receive(self, app: App) -> bool:
        """Puts up for review what a pull brought, where memories are shared; False when the work has to end."""
        started = time.monotonic()
        if not os.path.exists(os.path.join(self._settings.home, SHARED)):
            return True
        with suppress(UsageError, ProviderError):  # a file there that is none, or no package to check signatures
            app.sharing.team().receive_again()
        return self._rest(started)

    def _meet_team(self, app: App) -> bool:
        """Pushes and pulls, where this machine is in a team; False when the work has to end."""
        started = time.monotonic()
        if os.path.exists(os.path.join(self._settings.home, MEMBERSHIP)):
            with suppress(UsageError):  # `team status` and `doctor` say what the server said
                app.sharing.team_server().run_if_due()
        return self._rest(started)

    def _resting(self) -> Callable[[], bool]:
        """Called between pieces of work: rests as long as the last one took; False when the work has to end."""
        started = time.monotonic()

        def rest() -> bool:
            nonlocal started
            goes_on = self._rest(started)
            started = time.monotonic()
            return goes_on

        return rest

    def _embed(self, app: App) -> bool:
        """Vectors for new turns, where something embeds; False when the work has to end.

        Raises:
            ProviderError: it failed; everything else is done by then, and the next scan tries again.
        """
        if time.monotonic() < self._embed_due_s or _is_embedded(app):
            return True
        total = 0
        while True:
            started = time.monotonic()
            try:
                added = app.index.embed(started)
            except ProviderError:
                self._embed_due_s = time.monotonic() + EMBED_RETRY_S
                raise
            if not self._rest(started):
                return False
            if not added:
                if total:
                    _give_memory_back()  # a model that was built leaves more behind than it takes itself
                return True
            total += added

    def _rest(self, started: float) -> bool:
        """Rests; False when the work has to end, also because the store is no longer the one that is open."""
        is_over = not self._patience.rest(max(MIN_REST_S, time.monotonic() - started))
        return not is_over and self._store_file() == self._file

    def _store_file(self) -> tuple[int, int] | None:
        try:
            status = os.stat(database_path(self._settings.home))
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _is_embedded(app: App) -> bool:
    """Whether turns and memories all have vectors of the settings' model, as far as can be told without loading it."""
    model = model_name(app.settings)
    return not app.index.turns_without(model) and not (model and app.index.memories_without(model))


def _give_memory_back() -> None:
    """Lets the C library return what it keeps for later: 47 of 110 MB after a catch-up of 30 MB."""
    import ctypes

    with suppress(AttributeError, OSError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
