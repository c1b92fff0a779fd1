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

from recollect.domain.sources import COUNTERS, SET_ASIDE
from recollect.errors import CursorMovedError, StoreError, StoreNewerError
from recollect.store.driver import driver_errors
from recollect.store.gated import Kept
from recollect.store.sqlite_answers import SqliteAnswers
from recollect.store.sqlite_distil_batches import SqliteDistilBatches
from recollect.store.sqlite_graph import SqliteGraph
from recollect.store.sqlite_opening import connect, user_version
from recollect.store.sqlite_projects import SqliteProjects
from recollect.store.sqlite_reads import as_text, one
from recollect.store.sqlite_rewriting import RULES_VERSION, SqliteRewriting
from recollect.store.sqlite_spending import SqliteSpending
from recollect.store.sqlite_turns import SqliteTurns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.domain.sources import Batch, NewEvent, NewRecord
    from recollect.store.base import Gate, Store

SCHEMA_VERSION = 13
BUSY_TIMEOUT_MS = 5000
DATABASE_NAME = "recollect.db"
_MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
_INSERT_EVENT = (
    "INSERT INTO events (key, session_id, project_id, source_id, offset, kind, origin, ts_ms, order_ms, tool,"
    " tool_use_id, file, branch, agent_id, failed, exit_code, text_chars, excerpt, payload)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING"
)
_ADD_COUNTS = ", ".join(f"{name} = {name} + ?" for name in COUNTERS)
_COUNT = f"UPDATE sources SET {_ADD_COUNTS} WHERE id = ?"  # noqa: S608 - fixed names
_MOVE_CURSOR = (
    "UPDATE sources SET offset = ?, head_bytes = ?, head_digest = ?, tail_digest = ?, size_bytes = ?, mtime_ns = ?,"  # noqa: S608 - fixed names
    f" tail_bytes = ?, reader_state = ?, order_ms = ?, read_ms = ?, {_ADD_COUNTS} WHERE id = ?"
)


