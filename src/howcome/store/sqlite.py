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
from howcome.index.lexical_search import LexicalSearch
from howcome.log.database import Database, GatedConnection, connect, driver_errors, files_of, user_version
from howcome.log.place import database_bytes, database_path
from howcome.store.parts import StoreParts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.index.search_index import SearchIndex
    from howcome.log.database import Gate
    from howcome.log.event_log import EventLog

SCHEMA_VERSION = 25
BUSY_TIMEOUT_MS = 5000

_MIGRATIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "log", "migrations")


class SqliteStore(StoreParts):
    """A store in a folder; `path` is its database."""

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
        self.path = database_path(folder)
        with driver_errors(self.folder):
            self.connection, is_read_only, self._share = connect(folder, self.path, busy_ms, create=create)
            self.database = Database(self.connection, folder, gate, is_read_only=is_read_only)
            version = user_version(self.connection)
            if version != SCHEMA_VERSION:
                if is_read_only and version < SCHEMA_VERSION:
                    raise StoreError(f"{self.path} is an older howcome's: make it writable once, to be migrated")
                self._migrate(busy_ms)  # binds nobody's texts, and a gate may need the key that it makes
        self.connection.gate = None if gate is None else gate.text
        self._files = files_of(self.path)
        self._compose(self.database, self._index_of)

    def _index_of(self, log: EventLog) -> SearchIndex:
        self._lexical = LexicalSearch(self.folder, log, lambda: self.is_current)
        return self._lexical

    def verify_indexes(self) -> list[str]:
        """Reads every file of the lexical index; what is wrong with those that are not as they were written.

        An index with such a file is given up: nothing is found by it until the next pass has made it anew.
        """
        from howcome.index.index_files import broken_files

        index = self._lexical
        broken = [name for folder in index.folders for name in broken_files(folder)]
        if not broken:
            return []
        index.give_up()
        return [f"the {index.title} is damaged ({broken[0]})"]

    @property
    def is_current(self) -> bool:
        """Whether the database in the folder is still the one that is open: somebody may have put another there."""
        return files_of(self.path) == self._files

    @property
    def size_bytes(self) -> int:
        """What the rows take on disk, with their log, which may go at any moment."""
        return database_bytes(self.folder)

    def close(self) -> None:
        """Gives back the index's lock and closes the connection; the store can be opened again."""
        try:
            self._lexical.release()
        finally:
            if not self.is_current:  # the log of that name is another database's: it must not be taken away
                with contextlib.suppress(apsw.ConnectionClosedError):
                    self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self.connection.close()
            if self._share is not None:
                os.close(self._share)
                self._share = None

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
                from howcome.store.rewriting import RULES_VERSION

                self.connection.execute("INSERT INTO meta VALUES (?, ?)", (RULES_VERSION, self.gate.version))

    def check_integrity(self) -> list[str]:
        """What SQLite finds wrong with the file; [] when nothing."""
        found = [row[0] for row in self.database.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found


def create_database(path: str, version: int = SCHEMA_VERSION) -> None:
    """Makes an empty database (0600) of a schema's version."""
    if version > SCHEMA_VERSION:
        raise StoreNewerError(f"it has schema {version}, this howcome knows {SCHEMA_VERSION}: upgrade howcome")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with contextlib.closing(GatedConnection(path, apsw.SQLITE_OPEN_READWRITE)) as connection, connection:
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
