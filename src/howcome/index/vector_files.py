"""The files of the vectors beside a store, one folder a model: heads, what there is, and rows changed where they lie.

A head is one small file beside the data, in which the vector index says what it holds, replaced as a whole with every
commit. An index that is damaged is made anew anyway. numpy is not needed here.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from howcome.errors import IndexDamagedError
from howcome.files import write_whole

FORMAT = 2
"""Part of the folder's name: another format is another folder, made anew from the rows."""

HEAD_NAME = "head"
PREFIX = f"vectors-{FORMAT}-"
"""How the folder of a model's vectors begins, in the folder of all indexes of a store."""

_READ_BYTES = 1 << 20
LOCK_NAME = "lock"


class Head:
    """What is committed.

    Args:
        model: Whose vectors these are.
        dimensions: Of each vector.
        generation: Which files are meant (`data_path`); a new one is begun where vectors are to go.
        count: How many vectors there are; what lies behind them in the files is nobody's.
        last_row: The last event row that was considered, whether or not it has a vector.
        last_key: The mark of that event: it tells whether these are the vectors of the rows at hand.
        checksums: By part, of what is committed of it.
    """

    __slots__ = ("checksums", "count", "dimensions", "generation", "last_key", "last_row", "model")

    def __init__(
        self,
        model: str,
        dimensions: int,
        generation: int,
        count: int = 0,
        last_row: int = 0,
        last_key: str = "",
        *,
        checksums: dict[str, int],
    ) -> None:
        self.model, self.dimensions, self.generation = model, dimensions, generation
        self.count, self.last_row, self.last_key, self.checksums = count, last_row, last_key, checksums

    def is_of(self, mark_of: Callable[[int], str]) -> bool:
        """Whether the vectors are those of the rows at hand, by what these are marked with."""
        return not self.last_row or (bool(self.last_key) and mark_of(self.last_row) == self.last_key)

    def encoded(self) -> bytes:
        """As it is in its file: a checksum, then JSON, one line."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps({"format": FORMAT, **fields}, sort_keys=True).encode()
        return b"%08x %s\n" % (zlib.crc32(text), text)


def read_head(folder: str) -> Head | None:
    """The head of an index; None where there is none.

    Raises:
        IndexDamagedError: it is not as it was written, or is of another format.
        OSError: it is there and cannot be read.
    """
    try:
        with open(os.path.join(folder, HEAD_NAME), "rb") as stream:
            written = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    checksum, _, text = written.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise damaged("its head is not as it was written")
    fields = json.loads(text)
    if fields.pop("format") != FORMAT:
        raise damaged("its head is of another format")
    if not isinstance(fields.get("checksums"), dict):
        raise damaged("its head has no checksums")
    return Head(**fields)


def write_head(folder: str, head: Head) -> None:
    """Puts a head in place of the one that is there: a reader sees one or the other, also after a power cut."""
    write_whole(os.path.join(folder, HEAD_NAME), head.encoded(), must_last=True)


def data_path(folder: str, part: str, generation: int) -> str:
    """The file of one part of the data (`rows`, `codes`, `values`)."""
    return os.path.join(folder, f"{part}-{generation}.bin")


def row_bytes(dimensions: int) -> dict[str, int]:
    """How many bytes each part has for a vector."""
    return {"rows": 32, "codes": 8 * -(-dimensions // 64), "values": 2 * dimensions}


def checksum_of(folder: str, head: Head, part: str) -> int | None:
    """The checksum of what is committed of a part; None where the file is shorter."""
    left, checksum = head.count * row_bytes(head.dimensions)[part], 0
    with open(data_path(folder, part, head.generation), "rb") as stream:
        while left:
            data = stream.read(min(_READ_BYTES, left))
            if not data:
                return None
            checksum, left = zlib.crc32(data, checksum), left - len(data)
    return checksum


def damaged(what: str) -> IndexDamagedError:
    """What is wrong with the files, and what becomes of it."""
    return IndexDamagedError(f"the vector index is damaged ({what}); it is made anew from the rows")


def names(folder: str) -> list[str]:
    """The folders of every model's vectors in the one of all indexes of a store, in order."""
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(PREFIX))
    except OSError:
        return []


# -- changing rows where they lie
ROW_BYTES, PROJECT_AT = row_bytes(0)["rows"], 12
"""Of `vector_snapshot.ROW`, which begins with the event's row."""


def blank_vectors(folder: str, rows: Sequence[int]) -> None:
    """Takes the vectors of some events away: in their place is one of length 0, which is near to nothing."""
    for path, head in _committed(folder):
        with suppress(FileNotFoundError, struct.error, ValueError):
            places = _places(data_path(path, "rows", head.generation), head.count, rows)
            for part, size in row_bytes(head.dimensions).items():
                if part != "rows":
                    _write(data_path(path, part, head.generation), [(place * size, bytes(size)) for place in places])
            _sum_again(path, head, ("codes", "values") if places else ())


def move_vectors(home: str, joined: int, kept: int) -> None:
    """Writes another project into the rows of one that became a part of it, below a store's folder."""
    before, after = joined.to_bytes(4, "little"), kept.to_bytes(4, "little")
    for path, head in _committed(os.path.join(home, "index")):
        file = data_path(path, "rows", head.generation)
        with open(file, "rb") as stream:
            rows = stream.read()
        starts = range(PROJECT_AT, len(rows) - ROW_BYTES + PROJECT_AT + 1, ROW_BYTES)
        moved = [(start, after) for start in starts if rows[start : start + 4] == before]
        _write(file, moved)
        _sum_again(path, head, ("rows",) if moved else ())


def _sum_again(path: str, head: Head, parts: Sequence[str]) -> None:
    """Writes the checksums of parts that were changed in place, unless somebody committed vectors meanwhile.

    Then, or after a crash before it, the vectors count as damaged when they are next looked at, and are made anew.
    """
    written = head.encoded()
    head.checksums |= {part: summed for part in parts if (summed := checksum_of(path, head, part)) is not None}
    now = read_head(path)
    if parts and now is not None and now.encoded() == written:
        write_head(path, head)


def _committed(folder: str) -> Iterator[tuple[str, Head]]:
    """Every model's folder in the one of all indexes that holds vectors, and its head."""
    for path in (os.path.join(folder, name) for name in names(folder)):
        with suppress(IndexDamagedError):
            head = read_head(path)
            if head is not None and head.count:
                yield path, head


def _places(path: str, count: int, rows: Sequence[int]) -> list[int]:
    """Where events are among the rows, which are in order."""
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:

        def row_at(place: int) -> int:
            return int(struct.unpack_from("<I", content, place * ROW_BYTES)[0])

        found = ((bisect_left(range(count), row, key=row_at), row) for row in rows)
        return [place for place, row in found if place < count and row_at(place) == row]


def _write(path: str, pieces: Sequence[tuple[int, bytes]]) -> None:
    if pieces:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for offset, data in pieces:
                os.pwrite(descriptor, data, offset)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
