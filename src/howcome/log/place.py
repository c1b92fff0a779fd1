"""Where the database lies in howcome's folder, and which files are its: nobody else knows its name."""

from __future__ import annotations

import contextlib
import os

_NAME = "howcome.db"
FILES = r"howcome\.db(-wal|-shm|-journal)?"
"""A pattern of the names of its files."""


def database_path(home: str) -> str:
    """The database of a folder, whether it is there or not."""
    return os.path.join(home, _NAME)


def has_database(home: str) -> bool:
    """Whether there is one."""
    return os.path.exists(database_path(home))


def is_database_file(path: str) -> bool:
    """Whether a file is the database's, or one that SQLite keeps beside it."""
    return os.path.basename(path).startswith(_NAME)


def is_live(name: str) -> bool:
    """Whether a file, by its path in the folder, is the database in use or its log: copies elsewhere are not."""
    return name in (_NAME, _NAME + "-wal")


def database_bytes(home: str) -> int:
    """What the rows take on disk, with their log, which may go at any moment."""
    path, total = database_path(home), 0
    for file in (path, path + "-wal"):
        with contextlib.suppress(OSError):
            total += os.stat(file).st_size
    return total
