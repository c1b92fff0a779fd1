"""Which memories were kept by hand, in a file beside the database: no transcript holds them, to be read again.

Whoever loses the database, or puts an older copy in its place, loses them without a word otherwise. The file holds keys
only, one a line, and is only appended to; purged memories keep their rows, so that what is missing there is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from howcome.domain.memories import HAND, memory_id
from howcome.log.database import Database

NAME = "kept-memories"
_KEY = re.compile(r"[0-9A-F]{32}")


def read_kept(folder: str) -> list[str]:
    """The keys (hexadecimal) of the memories that were kept by hand, as far as anybody wrote them down, in order."""
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="ascii", errors="replace") as stream:
            return list(dict.fromkeys(line.strip() for line in stream if _KEY.fullmatch(line.strip())))
    except OSError:
        return []


def vanished(folder: str, held: Iterable[str]) -> list[str]:
    """Ids of the memories that were kept by hand, but for those whose keys are still held."""
    known = set(held)
    return [memory_id(bytes.fromhex(key)) for key in read_kept(folder) if key not in known]


class KeptMemories:
    """Which they are in the database, written down and compared."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def note(self) -> None:
        """Writes down which there are; where that cannot be done now, the next one that is kept does."""
        known = set(read_kept(self._db.folder))
        lines = "".join(f"{key}\n" for key in self._keys() if key not in known)
        if not lines:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError):
            descriptor = os.open(os.path.join(self._db.folder, NAME), flags, 0o600)
            with open(descriptor, "ab", buffering=0) as stream:
                stream.write(lines.encode())

    def vanished(self) -> list[str]:
        """Ids of those that are written down and are not in this database."""
        return vanished(self._db.folder, self._keys())

    def _keys(self) -> list[str]:
        return [key for (key,) in self._db.rows("SELECT hex(key) FROM memories WHERE source = ? ORDER BY id", (HAND,))]
