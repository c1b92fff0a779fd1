"""One SQLite database: how it is opened, its driver, and what every part of the store reads and writes through.

Nothing is written that has not been through the gate, and the driver's errors are the store's own. It is opened to
write where that is possible, to read wherever it is there.
"""

from __future__ import annotations

import contextlib
import errno
import os

import apsw

from howcome.errors import StoreDamagedError, StoreError, StoreLockedError, StoreMissingError
from howcome.log.event_rows import one
from howcome.log.faults import number_of, refusal, shortage
from howcome.log.possession import share
from howcome.log.terms import offer_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    class Gate(Protocol):
        """What every text goes through before it rests; `version` says by which rules."""

        version: int

        def text(self, text: str) -> str:
            """A text as it may rest; one that rests already stays as it is."""

        def value(self, value: object) -> object:
            """Decoded JSON as it may rest."""


class Kept(str):
    """A text whose parts have been through the gate one by one, such as the JSON of gated values: bound as it is."""

    __slots__ = ()


class GatedConnection(apsw.Connection):
    """A connection whose statements get texts as they may rest on disk; `gate` None lets all through (a bare store)."""

    gate: Callable[[str], str] | None = None

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - the driver's own
        super().__init__(*args, **named)
        offer_terms(self)

    def execute(self, statements: str, bindings: Sequence[Any] | None = None) -> apsw.Cursor:  # type: ignore[override]
        """Runs statements; every text that is bound goes through the gate."""
        return super().execute(statements, self._gated(bindings) if bindings else bindings)

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]]) -> apsw.Cursor:  # type: ignore[override]
        """Runs a statement for each row; every text that is bound goes through the gate."""
        return super().executemany(statements, [self._gated(row) for row in sequenceofbindings])

    def execute_gated(self, statements: str, bindings: Sequence[Any]) -> apsw.Cursor:
        """Runs statements with what has been through the gate already, or is only looked for."""
        return super().execute(statements, bindings)

    def as_kept(self, bindings: Sequence[Any]) -> Sequence[Any] | None:
        """What is bound as the store would hold it; None when that is the same."""
        gated = self._gated(bindings)
        return gated if gated != bindings else None

    def _gated(self, bindings: Sequence[Any]) -> Sequence[Any]:
        gate = self.gate
        if gate is None:
            return bindings
        return tuple([gate(value) if type(value) is str else value for value in bindings])


_BROKEN_SCHEMA = ("malformed database schema", "unsupported file format")
_MACHINE = (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.NoMemError, apsw.ReadOnlyError)
_NUMBERS = {
    apsw.FullError: errno.ENOSPC, apsw.NoMemError: errno.ENOMEM, apsw.IOError: errno.EIO,
    apsw.ReadOnlyError: errno.EACCES,
}  # fmt: skip
"""What it is when nothing else is found to be short. SQLite tells the kind of failure, not the system's number."""


@contextlib.contextmanager
def driver_errors(folder: str) -> Iterator[None]:
    """The driver's errors as the store's own, with their cause kept."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLockedError("the store is locked by another process; nothing was written, try again") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
    except apsw.SQLError as error:
        if any(words in str(error) for words in _BROKEN_SCHEMA):
            raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
        raise StoreError(f"the store failed: {error}") from error
    except apsw.Error as error:
        raise refused(error, folder) or StoreError(f"the store failed: {error}") from error


def refused(error: apsw.Error, folder: str) -> StoreError | None:
    """The machine's refusal behind a driver's error; None when it is something else."""
    if not isinstance(error, _MACHINE):
        return None
    number = number_of(error) or shortage(folder) or _NUMBERS.get(type(error))
    return refusal(number) if number is not None else None


def rows_of(connection: GatedConnection, sql: str, values: Sequence[object]) -> list[Any]:
    """What a query selects. Text that is no UTF-8 comes with marks where it is none: one such row must not hide others.

    The driver gives up at the first such value, so the query is asked again with its texts as bytes.
    """
    try:
        return list(connection.execute_gated(sql, values))
    except UnicodeDecodeError:
        from apsw.ext import query_info

        names = [f"c{number}" for number in range(len(query_info(connection, sql).description))]
        one = "typeof({0}), iif(typeof({0}) = 'text', CAST({0} AS BLOB), {0})"
        as_bytes = ", ".join(map(one.format, names))
        again = f"WITH asked ({', '.join(names)}) AS ({sql}) SELECT {as_bytes} FROM asked"  # noqa: S608 - fixed names
        return [tuple(map(_decoded, row[::2], row[1::2])) for row in connection.execute_gated(again, values)]


def _decoded(kind: str, value: Any) -> Any:  # noqa: ANN401 - whatever the query selects
    return value.decode("utf-8", "replace") if kind == "text" else value


ALL_ROWS = (1 << 63) - 1
"""A limit that is none, for each engine."""


class Database:
    """A connection with its folder and its gate; one thread at a time uses it.

    `on_rollback` are told when a transaction was taken back: what they remember of its rows is wrong.
    """

    def __init__(self, connection: GatedConnection, folder: str, gate: Gate | None, *, is_read_only: bool) -> None:
        self.connection, self.folder, self.gate, self.is_read_only = connection, folder, gate, is_read_only
        self.on_rollback: list[Callable[[], None]] = []

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        """The rows of a query; what is not found by its own name may be there by what the gate made of that."""
        with driver_errors(self.folder):
            found = rows_of(self.connection, sql, values)
            kept = None if found else self.connection.as_kept(values)
            return found if kept is None else rows_of(self.connection, sql, kept)

    def row(self, sql: str, values: tuple[object, ...] = ()) -> Any:  # noqa: ANN401 - whatever the query selects
        """The first row of a query, or None."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def execute(self, sql: str, values: Sequence[object] = ()) -> apsw.Cursor:
        """Runs a statement; every text that is bound goes through the gate."""
        return self.connection.execute(sql, values)

    def executemany(self, sql: str, values: Iterable[Sequence[object]]) -> apsw.Cursor:
        """Runs a statement for each row, as `execute`."""
        return self.connection.executemany(sql, values)

    def execute_gated(self, sql: str, values: Sequence[object]) -> apsw.Cursor:
        """Runs a statement with what has been through the gate already."""
        return self.connection.execute_gated(sql, values)

    def savepoint(self) -> contextlib.AbstractContextManager[object]:
        """A part of a transaction: what fails in it is taken back, and the rest stays."""
        return self.connection

    def hide(self, table: str) -> None:
        """From now on an empty temporary table stands in a table's place, for this connection alone."""
        [(made,)] = self.rows("SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", (table,))
        self.execute(str(made).replace("CREATE TABLE", "CREATE TEMP TABLE", 1))

    def last_id(self) -> int:
        """The row id of the last INSERT."""
        return self.connection.last_insert_rowid()

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self.connection.changes()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: everything in it, or nothing."""
        with driver_errors(self.folder):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                for forget in self.on_rollback:
                    forget()
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Meanwhile a write that another process holds up fails at once."""
        [(busy_ms,)] = self.rows("PRAGMA busy_timeout")
        self.connection.set_busy_timeout(0)
        try:
            yield
        finally:
            self.connection.set_busy_timeout(busy_ms)

    def mark(self, kind: str, last: int) -> str:
        """What tells rows of a kind up to a number from others of the same numbers; "" where there is no such row."""
        found = self.row("SELECT mark FROM marks WHERE kind = ? AND last >= ? ORDER BY last LIMIT 1", (kind, last))
        return str(found[0]) if found else ""


