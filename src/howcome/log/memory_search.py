"""Searching memories by the table of their words, in one statement: what is committed is found, by everybody, at once.

Term weights come from the events (`SearchIndex.weigh`): memories alone are too few to tell rare words from common ones.
"""

from __future__ import annotations

import json

from howcome.domain.bm25 import LENGTH_SHARE, MEMORY_WEIGHT, SATURATION
from howcome.domain.memories import MemoryHit
from howcome.log.database import Database, Kept
from howcome.log.memory_rows import HOLDS, LIVE, LIVE_THEN, ORIGIN_NUMBERS
from howcome.log.terms import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from howcome.domain.stored import Filter

_OFTEN = f"{MEMORY_WEIGHT} * w.count"
_LENGTH = f"{SATURATION - 1} * ({1 - LENGTH_SHARE} + {LENGTH_SHARE} * w.words / average.words)"
_SEARCH = (
    "SELECT m.id, sum(CAST(asked.value AS DOUBLE PRECISION)"  # noqa: S608 - fixed text
    f" * {SATURATION} * {_OFTEN} / ({_OFTEN} + {_LENGTH})) AS score"
    f" FROM (SELECT avg(words) AS words FROM memory_words WHERE term = '{ALL}') average"
    " CROSS JOIN json_each(?) asked CROSS JOIN memory_words w CROSS JOIN memories m"
    " WHERE w.term = asked.key AND m.id = w.memory_id AND {} GROUP BY m.id ORDER BY score DESC, m.id LIMIT ?"
)


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
