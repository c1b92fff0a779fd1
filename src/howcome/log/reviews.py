"""What becomes of memories: faded, contradicted, reviewed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from howcome.domain.events import ORIGIN_NUMBERS, ORIGIN_USER
from howcome.domain.memories import IMPORTED, Memory, Review
from howcome.domain.stored import Scope
from howcome.log.database import Database
from howcome.log.memories import Memories
from howcome.log.memory_rows import CHANGES, HOLDS, LIVE
from howcome.log.memory_writing import MemoryWriter

_REVIEW = "SELECT r.id, r.older, r.newer, r.reason, r.found_ms, r.settled_ms FROM memory_reviews r"

TOLD = ("deleted_ms", "wrong_ms", "gone_ms", "status", "status_ms", "pinned_ms")
_STATES = {
    "memories": (
        "origin", "status", "status_ms", "supersedes", "superseded_by", "deleted_ms", "wrong_ms", "gone_ms",
        "pinned_ms",
    ),
    "memory_reviews": ("settled_ms",),
}  # fmt: skip
"""What people change of a memory and of a pair."""

States = dict[tuple[str, int], list[object]]
"""A table and a row in it: the values of those columns."""


class Reviews:
    """Memories that fade, and pairs that may contradict each other."""

    def __init__(self, db: Database) -> None:
        self._db, self._memories, self._writer = db, Memories(db), MemoryWriter(db)

    def fading(self, scope: Scope, max_reads: int) -> list[Memory]:
        """Live memories of a scope, not pinned and read at most so often, those said longest ago first."""
        where = "" if scope.is_everything else f" AND (project_id IS NULL OR {HOLDS.format('memories', '?2')})"
        sql = (
            f"SELECT id FROM memories WHERE {LIVE} AND pinned_ms IS NULL AND access_count <= ?1{where}"  # noqa: S608 - fixed text
            " ORDER BY coalesce(said_ms, created_ms), id"
        )
        rows = [row for (row,) in self._db.rows(sql, (max_reads, *([] if scope.is_everything else [scope.project_id])))]
        found = self._memories.by_row(rows)
        return [found[row] for row in rows if row in found]

    def waiting(self, scope: Scope, limit: int) -> list[Review]:
        """Pairs of live memories of a scope that nobody settled, newest first; of imported ones the newer lives."""
        older, newer = (" AND ".join(f"{name}.{part}" for part in LIVE.split(" AND ")) for name in ("o", "n"))
        here = f"{HOLDS.format('n', '?2')} OR {HOLDS.format('o', '?2')}"
        where = "" if scope.is_everything else f" AND (n.project_id IS NULL OR {here})"
        sql = (
            f"{_REVIEW} JOIN memories o ON o.id = r.older JOIN memories n ON n.id = r.newer"
            f" WHERE r.settled_ms IS NULL AND {newer} AND ({older} OR r.reason = '{IMPORTED}'){where}"
            " ORDER BY coalesce(n.said_ms, n.created_ms) DESC, r.id LIMIT ?1"
        )
        values = (limit, *([] if scope.is_everything else [scope.project_id]))
        return [review for row in self._db.rows(sql, values) if (review := self._review(row))]

    def disputed(self) -> set[int]:
        """Rows of memories that another one ever seemed to contradict."""
        sql = "SELECT older, newer FROM memory_reviews WHERE reason IN ('number', 'negation', 'choice', 'subject')"
        return {row for pair in self._db.rows(sql) for row in pair}

    def overruled(self, exchanges: Iterable[int], then_ms: int | None = None) -> dict[int, Memory]:
        """The exchanges (rows of their prompts) that taught what no longer holds, each with the memory that says so."""
        sql = (
            "SELECT c.exchange, coalesce(m.superseded_by, r.newer) AS later FROM"  # noqa: S608 - fixed text
            " (SELECT value FROM json_each(?)) x JOIN events p ON p.id = x.value"
            " JOIN candidates c ON c.session_id = p.session_id AND c.exchange = p.id"
            " JOIN memories m ON m.key = c.memory_key AND m.type != 'failure' LEFT JOIN memory_reviews r"
            " ON r.older = m.id AND r.newer != m.id AND r.settled_ms IS NULL"
            f" AND EXISTS (SELECT 1 FROM memories o WHERE o.id = r.newer AND {CHANGES})"
            " WHERE coalesce(m.superseded_by, r.newer) IS NOT NULL AND m.deleted_ms IS NULL ORDER BY later"
        )
        found: dict[int, Memory] = {}
        waiting = dict(self._db.rows(sql, (json.dumps(list(exchanges)),)))
        passed: set[tuple[int, int]] = set()
        while waiting:  # to the end of each chain, or once round where it is a ring
            passed.update(waiting.items())
            told = self._memories.by_row(waiting.values())
            found |= {exchange: told[row] for exchange, row in waiting.items()}
            heirs = {exchange: told[row].superseded_by or 0 for exchange, row in waiting.items()}
            waiting = dict(pair for pair in heirs.items() if pair[1] and pair not in passed)
        return {exchange: one for exchange, one in found.items() if one.is_live and one.created_ms < (then_ms or 2**62)}

    def get(self, row: int) -> Review | None:
        """One pair, by its row id."""
        found = self._db.row(f"{_REVIEW} WHERE r.id = ?", (row,))
        return self._review(found) if found else None

    def settle(self, row: int, now_ms: int) -> None:
        """Somebody has looked at a pair."""
        with self._db.transaction():
            self._db.execute("UPDATE memory_reviews SET settled_ms = ? WHERE id = ?", (now_ms, row))

    def relate(self, taken: Iterable[tuple[int, int]], differing: Iterable[tuple[int, int, str]], now_ms: int) -> None:
        """Of pairs of rows (older, newer) the newer takes the older's place; others are put up, with the reason."""
        with self._db.transaction():
            for older, newer in taken:
                self._writer.take_place(older, newer)
            for older, newer, reason in differing:
                self._writer.put_up(older, newer, reason, now_ms)

    def become(self, row: int, told: Mapping[str, object]) -> None:
        """Of a memory becomes here what it became in another store: values of some of the columns TOLD."""
        names = [name for name in TOLD if name in told]
        with self._db.transaction():
            self._writer.change(row, ", ".join(f"{name} = ?" for name in names), *(told[name] for name in names))

    def part(self, older: int, newer: int) -> None:
        """What took the place of another gives it back."""
        with self._db.transaction():
            self._writer.change(older, "superseded_by = NULL")
            self._writer.change(newer, "supersedes = NULL")

    def accept(self, review: Review, now_ms: int, *, supersedes: bool) -> None:
        """Makes an imported memory the user's, with its pin; with `supersedes` it takes the older one's place."""
        older, newer = review.older, review.newer
        with self._db.transaction():
            pin = "pinned_ms = (SELECT pinned_ms FROM memory_reviews WHERE id = ?)"
            self._writer.change(newer.row, f"origin = ?, {pin}", ORIGIN_NUMBERS[ORIGIN_USER], review.row)
            if supersedes and older.row != newer.row and older.is_live:
                self._writer.change(newer.row, "supersedes = ?", older.row)
                self._writer.change(older.row, "superseded_by = ?", newer.row)
            self._db.execute("UPDATE memory_reviews SET settled_ms = ? WHERE id = ?", (now_ms, review.row))

    def states(self, rows: Iterable[int]) -> States:
        """What has become of memories (rows), and of the pairs that they stand in: what `set_back` gives back."""
        wanted = json.dumps([*rows])
        here = "(SELECT value FROM json_each(?1))"
        found: States = {}
        for table, columns in _STATES.items():
            where = f"id IN {here}" if table == "memories" else f"older IN {here} OR newer IN {here}"
            sql = f"SELECT id, {', '.join(columns)} FROM {table} WHERE {where}"  # noqa: S608 - fixed names
            found |= {(table, row): values for row, *values in self._db.rows(sql, (wanted,))}
        return found

    def set_back(self, before: States, after: States, now_ms: int) -> bool:
        """Makes of what a change left what was there before it; what it added is forgotten.

        False, and nothing is changed, where somebody has changed any of it since.
        """
        with self._db.transaction():
            if self.states(row for table, row in after if table == "memories") != after:
                return False
            for (table, row), values in after.items():
                old = before.get((table, row))
                if table == "memories" and old is None:
                    self._writer.change(row, "deleted_ms = ?, supersedes = NULL", now_ms)
                elif table == "memories" and old != values:
                    self._writer.change(row, ", ".join(f"{name} = ?" for name in _STATES[table]), *(old or ()))
                elif old is not None and old != values:
                    self._db.execute("UPDATE memory_reviews SET settled_ms = ? WHERE id = ?", (*old, row))
            return True

    def _review(self, row: tuple[int, int, int, str, int, int | None]) -> Review | None:
        ident, older, newer, reason, found_ms, settled_ms = row
        found = self._memories.by_row([older, newer])
        if older not in found or newer not in found:
            return None
        return Review(ident, found[older], found[newer], reason, found_ms, settled_ms)
