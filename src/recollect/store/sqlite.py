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
from recollect.errors import CursorMovedError, StoreDamagedError, StoreError, StoreLockedError, StoreNewerError
from recollect.store.lexical import LexicalIndex
from recollect.store.sqlite_reads import SqliteReads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.domain.sources import Batch, NewEvent, NewRecord
    from recollect.domain.stored import Filter, Hit, Weights
    from recollect.store.lexical_writer import LexicalWriter
    from recollect.store.base import Store

SCHEMA_VERSION = 1
BUSY_TIMEOUT_MS = 5000
DATABASE_NAME = "recollect.db"
_MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
_INSERT_EVENT = (
    "INSERT INTO events (key, session_id, project_id, source_id, offset, kind, origin, ts_ms, order_ms, tool,"
    " tool_use_id, file, branch, agent_id, failed, exit_code, text_chars, excerpt, payload)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING"
)


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    """The driver's errors as the store's own, with their cause kept."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLockedError("the store is locked by another process; nothing was written, try again") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
    except apsw.Error as error:
        raise StoreError(f"the store failed: {error}") from error


class SqliteStore(SqliteReads):
    """Events, sessions, projects, cursors and injections in one file; see `store.base.Store` for the contract."""

    def __init__(self, folder: str, *, busy_ms: int = BUSY_TIMEOUT_MS) -> None:
        """Opens the store in `folder`, creating it (0700, files 0600) or migrating it when needed.

        Raises:
            StoreError: it cannot be opened; StoreNewerError when a newer version wrote it.
        """
        self.folder = folder
        self.path = os.path.join(folder, DATABASE_NAME)
        self._sessions: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._paths: dict[str, int] = {}
        self._index: LexicalIndex | None = None
        self._index_writer: LexicalWriter | None = None
        with driver_errors():
            self.connection, self.is_read_only = _connect(folder, self.path, busy_ms)
            if _user_version(self.connection) != SCHEMA_VERSION:
                self._migrate(busy_ms)

    def close(self) -> None:
        """Gives back the index's lock and closes the connection; the store can be opened again."""
        self.release_index()
        self.connection.close()

    @property
    def index(self) -> LexicalIndex:
        """The lexical index, opened on first use."""
        if self._index is None:
            self._index = LexicalIndex(os.path.join(self.folder, "index"))
        return self._index

    def analyze(self, text: str) -> list[str]:
        """The terms of a question."""
        return self.index.analyze(text)

    def weigh(self, terms: Sequence[str]) -> Weights:
        """What a question's terms are worth."""
        return self.index.weigh(terms)

    def search_events(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events whose window holds the terms."""
        return self.index.search_events(weights, wanted, limit)

    def search_exchanges(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Exchanges that hold the terms."""
        return self.index.search_exchanges(weights, wanted, limit)

    def name_frequencies(self, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many events there are, and how many mention each name."""
        return self.index.name_frequencies(names)

    def search_names(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events that mention the names."""
        return self.index.search_names(weights, wanted, limit)

    def similar_terms(self, term: str, limit: int = 8) -> list[tuple[str, int]]:
        """Known terms that begin like an unknown one."""
        return self.index.similar_terms(term, limit)

    def search_fuzzy(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events with a word one edit away from a term."""
        return self.index.search_fuzzy(weights, wanted, limit)

    def index_lag(self) -> int:
        """How many rows the index has not seen yet (the newest may hold nothing to index)."""
        from recollect.store.lexical_writer import last_indexed_row

        return max(0, self.last_row() - last_indexed_row(self.index))

    def catch_up_index(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """Adds the rows that the index does not hold yet, and makes them searchable.

        Args:
            texts: Search texts already at hand, by row id; others are read from the rows.
            deadline: `time.monotonic()` after which it stops; the rest is left to the next pass.

        Returns:
            How many rows were added, or None when another process is at it (it, or the next pass, adds ours too).
        """
        if self._index_writer is None:
            from recollect.store.lexical_writer import LexicalWriter

            writer = LexicalWriter(self, self.index)
            if not writer.open():
                return None
            self._index_writer = writer
        added = self._index_writer.add_new_rows(texts or {}, deadline)
        if added:
            self._index_writer.commit()
        return added

    def release_index(self, *, wait_for_merges: bool = False) -> None:
        """Gives the index's write lock back to other processes."""
        if self._index_writer is not None:
            self._index_writer.close(wait=wait_for_merges)
            self._index_writer = None

    def rebuild_index(self) -> int:
        """Builds the index anew from the rows. Returns how many rows it holds.

        Raises:
            StoreLockedError: another process is writing the index.
        """
        self.release_index()
        self._index = None
        folder = os.path.join(self.folder, "index")
        aside = f"{folder}-old-{os.getpid()}"
        if os.path.isdir(folder):
            os.rename(folder, aside)
        added = self.catch_up_index()
        _remove_tree(aside)
        if added is None:
            raise StoreLockedError("another process is writing the index; try again")
        return added

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
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                self._sessions.clear()
                self._paths.clear()
                raise
            self.connection.execute("COMMIT")

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
            (after.path, after.client, after.generation),
        )
        if not self.connection.changes() or expected != 0:
            raise CursorMovedError(f"{after.path}: another process is reading it")
        source_id = self.connection.last_insert_rowid()
        self.connection.execute(
            "UPDATE sources SET is_current = 0 WHERE path = ? AND generation < ?", (after.path, after.generation)
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
        if resolved == root or (not is_certain and cwd.startswith(root.rstrip("/") + "/")):
            return session_id, project_id
        return session_id, self._project(resolved, cwd, batch.now_ms)

    def _session(self, batch: Batch, event: NewEvent) -> tuple[int, int, str]:
        client = batch.after.client
        find = (
            "SELECT s.id, s.project_id, p.root FROM sessions s JOIN projects p ON p.id = s.project_id"
            " WHERE s.name = ? AND s.client = ?"
        )
        found = self.connection.execute(find, (event.session, client)).fetchone()
        if found is None:
            cwd = event.cwd or ""
            project_id = self._project(batch.roots.get(cwd, (cwd, False))[0], cwd, batch.now_ms)
            self.connection.execute(
                "INSERT INTO sessions (client, name, project_id) VALUES (?, ?, ?)", (client, event.session, project_id)
            )
            found = self.connection.execute(find, (event.session, client)).fetchone()
        self._sessions[client, event.session] = found
        return found  # type: ignore[no-any-return]

    def _project(self, root: str, cwd: str, now_ms: int) -> int:
        known = self._paths.get(cwd)
        if known is not None:
            return known
        self.connection.execute("INSERT OR IGNORE INTO projects (root, created_ms) VALUES (?, ?)", (root, now_ms))
        project_id: int = self.connection.execute("SELECT id FROM projects WHERE root = ?", (root,)).fetchone()[0]
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
            generation = self.connection.execute(
                "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?", (path,)
            ).fetchone()[0]
            self.connection.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (path, generation, source_id)
            )

    def record_injections(self, session: str, hook: str, said: list[tuple[int, float]], now_ms: int) -> None:
        """Remembers which events (row id, score) were said to a session."""
        with self.transaction():
            self.connection.executemany(
                "INSERT INTO injections (session, event_id, hook, score, said_ms) VALUES (?, ?, ?, ?, ?)",
                [(session, row, hook, score, now_ms) for row, score in said],
            )


def _connect(folder: str, path: str, busy_ms: int) -> tuple[apsw.Connection, bool]:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if not os.path.exists(path):
            raise StoreError(f"{path}: {error.strerror or error}") from error
        return _connect_read_only(path, busy_ms), True
    connection = apsw.Connection(path)
    connection.set_busy_timeout(busy_ms)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection, False


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


def _remove_tree(folder: str) -> None:
    """Derived files only: an index that was replaced."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _user_version(connection: apsw.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
