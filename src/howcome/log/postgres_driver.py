"""PostgreSQL's driver: the store's statements as the server wants them, and its errors as the store's own.

Statements are written for SQLite. What the server has by another name it is given by name (`postgres_migrations`);
here is what is left: how values are marked, and the two forms of INSERT.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict

from howcome.errors import StoreError, StoreLockedError

_CONNECT = {"connect_timeout": 5, "keepalives_idle": 30, "tcp_user_timeout": 30_000, "application_name": "howcome"}
"""What a DSN may say otherwise. A server that is gone without a word is given up after half a minute."""

_IDLE = "5min"
"""A client that hangs in the middle of a transaction keeps all others from writing: the server ends it then."""

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
        connection = _connected(dsn, given, password)
    except psycopg.Error as error:
        why = " ".join(str(error).split()).partition(" Is the server running")[0].removeprefix("connection failed: ")
        raise StoreError(f"the store's server cannot be used: {why}") from error
    connection.adapters.register_loader("numeric", _Number)
    connection.execute(
        f'SET search_path = "{schema}", public; SET client_min_messages = error; SET client_encoding = utf8;'
        f" SET lock_timeout = {busy_ms:d}; SET idle_in_transaction_session_timeout = '{_IDLE}'"
    )
    return connection


def _connected(dsn: str, given: Mapping[str, object], password: str) -> psycopg.Connection[tuple[object, ...]]:
    more = {**_CONNECT, **({"password": password} if password else {})}
    return psycopg.connect(
        dsn, autocommit=True, cursor_factory=psycopg.ClientCursor,
        **{name: value for name, value in more.items() if name not in given},  # type: ignore[arg-type]
    )  # fmt: skip


def shown(dsn: str) -> str:
    """A server as people are told of it, without its password: `postgresql://user@host:port/database`."""
    given = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
    user, port = given.get("user", ""), given.get("port", "")
    where = given.get("host", "localhost") + (f":{port}" if port else "")
    return f"postgresql://{user}{'@' if user else ''}{where}/{given.get('dbname', user)}"


@contextlib.contextmanager
def postgres_errors(place: str) -> Iterator[None]:
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


def insert_or(sql: str) -> tuple[str, str, str] | None:
    """IGNORE or REPLACE, the table, and the columns (with parentheses) of an INSERT that says so."""
    found = _INSERT_OR.match(sql)
    return (found[1], found[2], found[3] or "") if found else None


def plain_insert(sql: str, end: str) -> str:
    """The same INSERT, with another end."""
    return _INSERT_OR.sub(r"INSERT INTO \2 \3", sql, count=1) + f" ON CONFLICT {end}"


def without_nul(value: str) -> str:
    """A text as the server takes it: a mark stands for character 0, which it has not."""
    return value.replace("\0", "\u2400") if "\0" in value else value


def bound(values: Sequence[object]) -> dict[str, object]:
    """Values by their numbers."""
    return {str(number): bindable(value) for number, value in enumerate(values, 1)}


def bindable(value: object) -> object:
    """A value as both engines take it: no character 0 in a text, and numbers for booleans."""
    if isinstance(value, str):
        return without_nul(str(value))
    return int(value) if isinstance(value, bool) else value
