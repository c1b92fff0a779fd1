"""Putting another database in the place of the store's: under its lock, with the present one kept aside, never lost."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable

from howcome.files import sync
from howcome.log.place import database_path
from howcome.log.possession import alone

LOG_SUFFIXES = ("-wal", "-shm", "-journal")
WAIT_S = 10.0
"""How long whoever has the store open is waited for."""


def replace_database(home: str, kind: str, make: Callable[[str], None], *, wait_s: float = WAIT_S) -> str:
    """Puts what `make` writes (at the path that it is given) in the place of the database of a folder.

    Nobody else has the store open meanwhile. The present database stays aside, with its log and its indexes: these are
    of other rows than the new one's, and are built anew from those. There is a database at every moment.

    Args:
        home: The store's folder.
        kind: The folder in it for what is kept aside.
        make: Makes the new database, or raises, and then nothing has changed; what it writes beside it is taken away.
        wait_s: How long whoever has the store open is waited for.

    Returns:
        The folder `kind`/date-time with what was there before.

    Raises:
        StoreLockedError: somebody has it open.
        OSError: the folder cannot be written.
    """
    path = database_path(home)
    with alone(home, wait_s):
        aside = _new_folder(home, kind)
        kept, work = database_path(aside), os.path.join(aside, "new")
        try:
            os.mkdir(work, 0o700)
            make(database_path(work))
            if os.path.lexists(path):
                _keep(path, kept)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        index = os.path.join(home, "index")
        if os.path.isdir(index):
            os.rename(index, os.path.join(aside, "index"))
        for suffix in LOG_SUFFIXES:
            if os.path.lexists(path + suffix):
                os.rename(path + suffix, kept + suffix)
        os.replace(database_path(work), path)
        shutil.rmtree(work)
        sync(home)
    return aside


def _new_folder(home: str, kind: str) -> str:
    while True:
        aside = os.path.join(home, kind, time.strftime("%Y-%m-%d-%H%M%S"))
        os.makedirs(os.path.dirname(aside), mode=0o700, exist_ok=True)
        try:
            os.mkdir(aside, mode=0o700)
        except FileExistsError:  # somebody did the same in this second
            time.sleep(0.1)
        else:
            return aside


def _keep(path: str, kept: str) -> None:
    """A second name for the database; a copy where the file system has none."""
    try:
        os.link(path, kept)
    except OSError:
        shutil.copy2(path, kept)
