"""What consolidation did to memories, in one transaction each time, and how it is taken back."""

from __future__ import annotations

import json
from collections.abc import Sequence

from howcome.domain.memories import HAND
from howcome.domain.ranking import DAY_MS
from howcome.domain.reconciliation import MERGED, Step
from howcome.log.database import Database, Kept
from howcome.log.distilled import TOUCHED, InStep
from howcome.log.memory_rows import LIVE, memories_by_row
from howcome.log.memory_writing import MemoryWriter

_LENT = {"memory_evidence": "event", "memory_said": "ts_ms, event"}


class Consolidated:
    """Supersessions and sleep, each with what is needed to take it back."""

    def __init__(self, db: Database) -> None:
        self._db, self._writer = db, MemoryWriter(db)

    def pairs(self) -> set[tuple[int, int]]:
        """Everything that was done once (rows of memories): nothing is done again that somebody took back."""
        return set(self._db.rows("SELECT memory_id, kept_id FROM consolidated"))

    def unused(self) -> set[int]:
        """Rows of live memories, kept by nobody's hand, that nobody read, was told or did anything to."""
        sql = f"SELECT id FROM memories WHERE {LIVE} AND source != ? AND NOT {TOUCHED}"  # noqa: S608 - fixed text
        return {row for (row,) in self._db.rows(sql, (HAND,))}

    def days_of_use(self) -> dict[str, list[int]]:
        """The days (since 1970, UTC) on which each project (by its root) was worked on since it is in this store.

        Before, nobody could be told anything of it: what an import brings is as fresh as it was when work stopped.
        """
        days: dict[str, list[int]] = {}
        sql = (
            "SELECT DISTINCT p.root, e.order_ms / ?1 FROM projects p JOIN events e ON e.project_id = p.id"
            " WHERE e.order_ms > p.created_ms"
        )
        for root, day in self._db.rows(sql, (DAY_MS,)):
            days.setdefault(root, []).append(day)
        return days

    def apply(self, stamp: tuple[int, ...], steps: Sequence[Step], now_ms: int) -> bool:
        """Does all of it, in one transaction; False when a memory has changed since the stamp was taken."""
        with self._db.transaction():
            if InStep(self._db).stamp() != stamp:
                return False
            for step in steps:
                row, kept = step.memory.row, step.kept.row
                if row == kept or self._writer.take_place(row, kept):
                    lent = self._lend(row, kept) if step.what == MERGED else []
                    self._db.execute(
                        "INSERT INTO consolidated (run_ms, what, memory_id, kept_id, lent) VALUES (?, ?, ?, ?, ?)",
                        (now_ms, step.what, row, kept, Kept(json.dumps(lent))),
                    )
            self._writer.weigh_again([row for step in steps for row in (step.memory.row, step.kept.row)])
        return True

    def undo(self, now_ms: int) -> list[Step]:
        """Takes back what the last run did that did anything, and says what; [] when there is nothing."""
        with self._db.transaction():
            done = self._db.rows(
                "SELECT id, what, memory_id, kept_id, lent FROM consolidated WHERE undone_ms IS NULL AND run_ms ="
                " (SELECT max(run_ms) FROM consolidated WHERE undone_ms IS NULL) ORDER BY id DESC"
            )
            for ident, _, row, kept, lent in done:
                self._db.execute("UPDATE consolidated SET undone_ms = ? WHERE id = ?", (now_ms, ident))
                self._part(row, kept)
                for table, values in zip(_LENT, json.loads(lent), strict=False):
                    same = " AND ".join(f"{name} = ?" for name in _LENT[table].split(", "))
                    sql = f"DELETE FROM {table} WHERE memory_id = ? AND {same}"  # noqa: S608 - fixed names
                    self._db.executemany(sql, [(kept, *value) for value in values])
                last = "(SELECT max(ts_ms) FROM memory_said WHERE memory_id = memories.id)"
                if json.loads(lent)[1:] not in ([], [[]]):
                    self._writer.change(kept, f"said_ms = {last}")
            rows = [row for one in done for row in one[2:4]]
            self._writer.weigh_again(rows)
            found = memories_by_row(self._db, rows)
        return [Step(what, found[row], found[kept]) for _, what, row, kept, _ in reversed(done)]

    def _part(self, row: int, kept: int) -> None:
        """One gets its place back from what stands there, as far as that still does."""
        for column, here, there in (("superseded_by", row, kept), ("supersedes", kept, row)):
            if self._db.row(f"SELECT 1 FROM memories WHERE id = ? AND {column} = ?", (here, there)):  # noqa: S608 - fixed names
                self._writer.change(here, f"{column} = NULL")

    def _lend(self, row: int, kept: int) -> list[list[tuple[object, ...]]]:
        """What bears one memory out bears another out, too; only what that did not have."""
        lent = []
        for table, columns in _LENT.items():
            of = f"SELECT {columns} FROM {table} WHERE memory_id = ?"  # noqa: S608 - fixed names
            lent.append(self._db.rows(f"{of} EXCEPT {of}", (row, kept)))
        self._writer.bear_out(kept, [event for (event,) in lent[0]], lent[1])
        return lent
