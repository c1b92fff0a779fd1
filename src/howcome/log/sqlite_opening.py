"""Opening the database: to write where that is possible, to read wherever it is there."""

from __future__ import annotations

import errno
import os

import apsw

from howcome.errors import StoreError, StoreMissingError
from howcome.log.driver import GatedConnection
from howcome.log.event_rows import one
from howcome.log.faults import number_of, refusal
from howcome.log.possession import share

CHECKPOINT_PAGES = 4000
"""The write-ahead log may grow to 16 MB: a bulk import so writes each page of an index once, not at every turn."""

_NO_ROOM = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)


def connect(folder: str, path: str, busy_ms: int, *, create: bool) -> tuple[GatedConnection, bool, int | None]:
    """A connection, whether it only reads, and the share in the folder that it needs as long as it is open."""
    try:
        if create:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        elif not _is_there(path):  # before anything is changed in a folder that may be nobody's store
            raise StoreMissingError(f"there is no memory in {folder}: run `howcome init`")
        status = os.stat(folder)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(folder, 0o700)  # made by somebody who did not know what comes into it
        shared = share(folder, busy_ms / 1000)
    except OSError as error:
        if not os.path.exists(path):
            raise _unopened(path, error) from error
        shared = None
    try:
        return *_opened(path, busy_ms, create=create), shared
    except BaseException:
        if shared is not None:
            os.close(shared)
        raise


def _opened(path: str, busy_ms: int, *, create: bool) -> tuple[GatedConnection, bool]:
    try:
        if create and not _is_there(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = _connect_to_write(path, busy_ms)
    except OSError as error:
        if not os.path.exists(path):
            raise _unopened(path, error) from error
    except _NO_ROOM:  # not even for the log's own index: what is there is still read
        pass
    else:
        return connection, False
    return _connect_read_only(path, busy_ms), True


def _unopened(path: str, error: OSError) -> StoreError:
    is_plain = error.errno in (None, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
    number = None if is_plain else number_of(error)
    return StoreError(f"{path}: {error.strerror or error}") if number is None else refusal(number)


def _connect_to_write(path: str, busy_ms: int) -> GatedConnection:
    """An open file is never closed here, as long as it is the database: with it go all locks that this process has."""
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    connection = GatedConnection(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(busy_ms)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what is purged must not rest in a freed page
        connection.wal_autocheckpoint(CHECKPOINT_PAGES)
        user_version(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_there(path: str) -> bool:
    """Whether there is a database: unlike `exists`, not knowing is an error.

    Raises:
        OSError: it cannot be told.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def _connect_read_only(path: str, busy_ms: int) -> GatedConnection:
    """A store in a folder that cannot be written is still read: as it is, without its write-ahead log if need be."""
    connection = GatedConnection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(busy_ms)
    try:
        user_version(connection)
    except _NO_ROOM:
        connection.close()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = GatedConnection("file:" + path.replace("%", "%25").replace("?", "%3f") + "?immutable=1", flags)
    return connection


def files_of(path: str) -> list[tuple[int, int] | None]:
    """Which files a database is: itself, and the index of its log, which is there as long as anybody has it open."""
    found: list[tuple[int, int] | None] = []
    for name in (path, path + "-shm"):
        try:
            status = os.stat(name)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return found


def user_version(connection: apsw.Connection) -> int:
    """The version of a database's schema."""
    return int(one(connection.execute("PRAGMA user_version")))
