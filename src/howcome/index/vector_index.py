"""The vectors of turns beside the rows: flat arrays, mapped into memory, derived, caught up by row id.

`<index folder>/vectors-2-<model>/` holds three files that only grow (`rows`, `codes`, `values`), a `head` that says how
many vectors are committed, and a `lock` for the one writer (`vector_writer`). Any number of processes read: an open
index is a view of what was committed when it was opened, and goes on being one whatever is written.

A search looks at every row that the filter lets through: few are compared exactly; of many, the ones whose signs differ
least from the question's (one bit a dimension) are compared exactly. The figures behind the constants are in
docs/evaluation.md.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from howcome.domain import events
from howcome.domain.stored import Hit
from howcome.errors import StoreError
from howcome.index.vector_files import PREFIX, Head, damaged, read_head
from howcome.index.vector_snapshot import Snapshot, unit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Concatenate, ParamSpec, TypeVar

    from howcome.domain.stored import Filter
    from howcome.index.vector_snapshot import Array, FloatVector

    P = ParamSpec("P")
    R = TypeVar("R")

EXACT_ROWS, LEVEL_ROWS, IMAGINED_ROWS = 20_000, 2000, 100
"""Up to so many rows are all compared exactly: at most 4 ms."""

RESCORED = 2000
RESCORED_A_HIT = 40
"""Of more rows so many are, by their signs: recall@10 and, at 40 a hit, .96 of the best 200."""

TABLE_SIZE = 2**24
"""Ids are made one after the other; a table for greater ones would only take memory."""

_OPENINGS = 5


def _explained(method: Callable[Concatenate[VectorIndex, P], R]) -> Callable[Concatenate[VectorIndex, P], R]:
    """A method that computes with what the files hold: numbers that cannot be are damage, and no warning."""

    def call(self: VectorIndex, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with np.errstate(all="ignore"):
                return method(self, *args, **kwargs)
        except (IndexError, ValueError, OverflowError) as error:
            raise damaged(f"its numbers cannot be: {error}") from error

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class VectorIndex:
    """The vectors of one model of one store, opened for reading on first use."""

    def __init__(self, folder: str, model: str, dimensions: int, key_of: Callable[[int], str] | None = None) -> None:
        """Names the index; nothing is opened yet.

        Args:
            folder: The folder of all indexes of a store.
            model: The embedder's name and version; vectors of different models are in different folders.
            dimensions: Of each vector.
            key_of: The mark of an event row, "" where there is none: vectors of other rows than these (another
                database was put in place, or an older copy of it) then count as none.
        """
        self.folder = os.path.join(folder, PREFIX + model)
        self.model, self.dimensions, self.key_of = model, dimensions, key_of
        self._opened: Snapshot | None = None

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return self._snapshot().head.count

    @property
    def last_row(self) -> int:
        """The last event row that was considered."""
        return self._snapshot().head.last_row

    def refresh(self) -> None:
        """Lets the next use see what was committed since."""
        opened = self._opened
        if opened is not None:
            try:
                head = self.committed()
            except StoreError:  # the next use says so
                head = None
            if head is None or head.encoded() != opened.head.encoded():
                self._opened = None

    def committed(self) -> Head | None:
        """The head as it is now, checked against the rows; None when there is none, or none of these rows.

        Raises:
            IndexDamagedError: the index cannot be used.
            StoreError: it cannot be read now.
        """
        try:
            head = read_head(self.folder)
        except OSError as error:
            raise StoreError(f"{self.folder}: {error.strerror or error}") from error
        if head is None:
            return None
        if (head.model, head.dimensions) != (self.model, self.dimensions):
            raise damaged(f"it holds vectors of {head.model} with {head.dimensions} dimensions")
        return head if self.key_of is None or head.is_of(self.key_of) else None

    @_explained
    def search(self, query: FloatVector, wanted: Filter, limit: int) -> list[Hit]:
        """The rows nearest to a query (of any length but 0), best first, equal ones by row; a score is the cosine."""
        snapshot, unit = self._snapshot(), unit_of(query, self.dimensions)
        if limit < 1 or unit is None:
            return []
        chosen = _chosen(snapshot.rows, wanted)
        if (snapshot.head.count if chosen is None else len(chosen)) > EXACT_ROWS:
            chosen = snapshot.nearest_codes(unit, chosen, max(RESCORED, RESCORED_A_HIT * limit))
        cosines = snapshot.cosines(unit, chosen)
        best = _best(cosines, limit)
        places = best if chosen is None else chosen[best]
        return _hits(snapshot, places, snapshot.with_what_follows(unit, places, cosines[best], wanted.before_ms))

    @_explained
    def level(self, query: FloatVector, wanted: Filter) -> float:
        """The mean cosine of what a filter lets through, by at most LEVEL_ROWS of them and some imagined ones of none.

        Raises:
            IndexDamagedError: the index cannot be used.
            StoreError: the query has not as many dimensions as the vectors, or the index cannot be read now.
        """
        snapshot, unit = self._snapshot(), unit_of(query, self.dimensions)
        chosen = _chosen(snapshot.rows, wanted)
        if unit is None or not snapshot.head.count or (chosen is not None and not len(chosen)):
            return 0.0
        places = np.arange(snapshot.head.count) if chosen is None else chosen
        cosines = snapshot.cosines(unit, places[:: -(-len(places) // LEVEL_ROWS)])
        return float(cosines.sum() / (len(cosines) + IMAGINED_ROWS))

    @_explained
    def cosines(self, query: FloatVector, rows: Sequence[int], before_ms: int | None = None) -> dict[int, float]:
        """What `search` scores some event rows, those that have a vector; turns from `before_ms` on do not count."""
        snapshot, unit = self._snapshot(), unit_of(query, self.dimensions)
        if unit is None:
            return {}
        places = snapshot.places_of(rows)
        scores = snapshot.with_what_follows(unit, places, snapshot.cosines(unit, places), before_ms)
        return dict(zip(snapshot.rows["row"][places].tolist(), scores.tolist(), strict=True))

    @_explained
    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions have one vector only."""
        return self._snapshot().lone_sessions(session_ids)

    def _snapshot(self) -> Snapshot:
        opened = self._opened
        if opened is None:
            opened = self._opened = self._open()
        return opened

    def _open(self) -> Snapshot:
        """What is committed now; files that are gone were replaced between a look at the head and at them."""
        for _ in range(_OPENINGS):
            head = self.committed()
            if head is None:
                return Snapshot("", Head(self.model, self.dimensions, 0, checksums={}))
            try:
                return Snapshot(self.folder, head)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreError(f"{self.folder}: {error.strerror or error}") from error
        raise damaged("files of it are gone")


