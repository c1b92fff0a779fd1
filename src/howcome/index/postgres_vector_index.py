"""Searching vectors of turns on a PostgreSQL server.

A search answers as that of the files does (`vector_index`): the nearest rows by their own vectors, each then scored
with the turn after it. Where the server has pgvector it finds the nearest itself, by an HNSW index or by comparing all.
A filter that leaves the index too few rows is answered by comparing all of its rows. Elsewhere the rows whose signs
differ least are read and compared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from howcome.domain.stored import Hit
from howcome.errors import IndexDamagedError
from howcome.index.postgres_query import conditions
from howcome.index.postgres_vector_tables import State, VectorServer, VectorTables
from howcome.index.postgres_vector_writer import signs_of, text_of
from howcome.index.vector_index import EXACT_ROWS, IMAGINED_ROWS, LEVEL_ROWS
from howcome.index.vector_snapshot import AFTER_PLACES, CONVERSATION_SHARE, unit_of, with_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.stored import Filter
    from howcome.index.vector_snapshot import Array, FloatVector

LEAST_COMPARED, COMPARED_A_HIT = 1000, 20
"""So many rows are read and compared where the server has no pgvector: recall@10 1.0 and @200 .99 of 100,000."""

_BIT_COUNT, _OLD_BIT_COUNT = "bit_count({})", "length(replace(({})::text, '0', ''))"
"""How many bits are set, from PostgreSQL 14 on and before: twenty times slower."""

_HIT = """
SELECT own.row, own.session_id, own.exchange, own.ts_ms, {own}, {after}
FROM vectors_{number} own
JOIN (
    SELECT session_id, count(*) FILTER (WHERE kind = 0) >= count(*) * {share} AS is_talk FROM vectors_{number}
    WHERE session_id IN (SELECT session_id FROM vectors_{number} WHERE row = ANY(%s)) GROUP BY session_id
) said USING (session_id)
LEFT JOIN LATERAL (
    SELECT * FROM (SELECT * FROM vectors_{number} WHERE said.is_talk AND row > own.row ORDER BY row LIMIT {places}) near
    WHERE near.session_id = own.session_id ORDER BY row LIMIT 1
) after ON after.project_id = own.project_id AND after.ts_ms < %s
WHERE own.row = ANY(%s)
"""
"""Rows with the turn after each that counts, too: as `Snapshot.with_what_follows`. Prompts are kind 0."""

_EVENLY = """
SELECT {vector} FROM vectors_{number} JOIN (
    SELECT row, row_number() OVER (ORDER BY row) - 1 AS place, count(*) OVER () AS wanted
    FROM vectors_{number}{where}
) counted USING (row) WHERE place %% ((wanted + {most} - 1) / {most}) = 0
"""
_NEVER_MS = 2**62


class PostgresVectorIndex:
    """The vectors of one model, to be searched; up to `most_compared` of them have no index of near ones."""

    def __init__(self, server: VectorServer, model: str, dimensions: int, most_compared: int = EXACT_ROWS) -> None:
        self._server, self._tables = server, VectorTables(server, model, dimensions)
        self._dimensions, self._most_compared = dimensions, most_compared

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return 0 if self._tables.state is None else self._tables.state.vectors

    def refresh(self) -> None:
        """Lets the next use see what was committed since."""
        self._tables.refresh()

    def search(self, query: FloatVector, wanted: Filter, limit: int) -> list[Hit]:
        """The rows nearest to a query (of any length but 0), best first, equal ones by row; a score is the cosine."""
        unit, state = unit_of(query, self._dimensions), self._tables.state
        if limit < 1 or unit is None or state is None or _is_nothing(wanted):
            return []
        nearest = self._by_server if state.extension else self._by_signs
        hits = self._scored(state, unit, nearest(state, unit, wanted, limit), wanted.before_ms)
        return sorted(hits, key=lambda hit: (-hit.score, hit.row))

    def level(self, query: FloatVector, wanted: Filter) -> float:
        """The mean cosine of what a filter lets through, by at most LEVEL_ROWS of them and imagined ones of none."""
        unit, state = unit_of(query, self._dimensions), self._tables.state
        if unit is None or state is None or _is_nothing(wanted):
            return 0.0
        where, values = _where(wanted)
        statement = _EVENLY.format(vector=state.bytes_of("vector"), number=state.number, where=where, most=LEVEL_ROWS)
        cosines = self._read(row[0] for row in self._rows(statement, values)) @ unit
        return float(cosines.sum() / (len(cosines) + IMAGINED_ROWS)) if len(cosines) else 0.0

    def cosines(self, query: FloatVector, rows: Sequence[int], before_ms: int | None = None) -> dict[int, float]:
        """What `search` scores some event rows, those that have a vector; turns from `before_ms` on do not count."""
        unit, state = unit_of(query, self._dimensions), self._tables.state
        if unit is None or state is None:
            return {}
        return {hit.row: hit.score for hit in self._scored(state, unit, rows, before_ms)}

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions have one vector only."""
        if self._tables.state is None:
            return set()
        statement = (
            f"SELECT session_id FROM vectors_{self._tables.state.number}"  # noqa: S608 - a number
            " WHERE session_id = ANY(%s) GROUP BY session_id HAVING count(*) = 1"
        )
        return {session for (session,) in self._rows(statement, (_numbers(session_ids),))}

    def _by_server(self, state: State, unit: FloatVector, wanted: Filter, limit: int) -> list[int]:
        """The nearest rows, by pgvector; where its index lets too few through the filter, by comparing all of these."""
        self._server.prepare()
        where, values = _where(wanted)
        distance = f"vector OPERATOR({state.extension}.<#>) %s::{state.extension}.halfvec"
        found: list[tuple[Any, ...]] = []
        orders = distance, f"({distance}) + 0, row"  # no index is of what is added up
        for order in orders[state.vectors <= self._most_compared :]:
            statement = f"SELECT row FROM vectors_{state.number}{where} ORDER BY {order} LIMIT %s"  # noqa: S608
            found = self._rows(statement, (*values, text_of(unit), limit))
            if len(found) >= limit:
                break
        return [row for (row,) in found]

    def _by_signs(self, state: State, unit: FloatVector, wanted: Filter, limit: int) -> list[int]:
        """The nearest rows of those whose signs differ least from the question's, compared exactly here."""
        where, values = _where(wanted)
        is_old = self._server.connection().info.server_version < 140000
        differing = (_OLD_BIT_COUNT if is_old else _BIT_COUNT).format(f"code # %s::bit({self._dimensions})")
        found = self._rows(
            f"WITH near AS MATERIALIZED (SELECT row FROM vectors_{state.number}{where}"  # noqa: S608 - fixed words
            f" ORDER BY {differing}, row LIMIT %s)"
            f" SELECT row, vector FROM near JOIN vectors_{state.number} USING (row)",
            (*values, signs_of(unit), max(LEAST_COMPARED, COMPARED_A_HIT * limit)),
        )
        rows = np.array([row for row, _ in found], np.int64)
        cosines = self._read(vector for _, vector in found) @ unit
        best: list[int] = rows[np.lexsort((rows, -cosines))[:limit]].tolist()
        return best

    def _scored(self, state: State, unit: FloatVector, rows: Sequence[int], before_ms: int | None) -> list[Hit]:
        """Rows as hits: the cosine of each, in conversations with a part of the turn after it (before a time)."""
        if not rows:
            return []
        statement = _HIT.format(
            number=state.number, own=state.bytes_of("own.vector"), after=state.bytes_of("after.vector"),
            share=CONVERSATION_SHARE, places=AFTER_PLACES,
        )  # fmt: skip
        wanted = _numbers(rows)
        found = self._rows(statement, (wanted, _NEVER_MS if before_ms is None else before_ms, wanted))
        none = bytes(2 * self._dimensions)
        own, after = self._read(row[4] for row in found), self._read(row[5] or none for row in found)
        has_after = np.array([row[5] is not None for row in found], bool)
        scores = np.where(has_after, with_after(own, after, unit), np.vecdot(own, unit))
        scores = np.nan_to_num(scores.clip(-1.0, 1.0))
        return [
            Hit(row, session_id, exchange, ts_ms, score)
            for (row, session_id, exchange, ts_ms, *_), score in zip(found, scores.tolist(), strict=True)
        ]

    def _read(self, vectors: Iterable[bytes]) -> Array:
        """Half floats as they come from the server, as a row of numbers each."""
        return np.frombuffer(b"".join(vectors), ">f2").reshape(-1, self._dimensions).astype(np.float32)

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._server.rows(statement, values, is_there=True)
        except IndexDamagedError:
            self.refresh()
            raise


def _is_nothing(wanted: Filter) -> bool:
    """Whether a filter lets nothing through."""
    return wanted.is_never or (wanted.scope.project_id is None and not wanted.scope.is_everything)


def _where(wanted: Filter) -> tuple[str, list[object]]:
    """What a filter asks of rows."""
    asked = conditions(wanted, of_events=True)
    if not wanted.scope.is_everything:
        asked.insert(0, ("project_id = %s", wanted.scope.project_id))
    return " WHERE " + " AND ".join(condition for condition, _ in asked) if asked else "", [value for _, value in asked]


def _numbers(rows: Iterable[int]) -> list[int]:
    """Those that a row can have."""
    return [int(row) for row in rows if 0 < row < 2**63]
