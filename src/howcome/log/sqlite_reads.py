"""What is read of the log of events in the SQLite store. Nothing here writes."""

from __future__ import annotations

import json
from _thread import get_ident

from howcome.domain import events
from howcome.domain.events import ASSISTANT_TEXT
from howcome.domain.sources import SourceState
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX, IndexRow, StoredEvent
from howcome.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from howcome.domain.stored import Filter
    from howcome.log.database import Database

_EVENT_SELECT = (
    "SELECT e.id, e.key, e.kind, e.origin, s.name, s.client, p.root, e.ts_ms, e.order_ms, e.tool,"
    " e.tool_use_id, e.file, e.branch, e.agent_id, e.failed, e.exit_code, e.text_chars, e.excerpt, {payload}"
    " FROM events e JOIN sessions s ON s.id = e.session_id JOIN projects p ON p.id = e.project_id"
)
_SOURCE_COLUMNS = (
    "id", "path", "client", "generation", "offset", "head_bytes", "head_digest", "tail_digest", "size_bytes",
    "mtime_ns", "tail_bytes", "reader_state", "order_ms",
)  # fmt: skip
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


_PACKED = b"\x28\xb5\x2f\xfd"
"""How zstd's frames begin. PostgreSQL keeps payloads as bytes, packed or not."""

_decompress: dict[int, Callable[[bytes], bytes]] = {}
"""One a thread (by its identity): making one takes ten times as long as unpacking a text, and none can be shared."""


def unpack(payload: bytes | str | None, excerpt: str) -> str:
    """The whole text of an event: its payload (plain when short), or its excerpt when that is all of it."""
    if payload is None:
        return excerpt
    return payload if isinstance(payload, str) else _unpacked(payload)


def is_packed(payload: bytes) -> bool:
    """Whether a payload is a frame of zstd's, and no plain text: none begins so."""
    return payload.startswith(_PACKED)


def _unpacked(payload: bytes) -> str:
    if not is_packed(payload):
        return payload.decode("utf-8", "replace")
    thread = get_ident()
    if thread not in _decompress:
        import zstandard

        _decompress[thread] = zstandard.ZstdDecompressor().decompress
    return _decompress[thread](payload).decode("utf-8", "replace")


class _KeptEvent(StoredEvent):
    """An event as it was read. Its text is unpacked when somebody asks for it: of most of a session nobody does."""

    __slots__ = ("_payload",)

    def __init__(self, row: tuple[Any, ...], *, with_text: bool) -> None:
        (
            self.row,
            self.key,
            kind,
            origin,
            self.session,
            self.client,
            self.project,
            self.ts_ms,
            self.order_ms,
            self.tool,
            self.tool_use_id,
            self.file,
            self.branch,
            self.agent_id,
            failed,
            self.exit_code,
            self.text_chars,
            self.excerpt,
            payload,
        ) = row
        self.kind, self.origin = events.STORED_KINDS[kind], events.ORIGINS[origin]
        self.failed = None if failed is None else bool(failed)
        if not with_text:
            self.text = None
        elif isinstance(payload, bytes):
            self._payload = payload
        else:
            self.text = self.excerpt if payload is None else payload

    def __getattr__(self, name: str) -> str | None:
        """Only asked for what is not there yet: the text."""
        if name != "text":
            raise AttributeError(name)
        self.text = _unpacked(self._payload)
        del self._payload
        return self.text


def one(rows: Iterable[tuple[Any, ...]]) -> Any:  # noqa: ANN401 - whatever the query selects
    """The single value of a query that always gives one."""
    for row in rows:
        return row[0]
    raise StoreError("the store gave no answer where it always has one")


