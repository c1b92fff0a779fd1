"""Where transcripts are: every known client's folders on this machine, or the paths that somebody named."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping

from howcome.clients.base import LINES, files_below, names_in
from howcome.clients.decode import decode_record
from howcome.clients.files import READ_ERRORS, open_transcript
from howcome.clients.registry import DEFAULT, histories, history_of
from howcome.errors import RecordError, TranscriptError, UsageError

SUBAGENTS = "/subagents/"
"""Below a folder named as a session's file: its subagents' transcripts."""

SNIFF_BYTES = 256 << 10


class Found:
    """One transcript: its path, its client, and its size on disk in bytes with its age (for progress and order).

    A database of many sessions is one of them.
    """

    def __init__(self, path: str, client: str, size_bytes: int, mtime_ns: int) -> None:
        self.path, self.client, self.size_bytes, self.mtime_ns = path, client, size_bytes, mtime_ns


def known_transcripts(
    home: str, environment: Mapping[str, str], agent: str | None = None, *, newest_first: bool = False
) -> list[Found]:
    """Every transcript of every known client (or of `agent`), in the order in which they are to be read.

    Oldest first, so that originals come before forks, unless told otherwise; a session always before its subagents.
    Every SessionStart does this: it lists folders and looks at files, and opens none.
    """
    found = [
        item
        for client, history in histories().items()
        if agent in (None, client)
        for root in history.roots(home, environment)
        for path in history.transcripts(root)
        for item in entries(path, client)
    ]
    return _in_order(found, newest_first=newest_first)


def named_transcripts(
    paths: Iterable[str], agent: str | None = None, strangers: list[str] | None = None
) -> list[Found]:
    """The transcripts at or below `paths`, oldest first; `strangers` gets the paths of the files that no client wrote.

    Raises:
        UsageError: a path that does not exist.
    """
    wanted = [history_of(agent)] if agent else list(histories().values())

    def may_be(path: str) -> bool:
        return any(history.may_be(path) for history in wanted)

    found: list[Found] = []
    for path in paths:
        real = os.path.realpath(path)
        if not os.path.exists(real):
            raise UsageError(f"{path}: no such file or folder; name transcripts, or folders of them")
        for name in files_below(real, may_be) if os.path.isdir(real) else (real,):
            client = agent or sniff(name)
            if client:
                found += entries(name, client)
            elif strangers is not None:
                strangers.append(name)
    return _in_order(found)


def _in_order(found: Iterable[Found], *, newest_first: bool = False) -> list[Found]:
    """Each transcript once, by age; a subagent's directly behind its session's: its words stand behind that prompt."""
    unique = {item.path: item for item in found}
    families: dict[str, list[Found]] = {}
    for item in sorted(unique.values(), key=lambda item: (item.mtime_ns, item.path)):
        head, mark, _ = item.path.rpartition(SUBAGENTS)
        parent = next((path for end in LINES if (path := head + end) in unique), item.path) if mark else item.path
        families.setdefault(parent, []).append(item)
    ordered = sorted(families.items(), key=lambda pair: (unique[pair[0]].mtime_ns, pair[0]), reverse=newest_first)
    return [item for parent, items in ordered for item in sorted(items, key=lambda item: item.path != parent)]


def entries(path: str, client: str) -> list[Found]:
    """A transcript as it is now; none when it is gone."""
    try:
        status = history_of(client).status(path)
    except TranscriptError:  # gone between listing and looking, or nothing that is read
        return []
    return [Found(path, client, status.size_bytes, status.mtime_ns)]


def records_in(path: str) -> int:
    """How many lines a file that nobody reads has, as far as it can be unpacked."""
    with contextlib.suppress(*READ_ERRORS, TranscriptError), open_transcript(path) as stream:
        return sum(not line.isspace() for line in stream)
    return 0


def with_subagents(paths: Iterable[str]) -> list[str]:
    """Those of a session's transcripts that are there, each before its subagents'."""
    found: list[str] = []
    for path in paths:
        if not path or not os.path.isfile(path):
            continue
        found.append(path)
        folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
        found += [os.path.join(folder, name) for name in names_in(folder) if name.endswith(".jsonl")]
    return list(dict.fromkeys(found))


def sniff(path: str) -> str | None:
    """Which client wrote a file, from its first records; None when it is JSON Lines of something else.

    A file of a transcript's name in which nothing can be decoded is taken for the default client's, so that its lines
    are accounted for.
    """
    try:
        with open_transcript(path) as stream:
            head = stream.read(SNIFF_BYTES)
    except (*READ_ERRORS, TranscriptError):
        return DEFAULT
    known = histories()
    known[DEFAULT] = known.pop(DEFAULT)  # asked last: what it takes for its own is anybody's
    writer = next((client for client, history in known.items() if history.wrote_document(path, head)), None)
    if writer or path.endswith(".json"):  # one document, of which no line is a record
        return writer
    is_decoded = False
    for line in head.splitlines()[:50]:
        with contextlib.suppress(RecordError):
            record, is_decoded = decode_record(line, json.loads), True
            if writer := next((client for client, history in known.items() if history.wrote_record(record)), None):
                return writer
    return DEFAULT if path.endswith(LINES) and not is_decoded else None
