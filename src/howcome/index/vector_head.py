"""What the vector index says of itself: one small file beside its data, replaced as a whole with every commit."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable

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
        checksums: By part, of what is committed of it; None where an older version wrote the head.
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
        checksums: dict[str, int] | None = None,
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
