"""Taking vectors of single turns away: in their place is one of length 0, which is near to nothing."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence

from howcome.errors import IndexDamagedError
from howcome.index.vector_folders import PREFIX
from howcome.index.vector_head import data_path, read_head

ROW_BYTES = 32
"""Of a vector's row, which begins with the event's."""


def blank_vectors(folder: str, rows: Sequence[int]) -> None:
    """Takes the vectors of some events away, of every model; an index that is damaged is made anew anyway."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names if name.startswith(PREFIX)):
        try:
            head = read_head(path)
            if head is not None and head.count:
                sizes = {"codes": 8 * -(-head.dimensions // 64), "values": 2 * head.dimensions}
                places = _places(data_path(path, "rows", head.generation), head.count, rows)
                for part, size in sizes.items():
                    _clear(data_path(path, part, head.generation), places, size)
        except (FileNotFoundError, IndexDamagedError, struct.error, ValueError):
            continue


def _places(path: str, count: int, rows: Sequence[int]) -> list[int]:
    """Where events are among the rows, which are in order."""
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:

        def row_at(place: int) -> int:
            return int(struct.unpack_from("<I", content, place * ROW_BYTES)[0])

        found = []
        for row in rows:
            low, high = 0, count
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if row_at(middle) < row else (low, middle)
            if low < count and row_at(low) == row:
                found.append(low)
        return found


def _clear(path: str, places: Sequence[int], size: int) -> None:
    if places:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for place in places:
                os.pwrite(descriptor, bytes(size), place * size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
