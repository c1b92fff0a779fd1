"""Writing memories' rows: what several of its parts do within their own transactions."""

from __future__ import annotations

import json
from operator import attrgetter

from howcome.domain.events import ORIGIN_NUMBERS
from howcome.domain.memories import HAND, IMPORTED
from howcome.errors import UsageError
from howcome.log.event_rows import one, path_text
from howcome.log.memory_rows import HOLDS, LIVE, NEXT_CHANGE, OUTSIDE, memories_by_row
from howcome.log.projects import Projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.memories import Memory, NewMemory
    from howcome.log.database import Database

_OF_MEMORY = (
    "key", "digest", "type", "text", "agent", "status", "created_ms", "supersedes", "deleted_ms", "purged_ms", "source",
    "subject", "pinned_ms", "status_ms", "wrong_ms", "gone_ms",
)  # fmt: skip
_values_of = attrgetter(*_OF_MEMORY)
_INSERT = (
    f"INSERT INTO memories (change, project_id, origin, {', '.join(_OF_MEMORY)})"  # noqa: S608 - fixed names
    f" VALUES ({NEXT_CHANGE}, {', '.join('?' * (2 + len(_OF_MEMORY)))})"
)
_BROUGHT_OVER = "SELECT newer FROM memory_reviews WHERE older = ?1 AND newer != ?1 AND reason = 'imported'"


