"""Where transcripts are: every known client's folders on this machine, or the paths that somebody named."""

from __future__ import annotations

import os

from recollect.capture import claude_code, codex
from recollect.capture.decode import decode_record
from recollect.capture.files import READ_ERRORS, open_transcript
from recollect.errors import RecordError, TranscriptError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.capture.records import Reader

READERS: Mapping[str, Reader] = {claude_code.CLIENT: claude_code.read_record, codex.CLIENT: codex.read_record}
"""Client → its reader. A new client is one file and one row here."""

FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {claude_code.CLIENT: claude_code.FIELDS}
"""Client → the only fields of its records (and their own) that its reader looks at, where it says so."""

SNIFF_BYTES = 256 << 10
_SUFFIXES = (".jsonl", ".jsonl.gz")


class Found:
    """One transcript: its path, its client, and its size on disk in bytes with its age (for progress and order)."""

    __slots__ = ("client", "mtime_ns", "path", "size_bytes")

    def __init__(self, path: str, client: str, size_bytes: int, mtime_ns: int) -> None:
        self.path, self.client, self.size_bytes, self.mtime_ns = path, client, size_bytes, mtime_ns


def client_roots(home: str, environment: Mapping[str, str]) -> dict[str, list[str]]:
    """The folders in which each known client keeps its transcripts."""
    claude = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex_home = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    return {
        claude_code.CLIENT: [os.path.join(claude, "projects")],
        codex.CLIENT: [os.path.join(codex_home, "sessions"), os.path.join(codex_home, "archived_sessions")],
    }


def known_transcripts(home: str, environment: Mapping[str, str], agent: str | None = None) -> list[Found]:
    """Every transcript of every known client (or of `agent`), oldest first, so that originals come before forks."""
    found = [
        item
        for client, roots in client_roots(home, environment).items()
        if agent in (None, client)
        for root in roots
        for item in _walk(root, client)
    ]
    return sorted(found, key=lambda item: (item.mtime_ns, item.path))


def named_transcripts(paths: Iterable[str], agent: str | None = None) -> list[Found]:
    """The transcripts at or below `paths`, oldest first.

    Raises:
        UsageError: a path that does not exist.
    """
    found: list[Found] = []
    for path in paths:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            found += _walk(real, agent)
        elif os.path.exists(real):
            found += _entry(real, agent or sniff(real) or claude_code.CLIENT)
        else:
            raise UsageError(f"{path}: no such file or folder; name .jsonl or .jsonl.gz files, or folders of them")
    unique = {item.path: item for item in found}
    return sorted(unique.values(), key=lambda item: (item.mtime_ns, item.path))


def _walk(root: str, client: str | None) -> list[Found]:
    found: list[Found] = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                path = os.path.join(folder, name)
                known = client or sniff(path)
                found += _entry(path, known) if known else []
    return found


def _entry(path: str, client: str) -> list[Found]:
    try:
        status = os.lstat(path)
    except OSError:  # gone between listing and looking: nothing to read
        return []
    return [Found(path, client, status.st_size, status.st_mtime_ns)]


def sniff(path: str) -> str | None:
    """Which client wrote a file, from its first records; None when it is JSON Lines of something else.

    A file in which nothing can be decoded is taken for Claude Code's, so that its lines are accounted for.
    """
    try:
        with open_transcript(path) as stream:
            lines = stream.read(SNIFF_BYTES).splitlines()
    except (*READ_ERRORS, TranscriptError):
        return claude_code.CLIENT
    decoded = False
    for line in lines[:50]:
        try:
            record = decode_record(line, None)
        except RecordError:
            continue
        decoded = True
        if "payload" in record or "record_type" in record or record.get("type") == "session_meta":
            return codex.CLIENT
        if "sessionId" in record or "uuid" in record:
            return claude_code.CLIENT
    return None if decoded else claude_code.CLIENT
