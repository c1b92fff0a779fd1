"""The log of events: the one truth, of which everything else is derived.

Contract (tests/contract runs it against every log, also against one in memory that commits in any order):

* **Positions follow the order of commit.** Every event has a position, a number above 0; who has seen position p has
  seen everything that was or ever will be committed at or below p. So whatever is derived of the log remembers one
  number, and goes on behind it. Here positions are row ids, given under the one write lock.
* An append is one transaction: its events and the cursor of their source move together or not at all. Appending the
  same events again changes nothing, and is counted as duplicate.
* `mark_at` tells a log from another one with the same positions (an older copy that was put back): what is derived
  keeps the mark of the position that it has seen, and is worth nothing where that mark is another.
"""

from __future__ import annotations

import json
from functools import cached_property

from howcome.domain.events import ASSISTANT_TEXT, STORED_KINDS
from howcome.domain.stored import IndexRow, Turn
from howcome.errors import CursorMovedError
from howcome.log.event_rows import (
    EVENT_SELECT,
    SOURCE_SELECT,
    KeptEvent,
    key_range,
    one,
    path_text,
    search_text,
    source_state,
    unpack,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from howcome.domain.sources import Batch, SourceState
    from howcome.domain.stored import Filter, StoredEvent
    from howcome.log.database import Database
    from howcome.log.rationales import RationaleEvents
    from howcome.log.sqlite_batches import BatchWriter

    Appended: TypeAlias = tuple[dict[str, int], dict[int, str]]
    """Counts by the names of `domain.sources.COUNTERS`, and the search text of each new event by its position."""

EMBEDDED_CHARS = 2000
"""More than a local model reads (256 tokens); what is cut here is never unpacked further."""

FAR_PLACE = 64
"""A turn's place in its exchange is counted up to here: exchanges of thousands of turns would be counted through for
each of them, and the turn before weighs next to nothing by then (`ingest.embedding`)."""

_AMONG = " WHERE e.id IN (SELECT value FROM json_each(?))"
_MEMBERS = (
    "SELECT id, order_ms FROM events WHERE session_id = ?1"
    " UNION ALL SELECT event_id, order_ms FROM memberships WHERE session_id = ?1"
)
_ON_FILE = (
    " WHERE e.project_id = ?1 AND (e.kind IN (3, 4) AND e.file IS NOT NULL"
    " AND substr('/' || replace(e.file, char(92), '/'), length(e.file) + 2 - length(?2)) = ?2"
    " OR e.kind = 3 AND e.file IS NULL AND instr(e.excerpt, ?3) > 0) ORDER BY e.order_ms, e.id"
)
_OF_TOOLS = (
    " WHERE e.project_id = ?1 AND e.kind IN (3, 4) AND e.order_ms BETWEEN ?2 AND ?3"
    " AND e.session_id IN (SELECT id FROM sessions)"  # so that the index of each session by time is used
    " AND lower(e.tool) IN (SELECT CAST(value AS TEXT) FROM json_each(?4)) ORDER BY e.order_ms, e.id"
)
_INDEX_SELECT = "SELECT id, session_id, project_id, kind, origin, ts_ms, order_ms FROM events"
_NEXT = (
    "SELECT id, session_id, project_id, kind, origin, ts_ms, order_ms, excerpt, payload FROM events"
    " WHERE id > ? AND kind IN (0, 1) ORDER BY id LIMIT ?"  # the kinds of events.TURN_KINDS
)
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


class EventLog:
    """Events in the order in which they were committed, with the cursors of the files they came from.

    Rationales are shown in it, at the end of their exchanges, by the negative of their prompt's position.
    """

    def __init__(self, db: Database, writer: Callable[[], BatchWriter]) -> None:
        self._db, self._writer = db, writer

    @cached_property
    def _told(self) -> RationaleEvents:
        from howcome.log.rationales import RationaleEvents

        return RationaleEvents(self._db)

    # -- cursors ---------------------------------------------------------------------------------------------------
    def source(self, path: str) -> SourceState | None:
        """The cursor of a file's current generation."""
        row = self._db.row(f"{SOURCE_SELECT} AND path = ?", (path_text(path),))
        return source_state(row) if row else None

    def sources(self) -> Iterator[SourceState]:
        """The cursors of every file's current generation."""
        return map(source_state, self._db.rows(SOURCE_SELECT))

    def sources_like(self, head_digest: str) -> list[SourceState]:
        """Current generations that begin with the same bytes: a renamed file is found by them."""
        return [source_state(row) for row in self._db.rows(f"{SOURCE_SELECT} AND head_digest = ?", (head_digest,))]

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor under its new path."""
        with self._db.transaction():
            select = "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?"
            generation = one(self._db.execute(select, (path_text(path),)))
            self._db.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (path_text(path), generation, source_id)
            )

    # -- writing ---------------------------------------------------------------------------------------------------
    def append(self, batch: Batch) -> Appended:
        """Adds a batch's events and moves its source's cursor, in one transaction.

        Raises:
            CursorMovedError: another process has moved the cursor; nothing was written.
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        with self._db.transaction():
            return self._writer().add(batch)

    def append_all(self, batches: Sequence[Batch]) -> list[Appended | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved.

        Raises:
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        found: list[Appended | None] = []
        with self._db.transaction():
            for batch in batches:
                try:
                    with self._db.savepoint():
                        found.append(self._writer().add(batch))
                except CursorMovedError:
                    found.append(None)
        return found

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless, to be made anew from them.

        For whoever changes or moves rows that were there: events are else only ever added.
        """
        with self._db.transaction():
            self._db.execute("UPDATE marks SET mark = hex(randomblob(16))")
            if last := int(one(self._db.execute("SELECT coalesce(max(id), 0) FROM events"))):
                self._writer().mark_events(last)

    # -- by position -----------------------------------------------------------------------------------------------
    def last_position(self) -> int:
        """The highest position, 0 for an empty log."""
        return int(one(self._db.rows("SELECT coalesce(max(id), 0) FROM events")))

    def mark_at(self, row: int) -> str:
        """What tells events up to a position from others of the same positions, "" when there is no such event."""
        return self._db.mark("events", row)

    def after(self, row: int, limit: int) -> list[IndexRow]:
        """The next events behind a position, as an index needs them."""
        sql = _INDEX_SELECT + " WHERE id > ? ORDER BY id LIMIT ?"
        return [IndexRow(*found) for found in self._db.rows(sql, (row, limit))]

    def turns_after(self, row: int, limit: int) -> list[Turn]:
        """The next turns behind a position, as vectors need them: each with its exchange, and the turn before it."""
        return [self._turn(found) for found in self._db.rows(_NEXT, (row, limit))]

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

    def count_turns_after(self, row: int) -> int:
        """How many turns there are behind a position."""
        return int(one(self._db.rows("SELECT count(*) FROM events WHERE id > ? AND kind IN (0, 1)", (row,))))

    def sessions_before(self, row: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions have events of their own before a position."""
        sql = (
            "SELECT id FROM sessions s WHERE id IN (SELECT value FROM json_each(?1))"
            " AND EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id AND e.id < ?2)"
        )
        return {found for (found,) in self._db.rows(sql, (json.dumps(list(asked)), row))}

    def search_texts(self, rows: Iterable[int]) -> dict[int, str]:
        """The search texts of events by their positions, made anew from what is stored."""
        found = self._db.rows(
            "SELECT id, kind, tool, file, excerpt, payload FROM events WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rows)),),
        )
        return {row: search_text(*rest) for row, *rest in found}

    # -- reading ---------------------------------------------------------------------------------------------------
    def _select(self, rest: str, values: tuple[object, ...], *, with_text: bool = True) -> list[StoredEvent]:
        sql = EVENT_SELECT.format(payload="e.payload" if with_text else "NULL") + rest
        return [KeptEvent(row, with_text=with_text) for row in self._db.rows(sql, values)]

    def events(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by their positions; those that are not there are left out."""
        wanted = list(rows)
        numbers = json.dumps([row for row in wanted if row > 0])
        found = {event.row: event for event in self._select(_AMONG, (numbers,), with_text=with_text)}
        told = [-row for row in wanted if row < 0]
        return found | self._told.by_prompt(told, with_text=with_text) if told else found

    def turns(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """The same, turns with their whole texts."""
        sql = EVENT_SELECT.format(payload="CASE WHEN e.kind IN (0, 1) THEN e.payload END") + _AMONG
        return {row[0]: KeptEvent(row, with_text=row[2] < 2) for row in self._db.rows(sql, (json.dumps(list(rows)),))}

    def within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        """Which of some events are where a filter looks (scope, sessions, subagent), by the log alone."""
        sql = "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?))"
        values: list[object] = [json.dumps(list(rows))]
        if not wanted.scope.is_everything:
            sql += " AND project_id = ?"
            values.append(wanted.scope.project_id)
        if wanted.agent_id is not None:
            sql += " AND agent_id = ?"
            values.append(wanted.agent_id)
        for numbers, is_one in ((wanted.sessions, "IN"), (wanted.without or None, "NOT IN")):
            if numbers is not None:
                sql += f" AND session_id {is_one} (SELECT value FROM json_each(?))"  # noqa: S608 - fixed words
                values.append(json.dumps(list(numbers)))
        return {row[0] for row in self._db.rows(sql, tuple(values))}

    def calls_on(self, project_id: int, file: str) -> list[StoredEvent]:
        """Calls and results about a file whose path ends so, and calls about none in whose excerpt its name stands.

        With texts, in the order of time; all events are read (1 ms a thousand).
        """
        end = "/" + file
        return self._select(_ON_FILE, (project_id, end, end.rpartition("/")[2]))

    def calls_of(self, project_id: int, tools: Iterable[str], from_ms: int, until_ms: int) -> list[StoredEvent]:
        """Calls of some tools (names in lower case) and their results, in a time; with texts, in the order of time."""
        return self._select(_OF_TOOLS, (project_id, from_ms, until_ms, json.dumps(list(tools))))

    def find(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events whose id starts with `prefix` (`ev-` and hex digits), rationales among them, with their texts."""
        keys = key_range(prefix)
        if keys is None:
            return []
        found = self._select(" WHERE e.key BETWEEN ? AND ? LIMIT ?", (*keys, limit))
        return [*found, *self._told.find(*keys, limit)][:limit]

    def session(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order: its own events and those it shares as a fork."""
        rest = f" JOIN ({_MEMBERS}) m ON m.id = e.id ORDER BY m.order_ms, e.source_id, e.id"
        return self._told.in_place(self._select(rest, (session_id,), with_text=with_text), with_text=with_text)

    def session_rows(self, session_id: int, from_ms: int) -> list[IndexRow]:
        """A session's own events in their order, from the prompt before the last one before a moment on."""
        prompts = self._db.rows(
            "SELECT order_ms FROM events WHERE session_id = ? AND order_ms <= ? AND kind = 0"
            " ORDER BY order_ms DESC LIMIT 2",
            (session_id, from_ms),
        )
        start = prompts[-1][0] if len(prompts) == 2 else 0
        sql = _INDEX_SELECT + " WHERE session_id = ? AND order_ms >= ? ORDER BY order_ms, id"
        return [IndexRow(*row) for row in self._db.rows(sql, (session_id, start))]

    def opening(self, row: int) -> int | None:
        """The prompt (position) that opened the exchange of an event: as it is now, whatever was read first."""
        if row <= 0:
            return -row
        found = self._db.row(
            "SELECT p.id FROM events e JOIN events p ON p.session_id = e.session_id AND p.kind = 0"
            " AND (p.order_ms, p.id) <= (e.order_ms, e.id) WHERE e.id = ? ORDER BY p.order_ms DESC, p.id DESC LIMIT 1",
            (row,),
        )
        return found[0] if found else None

    def answers(self, exchange: int, limit: int, kind: str = ASSISTANT_TEXT) -> list[StoredEvent]:
        """The last things the agent said in the exchange that a prompt (position) opened, in their order.

        Or its last events of another kind, without texts.
        """
        place = self._db.row("SELECT session_id, order_ms FROM events WHERE id = ?", (exchange,))
        if place is None:
            return []
        session_id, order_ms = place
        following = self._db.row(
            "SELECT order_ms, id FROM events WHERE session_id = ? AND kind = 0 AND (order_ms, id) > (?, ?)"
            " ORDER BY order_ms, id LIMIT 1",
            (session_id, order_ms, exchange),
        ) or (2**62, 0)
        rest = (
            " WHERE e.session_id = ? AND e.kind = ? AND e.agent_id IS NULL AND (e.order_ms, e.id) > (?, ?)"
            " AND (e.order_ms, e.id) < (?, ?) ORDER BY e.order_ms DESC, e.id DESC LIMIT ?"
        )
        values = (session_id, STORED_KINDS.index(kind), order_ms, exchange, *following, limit)
        return self._select(rest, values, with_text=kind == ASSISTANT_TEXT)[::-1]


def ensure_marks(log: EventLog) -> None:
    """Marks rows that came another way than by `append`, so that what is derived of them can be told as theirs."""
    last = log.last_position()
    if last and not log.mark_at(last):
        log.renew_marks()