def path_text(path: str) -> str:
    """A path as the store writes it: bytes that are no text (a name in another encoding) as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class EventReads:
    """The reading half of the log of events; see `log.event_log.EventLog`."""

    _db: Database

    def mark_at(self, row: int) -> str:
        """What tells events up to a row from others of the same numbers; "" where there is no such row."""
        return self._db.mark("events", row)

    def source(self, path: str) -> SourceState | None:
        """The cursor of a file's current generation."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE path = ? AND is_current"  # noqa: S608 - fixed names
        row = self._db.row(select, (path_text(path),))
        return _source_state(row) if row else None

    def sources(self) -> Iterator[SourceState]:
        """The cursors of every file's current generation."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE is_current"  # noqa: S608 - fixed names
        for row in self._db.rows(select):
            yield _source_state(row)

    def sources_like(self, head_digest: str) -> list[SourceState]:
        """Current generations that begin with the same bytes: a renamed file is found by them."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE is_current AND head_digest = ?"  # noqa: S608 - fixed names
        return [_source_state(row) for row in self._db.rows(select, (head_digest,))]

    def events(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by their row ids; ids that are not there are left out."""
        wanted = json.dumps(list(rows))
        sql = _EVENT_SELECT.format(payload="e.payload" if with_text else "NULL")
        sql += " WHERE e.id IN (SELECT value FROM json_each(?))"
        found = self._db.rows(sql, (wanted,))
        return {row[0]: _KeptEvent(row, with_text=with_text) for row in found}

    def within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        """Which of some events (row ids) are where a filter looks (scope, sessions, subagent), by the rows alone."""
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

    def turns(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """Events by their row ids, turns with their texts; ids that are not there are left out."""
        sql = _EVENT_SELECT.format(payload="CASE WHEN e.kind IN (0, 1) THEN e.payload END")
        sql += " WHERE e.id IN (SELECT value FROM json_each(?))"
        return {row[0]: _KeptEvent(row, with_text=row[2] < 2) for row in self._db.rows(sql, (json.dumps(list(rows)),))}

    def calls_on(self, project_id: int, file: str) -> list[StoredEvent]:
        """Calls and results about a file whose path ends so, and calls about none in whose excerpt its name stands."""
        end = "/" + file
        sql = _EVENT_SELECT.format(payload="e.payload") + _ON_FILE
        rows = self._db.rows(sql, (project_id, end, end.rpartition("/")[2]))
        return [_KeptEvent(row, with_text=True) for row in rows]

    def calls_of(self, project_id: int, tools: Iterable[str], from_ms: int, until_ms: int) -> list[StoredEvent]:
        """Calls of some tools (names in lower case) and their results, in a time."""
        sql = _EVENT_SELECT.format(payload="e.payload") + _OF_TOOLS
        rows = self._db.rows(sql, (project_id, from_ms, until_ms, json.dumps(list(tools))))
        return [_KeptEvent(row, with_text=True) for row in rows]

    def find(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events whose id starts with `prefix` (`ev-` and hex digits), with their texts; at most `limit`."""
        digits = prefix.removeprefix(ID_PREFIX).lower()
        if not digits or len(digits) > ID_HEX_CHARS or not set(digits) <= set("0123456789abcdef"):
            return []
        low = bytes.fromhex(digits.ljust(32, "0"))
        high = bytes.fromhex(digits.ljust(32, "f"))
        sql = _EVENT_SELECT.format(payload="e.payload") + " WHERE e.key BETWEEN ? AND ? LIMIT ?"
        return [_KeptEvent(row, with_text=True) for row in self._db.rows(sql, (low, high, limit))]

    def session(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order: its own events and those it shares as a fork."""
        sql = (
            f"WITH members AS ({_MEMBERS}) "
            + _EVENT_SELECT.format(payload="e.payload" if with_text else "NULL")
            + " JOIN members m ON m.id = e.id ORDER BY m.order_ms, e.source_id, e.id"
        )
        return [_KeptEvent(row, with_text=with_text) for row in self._db.rows(sql, (session_id,))]

    def opening(self, row: int) -> int | None:
        """The prompt (row id) that opened the exchange of an event: as it is now, whatever was read first."""
        found = self._db.row(
            "SELECT p.id FROM events e JOIN events p ON p.session_id = e.session_id AND p.kind = 0"
            " AND (p.order_ms, p.id) <= (e.order_ms, e.id) WHERE e.id = ? ORDER BY p.order_ms DESC, p.id DESC LIMIT 1",
            (row,),
        )
        return found[0] if found else None

    def answers(self, exchange: int, limit: int, kind: str = ASSISTANT_TEXT) -> list[StoredEvent]:
        """The last things the agent said in the exchange that a prompt (by row id) opened; see the port."""
        place = self._db.row("SELECT session_id, order_ms FROM events WHERE id = ?", (exchange,))
        if place is None:
            return []
        session_id, order_ms = place
        following = self._db.row(
            "SELECT order_ms, id FROM events WHERE session_id = ? AND kind = 0 AND (order_ms, id) > (?, ?)"
            " ORDER BY order_ms, id LIMIT 1",
            (session_id, order_ms, exchange),
        ) or (2**62, 0)
        is_said = kind == ASSISTANT_TEXT
        sql = (
            _EVENT_SELECT.format(payload="e.payload" if is_said else "NULL")
            + " WHERE e.session_id = ? AND e.kind = ? AND e.agent_id IS NULL AND (e.order_ms, e.id) > (?, ?)"
            " AND (e.order_ms, e.id) < (?, ?) ORDER BY e.order_ms DESC, e.id DESC LIMIT ?"
        )
        values = (session_id, events.STORED_KINDS.index(kind), order_ms, exchange, *following, limit)
        return [_KeptEvent(row, with_text=is_said) for row in reversed(self._db.rows(sql, values))]

    def last_position(self) -> int:
        """The highest event row id, 0 for an empty store."""
        return int(one(self._db.rows("SELECT coalesce(max(id), 0) FROM events")))

    def after(self, after: int, limit: int) -> list[IndexRow]:
        """The next events after a row id, as the index needs them."""
        sql = _INDEX_SELECT + " WHERE id > ? ORDER BY id LIMIT ?"
        return [IndexRow(*row) for row in self._db.rows(sql, (after, limit))]

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

    def sessions_before(self, row: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions (row ids) have events of their own before an event's row id."""
        sql = (
            "SELECT id FROM sessions s WHERE id IN (SELECT value FROM json_each(?1))"
            " AND EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id AND e.id < ?2)"
        )
        return {found for (found,) in self._db.rows(sql, (json.dumps(list(asked)), row))}

    def search_texts(self, rows: Iterable[int]) -> dict[int, str]:
        """The search texts of events by their row ids, made anew from what is stored."""
        found = self._db.rows(
            "SELECT id, kind, tool, file, excerpt, payload FROM events WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rows)),),
        )
        return {row: _search_text(*rest) for row, *rest in found}


def _search_text(kind: int, tool: str | None, file: str | None, excerpt: str, payload: bytes | str | None) -> str:
    name = events.KINDS[kind]
    text = unpack(payload, excerpt)
    if name == events.TOOL_CALL:
        text = events.call_text(tool, json.loads(text)) if text.startswith("{") else text
    return events.searchable(name, tool, file, text)


def _source_state(row: tuple[object, ...]) -> SourceState:
    values = dict(zip(_SOURCE_COLUMNS, row, strict=True))
    return SourceState(str(values["path"]), str(values["client"]), values)
