"""Files that are replaced in one step: a reader has the old one or the new one, also after a kill or a power cut."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

PART = r"\.(\d{1,9})-[0-9a-f]{8}\.part"
"""A pattern of what stands behind a file's name in that of its part: whose it is, and a number of its own."""


@contextmanager
def replacing(
    path: str, *, must_last: bool = False, last_look: Callable[[], None] = lambda: None
) -> Iterator[IO[bytes]]:
    """A private file beside `path` (0600) that takes its place at the end; it is gone when the block raises.

    Its name is `stream.name`. A link in the place is replaced, not followed.

    Args:
        path: Of the file, which need not be there.
        must_last: A folder that does not say that the new name is on disk is an error, though the name is there; some
            file systems refuse to say so.
        last_look: Called just before the new file takes the place; what it raises leaves the old one.

    Raises:
        OSError: it cannot be written.
    """
    folder = os.path.dirname(path) or "."
    remove_leftovers(path)
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        stream = open(part, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))  # noqa: SIM115
    except OSError as error:  # named after the folder: the part's name says nothing to its user
        raise OSError(error.errno, error.strerror, folder) from error
    try:
        with stream:
            yield stream
            settle(stream)
        last_look()
        os.replace(part, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)
    try:
        sync(folder)
    except OSError:
        if must_last:
            raise


def write_whole(path: str, data: bytes, *, must_last: bool = False) -> None:
    """Puts a file of these bytes (0600) in place of the one that is there; see `replacing`."""
    with replacing(path, must_last=must_last) as stream:
        stream.write(data)


def read_plain(path: str, max_bytes: int) -> bytes | None:
    """A plain file's first bytes; None where there is none, or a link."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            return stream.read(max_bytes)
    except OSError:
        return None


def settle(stream: IO[bytes]) -> None:
    """Brings to disk what was written: what is looked at after this is what will be there."""
    stream.flush()
    os.fsync(stream.fileno())


def sync(path: str) -> None:
    """Brings a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(path: str) -> None:
    """Removes what killed writers of a file left beside it."""
    folder, name = os.path.split(path)
    with suppress(OSError):  # no such folder, or not ours to change
        for found in os.listdir(folder or "."):
            is_part = found.startswith(name) and re.fullmatch(PART, found[len(name) :])
            if is_part and not is_alive(int(is_part[1])):
                os.unlink(os.path.join(folder, found))


def is_alive(pid: int) -> bool:
    """Whether a process runs here, of whatever user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
