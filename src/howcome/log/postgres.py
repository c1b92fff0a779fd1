"""A database on a PostgreSQL server, as the store's parts read and write it, and the driver.

Whoever writes holds one row (`log_position`) from the beginning of its transaction: like SQLite's writers they come one
after the other, and positions follow the order of commit, without gaps.

Statements are written for SQLite. What the server has by another name it is given by name (`postgres_migrations`);
here is what is left: how values are marked, and the two forms of INSERT. The driver's errors are the store's own.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict

from howcome.errors import StoreError, StoreLockedError
from howcome.log.database import Database
from howcome.log.postgres_schema import SCHEMA
from howcome.log.terms import MemoryTerms

logging.getLogger("psycopg").addHandler(logging.NullHandler())
"""It would write to the error stream what it raises anyway."""

_CONNECT = {"connect_timeout": 5, "keepalives_idle": 30, "tcp_user_timeout": 30_000, "application_name": "howcome"}
"""What a DSN may say otherwise. A server that is gone without a word is given up after half a minute."""

_IDLE = "5min"
"""A client that hangs in the middle of a transaction keeps all others from writing: the server ends it then."""

_UNLIMITED = (
    "SELECT set_config(name, '0', false)"
    " FROM (VALUES ('timescaledb.max_tuples_decompressed_per_dml_transaction')) one (name)"
    " WHERE current_setting(name, true) IS NOT NULL"
)
"""Joined projects and old tool traffic are changed in compressed chunks, too: 100,000 rows a transaction by default."""

_MARK = re.compile(r"\?(\d*)|(%)|(?<![\w\"])offset\b|\bchar\((?=\d)|SELECT value FROM json_each\b")
_WORDS = {
    "offset": '"offset"',
    "char(": "chr(",
    "SELECT value FROM json_each": "SELECT value::bigint FROM json_each",
}
_INSERT_OR = re.compile(r"INSERT OR (IGNORE|REPLACE) INTO (\w+)\s*(\([^)]*\))?")
_LOCKED = ("55P03", "40001", "40P01")  # lock_not_available, serialization_failure, deadlock_detected
_KINDS = {
    "28": "it does not let this user in",
    "3D": "it has no such database",
    "42501": "this user may not do that there",
    "25006": "it can only be read from now: perhaps another server has taken its place",
    "53100": "its disk is full",
    "53": "it has no room for more (connections, memory)",
}
"""Codes of PostgreSQL's errors (their beginning) → what is said."""


class _Number(Loader):
    """Sums of whole numbers are whole numbers."""

    def load(self, data: bytes | bytearray | memoryview) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


