"""Writing a plan of reconciliation into the SQLite store: only what differs, and nothing that people did."""

from __future__ import annotations

import json

from howcome.domain.events import ORIGIN_NUMBERS
from howcome.domain.memories import MAX_EVIDENCE, OPEN, OUTDATED, PROPOSED, Memory
from howcome.domain.reconciliation import MERGED, Changes, Known, Plan, Wanted
from howcome.log.database import Database
from howcome.log.memory_rows import NEXT_CHANGE
from howcome.log.memory_writing import MemoryWriter

_INSERT = (
    "INSERT INTO memories (change, key, digest, type, text, origin, subject, created_ms, project_id, status, source)"  # noqa: S608 - fixed text
    f" VALUES ({NEXT_CHANGE}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class PlanWriter:
    """One plan, within the caller's transaction."""

    def __init__(self, db: Database, known: Known, plan: Plan, source: str, now_ms: int) -> None:
        self._db, self._known, self._plan, self._source, self._now_ms = db, known, plan, source, now_ms
        self._writer = MemoryWriter(db)
        self._execute = db.execute
        self._there = {memory.key: memory for memory in known.kept}
        self._row_ids: dict[bytes, int] = {key: memory.row for key, memory in self._there.items()}
        done = db.rows("SELECT what, memory_id, kept_id FROM consolidated WHERE undone_ms IS NULL ORDER BY id")
        self._places = {row: kept for _, row, kept in done if kept != row}
        self._merged = [(row, kept) for what, row, kept in done if what == MERGED]
        self._updated: set[bytes] = set()
        self._changes = Changes()

    def write(self) -> Changes:
        """Memories, their chains, what is gone, and what contradicts."""
        self._join()
        self._bring_up()
        wanted = {wanted.key for wanted in self._plan.wanted}
        gone = (self._known.derived - self._known.touched - wanted) & self._there.keys()
        self._chain({self._there[key].row for key in gone})
        whole = self._plan.same.keys() | {part for one in self._plan.wanted for part in one.parts}
        for key in gone:
            self._writer.remove(self._there[key].row)
        self._changes.removed, self._changes.folded = len(gone), len(gone & whole)
        self._take()
        self._point()
        self._review()
        self._execute("DELETE FROM unreconciled WHERE project_id = ?", (self._known.project_id,))
        self._changes.updated = len(self._updated)
        return self._changes

    # -- memories --------------------------------------------------------------------------------------------------
    def _join(self) -> None:
        """What bears out a memory that consolidation merged bears out what stands in its place, too."""
        wanted = {self._row_ids.get(one.key): one for one in self._plan.wanted}
        for row, place in self._merged:
            if (one := wanted.get(row)) is not None and (kept := wanted.get(place)) is not None:
                kept.said = tuple(sorted({*kept.said, *one.said}))
                kept.evidence = tuple(dict.fromkeys((*kept.evidence, *one.evidence)))[:MAX_EVIDENCE]

    def _bring_up(self) -> None:
        evidence, said = self._borne_out("memory_evidence", "event"), self._borne_out("memory_said", "ts_ms, event")
        for wanted in self._plan.wanted:
            memory = self._there.get(wanted.key)
            if memory is None:
                self._add(wanted)
                continue
            has = (memory.text, memory.origin, memory.subject, memory.created_ms)
            if has != (wanted.text, wanted.origin, wanted.subject, wanted.first_ms):
                self._update(memory, wanted)
            borne_out = evidence.get(memory.row, set()), said.get(memory.row, set())
            if borne_out != ({(event,) for event in wanted.evidence}, set(wanted.said)):
                self._say(memory.row, wanted)
                self._updated.add(wanted.key)

    def _borne_out(self, table: str, columns: str) -> dict[int, set[tuple[object, ...]]]:
        sql = (
            f"SELECT memory_id, {columns} FROM {table} JOIN memories m ON m.id = memory_id"  # noqa: S608 - fixed names
            " WHERE m.project_id = ? AND m.source = ?"
        )
        found: dict[int, set[tuple[object, ...]]] = {}
        for row, *rest in self._execute(sql, (self._known.project_id, self._source)):
            found.setdefault(row, set()).add(tuple(rest))
        return found

    def _add(self, wanted: Wanted) -> None:
        what = (wanted.key, wanted.digest, wanted.type, wanted.text, ORIGIN_NUMBERS[wanted.origin], wanted.subject)
        self._execute(_INSERT, (*what, wanted.first_ms, self._known.project_id, OPEN, self._source))
        row = self._db.last_id()
        self._row_ids[wanted.key] = row
        self._say(row, wanted)
        self._changes.added += 1

    def _update(self, memory: Memory, wanted: Wanted) -> None:
        values = (wanted.text, ORIGIN_NUMBERS[wanted.origin], wanted.subject, wanted.first_ms)
        self._writer.change(memory.row, "text = ?, origin = ?, subject = ?, created_ms = ?", *values)
        self._updated.add(wanted.key)

    def _say(self, row: int, wanted: Wanted) -> None:
        for table in ("memory_evidence", "memory_said"):
            self._execute(f"DELETE FROM {table} WHERE memory_id = ?", (row,))  # noqa: S608 - fixed names
        self._writer.bear_out(row, wanted.evidence, wanted.said)

    # -- chains ----------------------------------------------------------------------------------------------------
    def _chain(self, gone: set[int]) -> None:
        """Who takes whose place, among what is made from candidates; what somebody did to a chain stays."""
        own = {self._row_ids[wanted.key] for wanted in self._plan.wanted}
        free = own | gone | {None}
        ways = {row: memory for memory in self._there.values() if (row := memory.row) in own}
        before: dict[int, int | None] = dict.fromkeys(own)
        after: dict[int, int | None] = dict.fromkeys(own)
        for row, memory in ways.items():
            before[row] = memory.supersedes if memory.supersedes not in free else None
            after[row] = memory.superseded_by if memory.superseded_by not in free else None
        for row, newer in self._places.items():  # consolidation's, until somebody takes it back
            if {row, newer} <= own and before[newer] is after[row] is None:
                before[newer], after[row] = row, newer
        for wanted in self._plan.wanted:
            row, older = self._row_ids[wanted.key], self._row_ids.get(wanted.supersedes or b"")
            if older in own and before[row] is None and after[older] is None:
                before[row], after[older] = older, row
        for key in (wanted.key for wanted in self._plan.wanted):
            row = self._row_ids[key]
            known = ways.get(row)
            if (before[row], after[row]) != ((known.supersedes, known.superseded_by) if known else (None, None)):
                self._writer.change(row, "supersedes = ?, superseded_by = ?", before[row], after[row])
                self._updated |= {key} if known else set()

    def _take(self) -> None:
        """What was chosen the other way round later, by hand or in a session, takes the place of what was before."""
        for keys in self._plan.taken:
            older, newer = (self._row_ids[key] for key in keys)
            if self._writer.take_place(older, newer):
                self._updated |= set(keys) & self._there.keys()

    # -- what it was made from, what contradicts -------------------------------------------------------------------
    def _point(self) -> None:
        """Each candidate at the memory that it became a part of."""
        parts = {part.hex().upper(): wanted.key.hex() for wanted in self._plan.wanted for part in wanted.parts}
        parts |= {part.hex().upper(): key.hex() for part, key in self._plan.same.items()}
        keys = {row: key.hex() for key, row in self._row_ids.items()}
        for row, place in self._merged:
            if row in keys and place in keys:
                parts = {part: keys[place] if whole == keys[row] else whole for part, whole in parts.items()}
        self._execute(
            "WITH parts (part, whole) AS (SELECT key, value FROM json_each(?2))"
            " UPDATE candidates SET memory_key = unhex(whole) FROM parts"
            " WHERE project_id = ?1 AND hex(candidates.key) = part AND memory_key IS DISTINCT FROM unhex(whole)",
            (self._known.project_id, json.dumps(parts)),
        )

    def _review(self) -> None:
        """Pairs that are new; those that nobody looked at and that are none any more go."""
        rows = {
            (self._row_ids[older], self._row_ids[newer]): reason
            for (older, newer), reason in self._plan.reviews.items()
            if older in self._row_ids and newer in self._row_ids
        }
        others = {memory.row for memory in self._there.values() if memory.source != self._source}
        here = set(self._row_ids.values())
        open_pairs = list(self._execute("SELECT id, older, newer, reason FROM memory_reviews WHERE settled_ms IS NULL"))
        for ident, older, newer, reason in open_pairs:
            if {older, newer} <= others or reason in (PROPOSED, OUTDATED):
                continue  # another distiller found it
            if {older, newer} <= here and (older, newer) not in rows:
                self._execute("DELETE FROM memory_reviews WHERE id = ?", (ident,))
        for (older, newer), reason in rows.items():
            self._changes.contradictions += self._writer.put_up(older, newer, reason, self._now_ms)
