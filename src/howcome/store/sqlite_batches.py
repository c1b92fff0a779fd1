"""How batches come in: events with their sessions and projects, the byte account and the cursor, in one transaction."""

from __future__ import annotations

import json

from howcome.domain.sources import COUNTERS, SET_ASIDE
from howcome.errors import CursorMovedError
from howcome.store.gated import Kept
from howcome.store.sqlite_projects import SqliteProjects
from howcome.store.sqlite_reads import as_text, one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.sources import Batch, NewEvent, NewRecord

_INSERT_EVENT = (
    "INSERT INTO events (key, session_id, project_id, source_id, offset, kind, origin, ts_ms, order_ms, tool,"
    " tool_use_id, file, branch, agent_id, failed, exit_code, text_chars, excerpt, payload)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO NOTHING"
)
_ADD_COUNTS = ", ".join(f"{name} = {name} + ?" for name in COUNTERS)
_COUNT = f"UPDATE sources SET {_ADD_COUNTS} WHERE id = ?"  # noqa: S608 - fixed names
_MOVE_CURSOR = (
    "UPDATE sources SET offset = ?, head_bytes = ?, head_digest = ?, tail_digest = ?, size_bytes = ?, mtime_ns = ?,"  # noqa: S608 - fixed names
    f" tail_bytes = ?, reader_state = ?, order_ms = ?, read_ms = ?, {_ADD_COUNTS} WHERE id = ?"
)

