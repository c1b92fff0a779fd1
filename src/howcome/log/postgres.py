"""A database on a PostgreSQL server, as the store's parts read and write it.

Whoever writes holds one row (`log_position`) from the beginning of its transaction: like SQLite's writers they come one
after the other, and positions follow the order of commit, without gaps.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import psycopg

from howcome.errors import StoreError
from howcome.log.database import Database
from howcome.log.postgres_driver import (
    bound,
    connect,
    insert_or,
    plain_insert,
    postgres_errors,
    shown,
    translated,
)
from howcome.log.postgres_schema import SCHEMA
from howcome.log.terms import MemoryTerms


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
        return postgres_errors(self.place)

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
        self._last = self.server.execute(query, bound(values) if values else None)
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
        rows = [bound(self._gated(row)) for row in values]
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
        kind, table, columns = insert_or(sql) or ("", "", "")
        if kind == "IGNORE":
            return plain_insert(sql, "DO NOTHING")
        all_columns, key = self._keys[table]
        named = [name.strip() for name in columns.strip("()").split(",")] if columns else all_columns
        others = ", ".join(f"{name} = excluded.{name}" for name in named if name not in key)
        return plain_insert(sql, f"({', '.join(key)}) DO " + (f"UPDATE SET {others}" if others else "NOTHING"))

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
