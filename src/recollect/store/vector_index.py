"""The vectors of turns beside the rows: flat arrays, mapped into memory, derived, caught up by row id.

`<index folder>/vectors-1-<model>/` holds three files that only grow (`rows`, `codes`, `values`), a `head` that says how
many vectors are committed, and a `lock` for the one writer (`vector_writer`). Any number of processes read: an open
index is a view of what was committed when it was opened, and goes on being one whatever is written.

A search looks at every row that the filter lets through: few are compared exactly; of many, the ones whose signs differ
least from the question's (one bit a dimension) are compared exactly. The figures behind the constants are in
docs/evaluation.md.
"""

from __future__ import annotations

import mmap
import os
from functools import cached_property, partial

import numpy as np

from recollect.domain import events
from recollect.domain.stored import Hit
from recollect.errors import StoreError
from recollect.store.vector_head import FORMAT, Head, damaged, data_path, read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    import numpy.typing as npt

    from recollect.domain.stored import Filter

    FloatVector: TypeAlias = npt.NDArray[np.float32]
    Array: TypeAlias = npt.NDArray[Any]

ROW = np.dtype([
    ("row", "<u4"), ("session", "<u4"), ("exchange", "<u4"), ("project", "<u4"), ("ts_ms", "<i8"),
    ("kind", "u1"), ("origin", "u1"), ("spare", "V6"),
])  # fmt: skip
"""What a filter and a hit need of a vector's row, 32 bytes."""

EXACT_ROWS = 20_000
"""Up to so many rows are all compared exactly: at most 4 ms."""

RESCORED = 2000
RESCORED_A_HIT = 40
"""Of more rows so many are, by their signs: recall@10 and, at 40 a hit, .96 of the best 200."""

CODES_A_STEP = 16_384
VALUES_A_STEP = 512
"""Rows that are worked on at a time: what a core's cache holds."""

_OPENINGS = 5
_KINDS = {kind: number for number, kind in enumerate(events.KINDS)}
_ORIGINS = {origin: number for number, origin in enumerate(events.ORIGINS)}