class MemoryWriter:
    """Writes memories, each within the caller's transaction."""

    def __init__(self, db: Database) -> None:
        self._db, self._projects = db, Projects(db)

    def add(self, new: NewMemory) -> tuple[Memory, bool]:
        """As `Memories.add`, within a transaction; what comes from outside is put on the review list."""
        if new.replaces is not None:
            self.remove(new.replaces)
        memory, is_new = self._add_row(new)
        if is_new and new.claims is not None:
            claims = new.claims
            self._db.execute(
                "INSERT INTO memory_reviews (older, newer, reason, found_ms, pinned_ms) VALUES (?, ?, ?, ?, ?)",
                (claims.supersedes or memory.row, memory.row, IMPORTED, claims.found_ms, claims.pinned_ms),
            )
        return memory, is_new

    def remove(self, row: int) -> None:
        """Takes a memory and all that hangs on it away, as if it had never been; within a transaction."""
        for sql in (
            f"DELETE FROM memory_reviews WHERE older = newer AND newer IN ({_BROUGHT_OVER})",  # noqa: S608 - fixed text
            "UPDATE memory_reviews SET older = newer WHERE older = ?1 AND newer != ?1 AND reason = 'imported'",
            "DELETE FROM memory_evidence WHERE memory_id = ?",
            "DELETE FROM memory_said WHERE memory_id = ?",
            "DELETE FROM consolidated WHERE ? IN (memory_id, kept_id)",
            "DELETE FROM memory_projects WHERE memory_id = ?",
            "DELETE FROM memory_reviews WHERE ? IN (older, newer)",
            "UPDATE memories SET supersedes = NULL WHERE supersedes = ?",
            "UPDATE memories SET superseded_by = NULL WHERE superseded_by = ?",
            "DELETE FROM memories WHERE id = ?",
        ):
            self._db.execute(sql, (row,))

    def _add_row(self, new: NewMemory) -> tuple[Memory, bool]:
        """The row, or the one that says the same."""
        project_id = None if new.project is None else self._project_id(new.project, new.created_ms)
        if new.supersedes is not None and not new.is_copy:
            self._require_live(new.supersedes)
        known = self._known_memory(new, project_id)
        if known is not None:
            return self._said_again(known, new), False
        self._db.execute(_INSERT, (project_id, ORIGIN_NUMBERS[new.origin], *_values_of(new)))
        row = self._db.last_id()
        if new.supersedes is not None:
            self.change(new.supersedes, "superseded_by = ?", row)
        self.bear_out(row, new.evidence, new.said)
        if new.also and project_id is not None:
            self.hold(row, new.also, (), new.created_ms)
        return memories_by_row(self._db, [row])[row], True

    def _said_again(self, row: int, new: NewMemory) -> Memory:
        """A memory that says the same is borne out, and holds in the other projects for which it is kept again."""
        found = memories_by_row(self._db, [row])[row]
        if found.source == HAND and not new.is_copy:
            self.bear_out(row, new.evidence, ())
        if new.project is not None and new.also and new.supersedes is None and not new.is_copy:
            self.hold(row, [new.project, *new.also], (), new.created_ms)
            return memories_by_row(self._db, [row])[row]
        return found

    def bear_out(self, row: int, evidence: Iterable[str], said: Iterable[tuple[int, str]]) -> None:
        """Adds events that bear a memory out, and times at which it was said."""
        self._db.executemany(
            "INSERT OR IGNORE INTO memory_evidence (memory_id, event) VALUES (?, ?)",
            [(row, event) for event in evidence],
        )
        if times := [(row, ts_ms, event) for ts_ms, event in said]:
            self._db.executemany("INSERT OR IGNORE INTO memory_said VALUES (?, ?, ?)", times)
            last = "(SELECT max(ts_ms) FROM memory_said WHERE memory_id = memories.id)"
            self._db.execute(f"UPDATE memories SET said_ms = {last} WHERE id = ?", (row,))  # noqa: S608 - fixed text

    def hold(self, row: int, roots: Iterable[str], left: Iterable[str], now_ms: int) -> None:
        """A memory holds in other projects, too, and in some no longer; its own, and everywhere, need no row."""
        more = [(row, self._project_id(root, now_ms)) for root in roots]
        gone = [(row, project) for root in left if (project := self._projects.of_root(root)) is not None]
        self._db.executemany(
            "INSERT OR IGNORE INTO memory_projects SELECT id, ?2 FROM memories WHERE id = ?1 AND project_id != ?2", more
        )
        self._db.executemany("DELETE FROM memory_projects WHERE memory_id = ? AND project_id = ?", gone)
        self._db.executemany(  # what sessions said there is weighed with it from now on, or without it
            "INSERT OR IGNORE INTO unreconciled VALUES (?)", [(project,) for _, project in (*more, *gone)]
        )
        self.change(row, "project_id = project_id")

    def take_place(self, older: int, newer: int) -> bool:
        """A memory takes another's place, where nobody has taken that and it has not taken one; whether it did."""
        sql = (
            "SELECT count(*) FROM memories WHERE deleted_ms IS NULL AND purged_ms IS NULL"
            " AND ((id = ?1 AND superseded_by IS NULL) OR (id = ?2 AND supersedes IS NULL))"
        )
        if self._db.row(sql, (older, newer)) != (2,):
            return False
        self.change(newer, "supersedes = ?", older)
        self.change(older, "superseded_by = ?", newer)
        return True

    def put_up(self, older: int, newer: int, reason: str, now_ms: int) -> int:
        """Puts two live memories on the review list, unless they stand there: how many pairs are new (1 or 0)."""
        self._db.execute(
            "INSERT OR IGNORE INTO memory_reviews (older, newer, reason, found_ms) SELECT ?1, ?2, ?3, ?4"  # noqa: S608 - fixed text
            " WHERE NOT EXISTS (SELECT 1 FROM memory_reviews WHERE older = ?2 AND newer = ?1)"
            f" AND NOT EXISTS (SELECT 1 FROM memories WHERE id IN (?1, ?2) AND NOT ({LIVE}))",
            (older, newer, reason, now_ms),
        )
        return int(self._db.changes())

    def _require_live(self, row: int) -> None:
        found = memories_by_row(self._db, [row])[row]
        if not found.is_live:
            raise UsageError(f"{found.id} is {found.state} by now; only what is live can be superseded")

    def _project_id(self, root: str, now_ms: int) -> int:
        """The project with this root, be it another root of it; made where there is none."""
        found = self._projects.of_root(root)
        if found is not None:
            return found
        values = (path_text(root), now_ms)
        self._db.execute("INSERT OR IGNORE INTO projects (root, created_ms) VALUES (?, ?)", values)
        return int(one(self._db.execute("SELECT id FROM projects WHERE root = ?", values[:1])))

    def _known_memory(self, new: NewMemory, project_id: int | None) -> int | None:
        found = self._db.row("SELECT id FROM memories WHERE key = ?", (new.key,))
        if found is None and new.same_as is not None:
            found = self._db.row(f"SELECT id FROM memories WHERE id = ? AND {LIVE}", (new.same_as,))  # noqa: S608 - fixed text
        if found is None and new.deleted_ms is None and new.purged_ms is None:
            # what waits is nobody's twin; in words that somebody here has said or accepted nothing has to wait
            own = " AND agent IS NOT DISTINCT FROM ?" if new.claims is None else ""
            found = self._db.row(
                f"SELECT id FROM memories WHERE digest = ? AND {LIVE}"  # noqa: S608 - fixed text
                f" AND (project_id IS NOT DISTINCT FROM ? OR {HOLDS.format('memories', '?')})"
                f" AND id IS DISTINCT FROM ? AND NOT {OUTSIDE.format('memories')}{own} ORDER BY id LIMIT 1",
                (new.digest, *[project_id] * 3, new.supersedes, *([new.agent] if new.claims is None else [])),
            )
        return int(found[0]) if found else None

    def change(self, row: int, what: str, *values: object) -> None:
        """Sets columns of a memory; whoever has read it before finds out."""
        self._db.execute(f"UPDATE memories SET change = {NEXT_CHANGE}, {what} WHERE id = ?", (*values, row))  # noqa: S608 - fixed text

    def weigh_again(self, rows: Iterable[int]) -> None:
        """What sessions say may be a part of another memory now, a memory by itself again, or none any more."""
        self._db.execute(
            "INSERT OR IGNORE INTO unreconciled SELECT project_id FROM memories"
            " WHERE project_id IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(rows)),),
        )
