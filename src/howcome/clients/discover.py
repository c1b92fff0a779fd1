"""Where transcripts are: every known client's folders on this machine, or the paths that somebody named."""

from __future__ import annotations

import json
import os

from howcome.clients import claude_code_records as claude_code
from howcome.clients import codex_records as codex
from howcome.clients import gemini_records as gemini
from howcome.clients import opencode_records as opencode
from howcome.clients import opencode_store
from howcome.clients.decode import decode_record
from howcome.clients.files import READ_ERRORS, open_transcript
from howcome.clients.roots import client_roots
from howcome.clients.unfold import is_plain, status_of
from howcome.errors import RecordError, TranscriptError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from howcome.clients.records import Reader

READERS: Mapping[str, Reader] = {
    claude_code.CLIENT: claude_code.read_record,
    codex.CLIENT: codex.read_record,
    gemini.CLIENT: gemini.read_record,
    opencode.CLIENT: opencode.read_record,
}
"""Client → its reader. A new client is one file and one row here."""

FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {claude_code.CLIENT: claude_code.FIELDS}
"""Client → the only fields of its records (and their own) that its reader looks at, where it says so."""

SNIFF_BYTES = 256 << 10
_SUFFIXES = (".jsonl", ".jsonl.gz")


class Found:
    """One transcript: its path, its client, and its size on disk in bytes with its age (for progress and order).

    A database of many sessions is one of them. `is_plain` says whether what is read of it counts bytes on disk; what
    is packed or unfolded has been read as a whole, or not.
    """

    __slots__ = ("client", "mtime_ns", "path", "size_bytes")

    def __init__(self, path: str, client: str, size_bytes: int, mtime_ns: int) -> None:
        self.path, self.client, self.size_bytes, self.mtime_ns = path, client, size_bytes, mtime_ns

    @property
    def is_plain(self) -> bool:
        """Whether its lines lie in the file as they are."""
        return is_plain(self.path)


def known_transcripts(
    home: str, environment: Mapping[str, str], agent: str | None = None, *, newest_first: bool = False
) -> list[Found]:  # fmt: skip
    """Every transcript of every known client (or of `agent`), in the order in which they are to be read.

    Oldest first, so that originals come before forks, unless told otherwise; a session always before its subagents.
    Every SessionStart does this: it lists folders and looks at files, and opens none.
    """
    found = [
        item
        for client, roots in client_roots(home, environment).items()
        if agent in (None, client)
        for root in roots
        for path in _LISTINGS.get(client, _files_of_lines)(root)
        for item in _entry(path, client)
    ]
    return _in_order(found, newest_first=newest_first)


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
            raise UsageError(f"{path}: no such file or folder; name transcripts, or folders of them")
    return _in_order(found)


def _in_order(found: Iterable[Found], *, newest_first: bool = False) -> list[Found]:
    """Each transcript once, by age; a subagent's directly behind its session's: its words stand behind that prompt."""
    unique = {item.path: item for item in found}
    families: dict[str, list[Found]] = {}
    for item in sorted(unique.values(), key=lambda item: (item.mtime_ns, item.path)):
        head, mark, _ = item.path.rpartition(claude_code.SUBAGENTS)
        parent = next((path for end in _SUFFIXES if (path := head + end) in unique), item.path) if mark else item.path
        families.setdefault(parent, []).append(item)
    ordered = sorted(families.items(), key=lambda pair: (unique[pair[0]].mtime_ns, pair[0]), reverse=newest_first)
    return [item for parent, items in ordered for item in sorted(items, key=lambda item: item.path != parent)]


def _files_of_lines(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES))


_LISTINGS: Mapping[str, Callable[[str], Iterator[str]]] = {
    gemini.CLIENT: gemini.transcripts,
    opencode.CLIENT: opencode_store.transcripts,
}
"""Client → the paths of its transcripts below one of its roots, where they are not simply all files of lines."""


def _walk(root: str, client: str | None) -> list[Found]:
    """The transcripts in a folder that somebody named, wherever in it they are."""
    found: list[Found] = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if _may_be(path, client):
                known = client or sniff(path)
                found += _entry(path, known) if known else []
    return found


def _may_be(path: str, client: str | None) -> bool:
    """Whether a file's name is one that the client (or any) gives to transcripts."""
    name = os.path.basename(path)
    if client in (None, opencode.CLIENT) and (
        opencode_store.is_session_file(path) or (name.startswith("opencode") and opencode_store.is_database(name))
    ):
        return True
    if client in (None, gemini.CLIENT) and gemini.is_recording(name):
        return True
    return client != opencode.CLIENT and name.endswith(_SUFFIXES)


def _entry(path: str, client: str) -> list[Found]:
    try:
        status = status_of(path, client)
    except TranscriptError:  # gone between listing and looking, or nothing that is read
        return []
    return [Found(path, client, status.size_bytes, status.mtime_ns)]


def with_subagents(paths: Iterable[str]) -> list[str]:
    """Those of a session's transcripts that are there, each before its subagents'."""
    found: list[str] = []
    for path in paths:
        if not path or not os.path.isfile(path):
            continue
        found.append(path)
        folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
        if os.path.isdir(folder):
            found += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    return list(dict.fromkeys(found))


def sniff(path: str) -> str | None:
    """Which client wrote a file, from its first records; None when it is JSON Lines of something else.

    A file in which nothing can be decoded is taken for Claude Code's, so that its lines are accounted for.
    """
    try:
        with open_transcript(path) as stream:
            head = stream.read(SNIFF_BYTES)
    except (*READ_ERRORS, TranscriptError):
        return claude_code.CLIENT
    if head.startswith(opencode_store.SQLITE_MAGIC) or opencode_store.is_session_file(path):
        return opencode.CLIENT
    if path.endswith(".json"):  # one document: all of it need not be in what was read
        return gemini.CLIENT if b'"projectHash"' in head else None
    lines, decoded = head.splitlines(), False
    for line in lines[:50]:
        try:
            record = decode_record(line, json.loads)
        except RecordError:
            continue
        decoded = True
        if "payload" in record or "record_type" in record or record.get("type") == "session_meta":
            return codex.CLIENT
        if "projectHash" in record or "$set" in record:
            return gemini.CLIENT
        if "sessionId" in record or "uuid" in record:
            return claude_code.CLIENT
    return None if decoded else claude_code.CLIENT