def _chosen(rows: Array, wanted: Filter) -> Array | None:
    """The places of the rows that a filter lets through; None: of all."""
    if wanted.is_never or (wanted.scope.project_id is None and not wanted.scope.is_everything):
        return np.empty(0, np.intp)
    chosen: Array | None = None
    for name, test in _conditions(wanted):
        mask = test(rows[name] if chosen is None else rows[name][chosen])
        if not mask.all():
            chosen = np.flatnonzero(mask) if chosen is None else chosen[mask]
    return chosen


def _conditions(wanted: Filter) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """What a filter asks of rows, the narrowest first: a column, and what tells for each of its values."""
    if not wanted.scope.is_everything:
        yield "project", lambda column: column == wanted.scope.project_id
    if wanted.sessions is not None:
        yield "session", partial(_is_one_of, wanted.sessions)
    if wanted.since_ms is not None:
        yield "ts_ms", lambda column: column >= wanted.since_ms
    if wanted.before_ms is not None:
        yield "ts_ms", lambda column: column < wanted.before_ms
    if wanted.without:
        yield "session", lambda column: ~_is_one_of(wanted.without, column)
    if wanted.kinds is not None:
        yield "kind", partial(_is_one_of, [events.KIND_NUMBERS[name] for name in wanted.kinds])
    if wanted.origins is not None:
        yield "origin", partial(_is_one_of, [events.ORIGIN_NUMBERS[name] for name in wanted.origins])


def _is_one_of(numbers: Sequence[int], column: Array) -> Array:
    """Which values are among some numbers: by a table, which is several times quicker than `numpy.isin`."""
    highest = int(column.max(initial=0))
    if highest > TABLE_SIZE:
        return np.isin(column, np.array(numbers, np.int64))
    table = np.zeros(highest + 1, bool)
    table[[number for number in numbers if 0 <= number <= highest]] = True
    return table.take(column)


def _best(scores: FloatVector, limit: int) -> Array:
    """The places that score best, equal ones in their order."""
    places = np.arange(len(scores))
    if len(scores) > limit:
        places = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return places[np.argsort(-scores[places], kind="stable")[:limit]]


def _hits(snapshot: Snapshot, places: Array, scores: FloatVector) -> list[Hit]:
    """Places as hits, best first, equal ones in their order."""
    scores = np.nan_to_num(scores.clip(-1.0, 1.0))
    order = np.lexsort((places, -scores))
    rows = snapshot.rows[places[order]]
    columns = (rows[name].tolist() for name in ("row", "session", "exchange", "ts_ms"))
    return [Hit(*values) for values in zip(*columns, scores[order].tolist(), strict=True)]
