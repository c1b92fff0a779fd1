"""How batches come in: events with their sessions and projects, the byte account and the cursor, in one transaction."""

from __future__ import annotations

import json
from operator import attrgetter

from howcome.domain.sources import COUNTERS
from howcome.errors import CursorMovedError
from howcome.log.database import Database, Kept
from howcome.log.event_rows import one, path_text
from howcome.log.projects import Projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.sources import Batch, NewEvent, NewRecord

OF_EVENT = (
    "key", "kind", "origin", "ts_ms", "order_ms", "tool", "tool_use_id", "file", "branch", "agent_id", "failed",
    "exit_code", "text_chars", "excerpt", "payload",
)  # fmt: skip
_INSERT_EVENT = (
    f"INSERT INTO events (session_id, project_id, source_id, offset, {', '.join(OF_EVENT)})"  # noqa: S608 - fixed names
    f" VALUES ({', '.join('?' * (4 + len(OF_EVENT)))}) ON CONFLICT (key) DO NOTHING"
)
event_values = attrgetter(*OF_EVENT)
_OF_CURSOR = ("offset", "head_bytes", "head_digest", "tail_digest", "size_bytes", "mtime_ns", "tail_bytes", "order_ms")
_cursor_values = attrgetter(*_OF_CURSOR)
_ADD_COUNTS = ", ".join(f"{name} = {name} + ?" for name in COUNTERS)
_COUNT = f"UPDATE sources SET {_ADD_COUNTS} WHERE id = ?"  # noqa: S608 - fixed names
_MOVE_CURSOR = (
    f"UPDATE sources SET {', '.join(f'{name} = ?' for name in _OF_CURSOR)}, reader_state = ?, read_ms = ?,"  # noqa: S608 - fixed names
    f" {_ADD_COUNTS} WHERE id = ?"
)


