"""Who has the store open: each connection shares a lock on its folder; who puts another database there holds it alone.

A database must not be renamed while it is open: SQLite opens and deletes its log by name, and a log beside another
database than its own damages it. The lock is the kernel's (`flock` on the folder itself) and ends with its process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from howcome.errors import StoreError, StoreLockedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_EVERY_S = 0.01


def share(folder: str, wait_s: float) -> int | None:
    """Opens and shares the folder until the descriptor is closed; None where a file system knows no such locks.

    Raises:
        StoreLockedError: another database is being put in place, and takes longer than `wait_s`.
        OSError: the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if is_taken(descriptor, fcntl.LOCK_SH, wait_s):
            return descriptor
    except OSError:
        os.close(descriptor)
        return None
    os.close(descriptor)
    raise StoreLockedError("another database is being put in the place of this one; nothing was written, try again")


@contextlib.contextmanager
def alone(folder: str, wait_s: float) -> Iterator[None]:
    """Nobody else has the store of a folder open within this, and whoever wants to waits.

    Raises:
        StoreLockedError: somebody has it open for longer than `wait_s`.
        StoreError: the file system knows no such locks.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            is_ours = is_taken(descriptor, fcntl.LOCK_EX, wait_s)
        except OSError as error:
            raise StoreError(f"{folder} cannot be locked: {error.strerror or error}") from error
        if not is_ours:
            raise StoreLockedError("other processes use the store: end the agents' sessions, then try again")
        yield
    finally:
        os.close(descriptor)


def is_taken(descriptor: int, how: int, wait_s: float) -> bool:
    """Whether the lock (shared or alone) on an open file is ours within a time."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_EVERY_S)
        else:
            return True