class SqliteBatches(SqliteProjects):
    """See `store.base.Store` for the contract."""

    _sessions: dict[tuple[str, str], tuple[int, int, str]]
    _paths: dict[str, int]

    def add_batch(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds a batch's events and moves its source's cursor, in one transaction.

        Returns:
            Counts by the names of `domain.sources.COUNTERS`, and the search text of each new row by its id.

        Raises:
            CursorMovedError: another process has moved the cursor; nothing was written.
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        with self.transaction():
            return self._add_batch(batch)

    def add_batches(self, batches: Sequence[Batch]) -> list[tuple[dict[str, int], dict[int, str]] | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved.

        Raises:
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        found: list[tuple[dict[str, int], dict[int, str]] | None] = []
        with self.transaction():
            for batch in batches:
                try:
                    with self.connection:  # a savepoint
                        found.append(self._add_batch(batch))
                except CursorMovedError:
                    found.append(None)
        return found

    def _add_batch(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        source_id = self._claim_source(batch)
        for record in batch.records:
            self._add_record(record, source_id, batch, counts, new_rows)
        if new_rows:
            self._mark_events(max(new_rows))
        self._move_cursor(source_id, batch, counts)
        batch.after.id = source_id
        return counts, new_rows

    def readmit(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds the events of a record that was set aside, and moves its bytes to the account where they belong.

        Args:
            batch: The record, and the cursor of its source, which stays where it is.

        Returns:
            As `add_batch`; `records` is 0, and nothing is counted when somebody else has done it.
        """
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        [record], source_id = batch.records, batch.after.id or 0
        with self.transaction():
            sql = "DELETE FROM quarantine WHERE source_id = ? AND offset = ? AND reason = ?"
            self.connection.execute(sql, (source_id, record.offset, SET_ASIDE))
            if not self.connection.changes():
                return counts, new_rows
            self._add_record(record, source_id, batch, counts, new_rows)
            if new_rows:
                self._mark_events(max(new_rows))
            counts["records"] -= 1
            counts["quarantined"] -= 1
            counts["quarantined_bytes"] -= record.size_bytes
            self._count(source_id, counts)
        return counts, new_rows

    def _count(self, source_id: int, counts: dict[str, int]) -> None:
        self.connection.execute(_COUNT, (*(counts[name] for name in COUNTERS), source_id))

    def _mark_events(self, last: int) -> None:
        values = "INSERT OR REPLACE INTO marks VALUES ('events', ?, hex(randomblob(16)))"
        self.connection.execute(values, (last,))

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless, to be made anew from them.

        For whoever changes or moves rows that were there: events are else only ever added.
        """
        with self.transaction():
            self.connection.execute("UPDATE marks SET mark = hex(randomblob(16))")
            if last := int(one(self.connection.execute("SELECT coalesce(max(id), 0) FROM events"))):
                self._mark_events(last)

    def _claim_source(self, batch: Batch) -> int:
        after = batch.after
        expected = after.offset - sum(record.size_bytes for record in batch.records)
        if after.id is not None:
            row = self.connection.execute("SELECT offset, is_current FROM sources WHERE id = ?", (after.id,)).fetchone()
            if row is None or row != (expected, 1):
                raise CursorMovedError(f"{after.path}: another process is reading it")
            return after.id
        self.connection.execute(
            "INSERT INTO sources (path, client, generation) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (as_text(after.path), after.client, after.generation),
        )
        if not self.connection.changes() or expected != 0:
            raise CursorMovedError(f"{after.path}: another process is reading it")
        source_id = self.connection.last_insert_rowid()
        self.connection.execute(
            "UPDATE sources SET is_current = 0 WHERE path = ? AND generation < ?",
            (as_text(after.path), after.generation),
        )
        return source_id

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
        self.connection.execute_gated(  # by `ingest.prepare`
            _INSERT_EVENT, (event.key, session_id, project_id, source_id, record.offset, *event.columns)
        )
        if self.connection.changes():
            new_rows[self.connection.last_insert_rowid()] = event.search_text
            return True
        found = self.connection.execute("SELECT id, session_id FROM events WHERE key = ?", (event.key,)).fetchone()
        if found is not None and found[1] != session_id:  # a fork: it keeps what it copied
            self.connection.execute(
                "INSERT OR IGNORE INTO memberships (session_id, event_id, order_ms) VALUES (?, ?, ?)",
                (session_id, found[0], event.columns[3]),
            )
        return False

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
        found: tuple[int, int, str] | None = self.connection.execute(find, (event.session, client)).fetchone()
        if found is None:
            cwd = event.cwd or ""
            project_id = self._project(batch.roots.get(cwd, (cwd, False))[0], cwd, batch.now_ms)
            self.connection.execute(
                "INSERT INTO sessions (client, name, project_id) VALUES (?, ?, ?)", (client, event.session, project_id)
            )
            found = (self.connection.last_insert_rowid(), project_id, self._root_of(project_id))
        self._sessions[client, event.session] = found
        return found

    def _root_of(self, project_id: int) -> str:
        return str(one(self.connection.execute("SELECT root FROM projects WHERE id = ?", (project_id,))))

    def _project(self, root: str, cwd: str, now_ms: int) -> int:
        known = self._paths.get(cwd)
        if known is not None:
            return known
        project_id = self.project_of_root(root)
        if project_id is None and root[1:3] == ":/":  # a folder of another machine, whose repository nobody can look at
            from howcome.domain.windows import windows_parents

            project_id = next(filter(None, map(self.project_of_root, windows_parents(root))), None)
        if project_id is None:
            self.connection.execute("INSERT INTO projects (root, created_ms) VALUES (?, ?)", (root, now_ms))
            project_id = self.connection.last_insert_rowid()
        self.connection.execute(
            "INSERT INTO project_paths (path, project_id) VALUES (?1, ?2)"
            " ON CONFLICT (path) DO UPDATE SET project_id = ?2",
            (cwd, project_id),
        )
        self._paths[cwd] = project_id
        return project_id

    def _quarantine(self, record: NewRecord, source_id: int, now_ms: int) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO quarantine (source_id, offset, size_bytes, reason, digest, seen_ms)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (source_id, record.offset, record.size_bytes, record.quarantined, record.digest, now_ms),
        )

    def _move_cursor(self, source_id: int, batch: Batch, counts: dict[str, int]) -> None:
        after = batch.after
        self.connection.execute(
            _MOVE_CURSOR,
            (
                after.offset, after.head_bytes, after.head_digest, after.tail_digest, after.size_bytes, after.mtime_ns,
                after.tail_bytes, Kept(json.dumps(after.reader_state)), after.order_ms, batch.now_ms,
                *(counts[name] for name in COUNTERS), source_id,
            ),
        )  # fmt: skip
        self.connection.execute("DELETE FROM trials WHERE path = ? AND offset < ?", (as_text(after.path), after.offset))

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor under its new path."""
        with self.transaction():
            select = "SELECT coalesce(max(generation), 0) + 1 FROM sources WHERE path = ?"
            generation = one(self.connection.execute(select, (as_text(path),)))
            self.connection.execute(
                "UPDATE sources SET path = ?, generation = ? WHERE id = ?", (as_text(path), generation, source_id)
            )
