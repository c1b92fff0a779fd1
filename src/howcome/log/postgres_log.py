"""How batches come in on a PostgreSQL server: what is new is found with one question, and added with one COPY."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from howcome.domain.sources import Batch, NewEvent, NewRecord
from howcome.log.postgres import PostgresDatabase, without_nul
from howcome.log.sqlite_batches import OF_EVENT, BatchWriter, event_values

_COLUMNS = ("id", "ts", "session_id", "project_id", "source_id", "offset", *OF_EVENT)
_KEYS = ("key", "id", "session_id")
_PAYLOAD, _FAILED = OF_EVENT.index("payload"), OF_EVENT.index("failed")
_FIRST_MONTH, _END = dt.date(2020, 1, 1), dt.date(2100, 1, 1)
"""As `log.postgres_schema` says: what is outside makes no part of its own."""

_LAST_MS = 253_402_300_799_000
"""The end of the year 9999."""


class PostgresBatchWriter(BatchWriter):
    """Writes batches, each within the caller's transaction, which holds the lock of writers."""

    def __init__(self, db: PostgresDatabase) -> None:
        super().__init__(db)
        self._server = db
        self._known: dict[bytes, tuple[int, int]] = {}
        self._new: list[tuple[object, ...]] = []
        self._parts: set[dt.date] = set()
        self._has_parts: bool | None = None

    def add_records(
        self, records: Iterable[NewRecord], source_id: int, batch: Batch, counts: dict[str, int], rows: dict[int, str]
    ) -> None:
        """Adds what records hold, and counts them; `rows` gets the search text of each new event by its position."""
        records = list(records)
        keys = [event.key for record in records for event in record.events]
        sql = "SELECT key, id, session_id FROM event_keys WHERE key = ANY(?)"
        self._known = {key: (row, session) for key, row, session in self._server.execute(sql, (keys,))} if keys else {}
        self._new = []
        super().add_records(records, source_id, batch, counts, rows)
        if self._new:
            self._write()

    def _add_event(
        self, event: NewEvent, record: NewRecord, source_id: int, batch: Batch, new_rows: dict[int, str]
    ) -> bool:
        session_id, project_id = self._place(batch, event)
        if event.key not in self._known:
            self._server.position += 1
            row = self._server.position
            self._known[event.key] = row, session_id
            place = (row, _moment(event.order_ms), session_id, project_id, source_id, record.offset)
            self._new.append((*place, *_storable(event)))
            new_rows[row] = event.search_text
            return True
        row, of_session = self._known[event.key]
        if of_session != session_id:
            self._share(session_id, row, event)
        return False

    def _forget(self) -> None:
        super()._forget()
        self._parts.clear()

    def take(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Adds events with their positions, as another store has them, behind all that are here."""
        order = [columns.index(name) for name in _COLUMNS if name != "ts"]
        at_ms = columns.index("order_ms")
        self._new = [
            (row[order[0]], _moment(int(str(row[at_ms]))), *(row[place] for place in order[1:])) for row in rows
        ]
        self._server.position = int(str(self._new[-1][0]))
        self._write()

    def _write(self) -> None:
        self._add_parts({_month(row[1]) for row in self._new})
        key = len(_COLUMNS) - len(OF_EVENT) + OF_EVENT.index("key")
        self._server.copy("event_keys", _KEYS, [(row[key], row[0], row[2]) for row in self._new])
        self._server.copy("events", _COLUMNS, self._new)
        self._server.execute("UPDATE log_position SET last = ?", (self._server.position,))

    def _add_parts(self, months: set[dt.date]) -> None:
        """Makes the months' parts of the table; TimescaleDB makes its own."""
        if self._has_parts is None:
            found = self._server.row("SELECT relkind = 'p' FROM pg_class WHERE oid = 'events'::regclass")
            self._has_parts = bool(found[0])
        if not self._has_parts:
            return
        for month in sorted(months - self._parts):
            if _FIRST_MONTH <= month < _END:
                self._server.execute("SELECT add_events_of(?)", (month,))
            self._parts.add(month)


def _moment(order_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(min(max(order_ms, 0), _LAST_MS) / 1000, dt.UTC)


def _month(moment: object) -> dt.date:
    return moment.date().replace(day=1) if isinstance(moment, dt.datetime) else _FIRST_MONTH


def _storable(event: NewEvent) -> list[object]:
    """An event's values as the server takes them: its whole text as bytes, which may hold any character."""
    values = [without_nul(value) if isinstance(value, str) else value for value in event_values(event)]
    payload, said = event.payload, event.excerpt
    if payload is None and "\0" in said:
        payload = said
    values[_PAYLOAD] = payload.encode() if isinstance(payload, str) else payload
    values[_FAILED] = None if event.failed is None else int(event.failed)
    return values
