"""Turns as the vectors need them: each with its exchange, and the turn before it."""

from __future__ import annotations

from howcome.domain.stored import Turn
from howcome.log.sqlite_reads import one, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from howcome.log.database import Database

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
    " AND (order_ms, id) >= (SELECT order_ms, id FROM events WHERE id = ?) LIMIT ?)"
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
