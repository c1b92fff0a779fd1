"""The files of a lexical index as they lie on disk: which of them count, what a killed writer left, what is broken.

A segment's files are named after it and never change; `meta.json` names the segments that count. Each ends in a footer
with the checksum of what stands before it, which Tantivy writes and does not look at again.

One line in the file STAMP says whose rows the index is made from, and how far: without it the index is worth nothing.
It is replaced before every commit, so that nothing in the index is behind what it says, and after the last commit of a
pass: who is killed between two projects' commits left rows that it does not call done. Taking the file away gives the
index up, and whoever writes next makes it anew: as another generation, a folder of its own that the line names.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from howcome.domain.patterns import late
from howcome.errors import StoreMissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MarkOf = Callable[[int], str]


META = "meta.json"
STAMP = "stamp"
_SEGMENT_FILE = late(r"([0-9a-f]{32})(?:\.(\d+))?\..+")
_LEFT_BEHIND = late(r"\.tmp\w+")
LEFT_BEHIND_S = 60.0
"""A file that is being written is renamed at once."""

_MAGIC = 1337
_TAIL_BYTES = 8
_READ_BYTES = 1 << 20
_MAX_STAMP_BYTES = 200
SAFE_BYTES = 64 << 10
"""Of some 16,000 documents; reading so much takes .1 ms."""


def living_segments(folder: str) -> dict[str, int | None]:
    """The segments that count, each with the number of the file that says which of its documents are gone."""
    try:
        with open(os.path.join(folder, META), encoding="utf-8") as stream:
            segments = json.load(stream)["segments"]
        return {
            each["segment_id"].replace("-", ""): each["deletes"]["opstamp"] if each["deletes"] else None
            for each in segments
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # opening the index says what it is
        return {}


def sweep(folder: str) -> None:
    """Takes away what a killed writer left behind. Only for whoever holds the index's lock, with `meta.json` readable.

    Tantivy would not write a file whose name is taken: one that says which documents are gone has the number of the
    commit, which the next writer counts again.
    """
    living = living_segments(folder)
    for name in os.listdir(folder):
        found = _SEGMENT_FILE.fullmatch(name)
        if found:
            is_left = found[1] not in living or (found[2] is not None and int(found[2]) != living[found[1]])
        else:
            is_left = _LEFT_BEHIND.fullmatch(name) is not None and _is_old(os.path.join(folder, name))
        if is_left:
            os.unlink(os.path.join(folder, name))


def _is_old(path: str) -> bool:
    """Whether nobody can be at a file any more: who makes an index needs no lock for its first files."""
    try:
        return time.time() - os.stat(path).st_mtime > LEFT_BEHIND_S
    except FileNotFoundError:
        return False


def make_folders(*paths: str) -> None:
    """Makes folders of an index (0700), each in the one before; never the store's: one taken away stays away."""
    from howcome.files import sync

    for path in paths:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        except FileNotFoundError as error:
            raise StoreMissingError(f"{os.path.dirname(path)} is gone: there is nothing to make an index of") from error
        sync(os.path.dirname(path))


def require_safe(folder: str) -> None:
    """Refuses an index that may end the whole process when it is opened: no error of the binding's can be caught then.

    Tantivy allocates what a segment says that it needs. Its store has 4 bytes a document here, and a prompt waits:
    one above SAFE_BYTES is left to whoever reads all files (`import`, `doctor`, the worker).
    """
    for segment in living_segments(folder):
        name = f"{segment}.store"
        path = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):  # merged into another meanwhile, which opening finds out
            if os.stat(path).st_size <= SAFE_BYTES and not _is_whole(path):
                raise ValueError(f"{name} is not as it was written")


def broken_files(folder: str) -> Iterator[str]:
    """The names of the files that are not as they were written; reads all of them, some 1 GB a second."""
    living = living_segments(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        found = _SEGMENT_FILE.fullmatch(name)
        if found and found[1] in living and (found[2] is None or int(found[2]) == living[found[1]]):
            try:
                is_whole = _is_whole(os.path.join(folder, name))
            except FileNotFoundError:  # merged into another since it was listed
                continue
            if not is_whole:
                yield name


def _is_whole(path: str) -> bool:
    import zlib

    with open(path, "rb") as stream:
        end = stream.seek(0, os.SEEK_END) - _TAIL_BYTES
        if end < 0:
            return False
        stream.seek(end)
        length, magic = (int.from_bytes(stream.read(4), "little") for _ in range(2))
        body = end - length
        if magic != _MAGIC or body < 0:
            return False
        stream.seek(body)
        try:
            written = json.loads(stream.read(length))["crc"]
        except (ValueError, LookupError, TypeError):
            return False
        stream.seek(0)
        checksum = 0
        while body:
            part = stream.read(min(_READ_BYTES, body))
            checksum, body = zlib.crc32(part, checksum), body - len(part)
    return bool(checksum == written)


def read_stamp(folder: str, mark_of: MarkOf) -> tuple[int, int, str] | None:
    """What is said of an index, where it is of the rows at hand.

    Args:
        folder: Of the index.
        mark_of: The mark of a row in these rows; "" where there is none.

    Returns:
        The row behind which nothing in the index is, the last row that is wholly in it, and the name of its generation.
    """
    last, mark, done, generation = (*_stamp_line(folder).split(), *[""] * 4)[:4]
    if not (last.isdecimal() and done.isdecimal() and len(last) < 19 and _is_generation(generation)):
        return None
    return (int(last), int(done), generation) if mark and mark == mark_of(int(last)) else None


def _is_generation(name: str) -> bool:
    return len(name) == 8 and name.isalnum()


def _stamp_line(folder: str) -> str:
    try:
        descriptor = os.open(os.path.join(folder, STAMP), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _MAX_STAMP_BYTES).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def write_stamp(folder: str, last: int, mark_of: MarkOf, done: int, generation: str) -> None:
    """Says that an index is of the rows at hand; see `read_stamp`."""
    from howcome.files import write_whole  # not for a prompt, which only looks

    line = f"{last} {mark_of(last)} {done} {generation}\n"
    write_whole(os.path.join(folder, STAMP), line.encode(), must_last=True)


def remove_others(folder: str, generation: str) -> None:
    """Removes other generations of an index, and indexes of older formats beside it. Only for who has its lock."""
    import shutil

    parent, name = os.path.split(folder)
    stem, _, number = name.rpartition("-")
    for other in os.listdir(folder):
        if _is_generation(other) and other != generation:
            shutil.rmtree(os.path.join(folder, other), ignore_errors=True)
    for other in os.listdir(parent):
        kind, version = (*other.split("-"), "")[:2]
        if kind == stem and version.isdecimal() and int(version) < int(number):
            shutil.rmtree(os.path.join(parent, other), ignore_errors=True)


def give_up(folder: str) -> None:
    """Takes the stamp away; in a folder that cannot be written the index stays as it is."""
    try:
        os.unlink(os.path.join(folder, STAMP))
    except OSError:
        return
