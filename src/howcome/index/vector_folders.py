"""What there is of vectors beside a store: one folder a model, told by its head alone."""

from __future__ import annotations

import os

from howcome.errors import IndexDamagedError
from howcome.index.vector_head import HEAD_NAME, PREFIX, Head, checksum_of, data_path, read_head, row_bytes
from howcome.log.event_log import EventLog


class VectorFolder:
    """The vectors of one model.

    Attributes:
        name: Of the folder.
        model: The embedder's name and version.
        dimensions: Of each vector; 0 when not known.
        count: How many there are of these rows; 0 when they are another database's.
        turns_behind: How many turns have none yet.
        size_bytes: On disk.
        problem: Why it cannot be used; "" when it can.
    """

    __slots__ = ("count", "dimensions", "model", "name", "problem", "size_bytes", "turns_behind")

    def __init__(self, name: str, size_bytes: int) -> None:
        self.name, self.model, self.size_bytes = name, name.removeprefix(PREFIX), size_bytes
        self.dimensions, self.count, self.turns_behind, self.problem = 0, 0, 0, ""


def vector_folders(folder: str, log: EventLog) -> list[VectorFolder]:
    """Every model's vectors in the folder of a store's indexes, by name."""
    return [_looked_at(os.path.join(folder, name), name, log) for name in _names(folder)]


def has_vectors(folder: str) -> bool:
    """Whether there may be a vector of any model; reads no head."""
    return bool(_names(folder))


def give_up_broken(folder: str) -> list[str]:
    """Reads all vectors beside a store; what is wrong with those that are not as they were written.

    Their head is taken away: nothing is found by them any more, and whoever embeds next makes them anew.
    """
    found = []
    for name in _names(folder):
        path = os.path.join(folder, name)
        try:
            part = _broken_part(path)
            if part:
                os.unlink(os.path.join(path, HEAD_NAME))
                found.append(f"the vector index {name} is damaged ({part})")
        except OSError:  # cannot be read or changed now: who asks it says so
            continue
    return found


def _broken_part(path: str) -> str:
    """The file of an index that is not as it was written; "" when all are."""
    try:
        head = read_head(path)
    except IndexDamagedError:
        return HEAD_NAME
    if head is None or not head.count:
        return ""
    for part, written in (head.checksums or {}).items():
        try:
            is_whole = checksum_of(path, head, part) == written
        except FileNotFoundError:
            is_whole = read_head(path) is None  # given up, or begun anew, meanwhile
        if not is_whole:
            return part
    return ""


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(PREFIX))
    except OSError:
        return []


def _looked_at(path: str, name: str, log: EventLog) -> VectorFolder:
    found, last_row = VectorFolder(name, _size_bytes(path)), 0
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
