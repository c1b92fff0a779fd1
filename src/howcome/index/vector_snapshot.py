"""What was committed of the vectors at one moment, and the arithmetic over it."""

from __future__ import annotations

import mmap
import os
from functools import cached_property

import numpy as np

from howcome.domain import events
from howcome.errors import StoreError
from howcome.index.vector_files import damaged, data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    import numpy.typing as npt

    from howcome.index.vector_files import Head

    FloatVector: TypeAlias = npt.NDArray[np.float32]
    Array: TypeAlias = npt.NDArray[Any]

ROW = np.dtype([
    ("row", "<u4"), ("session", "<u4"), ("exchange", "<u4"), ("project", "<u4"), ("ts_ms", "<i8"),
    ("kind", "u1"), ("origin", "u1"), ("spare", "V6"),
])  # fmt: skip
"""What a filter and a hit need of a vector's row, 32 bytes."""

CONVERSATION_SHARE = 3 / 8
"""A session is a conversation where so many of its turns are prompts: half are when two take turns; a coding agent says
a dozen things to one prompt, each about a step of its own."""

AFTER_WEIGHT = 0.5
AFTER_PLACES = 32
"""How much of the turn after it a turn in a conversation means, too: an answer tells what was asked. It is added to the
cosines of what is found, for what is written never changes, and looked for among the next so many rows."""

CODES_A_STEP = 16_384
VALUES_A_STEP = 512
"""Rows that are worked on at a time: what a core's cache holds."""

_PROMPT = events.KINDS.index(events.USER_PROMPT)


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


def unit_of(query: FloatVector, dimensions: int) -> FloatVector | None:
    """A question of length 1; None when it has no length.

    Raises:
        StoreError: it has another number of dimensions.
    """
    query = np.asarray(query, np.float32)
    if query.shape != (dimensions,):
        raise StoreError(f"a question of shape {query.shape} was asked of {dimensions} dimensions")
    length = float(np.linalg.norm(query))
    return query / np.float32(length) if 0 < length < np.inf else None


def with_after(own: FloatVector, after: FloatVector, query: FloatVector) -> FloatVector:
    """The cosines of vectors with a query of length 1, each with AFTER_WEIGHT of the vector of the turn after it."""
    both = own.astype(np.float32) + AFTER_WEIGHT * after.astype(np.float32)
    lengths = np.linalg.norm(both, axis=1)
    found: FloatVector = np.vecdot(both, query) / np.where(lengths == 0, 1, lengths)
    return found


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
    def _sessions(self) -> tuple[Array, Array, Array]:
        """Session ids, ascending, how many vectors each has, and how many of them are prompts'.

        Turns of a session mostly stand together: counted are their runs, by a table where the ids have few gaps; 5 ms
        for 1,000,000 rows, 30 where no two stand together.
        """
        sessions, is_prompt = self.rows["session"], self.rows["kind"] == _PROMPT
        starts = np.flatnonzero(np.diff(sessions, prepend=~sessions[:1]))
        ids, places = _numbered(sessions[starts], 8 * len(sessions))
        counts = np.bincount(places, np.diff(starts, append=len(sessions)), len(ids))
        prompts = np.bincount(places, np.add.reduceat(is_prompt, starts, dtype=np.int64), len(ids))
        return ids, counts, prompts

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions have one vector only."""
        ids, counts, _ = self._sessions
        at = _places(ids, session_ids)
        return set(ids[at[counts[at] == 1]].tolist())

    def _is_conversation(self, sessions: Array) -> Array:
        """Which of some sessions that have vectors are conversations."""
        ids, counts, prompts = self._sessions
        at = np.searchsorted(ids, sessions)
        found: Array = prompts[at] >= CONVERSATION_SHARE * counts[at]
        return found

    def places_of(self, rows: Iterable[int]) -> Array:
        """The places of event rows, ascending, of those that have a vector."""
        return _places(self.rows["row"], rows)

    def with_what_follows(
        self, query: FloatVector, places: Array, cosines: FloatVector, before_ms: int | None
    ) -> FloatVector:
        """The cosines of places, in conversations with AFTER_WEIGHT of the turn after each (before a time, if any)."""
        talking = np.flatnonzero(self._is_conversation(self.rows["session"][places]))
        following = self._following(places[talking], before_ms)
        talking, following = talking[following >= 0], following[following >= 0]
        if not len(talking):
            return cosines
        found = cosines.copy()
        found[talking] = with_after(self.values[places[talking]], self.values[following], query)
        return found

    def _following(self, places: Array, before_ms: int | None) -> Array:
        """The place of the next turn of the same session and project; -1 where there is none nearby."""
        ahead = places[:, np.newaxis] + np.arange(1, AFTER_PLACES + 1)
        rows = self.rows[np.minimum(ahead, self.head.count - 1)]
        own = self.rows[places][:, np.newaxis]
        is_next = (rows["session"] == own["session"]) & (ahead < self.head.count)
        first = is_next.argmax(axis=1, keepdims=True)
        is_good = is_next & (rows["project"] == own["project"])
        if before_ms is not None:
            is_good &= rows["ts_ms"] < before_ms
        is_there = np.take_along_axis(is_good, first, axis=1)
        return np.where(is_there, np.take_along_axis(ahead, first, axis=1), -1)[:, 0]

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


def _numbered(numbers: Array, table_size: int) -> tuple[Array, Array]:
    """Ascending numbers, those given among them, and where each given one stands; without a sort in a small table."""
    highest = int(numbers.max(initial=0))
    if highest < table_size:
        return np.arange(highest + 1, dtype=numbers.dtype), numbers
    found, places = np.unique(numbers, return_inverse=True)
    return found, places


def _places(numbers: Array, asked: Iterable[int]) -> Array:
    """Where in ascending numbers those stand that are asked for: ascending, each once, without those that do not."""
    wanted = np.unique(np.array(list(asked), np.int64))
    wanted = wanted[(wanted >= 0) & (wanted <= np.iinfo(numbers.dtype).max)]
    wanted = wanted.astype(numbers.dtype)  # for numbers of another type all of them would be copied
    places: Array = np.searchsorted(numbers, wanted)
    is_there = places < len(numbers)
    is_there[is_there] = numbers[places[is_there]] == wanted[is_there]
    return places[is_there]


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
