"""Transcripts that are not files of lines, seen as such: documents, folders of them, and databases of many sessions.

A source is named by a path. Where a client's session is no file of lines its path stands for the lines that it unfolds
into: a document's own path, or `<database>#<session>`. Offsets and byte accounts count those.
"""

from __future__ import annotations

import io
import os

from howcome.clients import gemini_records as gemini
from howcome.clients import opencode_records as opencode
from howcome.clients import opencode_store
from howcome.clients.files import open_transcript, read_whole
from howcome.errors import TranscriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


class Status:
    """What tells whether a source has changed since it was read: its size on disk in bytes, and its age.

    The size of a session within a database is the count of its rows: it is only ever compared.
    """

    __slots__ = ("mtime_ns", "size_bytes")

    def __init__(self, size_bytes: int, mtime_ns: int) -> None:
        self.size_bytes, self.mtime_ns = size_bytes, mtime_ns


def is_plain(path: str) -> bool:
    """Whether a source's lines lie in its file as they are: only then do its offsets count bytes on disk."""
    return path.endswith(".jsonl") or not (
        path.endswith((".gz", ".json")) or opencode_store.is_database(path) or opencode_store.split_member(path)
    )


def is_there(path: str) -> bool:
    """Whether the file behind a source exists; a session within a database counts as long as that is there."""
    member = opencode_store.split_member(path)
    return os.path.lexists(member[0] if member else path)


def status_of(path: str, client: str) -> Status:
    """How a source is on disk now, without reading it.

    Raises:
        TranscriptError: it is not there, or nothing that is read.
    """
    if client == opencode.CLIENT and opencode_store.is_database(path):
        return Status(*opencode_store.database_state(path))
    if client == opencode.CLIENT and opencode_store.is_session_file(path):
        return Status(*opencode_store.session_file_state(path))
    try:
        status = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError) as error:  # deleted since it was found, or a name that no file system holds
        raise TranscriptError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return Status(status.st_size, status.st_mtime_ns)


def holds_sessions(path: str, client: str) -> bool:
    """Whether a source is no transcript itself but a database of many."""
    return client == opencode.CLIENT and opencode_store.is_database(path)


def sessions_in(path: str) -> list[tuple[str, Status]]:
    """The sources in a database of many sessions, longest untouched first.

    Raises:
        TranscriptError: locked, damaged, or nobody's that is known.
    """
    return [(name, Status(count, mtime_ns)) for name, count, mtime_ns in opencode_store.sessions_in(path)]


def open_lines(path: str, client: str, *, is_idle: bool = False) -> BinaryIO:
    """A source as a stream of lines, whatever it is on disk.

    Args:
        path: The source.
        client: Whose it is.
        is_idle: Nobody has touched it for so long that what is not finished will not be any more.

    Raises:
        TranscriptError: it cannot be read (yet).
    """
    if client == gemini.CLIENT and path.endswith(".json"):
        return io.BytesIO(gemini.unfold(read_whole(path)))
    if client == opencode.CLIENT:
        member = opencode_store.split_member(path)
        if member:
            return io.BytesIO(opencode_store.database_session(*member, is_idle=is_idle))
        if opencode_store.is_session_file(path):
            return io.BytesIO(opencode_store.session_file(path, is_idle=is_idle))
    return open_transcript(path)


def place_of(path: str, client: str) -> dict[str, str]:
    """What a source's place says that its records do not, as values of a reader's state."""
    return gemini.place(path) if client == gemini.CLIENT else {}
