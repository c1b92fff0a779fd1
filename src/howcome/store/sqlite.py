"""The store on one SQLite file (through APSW) with its lexical index beside it.

WAL, `busy_timeout` set before anything else, `BEGIN IMMEDIATE` for every write, small transactions. Nothing here ever
deletes or renames the database: BUSY is not corruption, and a damaged file is left for a person to look at.
"""

from __future__ import annotations

import contextlib
import os
import time

import apsw

from howcome.errors import StoreError, StoreNewerError
from howcome.store.driver import driver_errors
from howcome.store.gated import Kept
from howcome.store.sqlite_answers import SqliteAnswers
from howcome.store.sqlite_distil_batches import SqliteDistilBatches
from howcome.store.sqlite_graph import SqliteGraph
from howcome.store.sqlite_opening import connect, files_of, user_version
from howcome.store.sqlite_rewriting import RULES_VERSION, SqliteRewriting
from howcome.store.sqlite_spending import SqliteSpending
from howcome.store.sqlite_turns import SqliteTurns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.store.base import Gate, Store

SCHEMA_VERSION = 13
BUSY_TIMEOUT_MS = 5000
DATABASE_NAME = "howcome.db"
_MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")


class SqliteStore(
    SqliteRewriting, SqliteTurns, SqliteDistilBatches, SqliteGraph, SqliteAnswers, SqliteSpending
):
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
        self._sessions, self._paths = {}, {}
        with driver_errors(self.folder):
            self.connection, self.is_read_only, self._share = connect(folder, self.path, busy_ms, create=create)
            self.connection.gate = None if gate is None else gate.text
            version = user_version(self.connection)
            if version != SCHEMA_VERSION:
                if self.is_read_only and version < SCHEMA_VERSION:
                    raise StoreError(f"{self.path} is an older howcome's: make it writable once, to be migrated")
                self._migrate(busy_ms)
        self._files = files_of(self.path)

    @property
    def is_current(self) -> bool:
        """Whether the database in the folder is still the one that is open: somebody may have put another there."""
        return files_of(self.path) == self._files

    def close(self) -> None:
        """Gives back the index's lock and closes the connection; the store can be opened again."""
        try:
            self.release_index()
        finally:
            if not self.is_current:  # the log of that name is another database's: it must not be taken away
                with contextlib.suppress(apsw.ConnectionClosedError):
                    self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
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
        from howcome.store.index_files import broken_files

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
                    f"the store has schema {version}, this howcome knows {SCHEMA_VERSION}: upgrade howcome"
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

    def record_injections(self, session: str, hook: str, said: list[tuple[int, float]], now_ms: int) -> None:
        """Remembers which events (row id, score) were said to a session."""
        with self.transaction():
            self.connection.executemany(
                "INSERT INTO injections (session, event_id, hook, score, said_ms) VALUES (?, ?, ?, ?, ?)",
                [(session, row, Kept(hook), score, now_ms) for row, score in said],
            )


def create_database(path: str, version: int = SCHEMA_VERSION) -> None:
    """Makes an empty database (0600) of a schema's version.

    Raises:
        StoreNewerError: this howcome does not know the version.
    """
    if version > SCHEMA_VERSION:
        raise StoreNewerError(f"it has schema {version}, this howcome knows {SCHEMA_VERSION}: upgrade howcome")
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