def connect(dsn: str, schema: str, busy_ms: int, password: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection that commits each statement by itself; values are put into statements here, so that each has a type.

    Raises:
        StoreError: it cannot be had.
    """
    try:
        given = conninfo_to_dict(dsn)
        more = {**_CONNECT, **({"password": password} if password else {})}
        connection = psycopg.connect(
            dsn, autocommit=True, cursor_factory=psycopg.ClientCursor,
            **{name: value for name, value in more.items() if name not in given},  # type: ignore[arg-type]
        )  # fmt: skip
    except psycopg.Error as error:
        why = " ".join(str(error).split()).partition(" Is the server running")[0].removeprefix("connection failed: ")
        raise StoreError(f"the store's server cannot be used: {why}") from error
    connection.adapters.register_loader("numeric", _Number)
    connection.execute(
        f'SET search_path = "{schema}", public; SET client_min_messages = error; SET client_encoding = utf8;'
        f" SET lock_timeout = {busy_ms:d}; SET idle_in_transaction_session_timeout = '{_IDLE}'; {_UNLIMITED}"
    )
    return connection


def shown(dsn: str) -> str:
    """A server as people are told of it, without its password: `postgresql://user@host:port/database`."""
    given = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
    user, port = given.get("user", ""), given.get("port", "")
    where = given.get("host", "localhost") + (f":{port}" if port else "")
    return f"postgresql://{user}{'@' if user else ''}{where}/{given.get('dbname', user)}"


@contextlib.contextmanager
def _postgres_errors(place: str) -> Iterator[None]:
    """The driver's errors as the store's own; what the server quotes of a row is not repeated."""
    try:
        yield
    except psycopg.Error as error:
        if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:  # the driver's: nothing was asked
            raise TypeError(str(error)) from error
        raise _converted(error, place) from error


def _converted(error: psycopg.Error, place: str) -> StoreError:
    code = error.sqlstate or ""
    if code in _LOCKED:
        return StoreLockedError("the store is locked by another process; nothing was written, try again")
    known = next((words for start, words in _KINDS.items() if code.startswith(start)), None)
    if known is not None:
        return StoreError(f"the store's server ({place}): {known}")
    if isinstance(error, psycopg.OperationalError) and not code.startswith(("22", "23", "42")):
        why = " ".join((error.diag.message_primary or str(error)).split())
        return StoreError(
            f"the store's server ({place}) went away ({why}): what it has not confirmed is not stored; try again"
        )
    return StoreError(f"the store failed: {error.diag.message_primary or str(error).partition(chr(10))[0]}")


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """A statement with `%(1)s` for `?1`, or the first `?`."""
    count = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal count
        number, percent = found[1], found[2]
        if number is None:
            return "%%" if percent else _WORDS[found[0]]
        count = int(number) if number else count + 1
        return f"%({count})s"

    return _MARK.sub(replace, sql)


def _insert_or(sql: str) -> tuple[str, str, str] | None:
    """IGNORE or REPLACE, the table, and the columns (with parentheses) of an INSERT that says so."""
    found = _INSERT_OR.match(sql)
    return (found[1], found[2], found[3] or "") if found else None


def _plain_insert(sql: str, end: str) -> str:
    """The same INSERT, with another end."""
    return _INSERT_OR.sub(r"INSERT INTO \2 \3", sql, count=1) + f" ON CONFLICT {end}"


def without_nul(value: str) -> str:
    """A text as the server takes it: a mark stands for character 0, which it has not."""
    return value.replace("\0", "\u2400") if "\0" in value else value


def _bound(values: Sequence[object]) -> dict[str, object]:
    """Values by their numbers."""
    return {str(number): bindable(value) for number, value in enumerate(values, 1)}


def bindable(value: object) -> object:
    """A value as both engines take it: no character 0 in a text, and numbers for booleans."""
    if isinstance(value, str):
        return without_nul(str(value))
    return int(value) if isinstance(value, bool) else value


class PostgresDatabase(Database):
    """A connection, which is made anew where it was lost; one thread at a time uses it.

    `position` is the last one given; who holds the lock of writers may give the next.
    """

    def __init__(self, dsn: str, folder: str, busy_ms: int, password: str = "") -> None:
        self.folder, self.gate, self.is_read_only = folder, None, False
        self.on_rollback, self.position, self.place = [], 0, shown(dsn)
        self._dsn, self._busy_ms, self._is_hiding, self._writes_memories = dsn, busy_ms, False, False
        self._password = password
        self._server = connect(dsn, SCHEMA, busy_ms, password)
        self._last: psycopg.Cursor[Any] | None = None

    # -- reading ---------------------------------------------------------------------------------------------------
    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        """The rows of a query; what is not found by its own name may be there by what the gate made of that."""
        with self.errors():
            found = self._run(sql, values).fetchall()
            kept = values if found else self._gated(values)
            return found if kept == values else self._run(sql, kept).fetchall()

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """What the driver says, as the store's own errors."""
        return _postgres_errors(self.place)

    @property
    def server(self) -> psycopg.Connection[Any]:
        """The connection; one that was lost is made anew, but not in the middle of a transaction."""
        if self._server.closed:
            if self._is_hiding:
                raise StoreError("the store's server was lost, and with it what was to be forgotten: begin again")
            self._server = connect(self._dsn, SCHEMA, self._busy_ms, self._password)
        return self._server

    def _run(self, sql: str, values: Sequence[object]) -> psycopg.Cursor[Any]:
        sql = self._plain(sql) if sql.startswith("INSERT OR ") else sql
        self._writes_memories |= " memories " in sql and not sql.startswith(("SELECT", "WITH"))
        query = translated(sql) if values else translated(sql).replace("%%", "%")
        self._last = self.server.execute(query, _bound(values) if values else None)
        return self._last

    def _gated(self, values: Sequence[object]) -> tuple[object, ...]:
        gate = self.gate
        return tuple(gate.text(value) if gate is not None and type(value) is str else value for value in values)

    # -- writing ---------------------------------------------------------------------------------------------------
    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:  # noqa: ANN401 - the driver's
        """Runs a statement; every text that is bound goes through the gate."""
        return self._run(sql, self._gated(values))

    def executemany(self, sql: str, values: Iterable[Sequence[object]]) -> Any:  # noqa: ANN401 - the driver's
        """Runs a statement for each row, as `execute`."""
        rows = [_bound(self._gated(row)) for row in values]
        sql = self._plain(sql) if sql.startswith("INSERT OR ") else sql
        self._last = cursor = self.server.cursor()
        cursor.executemany(translated(sql), rows)
        return cursor

    def execute_gated(self, sql: str, values: Sequence[object]) -> Any:  # noqa: ANN401 - the driver's
        """Runs a statement with what has been through the gate already."""
        return self._run(sql, values)

    def last_id(self) -> int:
        """The row id of the last INSERT."""
        return int(self.server.execute("SELECT lastval()").fetchall()[0][0])

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return 0 if self._last is None else self._last.rowcount

    def copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Adds many rows at once; their texts have been through the gate already."""
        names = ", ".join(f'"{name}"' for name in columns)
        self._writes_memories |= table == "memories"
        with self.server.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as stream:
            for row in rows:
                stream.write_row(row)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: everything in it, or nothing."""
        with self.errors():
            server = self.server
            try:
                begun = server.execute("BEGIN; SELECT last FROM log_position FOR UPDATE")
                begun.nextset()
                [(self.position,)] = begun.fetchall()
                yield
                if self._writes_memories:
                    self._write_words()
                server.execute("COMMIT")
            except BaseException:
                for forget in self.on_rollback:
                    forget()
                with contextlib.suppress(psycopg.Error):
                    server.execute("ROLLBACK")
                raise
            finally:
                self._writes_memories = False

    @contextlib.contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction: what fails in it is taken back, and the rest stays."""
        position = self.position
        self.server.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            self.position = position
            self.server.execute("ROLLBACK TO part")
            raise
        self.server.execute("RELEASE part")

    @contextlib.contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Meanwhile a write that another process holds up fails at once."""
        with self.errors():
            self.server.execute("SET lock_timeout = 1")
            try:
                yield
            finally:
                self.server.execute(f"SET lock_timeout = {self._busy_ms:d}")

    def hide(self, table: str) -> None:
        """From now on an empty temporary table stands in a table's place, for this connection alone."""
        self._is_hiding = True
        self.execute(f"CREATE TEMP TABLE {table} (LIKE {table} INCLUDING ALL)")

    def set_numbers(self) -> None:
        """New rows get numbers behind those that are there: for rows that came with their own."""
        for table, (_, key) in self._keys.items():
            if key == ["id"] and (found := self.row(f"SELECT pg_get_serial_sequence('{table}', 'id')"))[0]:
                self.execute(f"SELECT setval('{found[0]}', greatest(max(id), 1)) FROM {table}")  # noqa: S608 - the schema's names

    def close(self) -> None:
        """Gives the connection back."""
        self._server.close()

    # -- what differs ----------------------------------------------------------------------------------------------
    def _plain(self, sql: str) -> str:
        """INSERT OR IGNORE, or REPLACE, in PostgreSQL's words."""
        kind, table, columns = _insert_or(sql) or ("", "", "")
        if kind == "IGNORE":
            return _plain_insert(sql, "DO NOTHING")
        all_columns, key = self._keys[table]
        named = [name.strip() for name in columns.strip("()").split(",")] if columns else all_columns
        others = ", ".join(f"{name} = excluded.{name}" for name in named if name not in key)
        return _plain_insert(sql, f"({', '.join(key)}) DO " + (f"UPDATE SET {others}" if others else "NOTHING"))

    @cached_property
    def _keys(self) -> dict[str, tuple[list[str], list[str]]]:
        """Each table's columns, and those of its primary key."""
        found: dict[str, tuple[list[str], list[str]]] = {}
        for table, column, is_key in self.server.execute(
            "SELECT c.relname, a.attname, a.attnum = ANY(i.indkey) FROM pg_class c"
            " JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relnamespace = to_regnamespace(current_schema()) ORDER BY c.relname, a.attnum"
        ).fetchall():
            columns, key = found.setdefault(table, ([], []))
            columns.append(column)
            key += [column] if is_key else []
        return found

    def _write_words(self) -> None:
        """Memories that came or changed get their words; within a transaction."""
        found = self.server.execute(
            "WITH gone AS (DELETE FROM memory_unworded RETURNING memory_id)"
            " SELECT id, text FROM memories JOIN gone ON id = memory_id"
        ).fetchall()
        for row, text in found:
            words: dict[str, tuple[int, int]] = json.loads(self._terms(text.encode()))
            self.copy(
                "memory_words",
                ("term", "memory_id", "count", "words"),
                [(term, row, count, all_words) for term, (count, all_words) in words.items()],
            )

    @cached_property
    def _terms(self) -> MemoryTerms:
        return MemoryTerms()
