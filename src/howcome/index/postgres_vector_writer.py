"""Writing vectors of turns into tables of a PostgreSQL server: a piece is one transaction, with how far it is.

A model has a table. Its vectors are pgvector's half floats, with an HNSW index once there are many, where the server
has that extension; elsewhere bytes, with a bit for each sign. docs/decisions.md says what both were measured against.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import psycopg

from howcome.errors import StoreLockedError
from howcome.index.postgres_query import SCHEMA
from howcome.index.postgres_writer import LOCK_WAIT_S, Connection, make_tables
from howcome.index.vector_index import EXACT_ROWS
from howcome.index.vector_writer import halves

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from howcome.domain.stored import Turn
    from howcome.index.postgres_vector_tables import VectorTables

_LOCK = f"hashtextextended('{SCHEMA} vectors', 0)"
_LEAST_PGVECTOR = (0, 8)
"""The first version whose index goes on until enough rows pass a filter."""

MOST_DIMENSIONS = 4000
"""What an HNSW index of half floats can have."""

_BUILD_MEMORY = "256MB"
"""100,000 vectors; with less, it is built on disk. Helpers would share it in /dev/shm: Docker has 64 MB."""

COLUMNS = "row, project_id, session_id, exchange, ts_ms, kind, origin, vector"
_TABLE = (
    "CREATE TABLE vectors_{number} (row bigint PRIMARY KEY, project_id bigint NOT NULL, session_id bigint NOT NULL,"
    " exchange bigint NOT NULL, ts_ms bigint NOT NULL, kind smallint NOT NULL, origin smallint NOT NULL,"
    " vector {kind} NOT NULL{more});"
    " CREATE INDEX ON vectors_{number} (project_id); CREATE INDEX ON vectors_{number} (session_id, kind)"
)


class PostgresVectorWriter:
    """The writer of a model's vectors within a `with` block; not `is_open` there when another process writes.

    What is appended is there for others with the next `commit`. Vectors of other rows, or of other dimensions, are
    begun anew as soon as the writer is open. A commit that finds any change since its own last one (`stamp`) is
    refused: so neither a lock that was lost with its connection nor projects that were joined double or lose anything.

    Args:
        tables: Of the model.
        most_compared: Up to so many vectors are all compared by a search; of more an index is made at the end.
    """

    def __init__(self, tables: VectorTables, most_compared: int = EXACT_ROWS) -> None:
        self._tables, self._most_compared = tables, most_compared
        self._connection: Connection | None = None
        self._number, self._extension, self._count = 0, "", 0
        self._last, self._stamp, self._last_appended = 0, "", 0
        self._waiting: list[tuple[Sequence[Turn], npt.NDArray[Any]]] = []

    @property
    def is_open(self) -> bool:
        """Whether this is the one that writes."""
        return self._connection is not None

    @property
    def last_row(self) -> int:
        """The last event row that was considered: where to go on."""
        return self._last

    def __enter__(self) -> PostgresVectorWriter:  # noqa: PYI034 - as the writer of files
        """Takes the lock, and finds how far the vectors are."""
        with self._tables.errors():
            connection = self._tables.connection()
            if _has_lock(connection):
                self._connection = connection
                try:
                    self._open(connection)
                except BaseException:
                    self._close()
                    raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if self._connection is not None and kind is None and self._extension and self._count > self._most_compared:
                with self._tables.errors():
                    self._add_index(self._connection)
        finally:
            self._close()

    def append(self, turns: Sequence[Turn], vectors: npt.NDArray[np.float32]) -> None:
        """Adds the vectors of turns, in the order of their rows; they are made one long, those of length 0 stay."""
        values = halves(turns, vectors, self._tables.dimensions, self._last_appended)
        if turns:
            self._waiting.append((turns, values))
            self._last_appended = turns[-1].row

    def commit(self, last_row: int) -> None:
        """Makes what was appended last, and there for everybody.

        Raises:
            StoreLockedError: another process has written meanwhile; nothing of this was.
        """
        connection, last = self._held(), max(last_row, self._last_appended)
        mark, added = self._tables.log.mark_at(last) if last else "", sum(len(turns) for turns, _ in self._waiting)
        with self._tables.errors(), connection.transaction():
            done = connection.execute(
                "UPDATE vector_models SET last = %s, mark = %s, vectors = vectors + %s"
                " WHERE id = %s AND xmin = %s::xid RETURNING xmin::text",
                (last, mark, added, self._number, self._stamp),
            ).fetchone()
            if done is None:
                raise StoreLockedError("another process has written vectors meanwhile; try again")
            self._copy(connection)
        self._last, self._stamp, self._last_appended = last, done[0], last
        self._count += added
        self._waiting.clear()

    def _copy(self, connection: Connection) -> None:
        columns = COLUMNS if self._extension else f"{COLUMNS}, code"
        with connection.cursor() as cursor, cursor.copy(f"COPY vectors_{self._number} ({columns}) FROM STDIN") as copy:
            for turns, values in self._waiting:
                for turn, vector in zip(turns, values, strict=True):
                    own = [text_of(vector)] if self._extension else [vector.astype(">f2").tobytes(), signs_of(vector)]
                    place = (turn.row, turn.project_id, turn.session_id, turn.exchange, turn.ts_ms)
                    copy.write_row((*place, turn.kind, turn.origin, *own))

    def _held(self) -> Connection:
        if self._connection is None:
            raise StoreLockedError("another process is writing vectors; try again")
        return self._connection

    def _open(self, connection: Connection) -> None:
        if connection.execute("SELECT to_regclass('vector_models')").fetchone() == (None,):
            make_tables(connection)
        self._tables.refresh()
        found = self._tables.state
        if found is None or not _is_there(connection, f"vectors_{found.number}"):
            self._begin(connection)
        else:
            self._number, self._extension, self._last, _, self._count, self._stamp = found
        self._last_appended = self._last

    def _begin(self, connection: Connection) -> None:
        """A new table in the place of one that is of no use."""
        model, dimensions, self._extension = self._tables.model, self._tables.dimensions, pgvector_schema(connection)
        kind = f"{self._extension}.halfvec({dimensions:d})" if self._extension else "bytea"
        more = "" if self._extension else f", code bit({dimensions:d}) NOT NULL"
        with connection.transaction():
            for (number,) in connection.execute("DELETE FROM vector_models WHERE model = %s RETURNING id", (model,)):
                connection.execute(f"DROP TABLE IF EXISTS vectors_{number:d}".encode())
            statement = "INSERT INTO vector_models (model, dimensions, extension) VALUES (%s, %s, %s)"
            made = connection.execute(f"{statement} RETURNING id, xmin::text", (model, dimensions, self._extension))
            [(self._number, self._stamp)] = made.fetchall()
            connection.execute(_TABLE.format(number=self._number, kind=kind, more=more).encode())
        self._tables.refresh()

    def _add_index(self, connection: Connection) -> None:
        """The index of many vectors; without it (another role's to make, or no room for it) all are compared."""
        name, table = f"vectors_{self._number}_near", f"vectors_{self._number}"
        if self._tables.dimensions > MOST_DIMENSIONS or _is_there(connection, name):
            return
        with contextlib.suppress(psycopg.Error), connection.transaction():
            connection.execute(f"SET LOCAL maintenance_work_mem = '{_BUILD_MEMORY}'")
            connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
            connection.execute(
                f"CREATE INDEX {name} ON {table} USING hnsw (vector {self._extension}.halfvec_ip_ops)".encode()
            )

    def _close(self) -> None:
        """Gives the lock back; what was not committed is nobody's."""
        connection, self._connection = self._connection, None
        self._waiting.clear()
        if connection is not None and not connection.closed:
            with contextlib.suppress(psycopg.Error):  # it went with its connection
                connection.execute(f"SELECT pg_advisory_unlock({_LOCK})")


def _has_lock(connection: Connection) -> bool:
    deadline = time.monotonic() + LOCK_WAIT_S
    while connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})").fetchone() != (True,):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _is_there(connection: Connection, name: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)


def pgvector_schema(connection: Connection) -> str:
    """The schema of pgvector's types, quoted; "" where the server has none, an older one, or none for this user."""
    with contextlib.suppress(psycopg.Error):  # not this user's to have
        if connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    found = connection.execute(
        "SELECT quote_ident(nspname), extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE extname = 'vector'"
    ).fetchone()
    if found is None or tuple(map(int, found[1].split(".")[:2])) < _LEAST_PGVECTOR:
        return ""
    return str(found[0])


def text_of(vector: npt.NDArray[Any]) -> str:
    """A vector as pgvector reads it."""
    return str(vector.tolist())


def signs_of(vector: npt.NDArray[Any]) -> str:
    """The signs of a vector as a text of bits: 1 where a number is above 0."""
    return "".join("1" if is_positive else "0" for is_positive in vector > 0)
