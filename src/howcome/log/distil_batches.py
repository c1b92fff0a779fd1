"""Batches of messages for a language model, and what it does to memories: one transaction a batch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from howcome.domain.distil_batches import (
    ADD,
    DEAD,
    DELETE,
    DONE,
    MAX_RETRIES,
    PENDING,
    UPDATE,
    Applied,
    Batch,
    MemoryChange,
    NewBatch,
    OpenSession,
    is_free,
)
from howcome.domain.events import STORED_KINDS, TURN_KINDS
from howcome.domain.memories import LLM, OUTDATED, PROPOSED, Memory
from howcome.domain.stored import Scope, StoredEvent
from howcome.log.database import Database
from howcome.log.event_log import EventLog
from howcome.log.memories import Memories
from howcome.log.memory_writing import MemoryWriter
from howcome.log.projects import Projects

MAX_ROW = (1 << 63) - 1
_OPEN = (
    "SELECT s.id, coalesce((SELECT max(last_row) FROM distil_batches WHERE session_id = s.id), 0),"
    " (SELECT max(id) FROM events WHERE session_id = s.id) AS newest"
    " FROM (SELECT DISTINCT session_id AS id FROM events"
    " WHERE id > coalesce((SELECT last_row FROM distil_batch_mark), 0) UNION SELECT session_id FROM distil_tails) seen"
    " JOIN sessions s ON s.id = seen.id"
    " WHERE (?1 IS NULL OR EXISTS (SELECT 1 FROM events WHERE session_id = s.id AND project_id = ?1))"
    " AND (?2 IS NULL OR EXISTS (SELECT 1 FROM events WHERE session_id = s.id AND order_ms >= ?2))"
    " ORDER BY newest DESC"
)
_PENDING = (
    "SELECT id, session_id, project_id, first_row, last_row, ended_ms, failures FROM distil_batches"  # noqa: S608 - fixed text
    f" WHERE state = '{PENDING}' AND (?1 IS NULL OR project_id = ?1) AND (?2 IS NULL OR ended_ms >= ?2)"
    " ORDER BY max(ended_ms) OVER (PARTITION BY session_id) DESC, session_id DESC, last_row"
)

_SAID = f"kind IN ({', '.join(str(STORED_KINDS.index(kind)) for kind in TURN_KINDS)})"
_SIZES = (
    f"SELECT sum(iif({_SAID}, text_chars, 0)), sum(iif({_SAID}, 0, 1)) FROM events WHERE agent_id IS NULL"  # noqa: S608 - fixed text
    f" GROUP BY session_id HAVING sum(iif({_SAID}, text_chars, 0)) > 0"
)

_OF_BATCH = ("first_row", "last_row", "turns", "ended_ms", "closed_by")
_values_of = attrgetter(*_OF_BATCH)
_INSERT = f"INSERT INTO distil_batches (session_id, project_id, {', '.join(_OF_BATCH)}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - fixed names


class DistilBatches:
    """Which messages a model is to distil, what became of them, and what it did."""

    def __init__(self, db: Database, log: EventLog) -> None:
        self._db, self._log, self._memories, self._writer = db, log, Memories(db), MemoryWriter(db)

    # -- closing them ----------------------------------------------------------------------------------------------
    def open_sessions(self, scope: Scope, since_ms: int | None = None) -> list[OpenSession]:
        """Sessions that may have messages in no batch, those written last first."""
        found = self._db.rows(_OPEN, (scope.number, since_ms))
        return [OpenSession(session, after) for session, after, _ in found]

    def main_events(
        self, session: int, after_row: int, last_row: int | None = None, *, with_text: bool = False
    ) -> list[StoredEvent]:
        """A session's own events of the main agent after a row (up to another), in the order of their rows."""
        sql = "SELECT id FROM events WHERE session_id = ? AND agent_id IS NULL AND id > ? AND id <= ? ORDER BY id"
        rows = [row for (row,) in self._db.rows(sql, (session, after_row, MAX_ROW if last_row is None else last_row))]
        found = self._log.events(rows, with_text=with_text)
        return [found[row] for row in rows if row in found]

    def keep(self, session: OpenSession, batches: Sequence[NewBatch], *, has_tail: bool) -> bool:
        """Keeps batches that were closed; False when somebody else has closed some since the session was read.

        `has_tail`: messages are left, so the session is looked at again although nothing came.
        """
        of_root = Projects(self._db).of_root
        with self._db.transaction():
            [(last,)] = self._db.rows(
                "SELECT coalesce(max(last_row), 0) FROM distil_batches WHERE session_id = ?", (session.row,)
            )
            if last != session.after_row:
                return False
            self._db.executemany(_INSERT, [(session.row, of_root(one.project), *_values_of(one)) for one in batches])
            change = "INSERT OR IGNORE INTO distil_tails VALUES (?)"
            self._db.execute(change if has_tail else "DELETE FROM distil_tails WHERE session_id = ?", (session.row,))
        return True

    def mark(self, last_row: int) -> None:
        """Every event up to a row was looked at."""
        if self._db.row("SELECT last_row FROM distil_batch_mark") == (last_row,):
            return
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO distil_batch_mark VALUES (1, ?)", (last_row,))

    # -- what becomes of them --------------------------------------------------------------------------------------
    def pending(self, scope: Scope, since_ms: int | None = None) -> list[Batch]:
        """Batches that no model was asked for with success: the newest session first, of each the oldest first."""
        return [Batch(*row) for row in self._db.rows(_PENDING, (scope.number, since_ms))]

    def finish(self, batch: Batch, model: str, changes: Sequence[MemoryChange], now_ms: int) -> Applied | None:
        """Does what a model said of a batch, in one transaction; None when the batch does not wait any more.

        What somebody did to a memory meanwhile stays: what is theirs is not changed but put on the review list, and
        what is not live any more is left alone.
        """
        with self._db.transaction():
            if not self._waits(batch):
                return None
            applied = Applied()
            for change in changes:
                self._apply(batch, change, applied, now_ms)
            self._db.execute(
                "UPDATE distil_batches SET state = ?, reason = '', model = ?, done_ms = ? WHERE id = ?",
                (DONE, model, now_ms, batch.row),
            )
        return applied

    def fail(self, batch: Batch, reason: str, *, is_dead: bool) -> None:
        """Notes that a model failed at a batch."""
        with self._db.transaction():
            if self._waits(batch):
                self._db.execute(
                    "UPDATE distil_batches SET state = ?, reason = ?, failures = failures + 1 WHERE id = ?",
                    (DEAD if is_dead else PENDING, reason, batch.row),
                )

    def retry_dead(self) -> int:
        """Lets dead batches wait for a model again, those not retried too often."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE distil_batches SET state = ?, failures = 0, retries = retries + 1"
                " WHERE state = ? AND retries < ?",
                (PENDING, DEAD, MAX_RETRIES),
            )
            return int(self._db.changes())

    def session_sizes(self) -> list[tuple[int, int]]:
        """Of each session the characters of what was said, and how many other events it has."""
        return list(self._db.rows(_SIZES))

    def counts(self) -> dict[str, int]:
        """How many batches there are by state; `given_up`: those of the dead that are not retried any more."""
        found = dict(self._db.rows("SELECT state, count(*) FROM distil_batches GROUP BY state"))
        sql = "SELECT count(*) FROM distil_batches WHERE state = ? AND retries >= ?"
        [(given_up,)] = self._db.rows(sql, (DEAD, MAX_RETRIES))
        return {**{state: found.get(state, 0) for state in (PENDING, DONE, DEAD)}, "given_up": given_up}

    def dead_reasons(self) -> dict[str, int]:
        """Why batches are dead, with how many of each."""
        sql = "SELECT reason, count(*) FROM distil_batches WHERE state = ? GROUP BY reason ORDER BY 2 DESC, 1"
        return dict(self._db.rows(sql, (DEAD,)))

    def memory_reasons(self, row: int) -> list[tuple[str, str, int]]:
        """What models did to a memory, in order."""
        sql = "SELECT op, reason, done_ms FROM distil_operations WHERE memory_id = ? ORDER BY id"
        return list(self._db.rows(sql, (row,)))

    def _waits(self, batch: Batch) -> bool:
        found = self._db.row("SELECT state FROM distil_batches WHERE id = ?", (batch.row,))
        return found is not None and found[0] == PENDING

    # -- one operation, within the transaction ---------------------------------------------------------------------
    def _apply(self, batch: Batch, change: MemoryChange, applied: Applied, now_ms: int) -> None:
        target = None if change.target is None else self._memories.by_row([change.target]).get(change.target)
        if change.target is not None and (target is None or not target.is_live):
            applied.gone += 1
            return
        is_kept = target is not None and (change.is_doubtful or not self._may_go(target))
        if change.new is None:
            self._let_go(batch, change, target, applied, now_ms, is_kept=is_kept)
            return
        if change.same is not None:
            self._say_again(change, self._memories.by_row([change.same]).get(change.same), applied)
            return
        change.new.supersedes = None if is_kept or target is None else target.row
        memory, is_new = self._writer.add(change.new)
        if not is_new:
            self._say_again(change, memory, applied)
            return
        self._note_operation(batch, UPDATE if change.new.supersedes else ADD, memory.row, change.reason, now_ms)
        applied.added += target is None or is_kept
        applied.updated += target is not None and not is_kept
        differs = [(row, reason) for row, reason in change.differs if row != change.target]
        differs += [(target.row, PROPOSED)] if target is not None and is_kept else []
        applied.contradictions += sum(self._writer.put_up(row, memory.row, reason, now_ms) for row, reason in differs)

    def _let_go(
        self, batch: Batch, change: MemoryChange, target: Memory | None, applied: Applied, now_ms: int, *, is_kept: bool
    ) -> None:
        if target is None:
            return
        if is_kept:
            applied.contradictions += self._writer.put_up(target.row, target.row, OUTDATED, now_ms)
            return
        self._writer.change(target.row, "deleted_ms = ?", now_ms)
        self._note_operation(batch, DELETE, target.row, change.reason, now_ms)
        applied.forgotten += 1

    def _say_again(self, change: MemoryChange, known: Memory | None, applied: Applied) -> None:
        """A model's memory is borne out by what says the same; others' are as whoever made them says.

        What a model forgot, and nobody else, comes back when it is said again.
        """
        applied.duplicates += 1
        if known is None or change.new is None:
            return
        if known.deleted_ms is not None and known.wrong_ms is None and self._is_models(known):
            self._writer.change(known.row, "deleted_ms = NULL")
            known.deleted_ms = None
            applied.updated += 1
        if known.source == LLM and known.is_live:
            self._writer.bear_out(known.row, change.new.evidence, change.new.said)

    def _is_models(self, forgotten: Memory) -> bool:
        """Whether it was a model that forgot a memory last."""
        if forgotten.purged_ms is not None:
            return False
        sql = "SELECT 1 FROM distil_operations WHERE memory_id = ? AND op = ? AND done_ms = ?"
        return self._db.row(sql, (forgotten.row, DELETE, forgotten.deleted_ms)) is not None

    def _may_go(self, memory: Memory) -> bool:
        """Whether a model may take a memory away: one that it has forgotten before, and that is back, may not."""
        if not is_free(memory):
            return False
        sql = "SELECT 1 FROM distil_operations WHERE memory_id = ? AND op = ?"
        return self._db.row(sql, (memory.row, DELETE)) is None

    def _note_operation(self, batch: Batch, op: str, row: int, reason: str, now_ms: int) -> None:
        self._db.execute(
            "INSERT INTO distil_operations (batch_id, memory_id, op, reason, done_ms) VALUES (?, ?, ?, ?, ?)",
            (batch.row, row, op, reason, now_ms),
        )
