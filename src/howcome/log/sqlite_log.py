"""The log of events in the SQLite store: positions are row ids, given under the one write lock: in commit order."""

from __future__ import annotations

from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.errors import CursorMovedError
from howcome.log.rationales import RationaleEvents
from howcome.log.sqlite_reads import EventReads, as_text, one
from howcome.log.sqlite_turns import TurnReads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.sources import Batch
    from howcome.domain.stored import StoredEvent
    from howcome.log.database import Database
    from howcome.log.event_log import Appended
    from howcome.log.sqlite_batches import BatchWriter


class SqliteEventLog(EventReads, TurnReads):
    """See `log.event_log.EventLog`; rationales are shown in it, at the end of their exchanges."""

    def __init__(self, db: Database, writer: BatchWriter) -> None:
        self._db, self._writer, self._told = db, writer, RationaleEvents(db)

    # -- writing ---------------------------------------------------------------------------------------------------
    def append(self, batch: Batch) -> Appended:
        """Adds a batch's events and moves its source's cursor, in one transaction."""
        with self._db.transaction():
            return self._writer.add(batch)

    def append_all(self, batches: Sequence[Batch]) -> list[Appended | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved."""
        found: list[Appended | None] = []
        with self._db.transaction():
            for batch in batches:
                try:
                    with self._db.connection:  # a savepoint
                        found.append(self._writer.add(batch))
                except CursorMovedError:
                    found.append(None)
        return found

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor under its new path."""
        with self._db.transaction():
            select = "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?"
            generation = one(self._db.execute(select, (as_text(path),)))
            self._db.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (as_text(path), generation, source_id)
            )

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless, to be made anew from them.

        For whoever changes or moves rows that were there: events are else only ever added.
        """
        with self._db.transaction():
            self._db.execute("UPDATE marks SET mark = hex(randomblob(16))")
            if last := int(one(self._db.execute("SELECT coalesce(max(id), 0) FROM events"))):
                self._writer.mark_events(last)

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
