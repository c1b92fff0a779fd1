"""Every question that the SQLite store answers. Nothing here writes."""

from __future__ import annotations

import json
from _thread import get_ident

from howcome.domain import events
from howcome.domain.sources import COUNTERS, SourceState
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX, SessionSummary, StoredEvent
from howcome.errors import StoreError
from howcome.store.driver import driver_errors, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from howcome.domain.stored import Filter, Scope
    from howcome.store.base import Gate
    from howcome.store.gated import GatedConnection

_EVENT_SELECT = (
    "SELECT e.id, e.key, e.kind, e.origin, s.name, s.client, p.root, e.ts_ms, e.order_ms, e.tool, e.file, e.branch,"
    " e.agent_id, e.failed, e.exit_code, e.text_chars, e.excerpt, {payload} FROM events e"
    " JOIN sessions s ON s.id = e.session_id JOIN projects p ON p.id = e.project_id"
)
_SOURCE_COLUMNS = (
    "id", "path", "client", "generation", "offset", "head_bytes", "head_digest", "tail_digest", "size_bytes",
    "mtime_ns", "tail_bytes", "reader_state", "order_ms",
)  # fmt: skip
_MEMBERS = (
    "SELECT id, order_ms FROM events WHERE session_id = ?1"
    " UNION ALL SELECT event_id, order_ms FROM memberships WHERE session_id = ?1"
)


class IndexRow:
    """What the lexical index needs of one event, but for its search text."""

    __slots__ = ("kind", "order_ms", "origin", "project_id", "row", "session_id", "ts_ms")

    def __init__(
        self, row: int, session_id: int, project_id: int, kind: int, origin: int, ts_ms: int | None, order_ms: int
    ) -> None:
        self.row, self.session_id, self.project_id, self.kind, self.origin = row, session_id, project_id, kind, origin
        self.ts_ms, self.order_ms = ts_ms, order_ms


_INDEX_SELECT = "SELECT id, session_id, project_id, kind, origin, ts_ms, order_ms FROM events"


_decompress: dict[int, Callable[[bytes], bytes]] = {}
"""One a thread (by its identity): making one takes ten times as long as unpacking a text, and none can be shared."""


def unpack(payload: bytes | str | None, excerpt: str) -> str:
    """The whole text of an event: its payload (plain when short), or its excerpt when that is all of it."""
    if payload is None:
        return excerpt
    return payload if isinstance(payload, str) else _unpacked(payload)


def _unpacked(payload: bytes) -> str:
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
            self.row, self.key, kind, origin, self.session, self.client, self.project, self.ts_ms, self.order_ms,
            self.tool, self.file, self.branch, self.agent_id, failed, self.exit_code, self.text_chars, self.excerpt,
            payload,
        ) = row  # fmt: skip
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


