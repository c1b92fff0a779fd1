"""Whole copies of the database: made while others use it, read back before they count, put back in its place.

Whatever takes the place of the store's database does so under its lock, with the present one kept aside, never lost.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing, suppress

import apsw

from howcome.errors import StoreDamagedError, StoreError, StoreNewerError, UsageError
from howcome.files import replacing, sync
from howcome.log.database import driver_errors
from howcome.log.faults import refusal_of
from howcome.log.place import database_path
from howcome.log.possession import alone, share
from howcome.store.sqlite import SCHEMA_VERSION

KIND = "replaced"
"""The folder that databases are kept in for which a backup was put back."""

_PAGES_A_STEP = 2000
_SHARE_S = 5.0

LOG_SUFFIXES = ("-wal", "-shm", "-journal")
WAIT_S = 10.0
"""How long whoever has the store open is waited for."""


def back_up(home: str, file: str) -> int:
    """Copies the database to a file (0600) that appears when it is whole and was read back; its size in bytes.

    Raises:
        StoreError: the database or the copy cannot be read or written, or is damaged; there is no file then.
    """
    shared = share(home, _SHARE_S)
    try:
        with replacing(file) as stream:
            _copy_whole(home, stream.name)
    except OSError as error:
        raise refusal_of(error) or StoreError(f"{file}: {error.strerror or error}") from error
    finally:
        if shared is not None:
            os.close(shared)
    return os.stat(file).st_size


def _copy_whole(home: str, part: str) -> None:
    """Copies the database over an empty file, with nothing beside it afterwards; what is not whole raises."""
    try:
        with driver_errors(os.path.dirname(part)):
            _copy(database_path(home), part)
        if problem := damage(part):
            raise StoreError(f"the copy is not whole ({problem}): look at the database with `howcome doctor --deep`")
    finally:
        for suffix in LOG_SUFFIXES:
            with suppress(FileNotFoundError):
                os.unlink(part + suffix)


def _copy(database: str, part: str) -> None:
    with closing(apsw.Connection(database, apsw.SQLITE_OPEN_READONLY)) as old, closing(apsw.Connection(part)) as new:
        old.set_busy_timeout(int(_SHARE_S * 1000))
        with new.backup("main", old, "main") as running:
            while not running.done:
                running.step(_PAGES_A_STEP)
        new.pragma("journal_mode", "delete")  # one file, with no log beside it


def restore_backup(home: str, file: str) -> str:
    """Puts a backup in the place of the database, which is kept aside; the folder where it is.

    Raises:
        UsageError: the file is no backup of a store, or is damaged; nothing was changed.
        StoreNewerError: a newer howcome made it.
        StoreLockedError: other processes use the store.
        StoreError: it cannot be read or written.
    """

    def make(new: str) -> None:
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        shutil.copyfile(file, new)
        _require_store(new, file)

    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return replace_database(home, KIND, make)
    except OSError as error:
        raise refusal_of(error) or UsageError(f"{file}: {error.strerror or error}") from error


def _require_store(path: str, name: str) -> None:
    """Refuses what is no whole store, or one of a newer version; the log is on afterwards."""
    if problem := damage(path):
        raise UsageError(f"{name} is no backup, or a damaged one ({problem}); nothing was changed")
    with driver_errors(os.path.dirname(path)), closing(apsw.Connection(path)) as connection:
        version = int(connection.pragma("user_version"))
        if version > SCHEMA_VERSION:
            raise StoreNewerError(f"{name} has schema {version}, this howcome knows {SCHEMA_VERSION}: upgrade it")
        sql = "SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'events', 'sources')"
        if version < 1 or next(iter(connection.execute(sql)))[0] != len(("meta", "events", "sources")):
            raise UsageError(f"{name} is no backup of a howcome store; nothing was changed")
        connection.pragma("journal_mode", "wal")


def damage(path: str) -> str:
    """What is wrong with a database; "" when it is whole.

    Raises:
        StoreError: it cannot be told: locked, no right to read it, no room.
    """
    try:
        with driver_errors(os.path.dirname(path)), closing(open_existing(path)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
    except StoreDamagedError as error:
        return str(error.__cause__)
    return "" if found == ["ok"] else found[0]


def open_existing(path: str) -> apsw.Connection:
    """A database as it is, which is only read."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(5000)
    return connection


# -- another in its place
def replace_database(home: str, kind: str, make: Callable[[str], None]) -> str:
    """Puts what `make` writes (at the path that it is given) in the place of the database of a folder.

    Nobody else has the store open meanwhile. The present database stays aside, with its log and its indexes: these are
    of other rows than the new one's, and are built anew from those. There is a database at every moment.

    Args:
        home: The store's folder.
        kind: The folder in it for what is kept aside.
        make: Makes the new database, or raises, and then nothing has changed; what it writes beside it is taken away.

    Returns:
        The folder `kind`/date-time with what was there before.

    Raises:
        StoreLockedError: somebody has it open.
        OSError: the folder cannot be written.
    """
    path = database_path(home)
    with alone(home, WAIT_S):
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