class SqliteStore(
    SqliteRewriting, SqliteTurns, SqliteDistilBatches, SqliteGraph, SqliteAnswers, SqliteSpending, SqliteProjects
):  # fmt: skip
    """Events, sessions, projects, cursors and injections in one file; see `store.base.Store` for the contract."""

    def __init__(
        self, folder: str, *, busy_ms: int = BUSY_TIMEOUT_MS, create: bool = True, gate: Gate | None = None
    ) -> None:
        """Opens the store in `folder`, creating it (0700, files 0600) unless told not to, or migrating it when needed.

        Every text that is written goes through the `gate`; without one it is as it comes (for tests of the store).

        Raises:
            StoreError: it cannot be opened; StoreNewerError when a newer version wrote it, StoreMissingError when it is
                not there and must not be created.
        """
        self.folder, self.gate = folder, gate
        self.path = os.path.join(folder, DATABASE_NAME)
        self._sessions: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._paths: dict[str, int] = {}
        with driver_errors(self.folder):
            self.connection, self.is_read_only, self._share = connect(folder, self.path, busy_ms, create=create)
            self.connection.gate = None if gate is None else gate.text
            version = user_version(self.connection)
            if version != SCHEMA_VERSION:
                if self.is_read_only and version < SCHEMA_VERSION:
                    raise StoreError(f"{self.path} is an older recollect's: make it writable once, to be migrated")
                self._migrate(busy_ms)

    def close(self) -> None:
        """Gives back the index's lock and closes the connection; the store can be opened again."""
        try:
            self.release_index()
        finally:
            self.connection.close()
            if self._share is not None:
                os.close(self._share)
                self._share = None

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        for index in (self._index, self._memory_index):
            if index is not None:
                index.refresh()

    def verify_indexes(self) -> list[str]:
        """Reads every file of the lexical indexes; what is wrong with those that are not as they were written.

        An index with such a file is given up: nothing is found by it until the next pass has made it anew.
        """
        from recollect.store.index_files import broken_files

        found = []
        for index in (self.index, self.memory_index):
            broken = [name for folder in index.folders for name in broken_files(folder)]
            if broken:
                index.give_up()
                found.append(f"the {index.title} is damaged ({broken[0]})")
        return found

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
            version = user_version(self.connection)
            if version > SCHEMA_VERSION:
                raise StoreNewerError(
                    f"the store has schema {version}, this recollect knows {SCHEMA_VERSION}: upgrade recollect"
                )
            _apply(self.connection, version, SCHEMA_VERSION)
            if not version and self.gate is not None:  # an older store says nothing: its texts are to be gated again
                self.connection.execute("INSERT INTO meta VALUES (?, ?)", (RULES_VERSION, self.gate.version))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: everything in it, or nothing."""
        with driver_errors(self.folder):
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
        with self.transaction():
            return self._add_batch(batch)

    def add_batches(self, batches: Sequence[Batch]) -> list[tuple[dict[str, int], dict[int, str]] | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved.

        Raises:
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        found: list[tuple[dict[str, int], dict[int, str]] | None] = []
        with self.transaction():
            for batch in batches:
                try:
                    with self.connection:  # a savepoint
                        found.append(self._add_batch(batch))
                except CursorMovedError:
                    found.append(None)
        return found

    def _add_batch(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        source_id = self._claim_source(batch)
        for record in batch.records:
            self._add_record(record, source_id, batch, counts, new_rows)
        if new_rows:
            self._mark_events(max(new_rows))
        self._move_cursor(source_id, batch, counts)
        batch.after.id = source_id
        return counts, new_rows

    def readmit(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds the events of a record that was set aside, and moves its bytes to the account where they belong.

        Args:
            batch: The record, and the cursor of its source, which stays where it is.

        Returns:
            As `add_batch`; `records` is 0, and nothing is counted when somebody else has done it.
        """
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        [record], source_id = batch.records, batch.after.id or 0
        with self.transaction():
            sql = "DELETE FROM quarantine WHERE source_id = ? AND offset = ? AND reason = ?"
            self.connection.execute(sql, (source_id, record.offset, SET_ASIDE))
            if not self.connection.changes():
                return counts, new_rows
            self._add_record(record, source_id, batch, counts, new_rows)
            if new_rows:
                self._mark_events(max(new_rows))
            counts["records"] -= 1
            counts["quarantined"] -= 1
            counts["quarantined_bytes"] -= record.size_bytes
            self._count(source_id, counts)
        return counts, new_rows

    def _count(self, source_id: int, counts: dict[str, int]) -> None:
        self.connection.execute(_COUNT, (*(counts[name] for name in COUNTERS), source_id))

    def _mark_events(self, last: int) -> None:
        values = "INSERT OR REPLACE INTO marks VALUES ('events', ?, hex(randomblob(16)))"
        self.connection.execute(values, (last,))

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless, to be made anew from them.

        For whoever changes or moves rows that were there: events are else only ever added.
        """
        with self.transaction():
            self.connection.execute("UPDATE marks SET mark = hex(randomblob(16))")
            if last := int(one(self.connection.execute("SELECT coalesce(max(id), 0) FROM events"))):
                self._mark_events(last)

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
        self.connection.execute_gated(  # by `ingest.prepare`
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
        is_below = root != "/" and resolved.startswith(root + "/")  # "/" is the root of what names no folder
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
        project_id = self.project_of_root(root)
        if project_id is None and root[1:3] == ":/":  # a folder of another machine, whose repository nobody can look at
            from recollect.domain.windows import windows_parents

            project_id = next(filter(None, map(self.project_of_root, windows_parents(root))), None)
        if project_id is None:
            self.connection.execute("INSERT INTO projects (root, created_ms) VALUES (?, ?)", (root, now_ms))
            project_id = self.connection.last_insert_rowid()
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
        self.connection.execute(
            _MOVE_CURSOR,
            (
                after.offset, after.head_bytes, after.head_digest, after.tail_digest, after.size_bytes, after.mtime_ns,
                after.tail_bytes, Kept(json.dumps(after.reader_state)), after.order_ms, batch.now_ms,
                *(counts[name] for name in COUNTERS), source_id,
            ),
        )  # fmt: skip
        self.connection.execute("DELETE FROM trials WHERE path = ? AND offset < ?", (as_text(after.path), after.offset))

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


def create_database(path: str, version: int = SCHEMA_VERSION) -> None:
    """Makes an empty database (0600) of a schema's version.

    Raises:
        StoreNewerError: this recollect does not know the version.
    """
    if version > SCHEMA_VERSION:
        raise StoreNewerError(f"it has schema {version}, this recollect knows {SCHEMA_VERSION}: upgrade recollect")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with contextlib.closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)) as connection, connection:
        _apply(connection, 0, version)


def _apply(connection: apsw.Connection, version: int, wanted: int) -> None:
    """The migrations after a version, up to another; within a transaction."""
    for name in sorted(os.listdir(_MIGRATIONS)):
        if name.endswith(".sql") and version < int(name.split("_")[0]) <= wanted:
            with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as script:
                connection.execute(script.read())
    connection.execute(
        "INSERT OR IGNORE INTO meta (name, value) VALUES ('key', ?), ('created_ms', ?)",
        (os.urandom(32), int(time.time() * 1000)),
    )
    connection.pragma("user_version", wanted)


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