def as_text(path: str) -> str:
    """A path as the store writes it: bytes that are no text (a name in another encoding) as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class SqliteReads:
    """The reading half of the SQLite store."""

    connection: GatedConnection
    gate: Gate | None = None
    folder: str
    path: str

    def _rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        """The rows of a query; what is not found by its own name may be there by what the gate made of that."""
        with driver_errors(self.folder):
            found = rows_of(self.connection, sql, values)
            kept = None if found else self.connection.as_kept(values)
            return found if kept is None else rows_of(self.connection, sql, kept)

    def _row(self, sql: str, values: tuple[object, ...] = ()) -> Any:  # noqa: ANN401 - whatever the query selects
        rows = self._rows(sql, values)
        return rows[0] if rows else None

    def meta(self, name: str) -> object:
        """A value of the store itself (its key, its creation time), or None."""
        row = self._row("SELECT value FROM meta WHERE name = ?", (name,))
        return row[0] if row else None

    def mark_of_row(self, row: int) -> str:
        """What tells events up to a row from others of the same numbers; "" where there is no such row."""
        return self._mark("events", row)

    def mark_of_change(self, change: int) -> str:
        """What tells memories up to a change from others of the same numbers; "" where there is no such change."""
        return self._mark("memories", change)

    def _mark(self, kind: str, last: int) -> str:
        found = self._row("SELECT mark FROM marks WHERE kind = ? AND last >= ? ORDER BY last LIMIT 1", (kind, last))
        return str(found[0]) if found else ""

    def project_of_path(self, path: str) -> int | None:
        """The project of a folder that was seen before, or whose root is that folder."""
        row = self._row("SELECT project_id FROM project_paths WHERE path = ?", (as_text(path),))
        return row[0] if row else self.project_of_root(path)

    def project_of_root(self, root: str) -> int | None:
        """The project with this root, be it another root of it."""
        sql = "SELECT id FROM projects WHERE root = ?1 UNION ALL SELECT project_id FROM project_aliases WHERE root = ?1"
        row = self._row(sql, (as_text(root),))
        return row[0] if row else None

    def projects(self) -> list[tuple[int, str]]:
        """Every project's row id and root."""
        return self._rows("SELECT id, root FROM projects ORDER BY root")

    def source(self, path: str) -> SourceState | None:
        """The cursor of a file's current generation."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE path = ? AND is_current"  # noqa: S608 - fixed names
        row = self._row(select, (as_text(path),))
        return _source_state(row) if row else None

    def sources(self) -> Iterator[SourceState]:
        """The cursors of every file's current generation."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE is_current"  # noqa: S608 - fixed names
        for row in self._rows(select):
            yield _source_state(row)

    def sources_like(self, head_digest: str) -> list[SourceState]:
        """Current generations that begin with the same bytes: a renamed file is found by them."""
        select = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE is_current AND head_digest = ?"  # noqa: S608 - fixed names
        return [_source_state(row) for row in self._rows(select, (head_digest,))]

    def source_accounts(self) -> list[dict[str, object]]:
        """Per generation of each file: path, generation, offset and every counter."""
        names = ("path", "client", "generation", "is_current", "offset", "tail_bytes", "read_ms", *COUNTERS)
        rows = self._rows(f"SELECT {', '.join(names)} FROM sources ORDER BY path, generation")  # noqa: S608 - fixed names
        return [dict(zip(names, row, strict=True)) for row in rows]

    def events_by_row(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by their row ids; ids that are not there are left out."""
        wanted = json.dumps(list(rows))
        sql = _EVENT_SELECT.format(payload="e.payload" if with_text else "NULL")
        sql += " WHERE e.id IN (SELECT value FROM json_each(?))"
        found = self._rows(sql, (wanted,))
        return {row[0]: _KeptEvent(row, with_text=with_text) for row in found}

    def rows_within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        """Which of some events (row ids) are where a filter looks (its scope and sessions), by the rows alone."""
        sql = "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?))"
        values: list[object] = [json.dumps(list(rows))]
        if not wanted.scope.is_everything:
            sql += " AND project_id = ?"
            values.append(wanted.scope.project_id)
        for numbers, is_one in ((wanted.sessions, "IN"), (wanted.without or None, "NOT IN")):
            if numbers is not None:
                sql += f" AND session_id {is_one} (SELECT value FROM json_each(?))"  # noqa: S608 - fixed words
                values.append(json.dumps(list(numbers)))
        return {row[0] for row in self._rows(sql, tuple(values))}

    def turns_by_row(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """Events by their row ids, turns with their texts; ids that are not there are left out."""
        sql = _EVENT_SELECT.format(payload="CASE WHEN e.kind IN (0, 1) THEN e.payload END")
        sql += " WHERE e.id IN (SELECT value FROM json_each(?))"
        return {row[0]: _KeptEvent(row, with_text=row[2] < 2) for row in self._rows(sql, (json.dumps(list(rows)),))}

    def events_by_prefix(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events whose id starts with `prefix` (`ev-` and hex digits), with their texts; at most `limit`."""
        digits = prefix.removeprefix(ID_PREFIX).lower()
        if not digits or len(digits) > ID_HEX_CHARS or not set(digits) <= set("0123456789abcdef"):
            return []
        low = bytes.fromhex(digits.ljust(32, "0"))
        high = bytes.fromhex(digits.ljust(32, "f"))
        sql = _EVENT_SELECT.format(payload="e.payload") + " WHERE e.key BETWEEN ? AND ? LIMIT ?"
        return [_KeptEvent(row, with_text=True) for row in self._rows(sql, (low, high, limit))]

    def find_sessions(self, prefix: str, limit: int = 5) -> list[tuple[int, str, str]]:
        """Sessions whose client id is or starts with `prefix`: row id, client id, project root; the exact one alone."""
        sql = "SELECT s.id, s.name, p.root FROM sessions s JOIN projects p ON p.id = s.project_id WHERE "
        exact = list(self._rows(sql + "s.name = ?", (prefix,)))
        if exact or not prefix:
            return exact
        return list(
            self._rows(sql + "substr(s.name, 1, ?1) = ?2 ORDER BY s.name LIMIT ?3", (len(prefix), prefix, limit))
        )

    def session_events(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order: its own events and those it shares as a fork."""
        sql = (
            f"WITH members AS ({_MEMBERS}) "
            + _EVENT_SELECT.format(payload="e.payload" if with_text else "NULL")
            + " JOIN members m ON m.id = e.id ORDER BY m.order_ms, e.source_id, e.id"
        )
        return [_KeptEvent(row, with_text=with_text) for row in self._rows(sql, (session_id,))]

    def opening(self, row: int) -> int | None:
        """The prompt (row id) that opened the exchange of an event: as it is now, whatever was read first."""
        found = self._row(
            "SELECT p.id FROM events e JOIN events p ON p.session_id = e.session_id AND p.kind = 0"
            " AND (p.order_ms, p.id) <= (e.order_ms, e.id) WHERE e.id = ? ORDER BY p.order_ms DESC, p.id DESC LIMIT 1",
            (row,),
        )
        return found[0] if found else None

    def answers(self, exchange: int, limit: int) -> list[StoredEvent]:
        """The last things the agent said in the exchange that a prompt (by row id) opened, in their order."""
        place = self._row("SELECT session_id, order_ms FROM events WHERE id = ?", (exchange,))
        if place is None:
            return []
        session_id, order_ms = place
        following = self._row(
            "SELECT order_ms, id FROM events WHERE session_id = ? AND kind = 0 AND (order_ms, id) > (?, ?)"
            " ORDER BY order_ms, id LIMIT 1",
            (session_id, order_ms, exchange),
        ) or (2**62, 0)
        sql = (
            _EVENT_SELECT.format(payload="e.payload")
            + " WHERE e.session_id = ? AND e.kind = 1 AND e.agent_id IS NULL AND (e.order_ms, e.id) > (?, ?)"
            " AND (e.order_ms, e.id) < (?, ?) ORDER BY e.order_ms DESC, e.id DESC LIMIT ?"
        )
        rows = self._rows(sql, (session_id, order_ms, exchange, *following, limit))
        return [_KeptEvent(row, with_text=True) for row in reversed(rows)]

    def last_ms(self) -> int:
        """The time of the newest event, 0 for an empty store."""
        return int(one(self._rows("SELECT coalesce(max(ts_ms), 0) FROM events")))

    def rows_known(self, session: str) -> set[int]:
        """Rows that a session holds already: injected into it, or copied with the session that it is a fork of."""
        found = self._rows(
            "SELECT event_id FROM injections WHERE session = ?1 UNION"
            " SELECT m.event_id FROM memberships m JOIN sessions s ON s.id = m.session_id WHERE s.name = ?1",
            (session,),
        )
        return {row[0] for row in found}

    def session_ids(self, name: str) -> list[int]:
        """Row ids of the sessions with this client id."""
        return [row[0] for row in self._rows("SELECT id FROM sessions WHERE name = ?", (name,))]

    def sessions_of_project(self, project_id: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions (row ids) are of a project."""
        sql = "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND project_id = ?"
        return {row[0] for row in self._rows(sql, (json.dumps(list(asked)), project_id))}

    def sessions_of_client(self, client: str) -> list[int]:
        """Row ids of the sessions of one client."""
        return [row[0] for row in self._rows("SELECT id FROM sessions WHERE client = ?", (client,))]

    def clients(self) -> list[str]:
        """The clients that sessions are of."""
        return [row[0] for row in self._rows("SELECT DISTINCT client FROM sessions ORDER BY client")]

    def session_of_event(self, row: int) -> int | None:
        """The row id of the session that an event belongs to."""
        found = self._row("SELECT session_id FROM events WHERE id = ?", (row,))
        return found[0] if found else None

    def recent_sessions(self, scope: Scope, limit: int) -> list[SessionSummary]:
        """The sessions of a scope in which something happened last, newest first: what is cheap to know of each.

        Not those that were stored last: a first import reads the newest transcript first. The last moment of a session
        is one look into an index, so that only those that are shown are counted.
        """
        where = "" if scope.is_everything else "WHERE project_id = ?1"
        last = "SELECT max(order_ms) FROM events WHERE session_id = sessions.id"
        sql = (
            "SELECT s.id, s.name, s.client, p.root, (SELECT min(order_ms) FROM events WHERE session_id = s.id),"  # noqa: S608 - fixed text
            " s.last_ms, (SELECT count(*) FROM events WHERE session_id = s.id),"
            " coalesce((SELECT excerpt FROM events WHERE session_id = s.id AND kind = 0 ORDER BY order_ms, id LIMIT 1),"
            " (SELECT excerpt FROM events WHERE session_id = s.id ORDER BY order_ms, id LIMIT 1))"
            f" FROM (SELECT id, name, client, project_id, ({last}) AS last_ms FROM sessions {where}"
            " ORDER BY last_ms DESC, id DESC LIMIT ?2) s JOIN projects p ON p.id = s.project_id"
            " ORDER BY s.last_ms DESC, s.id DESC"
        )
        return [SessionSummary(row) for row in self._rows(sql, (scope.project_id, limit))]

    def last_row(self) -> int:
        """The highest event row id, 0 for an empty store."""
        return int(one(self._rows("SELECT coalesce(max(id), 0) FROM events")))

    def index_rows(self, after: int, limit: int) -> list[IndexRow]:
        """The next events after a row id, as the index needs them."""
        sql = _INDEX_SELECT + " WHERE id > ? ORDER BY id LIMIT ?"
        return [IndexRow(*row) for row in self._rows(sql, (after, limit))]

    def index_session(self, session_id: int, from_ms: int) -> list[IndexRow]:
        """A session's own events in their order, from the prompt before the last one before a moment on."""
        prompts = self._rows(
            "SELECT order_ms FROM events WHERE session_id = ? AND order_ms <= ? AND kind = 0"
            " ORDER BY order_ms DESC LIMIT 2",
            (session_id, from_ms),
        )
        start = prompts[-1][0] if len(prompts) == 2 else 0
        sql = _INDEX_SELECT + " WHERE session_id = ? AND order_ms >= ? ORDER BY order_ms, id"
        return [IndexRow(*row) for row in self._rows(sql, (session_id, start))]

    def sessions_before(self, row: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions (row ids) have events of their own before an event's row id."""
        sql = (
            "SELECT value FROM json_each(?1) WHERE"
            " EXISTS (SELECT 1 FROM events WHERE session_id = value AND id < ?2)"
        )
        return {found for (found,) in self._rows(sql, (json.dumps(list(asked)), row))}

    def search_texts(self, rows: Iterable[int]) -> dict[int, str]:
        """The search texts of events by their row ids, made anew from what is stored."""
        found = self._rows(
            "SELECT id, kind, tool, file, excerpt, payload FROM events WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rows)),),
        )
        return {row: _search_text(*rest) for row, *rest in found}

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        tables = ("projects", "sessions", "events", "memberships", "quarantine", "injections")
        count = "SELECT count(*) FROM {}"
        counts = {name: int(one(self._rows(count.format(name)))) for name in tables}
        counts["sources"] = int(one(self._rows(count.format("sources WHERE is_current"))))
        return counts

    def kind_counts(self) -> dict[int, int]:
        """Events by the number of their kind."""
        return dict(self._rows("SELECT kind, count(*) FROM events GROUP BY kind"))

    def check_integrity(self) -> list[str]:
        """What SQLite finds wrong with the file; [] when nothing."""
        found = [row[0] for row in self._rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found


def _search_text(kind: int, tool: str | None, file: str | None, excerpt: str, payload: bytes | str | None) -> str:
    name = events.KINDS[kind]
    text = unpack(payload, excerpt)
    if name == events.TOOL_CALL:
        text = events.call_text(tool, json.loads(text)) if text.startswith("{") else text
    return events.searchable(name, tool, file, text)


def _source_state(row: tuple[object, ...]) -> SourceState:
    values = dict(zip(_SOURCE_COLUMNS, row, strict=True))
    return SourceState(str(values["path"]), str(values["client"]), values)
