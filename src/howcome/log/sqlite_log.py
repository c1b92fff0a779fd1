"""The log of events in the SQLite store: positions are row ids, given under the one write lock: in commit order.

The vectors read turns from it: each with its exchange, and the turn before it.
"""

from __future__ import annotations

from functools import cached_property

from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX, Turn
from howcome.errors import CursorMovedError
from howcome.log.sqlite_reads import EventReads, one, path_text, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from howcome.domain.sources import Batch
    from howcome.domain.stored import StoredEvent
    from howcome.log.database import Database
    from howcome.log.event_log import Appended
    from howcome.log.rationales import RationaleEvents
    from howcome.log.sqlite_batches import BatchWriter


EMBEDDED_CHARS = 2000
"""More than a local model reads (256 tokens); what is cut here is never unpacked further."""

FAR_PLACE = 64
"""A turn's place in its exchange is counted up to here: exchanges of thousands of turns would be counted through for
each of them, and the turn before weighs next to nothing by then (`ingest.embedding`)."""

_COLUMNS = "SELECT id, session_id, project_id, kind, origin, ts_ms, order_ms, excerpt, payload FROM events"
_NEXT = _COLUMNS + " WHERE id > ? AND kind IN (0, 1) ORDER BY id LIMIT ?"  # the kinds of events.TURN_KINDS
_BEFORE = (
    "SELECT excerpt, payload FROM events WHERE session_id = ? AND (order_ms, id) < (?, ?) AND kind IN (0, 1)"
    " ORDER BY order_ms DESC, id DESC LIMIT 1"
)
_PROMPT = (
    "SELECT id FROM events WHERE session_id = ? AND (order_ms, id) <= (?, ?) AND kind = 0"
    " ORDER BY order_ms DESC, id DESC LIMIT 1"
)
_PLACE = (
    "SELECT count(*) FROM (SELECT 1 FROM events WHERE session_id = ? AND kind IN (0, 1) AND (order_ms, id) <= (?, ?)"
    " AND (order_ms, id) >= (SELECT order_ms, id FROM events WHERE id = ?) LIMIT ?) one"
)
_FIRST = "SELECT id FROM events WHERE session_id = ? ORDER BY order_ms, id LIMIT 1"


class TurnReads:
    """Reading turns in the order of their positions."""

    _db: Database

    def turns_after(self, row: int, limit: int) -> list[Turn]:
        """The next turns after a row id, in the order of their ids."""
        return [self._turn(found) for found in self._db.rows(_NEXT, (row, limit))]

    def count_turns_after(self, row: int) -> int:
        """How many turns there are after a row id."""
        return int(one(self._db.rows("SELECT count(*) FROM events WHERE id > ? AND kind IN (0, 1)", (row,))))

    def _turn(self, found: tuple[Any, ...]) -> Turn:
        row, session_id, project_id, kind, origin, ts_ms, order_ms, excerpt, payload = found
        place = (session_id, order_ms, row)
        before = self._db.row(_BEFORE, place)
        opening = self._db.row(_PROMPT, place) or self._db.row(_FIRST, (session_id,))
        exchange = opening[0] if opening else row
        return Turn(
            row,
            session_id,
            exchange,
            project_id,
            max(ts_ms or 0, 0),
            kind,
            origin,
            text=unpack(payload, excerpt)[:EMBEDDED_CHARS],
            place=int(one(self._db.rows(_PLACE, (*place, exchange, FAR_PLACE)))),
            before=None if before is None else unpack(before[1], before[0])[:EMBEDDED_CHARS],
        )


class SqliteEventLog(EventReads, TurnReads):
    """See `log.event_log.EventLog`; rationales are shown in it, at the end of their exchanges."""

    def __init__(self, db: Database, writer: Callable[[], BatchWriter]) -> None:
        self._db, self._writer = db, writer

    @cached_property
    def _told(self) -> RationaleEvents:
        from howcome.log.rationales import RationaleEvents

        return RationaleEvents(self._db)

    # -- writing ---------------------------------------------------------------------------------------------------
    def append(self, batch: Batch) -> Appended:
        """Adds a batch's events and moves its source's cursor, in one transaction."""
        with self._db.transaction():
            return self._writer().add(batch)

    def append_all(self, batches: Sequence[Batch]) -> list[Appended | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved."""
        found: list[Appended | None] = []
        with self._db.transaction():
            for batch in batches:
                try:
                    with self._db.savepoint():
                        found.append(self._writer().add(batch))
                except CursorMovedError:
                    found.append(None)
        return found

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor under its new path."""
        with self._db.transaction():
            select = "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?"
            generation = one(self._db.execute(select, (path_text(path),)))
            self._db.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (path_text(path), generation, source_id)
            )

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless, to be made anew from them.

        For whoever changes or moves rows that were there: events are else only ever added.
        """
        with self._db.transaction():
            self._db.execute("UPDATE marks SET mark = hex(randomblob(16))")
            if last := int(one(self._db.execute("SELECT coalesce(max(id), 0) FROM events"))):
                self._writer().mark_events(last)

    # -- with rationales -------------------------------------------------------------------------------------------
    def events(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by their positions, rationales by the negative of their prompt's."""
        wanted = list(rows)
        found = super().events((row for row in wanted if row > 0), with_text=with_text)
        told = [-row for row in wanted if row < 0]
        return found | self._told.by_prompt(told, with_text=with_text) if told else found

    def find(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events whose id starts with `prefix`, rationales among them, with their texts; at most `limit`."""
        found = super().find(prefix, limit)
        digits = prefix.removeprefix(ID_PREFIX).lower()
        if not digits or len(digits) > ID_HEX_CHARS or not set(digits) <= set("0123456789abcdef"):
            return found
        low, high = (bytes.fromhex(digits.ljust(32, end)) for end in "0f")
        return [*found, *self._told.find(low, high, limit)][:limit]

    def session(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order, the rationale of each exchange at its end."""
        return self._told.in_place(super().session(session_id, with_text=with_text), with_text=with_text)

    def opening(self, row: int) -> int | None:
        """The prompt (position) that opened the exchange of an event."""
        return super().opening(row) if row > 0 else -row
