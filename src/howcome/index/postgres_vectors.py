"""The vectors of turns on a PostgreSQL server: in tables beside the words' index, caught up from the same log.

numpy is needed only where vectors are searched or written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howcome.errors import StoreError
from howcome.index.postgres_query import SCHEMA
from howcome.index.postgres_vector_tables import VectorServer, VectorTables, is_of
from howcome.index.turn_vectors import ModelVectors
from howcome.log.postgres_schema import SCHEMA as ROWS

if TYPE_CHECKING:
    from howcome.index.postgres_search import PostgresSearchIndex
    from howcome.index.postgres_vector_index import PostgresVectorIndex
    from howcome.index.postgres_vector_writer import PostgresVectorWriter
    from howcome.index.turn_vectors import TurnVectors
    from howcome.log.event_log import EventLog
    from howcome.log.postgres import PostgresDatabase


_DIFFERS = (
    f"(SELECT count(*) FROM {SCHEMA}.vectors_{{number}}) <>"  # noqa: S608 - fixed names
    f" (SELECT count(*) FROM {ROWS}.events WHERE id <= last AND kind IN (0, 1))"
)
_UNMARK = "UPDATE vector_models SET mark = '' WHERE id = %s"


class PostgresVectors:
    """The vectors of a store's turns in tables of its server, one a model."""

    def __init__(self, db: PostgresDatabase, log: EventLog, index: PostgresSearchIndex) -> None:
        self._server = VectorServer(db, log, index)

    def open(self, model: str, dimensions: int) -> PostgresVectorIndex:
        """The vectors of a model, to be searched; nothing is read yet."""
        from howcome.index.postgres_vector_index import PostgresVectorIndex

        return PostgresVectorIndex(self._server, model, dimensions)

    def writer(self, model: str, dimensions: int) -> PostgresVectorWriter:
        """Who writes them within a `with` block; not open there when another process does."""
        from howcome.index.postgres_vector_writer import PostgresVectorWriter

        return PostgresVectorWriter(VectorTables(self._server, model, dimensions))

    def has_any(self) -> bool:
        """Whether there may be a vector of any model."""
        return bool(self._server.rows("SELECT 1 FROM vector_models WHERE vectors > 0 LIMIT 1"))

    def held(self) -> list[ModelVectors]:
        """What there is of every model, by name."""
        found = []
        for number, model, dimensions, last, mark, count, size_bytes in self._server.rows(
            "SELECT id, model, dimensions, last, mark, vectors, "
            " pg_total_relation_size(to_regclass('vectors_' || id))"
            " FROM vector_models ORDER BY model"
        ):
            table = f"{SCHEMA}.vectors_{number}"
            drop = f"DELETE FROM {SCHEMA}.vector_models WHERE id = {number}; DROP TABLE IF EXISTS {table}"  # noqa: S608 - numbers
            one = ModelVectors(table, model, size_bytes or 0, ("psql", self._server.place, "-c", drop))
            is_ours = size_bytes is not None and is_of(self._server.log, last, mark)
            one.dimensions, one.count = dimensions, count if is_ours else 0
            one.turns_behind = self._server.log.count_turns_after(last if is_ours else 0)
            found.append(one)
        return found

    def give_up_broken(self) -> list[str]:
        """Counts the vectors; what is wrong where they are not as many as the turns, and are made anew next."""
        found = []
        for number, model, is_gone in self._server.rows(
            "SELECT id, model, to_regclass('vectors_' || id) IS NULL FROM vector_models WHERE mark <> ''"
        ):
            is_broken = "true" if is_gone else _DIFFERS.format(number=number)
            if self._server.rows(f"SELECT 1 FROM vector_models WHERE id = %s AND {is_broken}", (number,)):  # noqa: S608
                self._server.rows(f"{_UNMARK} AND {is_broken} RETURNING 1", (number,))  # nothing of who only reads
                what = "its table is gone" if is_gone else "it has not as many vectors as there are turns"
                found.append(f"the vector index {model} is damaged ({what})")
        return found

    def refused(self) -> str:
        """What the owner of the tables has to run before this user may read them all; "" where it may."""
        is_not = self._server.rows(
            "SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
            " AND relname ~ '^vector(_models|s_[0-9]+)$' AND NOT has_table_privilege(oid, 'SELECT') LIMIT 1",
            (SCHEMA,),
        )
        rights = f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA}"
        return f"GRANT {rights} TO {self._server.rows('SELECT quote_ident(current_user)')[0][0]}" if is_not else ""

    def move(self, joined: int, kept: int) -> None:
        """Makes the vectors of a project another's, which it became a part of; where that fails, all are made anew.

        What a writer has not committed yet is refused then: it may be of the project that is no more.
        """
        for (number,) in self._server.rows("SELECT id FROM vector_models"):
            try:
                with self._server.errors(), self._server.connection().transaction():
                    execute = self._server.connection().execute
                    execute(f"UPDATE vector_models SET mark = mark WHERE id = {number:d}".encode())  # noqa: S608
                    statement = f"UPDATE vectors_{number:d} SET project_id = %s WHERE project_id = %s"  # noqa: S608
                    execute(statement.encode(), (kept, joined))
            except StoreError:
                with self._server.errors():
                    self._server.connection().execute(_UNMARK.encode(), (number,))


if TYPE_CHECKING:
    _: type[TurnVectors] = PostgresVectors
