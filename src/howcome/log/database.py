"""One SQLite database, open: what every part of the store reads and writes through."""

from __future__ import annotations

import contextlib

from howcome.log.driver import driver_errors, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    import apsw

    from howcome.log.driver import GatedConnection

    class Gate(Protocol):
        """What every text goes through before it rests; `version` says by which rules."""

        version: int

        def text(self, text: str) -> str:
            """A text as it may rest; one that rests already stays as it is."""

        def value(self, value: object) -> object:
            """Decoded JSON as it may rest."""


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
