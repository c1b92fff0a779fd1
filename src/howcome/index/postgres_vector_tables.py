"""Where the vectors of turns are on a PostgreSQL server, and how far they are. numpy is not needed here."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from howcome.index.vector_files import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from howcome.index.postgres_search import PostgresSearchIndex
    from howcome.index.postgres_writer import Connection
    from howcome.log.event_log import EventLog
    from howcome.log.postgres import PostgresDatabase


_NOT_THERE = psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege


class VectorServer:
    """The server that tables of vectors are on: the connection of searches, and the log that they are derived of."""

    def __init__(self, db: PostgresDatabase, log: EventLog, index: PostgresSearchIndex) -> None:
        self.log, self.connection, self.errors, self.place = log, index.server, db.errors, db.place
        self._prepared: Connection | None = None

    def prepare(self) -> None:
        """Lets the connection's scans of an index of near ones go on until enough rows pass a filter."""
        with self.errors():
            if (connection := self.connection()) is not self._prepared:
                connection.execute("SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 400")
                self._prepared = connection

    def rows(self, statement: str, values: Sequence[object] = (), *, is_there: bool = False) -> list[tuple[Any, ...]]:
        """The rows of a query; none where this user has no tables yet, unless it says that there are."""
        with self.errors():
            try:
                return self.connection().execute(statement.encode(), values).fetchall()
            except _NOT_THERE as error:
                if is_there:
                    raise damaged("another process begins it anew") from error
                return []


class State(NamedTuple):
    """Where a model's vectors are, and how far: the table's number, and the schema of pgvector's types ("": none).

    `stamp` is another one after every change.
    """

    number: int
    extension: str
    last: int
    mark: str
    vectors: int
    stamp: str

    def bytes_of(self, column: str) -> str:
        """The half floats of a column, the highest byte of each first."""
        return f"substr({self.extension}.halfvec_send({column}), 5)" if self.extension else column


class VectorTables:
    """One model's vectors, as its reader and its writer reach them."""

    def __init__(self, server: VectorServer, model: str, dimensions: int) -> None:
        self._server, self.model, self.dimensions = server, model, dimensions

    def connection(self) -> Connection:
        """The connection of searches; one that was lost is made anew."""
        return self._server.connection()

    def errors(self) -> AbstractContextManager[None]:
        """What the driver says, as the store's own errors."""
        return self._server.errors()

    @property
    def log(self) -> EventLog:
        """What they are derived of."""
        return self._server.log

    @cached_property
    def state(self) -> State | None:
        """Where they are; None where there are none of these rows, and of these dimensions."""
        found = self._server.rows(
            "SELECT id, extension, last, mark, vectors, xmin::text FROM vector_models"
            " WHERE model = %s AND dimensions = %s",
            (self.model, self.dimensions),
        )
        state = State(*found[0]) if found else None
        return state if state is not None and is_of(self.log, state.last, state.mark) else None

    def refresh(self) -> None:
        """Lets the next use see what was committed since."""
        self.__dict__.pop("state", None)


def is_of(log: EventLog, last: int, mark: str) -> bool:
    """Whether vectors are those of a log's rows, by the mark of the last one that was considered."""
    return not last or (bool(mark) and log.mark_at(last) == mark)