# -- opening -----------------------------------------------------------------------------------------------------------
CHECKPOINT_PAGES = 4000
"""The write-ahead log may grow to 16 MB: a bulk import so writes each page of an index once, not at every turn."""

_NO_ROOM = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)


def connect(folder: str, path: str, busy_ms: int, *, create: bool) -> tuple[GatedConnection, bool, int | None]:
    """A connection, whether it only reads, and the share in the folder that it needs as long as it is open."""
    try:
        if create:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        elif not _is_there(path):  # before anything is changed in a folder that may be nobody's store
            raise StoreMissingError(f"there is no memory in {folder}: run `howcome init`")
        status = os.stat(folder)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(folder, 0o700)  # made by somebody who did not know what comes into it
        shared = share(folder, busy_ms / 1000)
    except OSError as error:
        if not os.path.exists(path):
            raise _unopened(path, error) from error
        shared = None
    try:
        return *_opened(path, busy_ms, create=create), shared
    except BaseException:
        if shared is not None:
            os.close(shared)
        raise


def _opened(path: str, busy_ms: int, *, create: bool) -> tuple[GatedConnection, bool]:
    try:
        if create and not _is_there(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = _connect_to_write(path, busy_ms)
    except OSError as error:
        if not os.path.exists(path):
            raise _unopened(path, error) from error
    except _NO_ROOM:  # not even for the log's own index: what is there is still read
        pass
    else:
        return connection, False
    return _connect_read_only(path, busy_ms), True


def _unopened(path: str, error: OSError) -> StoreError:
    is_plain = error.errno in (None, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
    number = None if is_plain else number_of(error)
    return StoreError(f"{path}: {error.strerror or error}") if number is None else refusal(number)


def _connect_to_write(path: str, busy_ms: int) -> GatedConnection:
    """An open file is never closed here, as long as it is the database: with it go all locks that this process has."""
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    connection = GatedConnection(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(busy_ms)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is purged must not rest in a freed page
        connection.wal_autocheckpoint(CHECKPOINT_PAGES)
        user_version(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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


def _connect_read_only(path: str, busy_ms: int) -> GatedConnection:
    """A store in a folder that cannot be written is still read: as it is, without its write-ahead log if need be."""
    connection = GatedConnection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(busy_ms)
    try:
        user_version(connection)
    except _NO_ROOM:
        connection.close()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = GatedConnection("file:" + path.replace("%", "%25").replace("?", "%3f") + "?immutable=1", flags)
    return connection


def files_of(path: str) -> list[tuple[int, int] | None]:
    """Which files a database is: itself, and the index of its log, which is there as long as anybody has it open."""
    found: list[tuple[int, int] | None] = []
    for name in (path, path + "-shm"):
        try:
            status = os.stat(name)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return found


def user_version(connection: apsw.Connection) -> int:
    """The version of a database's schema."""
    return int(one(connection.execute("PRAGMA user_version")))
