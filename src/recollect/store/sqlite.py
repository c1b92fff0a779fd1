"""The store on one SQLite file (through APSW) with its lexical index beside it.

WAL, `busy_timeout` set before anything else, `BEGIN IMMEDIATE` for every write, small transactions. Nothing here ever
deletes or renames the database: BUSY is not corruption, and a damaged file is left for a person to look at.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

import apsw

from recollect.domain.sources import COUNTERS
from recollect.errors import CursorMovedError, StoreError, StoreMissingError, StoreNewerError
from recollect.store.driver import driver_errors
from recollect.store.sqlite_answers import SqliteAnswers
from recollect.store.sqlite_distil_batches import SqliteDistilBatches
from recollect.store.sqlite_graph import SqliteGraph
from recollect.store.sqlite_reads import as_text, one
from recollect.store.sqlite_search import SqliteSearch
from recollect.store.sqlite_spending import SqliteSpending
from recollect.store.sqlite_turns import SqliteTurns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.domain.sources import Batch, NewEvent, NewRecord
    from recollect.store.base import Store

SCHEMA_VERSION = 10
BUSY_TIMEOUT_MS = 5000
CHECKPOINT_PAGES = 4000
"""The write-ahead log may grow to 16 MB: a bulk import so writes each page of an index once, not at every turn."""

DATABASE_NAME = "recollect.db"
_MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
_INSERT_EVENT = (
    "INSERT INTO events (key, session_id, project_id, source_id, offset, kind, origin, ts_ms, order_ms, tool,"
    " tool_use_id, file, branch, agent_id, failed, exit_code, text_chars, excerpt, payload)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING"
)


class SqliteStore(SqliteSearch, SqliteTurns, SqliteDistilBatches, SqliteGraph, SqliteAnswers, SqliteSpending):
    """Events, sessions, projects, cursors and injections in one file; see `store.base.Store` for the contract."""

    def __init__(self, folder: str, *, busy_ms: int = BUSY_TIMEOUT_MS, create: bool = True) -> None:
        """Opens the store in `folder`, creating it (0700, files 0600) unless told not to, or migrating it when needed.

        Raises:
            StoreError: it cannot be opened; StoreNewerError when a newer version wrote it, StoreMissingError when it is
                not there and must not be created.
        """
        self.folder = folder
        self.path = os.path.join(folder, DATABASE_NAME)
        self._sessions: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._paths: dict[str, int] = {}
        with driver_errors():
            self.connection, self.is_read_only = _connect(folder, self.path, busy_ms, create=create)
            version = _user_version(self.connection)
            if version != SCHEMA_VERSION:
                if self.is_read_only and version < SCHEMA_VERSION:
                    raise StoreError(f"{self.path} is an older recollect's: make it writable once, to be migrated")
                self._migrate(busy_ms)

    def close(self) -> None:
        """Gives back the index's lock and closes the connection; the store can be opened again."""
        self.release_index()
        self.connection.close()

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        for index in (self._index, self._memory_index):
            if index is not None:
                index.refresh()

    def _migrate(self, busy_ms: int) -> None:
        deadline = time.monotonic() + busy_ms / 1000
        while True:  # WAL on a fresh database fails at once under another's write lock, whatever the busy timeout
            try:
                self.connection.pragma("journal_mode", "wal")
                break
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        with self.transaction():
            version = _user_version(self.connection)
            if version > SCHEMA_VERSION:
                raise StoreNewerError(
                    f"the store has schema {version}, this recollect knows {SCHEMA_VERSION}: upgrade recollect"
                )
            for name in sorted(os.listdir(_MIGRATIONS)):
                if name.endswith(".sql") and int(name.split("_")[0]) > version:
                    with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as script:
                        self.connection.execute(script.read())
            self.connection.execute(
                "INSERT OR IGNORE INTO meta (name, value) VALUES ('key', ?), ('created_ms', ?)",
                (os.urandom(32), int(time.time() * 1000)),
            )
            self.connection.pragma("user_version", SCHEMA_VERSION)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: everything in it, or nothing."""
        with driver_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                self._sessions.clear()  # rows that are rolled back must not be referred to
                self._paths.clear()
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def add_batch(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds a batch's events and moves its source's cursor, in one transaction.

        Returns:
            Counts by the names of `domain.sources.COUNTERS`, and the search text of each new row by its id.

        Raises:
            CursorMovedError: another process has moved the cursor; nothing was written.
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        with self.transaction():
            source_id = self._claim_source(batch)
            for record in batch.records:
                self._add_record(record, source_id, batch, counts, new_rows)
            self._move_cursor(source_id, batch, counts)
        batch.after.id = source_id
        return counts, new_rows

    def _claim_source(self, batch: Batch) -> int:
        after = batch.after
        expected = after.offset - sum(record.size_bytes for record in batch.records)
        if after.id is not None:
            row = self.connection.execute("SELECT offset, is_current FROM sources WHERE id = ?", (after.id,)).fetchone()
            if row is None or row != (expected, 1):
                raise CursorMovedError(f"{after.path}: another process is reading it")
            return after.id
        self.connection.execute(
            "INSERT INTO sources (path, client, generation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (as_text(after.path), after.client, after.generation),
        )
        if not self.connection.changes() or expected != 0:
            raise CursorMovedError(f"{after.path}: another process is reading it")
        source_id = self.connection.last_insert_rowid()
        self.connection.execute(
            "UPDATE sources SET is_current = 0 WHERE path = ? AND generation < ?",
            (as_text(after.path), after.generation),
        )
        return source_id

    def _add_record(
        self, record: NewRecord, source_id: int, batch: Batch, counts: dict[str, int], new_rows: dict[int, str]
    ) -> None:
        counts["records"] += 1
        if record.quarantined is not None:
            self._quarantine(record, source_id, batch.now_ms)
            fate = "quarantined"
            counts["quarantined"] += 1
        elif record.ignored:
            fate = "ignored"
            counts["ignored"] += 1
            counts["unknown"] += record.unknown
        else:
            accepted = sum(self._add_event(event, record, source_id, batch, new_rows) for event in record.events)
            counts["accepted"] += accepted
            counts["duplicate"] += len(record.events) - accepted
            fate = "accepted" if accepted else "duplicate"
        counts[fate + "_bytes"] += record.size_bytes

    def _add_event(
        self, event: NewEvent, record: NewRecord, source_id: int, batch: Batch, new_rows: dict[int, str]
    ) -> bool:
        session_id, project_id = self._place(batch, event)
        self.connection.execute(
            _INSERT_EVENT, (event.key, session_id, project_id, source_id, record.offset, *event.columns)
        )
        if self.connection.changes():
            new_rows[self.connection.last_insert_rowid()] = event.search_text
            return True
        found = self.connection.execute("SELECT id, session_id FROM events WHERE key = ?", (event.key,)).fetchone()
        if found is not None and found[1] != session_id:  # a fork: it keeps what it copied
            self.connection.execute(
                "INSERT OR IGNORE INTO memberships (session_id, event_id, order_ms) VALUES (?, ?, ?)",
                (session_id, found[0], event.columns[3]),
            )
        return False

    def _place(self, batch: Batch, event: NewEvent) -> tuple[int, int]:
        """The session and project rows of an event, made when they are new."""
        known = self._sessions.get((batch.after.client, event.session)) or self._session(batch, event)
        session_id, project_id, root = known
        cwd = event.cwd
        if cwd is None or cwd == root:
            return session_id, project_id
        resolved, is_certain = batch.roots.get(cwd, (cwd, False))
        is_below = root != "/" and cwd.startswith(root + "/")  # "/" is the root of what names no folder
        if resolved == root:
            return session_id, project_id
        belongs = root if is_below and not is_certain else resolved
        return session_id, self._project(belongs, cwd, batch.now_ms)

    def _session(self, batch: Batch, event: NewEvent) -> tuple[int, int, str]:
        client = batch.after.client
        find = (
            "SELECT s.id, s.project_id, p.root FROM sessions s JOIN projects p ON p.id = s.project_id"
            " WHERE s.name = ? AND s.client = ?"
        )
        found: tuple[int, int, str] | None = self.connection.execute(find, (event.session, client)).fetchone()
        if found is None:
            cwd = event.cwd or ""
            project_id = self._project(batch.roots.get(cwd, (cwd, False))[0], cwd, batch.now_ms)
            self.connection.execute(
                "INSERT INTO sessions (client, name, project_id) VALUES (?, ?, ?)", (client, event.session, project_id)
            )
            found = (self.connection.last_insert_rowid(), project_id, self._root_of(project_id))
        self._sessions[client, event.session] = found
        return found

    def _root_of(self, project_id: int) -> str:
        return str(one(self.connection.execute("SELECT root FROM projects WHERE id = ?", (project_id,))))

    def _project(self, root: str, cwd: str, now_ms: int) -> int:
        known = self._paths.get(cwd)
        if known is not None:
            return known
        self.connection.execute("INSERT OR IGNORE INTO projects (root, created_ms) VALUES (?, ?)", (root, now_ms))
        project_id = int(one(self.connection.execute("SELECT id FROM projects WHERE root = ?", (root,))))
        self.connection.execute(
            "INSERT INTO project_paths (path, project_id) VALUES (?1, ?2)"
            " ON CONFLICT (path) DO UPDATE SET project_id = ?2",
            (cwd, project_id),
        )
        self._paths[cwd] = project_id
        return project_id

    def _quarantine(self, record: NewRecord, source_id: int, now_ms: int) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO quarantine (source_id, offset, size_bytes, reason, digest, seen_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (source_id, record.offset, record.size_bytes, record.quarantined, record.digest, now_ms),
        )

    def _move_cursor(self, source_id: int, batch: Batch, counts: dict[str, int]) -> None:
        after = batch.after
        adds = ", ".join(f"{name} = {name} + {counts[name]:d}" for name in COUNTERS)
        self.connection.execute(
            "UPDATE sources SET offset = ?, head_bytes = ?, head_digest = ?, tail_digest = ?, size_bytes = ?,"  # noqa: S608 - integers only
            f" mtime_ns = ?, tail_bytes = ?, reader_state = ?, order_ms = ?, read_ms = ?, {adds} WHERE id = ?",
            (
                after.offset, after.head_bytes, after.head_digest, after.tail_digest, after.size_bytes, after.mtime_ns,
                after.tail_bytes, json.dumps(after.reader_state), after.order_ms, batch.now_ms, source_id,
            ),
        )  # fmt: skip

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor under its new path."""
        with self.transaction():
            select = "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?"
            generation = one(self.connection.execute(select, (as_text(path),)))
            self.connection.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (as_text(path), generation, source_id)
            )

    def record_injections(self, session: str, hook: str, said: list[tuple[int, float]], now_ms: int) -> None:
        """Remembers which events (row id, score) were said to a session."""
        with self.transaction():
            self.connection.executemany(
                "INSERT INTO injections (session, event_id, hook, score, said_ms) VALUES (?, ?, ?, ?, ?)",
                [(session, row, hook, score, now_ms) for row, score in said],
            )


