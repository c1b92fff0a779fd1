"""The store on a PostgreSQL server, searched there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from howcome.index.postgres_query import SCHEMA as SEARCHED
from howcome.index.postgres_search import PostgresSearchIndex
from howcome.index.postgres_writer import Connection
from howcome.index.search_index import SearchIndex
from howcome.log.event_log import EventLog
from howcome.log.postgres import PostgresDatabase, connect
from howcome.log.postgres_log import PostgresBatchWriter
from howcome.log.postgres_schema import SCHEMA, migrate
from howcome.log.purging import Purging
from howcome.store.parts import StoreParts
from howcome.store.rewriting import RULES_VERSION

if TYPE_CHECKING:
    from howcome.log.database import Gate

_CHECKS = {
    "events without their keys, or keys without events": (
        "SELECT (SELECT count(*) FROM events e FULL JOIN event_keys k ON k.id = e.id AND k.key = e.key"
        " WHERE e.id IS NULL OR k.id IS NULL)"
    ),
    "positions that were given to nothing": (
        "SELECT last - (SELECT count(*) FROM events) FROM log_position WHERE last != (SELECT count(*) FROM events)"
    ),
    "sources whose events are not as many as were accepted": (
        "SELECT count(*) FROM sources s WHERE accepted != (SELECT count(*) FROM events e WHERE e.source_id = s.id)"
    ),
    "memories without their words": "SELECT count(*) FROM memory_unworded",
}


class PostgresStore(StoreParts):
    """A store on a server; several machines may use it at once. `folder` is for what is derived of it here."""

    has_worker: ClassVar = False
    late: ClassVar = {
        **StoreParts.late,
        "_writer": ("log.postgres_log", "PostgresBatchWriter", ()),
        "purging": ("store.postgres", "PostgresPurging", ()),
        "turn_vectors": ("index.postgres_vectors", "PostgresVectors", ("log", "index")),
        "daily": ("log.daily", "ServerDaily", ()),
    }

    def __init__(
        self,
        folder: str,
        dsn: str,
        *,
        password: str = "",
        busy_ms: int = 5000,
        create: bool = True,
        gate: Gate | None = None,
    ) -> None:
        """Opens the store of a database, and makes its tables unless told not to.

        Raises:
            StoreError: it cannot be opened; StoreNewerError when a newer version wrote it, StoreMissingError when
                there are no tables and they must not be made.
        """
        self.folder, self.gate, self.path = folder, gate, os.path.join(folder, "server")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        db = PostgresDatabase(dsn, folder, busy_ms, password)
        try:
            with db.errors():
                is_new = migrate(db.server, create=create)
                db.is_read_only = db.row("SHOW transaction_read_only") == ("on",)
            self._compose(db, lambda log: self._index_of(log, db, lambda: connect(dsn, SCHEMA, busy_ms, password)))
            self.batches = cast("PostgresBatchWriter", self._writer)
            if is_new and gate is not None:  # an older store says nothing: its texts are to be gated again
                with db.transaction():
                    db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (RULES_VERSION, gate.version))
        except BaseException:
            db.close()
            raise
        self._server, db.gate = db, gate

    def _index_of(self, log: EventLog, db: PostgresDatabase, connect: Callable[[], Connection]) -> SearchIndex:
        self._searched = PostgresSearchIndex(connect, log, db.errors)
        return self._searched

    @property
    def place(self) -> str:
        """The server and its database, as people are told."""
        return self._server.place

    @property
    def size_bytes(self) -> int:
        """What the rows take on the server's disk, with their indexes."""
        return self._bytes_in(SCHEMA)

    @property
    def server_index_bytes(self) -> int:
        """What the words' index and the vectors take there."""
        return self._bytes_in(SEARCHED)

    def _bytes_in(self, schema: str) -> int:
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = to_regnamespace(?)"
        )
        return int(self.database.rows(sql, (schema,))[0][0])

    def describe(self) -> str:
        """The server's version, and how it keeps events."""
        version = self.database.row("SHOW server_version")[0]
        is_native = self.database.row("SELECT relkind = 'p' FROM pg_class WHERE oid = 'events'::regclass")[0]
        if is_native:
            return f"PostgreSQL {version}, events in parts by month"
        return f"PostgreSQL {version}, TimescaleDB ({self.database.row('SHOW timescaledb.license')[0]} licence)"

    @property
    def is_current(self) -> bool:
        """Whether it is still the one that was opened: marks tell another one that took its place."""
        return True

    def meta(self, name: str) -> object:
        """A value of the store itself (its key, its creation time), or None."""
        if name != "key":
            return super().meta(name)
        found = self.database.row("SELECT key FROM store_key")
        return found[0] if found else None

    def verify_indexes(self) -> list[str]:
        """Nothing: the index is in tables, which are the server's to check."""
        return []

    def check_integrity(self) -> list[str]:
        """What does not agree among the rows; [] when nothing. Pages are the server's to check (`pg_amcheck`)."""
        numbers = {what: self.database.row(sql) for what, sql in _CHECKS.items()}
        return [f"{abs(row[0])} {what}" for what, row in numbers.items() if row and row[0]]

    def close(self) -> None:
        """Gives the index's lock and the connections back; the store can be opened again."""
        try:
            self._searched.close()
        finally:
            self._server.close()


class PostgresPurging(Purging):
    """Takes memories out of the server's tables; its own log and its backups are the server's."""

    unseen = "the server's own log and its backups"

    def _renew_words(self) -> None:
        """Tables are written anew by `vacuum`."""

    def _empty_log(self) -> bool:
        return True

    def vacuum(self) -> None:
        """Writes all tables that hold memories' words anew."""
        tables = "memories, memory_words, memory_vectors, candidates, distil_operations, model_answers"
        self._db.execute(f"VACUUM FULL {tables}")
