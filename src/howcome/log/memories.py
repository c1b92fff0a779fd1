"""Memories: their rows."""

from __future__ import annotations

import json

from howcome.domain.memories import ID_PREFIX, KEY_BYTES
from howcome.log.event_rows import key_range
from howcome.log.memory_rows import HOLDS, LIVE_THEN, OUTSIDE, SELECT, as_then, memories_by_row, memory_of
from howcome.log.memory_writing import MemoryWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.memories import Memory, MemoryFilter, NewMemory
    from howcome.domain.stored import Scope
    from howcome.log.database import Database


class Memories:
    """Reads memories, and changes them one by one."""

    def __init__(self, db: Database) -> None:
        self._db, self._writer = db, MemoryWriter(db)

    def add(self, new: NewMemory) -> tuple[Memory, bool]:
        """Adds a memory: the row, and True; the one that says the same in the same scope (or has its key), and False.

        A memory that supersedes another takes its place in the same transaction. One that was forgotten or purged
        elsewhere comes as it is: only live ones are compared by what they say.

        Raises:
            UsageError: what it would supersede was superseded, forgotten or purged meanwhile.
        """
        with self._db.transaction():
            return self._writer.add(new)

    def set_status(self, row: int, status: str, now_ms: int) -> None:
        """Whether a memory is still open or resolved, as somebody says."""
        with self._db.transaction():
            self._writer.change(row, "status = ?, status_ms = ?", status, now_ms)

    def set_deleted(self, row: int, deleted_ms: int | None, *, is_wrong: bool = False) -> None:
        """Forgets a memory, perhaps because it is wrong, or (None) restores it."""
        with self._db.transaction():
            self._writer.change(row, "deleted_ms = ?, wrong_ms = ?", deleted_ms, deleted_ms if is_wrong else None)

    def set_pinned(self, row: int, pinned_ms: int | None) -> None:
        """Pins a memory, or (None) lets it go."""
        with self._db.transaction():
            self._writer.change(row, "pinned_ms = ?", pinned_ms)

    def set_also(self, row: int, roots: Iterable[str], left: Iterable[str], now_ms: int) -> None:
        """A memory holds in these other projects from now on, and in some no longer; all by their roots."""
        with self._db.transaction():
            self._writer.hold(row, roots, left, now_ms)

    def record_access(self, rows: Iterable[int], now_ms: int) -> None:
        """Counts that memories were read on purpose."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE memories SET access_count = access_count + 1, accessed_ms = ?"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (now_ms, json.dumps(list(rows))),
            )

    def by_row(self, rows: Iterable[int], then_ms: int | None = None) -> dict[int, Memory]:
        """Memories by their row ids, perhaps as they were at a moment; ids that are not there are left out."""
        found = memories_by_row(self._db, rows)
        if then_ms is not None:
            as_then(self._db, list(found.values()), then_ms)
        return found

    def find(self, prefix: str, limit: int = 5) -> list[Memory]:
        """Memories whose id starts with `prefix` (`mem-` and hex digits); at most `limit`."""
        keys = key_range(prefix, ID_PREFIX, 2 * KEY_BYTES)
        sql = SELECT + " WHERE m.key BETWEEN ? AND ? LIMIT ?"
        return [memory_of(row) for row in self._db.rows(sql, (*keys, limit))] if keys else []

    def live_twin(self, row: int) -> Memory | None:
        """The live memory that says the same in the same scope, of the same owner, if there is one."""
        found = self._db.row(
            "SELECT o.id FROM memories m JOIN memories o ON o.digest = m.digest"  # noqa: S608 - fixed text
            f" AND (o.project_id IS NOT DISTINCT FROM m.project_id OR {HOLDS.format('o', 'm.project_id')})"
            " AND o.agent IS NOT DISTINCT FROM m.agent AND o.id != m.id WHERE m.id = ? AND o.deleted_ms IS NULL"
            f" AND o.superseded_by IS NULL AND o.purged_ms IS NULL AND NOT {OUTSIDE.format('o')} LIMIT 1",
            (row,),
        )
        return self.by_row([found[0]])[found[0]] if found else None

    def select(self, scope: Scope, wanted: MemoryFilter, limit: int, *, oldest_first: bool = False) -> list[Memory]:
        """Memories of a scope (a project's with those that hold everywhere), newest first; purged ones when asked."""
        clauses, then_ms = ["TRUE"] if wanted.with_purged else ["m.purged_ms IS NULL"], wanted.before_ms
        values: list[object] = []
        if wanted.is_global_only:
            clauses.append("m.project_id IS NULL")
        elif wanted.is_own_only:
            clauses.append(HOLDS.format("m", "?"))
            values += [scope.project_id] * 2
        elif not scope.is_everything:
            clauses.append(f"(m.project_id IS NULL OR {HOLDS.format('m', '?')})")
            values += [scope.project_id] * 2
        for column in ("type", "agent", "status", "source"):
            if getattr(wanted, column) is not None:
                is_later = column == "status" and then_ms is not None  # whoever said so said it afterwards
                clauses.append(f"(m.{column} = ?{f' OR m.status_ms >= {then_ms:d}' if is_later else ''})")
                values.append(getattr(wanted, column))
        if then_ms is None:
            clauses += [] if wanted.with_forgotten else ["m.deleted_ms IS NULL"]
            clauses += [] if wanted.with_superseded else ["m.superseded_by IS NULL"]
        else:
            clauses.append(LIVE_THEN.format("m", f"{then_ms:d}"))
        order = "m.id" if oldest_first else "m.created_ms DESC, m.id DESC"  # a chain is in the order of its rows
        sql = f"{SELECT} WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ?"
        found = [memory_of(row) for row in self._db.rows(sql, (*values, limit))]
        return found if then_ms is None else list(as_then(self._db, found, then_ms))

    def counts(self) -> dict[str, dict[str, int]]:
        """Live memories by type and by status, and all by what has become of them."""
        rows = self._db.rows(
            "SELECT type, status, CASE WHEN purged_ms IS NOT NULL THEN 'purged' WHEN deleted_ms IS NOT NULL THEN"
            " 'forgotten' WHEN superseded_by IS NOT NULL THEN 'superseded' ELSE 'live' END, count(*)"
            " FROM memories GROUP BY 1, 2, 3"
        )
        counts: dict[str, dict[str, int]] = {"by_type": {}, "by_status": {}, "by_state": {}}
        for kind, status, state, count in rows:
            counts["by_state"][state] = counts["by_state"].get(state, 0) + count
            if state == "live":
                counts["by_type"][kind] = counts["by_type"].get(kind, 0) + count
                counts["by_status"][status] = counts["by_status"].get(status, 0) + count
        return counts

    def said(self, row: int) -> list[tuple[int, str]]:
        """Every time (UTC ms, event id) a memory was said, in order; none for one that was kept by hand."""
        sql = "SELECT ts_ms, event FROM memory_said WHERE memory_id = ? ORDER BY ts_ms, event"
        return list(self._db.rows(sql, (row,)))
