"""Sources by their names: a transcript's path, or `<database>#<session>`.

Where a client's session is no file of lines its source stands for the lines that it unfolds into
(`base.History.open_lines`): offsets and byte accounts count those.
"""

from __future__ import annotations

import os

from howcome.errors import TranscriptError

LINES = (".jsonl", ".jsonl.gz")
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")


class Status:
    """What tells whether a source has changed since it was read: its size on disk in bytes, and its age.

    The size of a session within a database is the count of its rows: it is only ever compared.
    """

    __slots__ = ("mtime_ns", "size_bytes")

    def __init__(self, size_bytes: int, mtime_ns: int) -> None:
        self.size_bytes, self.mtime_ns = size_bytes, mtime_ns


def look_at(path: str) -> os.stat_result:
    """How a file is on disk now, without reading it."""
    try:
        return os.lstat(path)
    except (OSError, ValueError) as error:  # deleted since it was found, or a name that no file system holds
        raise TranscriptError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def is_database(path: str) -> bool:
    """Whether this is the name of a database: not of its log or a copy."""
    return path.endswith(DATABASE_SUFFIXES)


def split_member(path: str) -> tuple[str, str] | None:
    """The database and the session of `<database>#<session>`; None for any other path."""
    database, _, session = path.rpartition("#")
    return (database, session) if is_database(database) and "/" not in session else None


def is_plain(path: str) -> bool:
    """Whether a source's lines lie in its file as they are: only then do its offsets count bytes on disk."""
    return path.endswith(".jsonl") or not (path.endswith((".gz", ".json")) or is_database(path) or split_member(path))


def is_there(path: str) -> bool:
    """Whether the file behind a source exists; a session within a database counts as long as that is there."""
    member = split_member(path)
    return os.path.lexists(member[0] if member else path)
