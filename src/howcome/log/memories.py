"""Memories: their rows, and searching them.

They are found by the table of their words, in one statement: what is committed is found, by everybody, at once. Term
weights come from the events (`SearchIndex.weigh`): memories alone are too few to tell rare words from common ones.
"""

from __future__ import annotations

import json

from howcome.domain.bm25 import LENGTH_SHARE, MEMORY_WEIGHT, SATURATION
from howcome.domain.events import ORIGIN_NUMBERS
from howcome.domain.memories import ID_PREFIX, KEY_BYTES, MemoryHit
from howcome.log.database import Database, Kept
from howcome.log.event_rows import key_range
from howcome.log.memory_rows import (
    EVENT_OF,
    HOLDS,
    LIVE,
    LIVE_THEN,
    OUTSIDE,
    SELECT,
    as_then,
    memories_by_row,
    memory_of,
)
from howcome.log.memory_writing import MemoryWriter
from howcome.log.terms import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from howcome.domain.memories import Memory, MemoryFilter, NewMemory
    from howcome.domain.stored import Filter, Scope


_OFTEN = f"{MEMORY_WEIGHT} * w.count"
_LENGTH = f"{SATURATION - 1} * ({1 - LENGTH_SHARE} + {LENGTH_SHARE} * w.words / average.words)"
_SEARCH = (
    "SELECT m.id, sum(CAST(asked.value AS DOUBLE PRECISION)"  # noqa: S608 - fixed text
    f" * {SATURATION} * {_OFTEN} / ({_OFTEN} + {_LENGTH})) AS score"
    f" FROM (SELECT avg(words) AS words FROM memory_words WHERE term = '{ALL}') average"
    " CROSS JOIN json_each(?) asked CROSS JOIN memory_words w CROSS JOIN memories m"
    " WHERE w.term = asked.key AND m.id = w.memory_id AND {} GROUP BY m.id ORDER BY score DESC, m.id LIMIT ?"
)


_OPENING = (
    "(SELECT p.id FROM events p WHERE p.session_id = e.session_id AND p.kind = 0 AND (p.order_ms, p.id) <="
    " (e.order_ms, e.id) ORDER BY p.order_ms DESC, p.id DESC LIMIT 1)"
)


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


class MemorySearch:
    """Finds memories by their words; gives their vectors."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def search(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[MemoryHit]:
        """Live memories that hold the terms (and of each required group all), best first."""
        if not weights or wanted.is_never:
            return []
        clauses = [*_restrictions(wanted), *_holding(required)]
        sql = _SEARCH.format(" AND ".join(clause for clause, _ in clauses))
        values = (_bound(dict(weights)), *(value for _, bound in clauses for value in bound), limit)
        return [MemoryHit(row, score) for row, score in self._db.rows(sql, values)]

    def refuted(self, then_ms: int | None = None) -> set[int]:
        """The exchanges (rows of their prompts) that taught or bear out what somebody has called wrong."""
        sql = (
            "WITH wrong AS MATERIALIZED (SELECT id, key FROM memories WHERE wrong_ms < ?)"  # noqa: S608 - fixed text
            " SELECT c.exchange FROM wrong w JOIN candidates c ON c.memory_key = w.key UNION"
            f" SELECT {_OPENING} FROM wrong w JOIN memory_evidence v ON v.memory_id = w.id"
            f" JOIN events e ON e.key {EVENT_OF.format('v.event')}"
        )
        return {row for (row,) in self._db.rows(sql, (then_ms or 2**62,)) if row}

    def vectors(self, model: str, wanted: Filter) -> list[tuple[int, bytes]]:
        """Live memories with the vectors that a model has made of them."""
        if wanted.is_never:
            return []
        restrictions = list(_restrictions(wanted))
        where = " AND ".join(clause for clause, _ in restrictions)
        sql = (
            "SELECT m.id, v.vector FROM memory_vectors v CROSS JOIN memories m"  # noqa: S608 - fixed text
            f" WHERE m.key = v.key AND v.model = ? AND {where} ORDER BY m.id"
        )
        return list(self._db.rows(sql, (model, *(value for _, bound in restrictions for value in bound))))


def _restrictions(wanted: Filter) -> Iterator[tuple[str, tuple[object, ...]]]:
    """What a memory must be. Sessions and kinds of events are not asked of memories."""
    yield LIVE if wanted.then_ms is None else LIVE_THEN.format("m", f"{wanted.then_ms:d}"), ()
    if not wanted.scope.is_everything:
        yield f"(m.project_id IS NULL OR {HOLDS.format('m', '?')})", (wanted.scope.project_id,) * 2
    if wanted.before_ms is not None:
        yield "m.created_ms < ?", (wanted.before_ms,)
    if wanted.since_ms is not None:
        yield "m.created_ms >= ?", (wanted.since_ms,)
    if wanted.memory_types is not None:
        yield "m.type IN (SELECT CAST(value AS TEXT) FROM json_each(?))", (_bound(list(wanted.memory_types)),)
    if wanted.origins is not None:
        numbers = [ORIGIN_NUMBERS[origin] for origin in wanted.origins]
        yield "m.origin IN (SELECT value FROM json_each(?))", (_bound(numbers),)
    if wanted.agent is not None:
        yield "m.agent = ?", (wanted.agent,)


def _holding(required: Sequence[Sequence[str]]) -> Iterator[tuple[str, tuple[object, ...]]]:
    """That a memory holds every term of every group."""
    terms = list(dict.fromkeys(term for group in required for term in group))
    if terms:
        held = "SELECT count(*) FROM json_each(?) needed JOIN memory_words ON term = needed.value AND memory_id = m.id"
        yield f"({held}) = {len(terms)}", (_bound(terms),)


def _bound(value: object) -> Kept:
    """A value as JSON; what is only looked for needs no gate, which a prompt would have to import."""
    return Kept(json.dumps(value, ensure_ascii=False))
