"""The vectors of turns in files beside a store: what there is, one folder a model, and who reads and writes it.

numpy is needed only where vectors are searched or written.
"""

from __future__ import annotations

import os

from howcome.errors import IndexDamagedError
from howcome.index.turn_vectors import ModelVectors
from howcome.index.vector_files import (
    HEAD_NAME,
    PREFIX,
    Head,
    checksum_of,
    data_path,
    move_vectors,
    names,
    read_head,
    row_bytes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.index.turn_vectors import TurnVectors
    from howcome.index.vector_index import VectorIndex
    from howcome.index.vector_writer import VectorWriter
    from howcome.log.database import Database
    from howcome.log.event_log import EventLog


class VectorFiles:
    """The vectors of a store in files beside it: a folder for each model."""

    def __init__(self, db: Database, log: EventLog) -> None:
        self._home, self._log = db.folder, log
        self._folder = os.path.join(db.folder, "index")

    def open(self, model: str, dimensions: int) -> VectorIndex:
        """The vectors of a model, to be searched; nothing is read yet."""
        from howcome.index.vector_index import VectorIndex

        return VectorIndex(self._folder, model, dimensions, self._log.mark_at)

    def writer(self, model: str, dimensions: int) -> VectorWriter:
        """Who writes them within a `with` block; not open there when another process does."""
        from howcome.index.vector_writer import VectorWriter

        return VectorWriter(self.open(model, dimensions))

    def has_any(self) -> bool:
        """Whether there may be a vector of any model; reads no head."""
        return bool(names(self._folder))

    def held(self) -> list[ModelVectors]:
        """Every model's vectors in the folder of a store's indexes, by name."""
        return [_looked_at(os.path.join(self._folder, name), name, self._log) for name in names(self._folder)]

    def give_up_broken(self) -> list[str]:
        """Reads all vectors beside a store; what is wrong with those that are not as they were written.

        Their head is taken away: nothing is found by them any more, and whoever embeds next makes them anew.
        """
        found = []
        for name in names(self._folder):
            path = os.path.join(self._folder, name)
            try:
                part = _broken_part(path)
                if part:
                    os.unlink(os.path.join(path, HEAD_NAME))
                    found.append(f"the vector index {name} is damaged ({part})")
            except OSError:  # cannot be read or changed now: who asks it says so
                continue
        return found

    def refused(self) -> str:
        """Files that cannot be read say so themselves."""
        return ""

    def move(self, joined: int, kept: int) -> None:
        """Makes the vectors of a project another's, which it became a part of."""
        move_vectors(self._home, joined, kept)


def _broken_part(path: str) -> str:
    """The file of an index that is not as it was written; "" when all are."""
    try:
        head = read_head(path)
    except IndexDamagedError:
        return HEAD_NAME
    if head is None or not head.count:
        return ""
    for part, written in head.checksums.items():
        try:
            is_whole = checksum_of(path, head, part) == written
        except FileNotFoundError:
            is_whole = read_head(path) is None  # given up, or begun anew, meanwhile
        if not is_whole:
            return part
    return ""


def _looked_at(path: str, name: str, log: EventLog) -> ModelVectors:
    found, last_row = ModelVectors(name, name.removeprefix(PREFIX), _size_bytes(path), ("rm", "-r", path)), 0
    try:
        head = read_head(path)
    except (IndexDamagedError, OSError) as error:
        head, found.problem = None, str(error)
    if head is not None and not _is_whole(path, head):
        head, found.problem = None, "files of it are gone or cut"
    if head is not None:
        found.dimensions = head.dimensions
        if head.is_of(log.mark_at):
            found.count, last_row = head.count, head.last_row
    found.turns_behind = log.count_turns_after(last_row)
    return found


def _is_whole(path: str, head: Head) -> bool:
    """Whether the files are as long as the head says; what stands in them is looked at when they are searched."""
    try:
        return all(
            os.stat(data_path(path, part, head.generation)).st_size >= head.count * size_bytes
            for part, size_bytes in (row_bytes(head.dimensions) if head.count else {}).items()
        )
    except OSError:
        return False


def _size_bytes(folder: str) -> int:
    """What the files of a folder take; one that goes meanwhile takes nothing."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        return total
    return total


if TYPE_CHECKING:
    _: type[TurnVectors] = VectorFiles