def _connect(folder: str, path: str, busy_ms: int, *, create: bool) -> tuple[apsw.Connection, bool]:
    try:
        if create:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        elif not _is_there(path):  # before anything is changed in a folder that may be nobody's store
            raise StoreMissingError(f"there is no memory in {folder}: run `recollect init`")
        status = os.stat(folder)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(folder, 0o700)  # made by somebody who did not know what comes into it
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600))
    except OSError as error:
        if not os.path.exists(path):
            raise StoreError(f"{path}: {error.strerror or error}") from error
        return _connect_read_only(path, busy_ms), True
    connection = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(busy_ms)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")  # what is purged must not rest in a freed page
    connection.wal_autocheckpoint(CHECKPOINT_PAGES)
    return connection, False


def _is_there(path: str) -> bool:
    """Whether there is a database: unlike `exists`, not knowing is an error.

    Raises:
        OSError: it cannot be told.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def _connect_read_only(path: str, busy_ms: int) -> apsw.Connection:
    """A store in a folder that cannot be written is still read: as it is, without its write-ahead log if need be."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(busy_ms)
    try:
        _user_version(connection)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection("file:" + path.replace("%", "%25").replace("?", "%3f") + "?immutable=1", flags)
    return connection


def _user_version(connection: apsw.Connection) -> int:
    return int(one(connection.execute("PRAGMA user_version")))


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