def code_words(dimensions: int) -> int:
    """How many 64-bit words the signs of a vector take."""
    return -(-dimensions // 64)


def signs(values: Array) -> Array:
    """The signs of vectors as (n, words): a bit is set where a number is above 0; left-over bits are 0."""
    padded = np.zeros((len(values), 64 * code_words(values.shape[1])), bool)
    np.greater(values, 0, out=padded[:, : values.shape[1]])
    return np.packbits(padded, axis=1).view(np.uint64)


def data_types(dimensions: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """What each file holds: type and shape of one row's part."""
    return {
        "rows": (ROW, ()),
        "codes": (np.dtype(np.uint64), (code_words(dimensions),)),
        "values": (np.dtype("<f2"), (dimensions,)),
    }


class Snapshot:
    """What was committed at one moment: arrays over the mapped files, nothing is read before it is used."""

    def __init__(self, folder: str, head: Head) -> None:
        """Maps the files.

        Raises:
            IndexDamagedError: they hold less than the head says, or not what belongs together.
            OSError: a file cannot be opened.
        """
        self.head = head
        parts = {
            name: _mapped(data_path(folder, name, head.generation), head.count, *kind)
            for name, kind in data_types(head.dimensions).items()
        }
        self.rows, self.codes, self.values = parts["rows"], parts["codes"], parts["values"]
        for place in (0, head.count - 1) if head.count else ():
            if (signs(self.values[place : place + 1]) != self.codes[place]).any() or (
                not 0 < self.rows["row"][place] <= head.last_row
            ):
                raise damaged("its files do not belong together")

    @cached_property
    def session_counts(self) -> Array:
        """How many vectors each session has, by its id."""
        return np.bincount(self.rows["session"])

    def nearest_codes(self, query: FloatVector, chosen: Array | None, wanted: int) -> Array:
        """The places (ascending) whose signs differ least from the query's; of equal ones the first."""
        distances = _distances(self.codes, signs(query[np.newaxis])[0], chosen)
        low, high = 0, self.head.dimensions
        while low < high:  # the distance within which there are enough: counting is cheaper than partitioning
            middle = (low + high) // 2
            if np.count_nonzero(distances <= middle) >= wanted:
                high = middle
            else:
                low = middle + 1
        nearer, equal = np.flatnonzero(distances < low), np.flatnonzero(distances == low)
        places = np.sort(np.concatenate([nearer, equal[: max(0, wanted - len(nearer))]]))
        return places if chosen is None else chosen[places]

    def cosines(self, query: FloatVector, chosen: Array | None) -> FloatVector:
        """The cosine of every chosen row (None: of all) with a query of length 1.

        NumPy widens half floats one by one, eight times slower than this: shifted into place, the bits of a half float
        are a float 2^112 times too small, and the query makes up for it. Each row is summed by itself, in one thread:
        what is equal scores the same wherever it stands.
        """
        halves = self.values.view(np.int16)
        count = len(halves) if chosen is None else len(chosen)
        found = np.empty(count, np.float32)
        wide = np.empty((min(count, VALUES_A_STEP), halves.shape[1]), np.int32)
        scaled = query * np.float32(2.0**112)
        for start in range(0, count, VALUES_A_STEP):
            stop = min(count, start + VALUES_A_STEP)
            part = halves[start:stop] if chosen is None else halves.take(chosen[start:stop], axis=0)
            bits = wide[: stop - start]
            np.left_shift(part, 13, out=bits, dtype=np.int32)
            np.bitwise_and(bits, np.int32(-0x70000001), out=bits)  # the sign was spread over three bits too many
            np.vecdot(bits.view(np.float32), scaled, out=found[start:stop])
        return found


class VectorIndex:
    """The vectors of one model of one store, opened for reading on first use."""

    def __init__(
        self, folder: str, model: str, dimensions: int, key_of: Callable[[int], str] | None = None
    ) -> None:
        """Names the index; nothing is opened yet.

        Args:
            folder: The folder of all indexes of a store.
            model: The embedder's name and version; vectors of different models are in different folders.
            dimensions: Of each vector.
            key_of: What an event row is known by, "" where there is none: vectors of other rows than these (another
                database was put in place, or an older copy of it) then count as none.
        """
        self.folder = os.path.join(folder, f"vectors-{FORMAT}-{model}")
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
        is_other = self.key_of is not None and head.last_row and self.key_of(head.last_row) != head.last_key
        return None if is_other else head

    def search(self, query: FloatVector, wanted: Filter, limit: int) -> list[Hit]:
        """The rows nearest to a query (of any length but 0), best first, equal ones by row; a score is the cosine.

        Raises:
            IndexDamagedError: the index cannot be used.
            StoreError: the query has not as many dimensions as the vectors, or the index cannot be read now.
        """
        snapshot = self._snapshot()
        query = np.asarray(query, np.float32)
        if query.shape != (self.dimensions,):
            raise StoreError(f"a question of shape {query.shape} was asked of {self.dimensions} dimensions")
        length = float(np.linalg.norm(query))
        if limit < 1 or not 0 < length < np.inf:
            return []
        query = query / np.float32(length)
        chosen = _chosen(snapshot.rows, wanted)
        if (snapshot.head.count if chosen is None else len(chosen)) > EXACT_ROWS:
            chosen = snapshot.nearest_codes(query, chosen, max(RESCORED, RESCORED_A_HIT * limit))
        return _best(snapshot, chosen, snapshot.cosines(query, chosen), limit)

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions have one vector only."""
        counts = self._snapshot().session_counts
        return {session for session in session_ids if 0 <= session < len(counts) and counts[session] == 1}

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
                return Snapshot("", Head(self.model, self.dimensions, 0))
            try:
                return Snapshot(self.folder, head)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreError(f"{self.folder}: {error.strerror or error}") from error
        raise damaged("files of it are gone")


def _mapped(path: str, count: int, kind: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The first rows of a file as a read-only array over its pages."""
    size_bytes = count * kind.itemsize * int(np.prod(shape))
    if not count:
        return np.empty((0, *shape), kind)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_size < size_bytes:
            raise damaged(f"{os.path.basename(path)} is shorter than it was")
        pages = mmap.mmap(descriptor, size_bytes, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    return np.frombuffer(pages, kind).reshape(count, *shape)


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
        yield "kind", partial(_is_one_of, [_KINDS[name] for name in wanted.kinds])
    if wanted.origins is not None:
        yield "origin", partial(_is_one_of, [_ORIGINS[name] for name in wanted.origins])


def _is_one_of(numbers: Sequence[int], column: Array) -> Array:
    """Which values are among some numbers: by a table, which is several times quicker than `numpy.isin`."""
    highest = int(column.max(initial=0))
    table = np.zeros(highest + 1, bool)
    table[[number for number in numbers if 0 <= number <= highest]] = True
    return table.take(column)


def _distances(codes: Array, query: Array, chosen: Array | None) -> Array:
    """In how many signs each chosen row differs from the query: word by word, for a cache's worth of rows at a time."""
    count = len(codes) if chosen is None else len(chosen)
    found = np.zeros(count, np.uint16)
    differing = np.empty(min(count, CODES_A_STEP), np.uint64)
    bits = np.empty(len(differing), np.uint8)
    for start in range(0, count, CODES_A_STEP):
        stop = min(count, start + CODES_A_STEP)
        part = codes[start:stop] if chosen is None else codes.take(chosen[start:stop], axis=0)
        sums, here = found[start:stop], slice(stop - start)
        for word, of_query in enumerate(query):
            np.bitwise_xor(part[:, word], of_query, out=differing[here])
            np.bitwise_count(differing[here], out=bits[here])
            sums += bits[here]
    return found


def _best(snapshot: Snapshot, chosen: Array | None, scores: FloatVector, limit: int) -> list[Hit]:
    """The places that score best as hits, equal ones in their order."""
    places = np.arange(len(scores))
    if len(scores) > limit:
        places = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    places = places[np.argsort(-scores[places], kind="stable")[:limit]]
    rows = snapshot.rows[places if chosen is None else chosen[places]]
    columns = (rows[name].tolist() for name in ("row", "session", "exchange", "ts_ms"))
    return [Hit(*values) for values in zip(*columns, scores[places].tolist(), strict=True)]