class BatchWriter:
    """Writes batches, each within the caller's transaction."""

    def __init__(self, db: Database) -> None:
        self._db, self._projects = db, Projects(db)
        self._sessions: dict[tuple[str, str], tuple[int, int, str]] = {}
        self._paths: dict[str, int] = {}
        self._joined: object = None
        db.on_rollback.append(self._forget)

    def _forget(self) -> None:
        """Rows that are rolled back must not be referred to."""
        self._sessions.clear()
        self._paths.clear()

    def add(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """As `EventLog.append` with one."""
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        source_id = self._claim_source(batch)
        self.add_records(batch.records, source_id, batch, counts, new_rows)
        self._move_cursor(source_id, batch, counts)
        batch.after.id = source_id
        return counts, new_rows

    def count(self, source_id: int, counts: dict[str, int]) -> None:
        """Adds to a source's accounts."""
        self._db.execute(_COUNT, (*(counts[name] for name in COUNTERS), source_id))

    def mark_events(self, last: int) -> None:
        """Gives all events up to a position a mark of their own."""
        values = "INSERT OR REPLACE INTO marks VALUES ('events', ?, hex(randomblob(16)))"
        self._db.execute(values, (last,))

    def _claim_source(self, batch: Batch) -> int:
        after = batch.after
        expected = after.offset - sum(record.size_bytes for record in batch.records)
        if after.id is not None:
            row = self._db.execute("SELECT offset, is_current FROM sources WHERE id = ?", (after.id,)).fetchone()
            if row is None or row != (expected, 1):
                raise CursorMovedError(f"{after.path}: another process is reading it")
            return after.id
        self._db.execute(
            "INSERT INTO sources (path, client, generation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (path_text(after.path), after.client, after.generation),
        )
        if not self._db.changes() or expected != 0:
            raise CursorMovedError(f"{after.path}: another process is reading it")
        source_id = self._db.last_id()
        self._db.execute(
            "UPDATE sources SET is_current = FALSE WHERE path = ? AND generation < ?",
            (path_text(after.path), after.generation),
        )
        return source_id

    def add_records(
        self, records: Iterable[NewRecord], source_id: int, batch: Batch, counts: dict[str, int], rows: dict[int, str]
    ) -> None:
        """Adds what records hold, and counts them; `rows` gets the search text of each new event by its position."""
        joined = self._db.execute("SELECT count(*), max(noted_ms) FROM project_aliases").fetchone()
        if joined != self._joined:  # another process may have made a project that is known here a part of another
            self._forget()
            self._joined = joined
        for record in records:
            self._add_record(record, source_id, batch, counts, rows)
        if rows:
            self.mark_events(max(rows))

    def _add_record(
        self, record: NewRecord, source_id: int, batch: Batch, counts: dict[str, int], new_rows: dict[int, str]
    ) -> None:
        counts["records"] += 1
        if record.quarantined is not None:
            self._quarantine(record, source_id, batch.now_ms)
            fate = "quarantined"
            counts["quarantined"] += 1
        elif record.ignored:
            fate = "ignored"
            counts["ignored"] += 1
            counts["unknown"] += record.unknown
        else:
            accepted = sum(self._add_event(event, record, source_id, batch, new_rows) for event in record.events)
            counts["accepted"] += accepted
            counts["duplicate"] += len(record.events) - accepted
            fate = "accepted" if accepted else "duplicate"
        counts[fate + "_bytes"] += record.size_bytes

    def _add_event(
        self, event: NewEvent, record: NewRecord, source_id: int, batch: Batch, new_rows: dict[int, str]
    ) -> bool:
        session_id, project_id = self._place(batch, event)
        place = (session_id, project_id, source_id, record.offset)
        self._db.execute_gated(_INSERT_EVENT, (*place, *event_values(event)))  # by `ingest.writer`
        if self._db.changes():
            new_rows[self._db.last_id()] = event.search_text
            return True
        found = self._db.execute("SELECT id, session_id FROM events WHERE key = ?", (event.key,)).fetchone()
        if found is not None and found[1] != session_id:  # a fork: it keeps what it copied
            self._share(session_id, found[0], event)
        return False

    def _share(self, session_id: int, row: int, event: NewEvent) -> None:
        sql = "INSERT OR IGNORE INTO memberships (session_id, event_id, order_ms) VALUES (?, ?, ?)"
        self._db.execute(sql, (session_id, row, event.order_ms))

    def _place(self, batch: Batch, event: NewEvent) -> tuple[int, int]:
        """The session and project rows of an event, made when they are new."""
        known = self._sessions.get((batch.after.client, event.session)) or self._session(batch, event)
        session_id, project_id, root = known
        cwd = event.cwd
        if cwd is None or cwd == root:
            return session_id, project_id
        resolved, is_certain = batch.roots.get(cwd, (cwd, False))
        is_below = root != "/" and resolved.startswith(root + "/")  # "/" is the root of what names no folder
        if resolved == root:
            return session_id, project_id
        belongs = root if is_below and not is_certain else resolved
        return session_id, self._project(belongs, cwd, batch.now_ms)

    def _session(self, batch: Batch, event: NewEvent) -> tuple[int, int, str]:
        client = batch.after.client
        find = (
            "SELECT s.id, s.project_id, p.root FROM sessions s JOIN projects p ON p.id = s.project_id"
            " WHERE s.name = ? AND s.client = ?"
        )
        found: tuple[int, int, str] | None = self._db.execute(find, (event.session, client)).fetchone()
        if found is None:
            cwd = event.cwd or ""
            project_id = self._project(batch.roots.get(cwd, (cwd, False))[0], cwd, batch.now_ms)
            self._db.execute(
                "INSERT INTO sessions (client, name, project_id) VALUES (?, ?, ?)", (client, event.session, project_id)
            )
            row = self._db.last_id()
            root = one(self._db.execute("SELECT root FROM projects WHERE id = ?", (project_id,)))
            found = (row, project_id, str(root))
        self._sessions[client, event.session] = found
        return found

    def _project(self, root: str, cwd: str, now_ms: int) -> int:
        known = self._paths.get(cwd)
        if known is not None:
            return known
        project_id = self._projects.of_root(root)
        if project_id is None and root[1:3] == ":/":  # a folder of another machine, whose repository nobody can look at
            from howcome.domain.windows import windows_parents

            project_id = next(filter(None, map(self._projects.of_root, windows_parents(root))), None)
        if project_id is None:
            self._db.execute("INSERT INTO projects (root, created_ms) VALUES (?, ?)", (root, now_ms))
            project_id = self._db.last_id()
        self._db.execute(
            "INSERT INTO project_paths (path, project_id) VALUES (?1, ?2)"
            " ON CONFLICT (path) DO UPDATE SET project_id = ?2",
            (cwd, project_id),
        )
        self._paths[cwd] = project_id
        return project_id

    def _quarantine(self, record: NewRecord, source_id: int, now_ms: int) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO quarantine (source_id, offset, size_bytes, reason, digest, seen_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (source_id, record.offset, record.size_bytes, record.quarantined, record.digest, now_ms),
        )

    def _move_cursor(self, source_id: int, batch: Batch, counts: dict[str, int]) -> None:
        after = batch.after
        state, accounts = Kept(json.dumps(after.reader_state)), (counts[name] for name in COUNTERS)
        self._db.execute(_MOVE_CURSOR, (*_cursor_values(after), state, batch.now_ms, *accounts, source_id))
        self._db.execute("DELETE FROM trials WHERE path = ? AND offset < ?", (path_text(after.path), after.offset))
