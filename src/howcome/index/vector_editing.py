"""Changing rows of vectors where they lie, in every model's files; numpy is not needed to write a number.

An index that is damaged is left alone: it is made anew anyway.
"""

from __future__ import annotations

import mmap
import os
import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress

from howcome.errors import IndexDamagedError
from howcome.index.vector_head import PREFIX, Head, data_path, read_head, row_bytes

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


def move_vectors(home: str, joined: int, kept: int) -> None:
    """Writes another project into the rows of one that became a part of it, below a store's folder."""
    before, after = joined.to_bytes(4, "little"), kept.to_bytes(4, "little")
    for path, head in _committed(os.path.join(home, "index")):
        file = data_path(path, "rows", head.generation)
        with open(file, "rb") as stream:
            rows = stream.read()
        starts = range(PROJECT_AT, len(rows) - ROW_BYTES + PROJECT_AT + 1, ROW_BYTES)
        _write(file, [(start, after) for start in starts if rows[start : start + 4] == before])


def _committed(folder: str) -> Iterator[tuple[str, Head]]:
    """Every model's folder in the one of all indexes that holds vectors, and its head."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names if name.startswith(PREFIX)):
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
