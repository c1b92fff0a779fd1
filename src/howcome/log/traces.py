"""Looking for what is left of a text: in raw files, whose pages may hold parts of it, and in other texts."""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Iterator

from howcome.errors import StoreError

BLOCK_BYTES = 64
"""Files are compared block by block with every 64 bytes of the text: each run of 127 bytes of it holds one block.

A text of more than 4 KB lies on several pages of the database, so all of it in one piece is found nowhere.
"""

MIN_DISTINCT_BYTES = 8
"""A block of fewer is a rule or an indentation: it is in many texts."""


class Trace:
    """What a text looks like wherever it may rest: as it is, on one line, and as JSON writes it."""

    def __init__(self, text: str) -> None:
        """Takes a text that no file holds by chance; the work is done once, for all that is to be looked into."""
        forms = (text, " ".join(text.split()), json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
        encoded = dict.fromkeys(form.encode("utf-8", "replace") for form in forms)
        self._blocks = {block for data in encoded for block in _blocks(data)}
        self._wholes = [data for data in encoded if len(data) < 2 * BLOCK_BYTES - 1 or not self._blocks]

    def is_in(self, content: bytes | mmap.mmap) -> bool:
        """Whether it is there: all of it if it is short, else at least 127 bytes in one piece (64 may do)."""
        if any(content.find(whole) >= 0 for whole in self._wholes):
            return True
        blocks = self._blocks
        starts = range(0, len(content) - BLOCK_BYTES + 1, BLOCK_BYTES) if blocks else ()
        return any(content[start : start + BLOCK_BYTES] in blocks for start in starts)


def _blocks(data: bytes) -> Iterator[bytes]:
    if len(data) >= 2 * BLOCK_BYTES - 1:
        for start in range(len(data) - BLOCK_BYTES + 1):
            block = data[start : start + BLOCK_BYTES]
            if len(set(block)) >= MIN_DISTINCT_BYTES:
                yield block


def files_with(folder: str, trace: Trace) -> list[str]:
    """The files in a folder and all below it that hold a trace, as paths in the folder.

    Raises:
        StoreError: one cannot be read, or a folder is a link to elsewhere, so nobody knows.
    """
    found = []
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        for name in folders:
            if os.path.islink(os.path.join(place, name)):
                raise StoreError(f"{os.path.join(place, name)} is a link to a folder elsewhere: it was not searched")
        for name in names:
            path = os.path.join(place, name)
            if _holds(path, trace):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def _holds(path: str, trace: Trace) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                return False
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return trace.is_in(content)
    except FileNotFoundError:  # gone meanwhile
        return False
    except (OSError, ValueError) as error:
        _unreadable(error)
    return False


def _unreadable(error: OSError | ValueError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StoreError(f"not all of the store's files could be searched: {error}") from error
