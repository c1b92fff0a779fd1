"""Redacting again what is stored: rows, packed texts, indexes, vectors, spool and backups, until no byte of it is left.

What is committed is never done twice in vain and never lost: rows carry their cursor, the rest is derived from them or
written beside and put in place, so that whoever is killed is simply run again.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from howcome.clients import spool
from howcome.clients.records import ReaderState
from howcome.domain import events
from howcome.errors import StoreError
from howcome.files import replacing, settle
from howcome.ingest.file_pass import WITHHELD, kept
from howcome.ingest.writer import Preparer
from howcome.learn.run import memory_digest
from howcome.memory.backup import FOLDER as BACKUPS
from howcome.redact.gate import Gate
from howcome.redact.version import RULES_VERSION
from howcome.store.base import Store

LOCK_WAIT_S = 10.0
MAX_LOOKED_FOR = 20
MIN_LOOKED_FOR_CHARS = 8
"""Of the secrets that were found so many are looked for in every file afterwards; shorter ones are there by chance."""

_DATABASE = b"SQLite format 3\0"


@dataclass(slots=True, eq=False)
class Redacted:
    """What was done: rows looked at and changed, secrets by rule, other files changed, and files where some is left."""

    looked: int = 0
    changed: int = 0
    rules: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class RowTexts:
    """What the texts of rows should be; see `store.rewriting.Texts`."""

    def __init__(self, key: bytes, gate: object = None) -> None:
        self._key, self._preparer = key, Preparer(key, gate)
        self.gate: Gate = self._preparer.gate

    def text(self, table: str, column: str, text: str) -> str:  # noqa: ARG002 - the protocol's signature
        """A text of a row; a reader forgets what may not rest, and reads it again."""
        if column == "reader_state":
            state = kept(ReaderState(json.loads(text)), self.gate)
            return json.dumps(state) if WITHHELD in state else text
        return self.gate.line(text)

    def event(self, kind: int, tool: str | None, text: str, excerpt: str) -> tuple[str, str, bytes | str | None] | None:
        """The text, the excerpt and the payload of an event."""
        return self._preparer.prepare_again(events.KINDS[kind], tool, text, excerpt)

    def digest(self, text: str, type: str) -> bytes:
        """What equal memories have in common."""
        return memory_digest(self._key, type, text)


def redact_again(store: Store, home: str, on_progress: Callable[[int, int], None]) -> Redacted:
    """Brings everything that is stored up to the rules of now; to be run again when it was killed or refused.

    `home` is the folder with the spool and backups; `on_progress` is told how many rows of how many were looked at.
    """
    texts, report, secrets = RowTexts(bytes(store.meta("key")), store.gate), Redacted(), set[str]()  # type: ignore[call-overload]

    def note(old: str, _new: str) -> None:
        for finding in texts.gate.redactor.scan(old) if len(secrets) < MAX_LOOKED_FOR else ():
            if finding.end - finding.start >= MIN_LOOKED_FOR_CHARS:
                secrets.add(old[finding.start : finding.end])

    for progress, total in store.texts.rewrite(texts, RULES_VERSION, note):
        report.looked, report.changed, report.rules = progress.looked, progress.changed, dict(progress.rules)
        on_progress(progress.looked, total)
    report.files = [path for path in _files(home) if redact_file(store, path, texts.gate)]
    if report.changed:
        store.texts.renew_indexes()
    store.texts.finish(RULES_VERSION, is_changed=bool(report.changed))
    report.left = sorted({path for secret in secrets for path in store.purging.files_with(secret)})
    return report


def _files(home: str) -> Iterator[str]:
    """Backups, and what the spool could not hand on: nobody else writes there while it is claimed."""
    backups = os.walk(os.path.join(home, BACKUPS))
    yield from sorted(os.path.join(place, name) for place, _, names in backups for name in names)
    if spool.dead_letters(home):
        with spool.claiming(home, LOCK_WAIT_S):
            yield from (letter.path for letter in spool.dead_letters(home))


def redact_file(store: Store, path: str, gate: Gate) -> bool:
    """Redacts a backup again in its place; whether anything in it changed.

    A database's rows by a gate with its own key; any other file line by line, JSON or not, packed or not.
    """
    try:
        if os.path.islink(path) or not os.path.isfile(path) or path.endswith(("-wal", "-shm", ".part")):
            return False
        with open(path, "rb") as stream:
            head = stream.read(len(_DATABASE))
        if head == _DATABASE:
            return store.texts.rewrite_copy(path, RowTexts, RULES_VERSION)
        return _redact_lines(path, gate)
    except (OSError, EOFError, ValueError) as error:
        raise StoreError(f"{path}: it cannot be redacted again: {error}") from error


def _redact_lines(path: str, gate: Gate) -> bool:
    """Read twice where there is something to take out; whether there was."""
    if all(line == gated for line, gated in _gated(path, gate)):
        return False
    with replacing(path) as stream:
        is_packed = path.endswith(".gz")
        with gzip.GzipFile(fileobj=stream, mode="wb") if is_packed else contextlib.nullcontext(stream) as target:
            target.writelines(gated for _, gated in _gated(path, gate))
        settle(stream)
        shutil.copystat(path, stream.name)
    return True


def _gated(path: str, gate: Gate) -> Iterator[tuple[bytes, bytes]]:
    """Each line of a file, packed or not, and what it should be."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as source:
        for line in source:
            text = line.decode("utf-8", "surrogateescape")
            gated = gate.line(text.rstrip("\n")) + ("\n" if text.endswith("\n") else "")
            yield line, gated.encode("utf-8", "surrogateescape")
