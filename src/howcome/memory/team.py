"""A team's memories, as signed files of its repository (`memory/signed_files`): who pulls reviews them first.

UsageError says that there is no repository, that it is excluded, or what is wrong with a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from howcome.clients.git import GitError, git
from howcome.clients.projects import top_of
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import HAND, Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.domain.team_records import Record
from howcome.errors import HowcomeError, UsageError
from howcome.files import read_plain, write_whole
from howcome.ingest.exclusion import Places
from howcome.memory.chains import latest
from howcome.memory.export import HEAD, store_id
from howcome.memory.importing import ImportReport
from howcome.memory.remember import Memories
from howcome.memory.signed_files import (
    MAX_FILE_BYTES,
    SharedMemory,
    author_key,
    file_name,
    own_fingerprint,
    read,
    sides,
    with_new,
    written,
)
from howcome.memory.text import is_clean, owner
from howcome.redact.redactor import Redactor
from howcome.store.base import Store

FOLDER = os.path.join(".howcome", "memories")
STATE, MEMBERSHIP = "shared.json", "team.json"
"""What came in files, and what makes a machine a team's member: its server, its token, and what came from there."""

MAX_FILES, MAX_SHARED, MAX_STATE_BYTES = 5_000, 20_000, 256 << 20
_SAID = ("key", "type", "text", "origin", "status", "created_ms", "supersedes")


@dataclass(slots=True)
class ShareReport:
    """Files that were `written`, how many were there already, and by id why a memory was `left_out`."""

    written: list[str] = field(default_factory=list)
    known: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


class Exchange:
    """Memories between this machine and others; nothing leaves of folders of `exclude`."""

    def __init__(self, memories: Memories, home: str, exclude: Sequence[str], now_ms: Callable[[], int]) -> None:
        self._store, self._memories, self._root_of = memories.store, memories, memories.root_of
        self._home, self._places, self._now_ms = home, Places(exclude), now_ms

    def _kept(self, name: str) -> dict[str, Any]:
        """What an earlier run noted in a file; {} where it is damaged: then all is compared anew."""
        with suppress(ValueError):
            found = json.loads(read_plain(os.path.join(self._home, name), MAX_STATE_BYTES) or b"{}")
            return found if isinstance(found, dict) else {}
        return {}

    def _came(self) -> dict[bytes, bytes]:
        """Keys of what came from others, by whichever way, each with that of the memory here."""
        files, server = (self._kept(name).get("keys", {}) for name in (STATE, MEMBERSHIP))
        pairs = {raw: local for raw, (local, _) in files.items()} | server
        return {bytes.fromhex(raw): bytes.fromhex(local) for raw, local in pairs.items()}

    def _keep(self, name: str, state: Mapping[str, Any]) -> None:
        write_whole(os.path.join(self._home, name), json.dumps(state).encode())


class Team(Exchange):
    """The memories of one repository."""

    @cached_property
    def _state(self) -> dict[str, Any]:
        new = {"store": store_id(self._store), "keys": {}, "folders": {}, "signers": {}}
        kept = self._kept(STATE)
        return new | kept if kept.get("store") == new["store"] else new

    # -- giving ----------------------------------------------------------------------------------------------------
    def share(self, folder: str, prefixes: Sequence[str]) -> ShareReport:
        """Writes memories into their project's repository: of some ids, or all that were kept by hand or pinned."""
        top, root = _top(folder), self._root_of(folder)
        if self._places.is_excluded(root):
            raise UsageError(f"{folder}: its project is excluded")
        found = [latest(self._store, self._memories.get(one)) for one in prefixes] or kept_by_people(
            self._store, self._memories, root
        )
        author, report = _author(top), ShareReport()
        for memory in found:
            self._share(memory, top, root, author, report)
        self._state["folders"].setdefault(top, -1)
        self._keep(STATE, self._state)
        return report

    def _share(self, memory: Memory, top: str, root: str, author: str, report: ShareReport) -> None:
        theirs = {local: raw for raw, (local, _) in self._state["keys"].items()}
        if memory.key.hex() in theirs and not memory.is_outside:
            report.known += 1
            return
        if reason := held_back(memory, root, self._memories.gate.redactor):
            report.left_out[memory.id] = reason
            return
        chain = [one.key.hex() for one in self._memories.chain(memory.key.hex())]
        chain = chain[: chain.index(memory.key.hex()) + 1]
        raws = [theirs.get(key, key) for key in chain]
        names = [self._state["keys"][raw][1] for raw in reversed(raws) if raw in self._state["keys"]]
        path = os.path.join(top, FOLDER, names[0] if names else file_name(raws[0]))
        one = SharedMemory(
            raws[-1], memory.type, memory.status, memory.created_ms, memory.origin, author,
            raws[-2] if len(raws) > 1 else None, memory.text,
        )  # fmt: skip
        before = read_plain(path, MAX_FILE_BYTES)
        try:
            old = read(before) if before is not None else None
        except UsageError as error:
            report.left_out[memory.id] = f"{os.path.relpath(path, top)}: {error}"
            return
        if old is not None and old.key not in raws:
            report.left_out[memory.id] = f"{old.author} has changed it: review that first"
        elif old is not None and (old.key, old.status) == (one.key, one.status):
            report.known += 1
        else:
            _put(path, written(one, author_key(self._home)))
            report.written.append(os.path.relpath(path, top))

    # -- taking ----------------------------------------------------------------------------------------------------
    def receive(self, folder: str) -> ImportReport:
        """Puts what teammates shared on the review list; nothing of it is said unasked before somebody accepts it."""
        top, root = _top(folder), self._root_of(folder)
        self._state["folders"][top] = _changed_ns(top)
        problems, found = [], {}
        for name, data in _files(top):
            for side in sides(data):
                try:
                    one = read(side)
                except UsageError as error:
                    problems.append((0, f"{name}: {error}"))
                    continue
                if not self._store.memories.find(one.key, limit=1):
                    found[one.key] = (one, name)
        ordered = sorted(found.values(), key=lambda pair: pair[0].created_ms)
        own = _own_signer(top, self._home)
        before = own | {key: name for key, name in self._state["signers"].items() if key not in own}
        signers = with_new(before, [one for one, _ in ordered])
        lines = [line_of(one, one.owner(signers), root) for one, _ in ordered]
        self._state["signers"] = signers
        report = self._take_in(lines, {key: name for key, (_, name) in found.items()})
        report.problems = problems + [(0, f"{ordered[number - 1][1]}: {said}") for number, said in report.problems]
        return report

    def files_with(self, text: str) -> list[str]:
        """The files with a text, in the repositories where somebody shared or received."""
        tops, said = [top for top in self._state["folders"] if os.path.isdir(top)], text.encode()
        every = ((os.path.join(top, FOLDER, name), data) for top in tops for name, data in _files(top))
        return sorted(path for path, data in every if text and said in data.replace(b"\r\n", b"\n"))

    def _take_in(self, lines: Sequence[dict[str, object]], names: dict[str, str]) -> ImportReport:
        keys = self._state["keys"]
        report = self._memories.import_values(enumerate((HEAD, *lines)), outside=self._came())
        for raw, local in report.keys.items():
            keys[raw.hex()] = (local.hex(), names[raw.hex()])
        self._keep(STATE, self._state)
        return report

    def receive_again(self) -> None:
        """Receives in the repositories where somebody shared or received before, and something has changed since."""
        for top, seen_ns in list(self._state["folders"].items()):
            if _changed_ns(top) not in (0, seen_ns):
                self.receive(top)


def line_of(one: SharedMemory | Record, author: str, root: str) -> dict[str, object]:
    """What somebody shared of the project with this root, as a line of an export."""
    return {**{name: getattr(one, name) for name in _SAID}, "agent": author, "evidence": [], "project": root}


def held_back(memory: Memory, root: str, redactor: Redactor, *, was_sent: bool = False) -> str | None:
    """Why a memory of the project with this root is shared with nobody; None: it may be.

    What `was_sent` before, by a version that asked for no owner, is not taken back for having one.
    """
    if not memory.is_live:
        return f"it is {memory.state}"
    if memory.is_outside or memory.origin not in PUSHED_ORIGINS:
        return "it is from outside the conversation"
    if memory.agent is not None and not was_sent:
        return f"it is of {memory.agent}"
    if root not in (memory.roots or [root]):
        return f"it is of another project, {memory.project}"
    return None if is_clean(memory.text, redactor) else "it holds a secret, or a private span"


def kept_by_people(store: Store, memories: Memories, root: str) -> list[Memory]:
    """What is shared of a project if nobody names memories: those that were kept by hand or pinned."""
    found = memories.listed(Scope.project(store.projects.of_root(root)), MemoryFilter(is_own_only=True), MAX_SHARED)
    return [one for one in found if one.source == HAND or one.pinned_ms is not None]


def check(folder: str, home: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Who signed each good file of a repository, and what is wrong with others: form, signature, secrets.

    The latter is (file, reason). It needs no store, and looks in `home` for the key of this machine only.
    """
    good, found, redactor, top = list[SharedMemory](), [], Redactor(os.urandom(32)), _top(folder)
    for name, data in _files(top):
        try:
            one = read(data)
            if not is_clean(one.text, redactor) or redactor.redact(one.author) != one.author:
                raise UsageError("it holds a secret, or a private span")
            good.append(one)
        except HowcomeError as error:
            found.append((name, str(error)))
    good.sort(key=lambda one: one.created_ms)
    signers = with_new(_own_signer(top, home), good)
    return [one.owner(signers) for one in good], found


def unmerged(folder: str) -> list[tuple[str, list[bytes]]]:
    """Files that git could not merge, each with both sides."""
    found = [(name, sides(data)) for name, data in _files(_top(folder))]
    return [(name, both) for name, both in found if len(both) > 1]


def resolve(folder: str) -> list[tuple[str, SharedMemory]]:
    """Of files that git could not merge, the side that was written later, as it was signed; which were changed."""
    done = []
    for name, both in unmerged(folder):
        last = max(both, key=lambda side: (read(side).created_ms, side))
        _put(os.path.join(_top(folder), FOLDER, name), last)
        done.append((name, read(last)))
    return done


def _put(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_whole(path, data)
    os.chmod(path, 0o644)


def _top(folder: str) -> str:
    """The top of the working copy that a folder is in, where our folder in it is one of its own."""
    top = top_of(folder)
    if top is None:
        raise UsageError(f"{folder}: not in a git repository")
    if os.path.realpath(os.path.join(top, FOLDER)) != os.path.join(os.path.realpath(top), FOLDER):
        raise UsageError(f"{os.path.join(top, FOLDER)} is a link to elsewhere")
    return top


def _files(top: str) -> Iterator[tuple[str, bytes]]:
    folder = os.path.join(top, FOLDER)
    names = sorted(os.listdir(folder))[:MAX_FILES] if os.path.isdir(folder) else []
    for name in names:
        if (data := read_plain(os.path.join(folder, name), MAX_FILE_BYTES)) is not None:
            yield name, data


def _changed_ns(top: str) -> int:
    try:
        return os.stat(os.path.join(top, FOLDER)).st_mtime_ns
    except OSError:
        return 0


def _own_signer(top: str, home: str) -> dict[str, str]:
    """The key of this machine ("": none yet), with the name of its user, where git knows that."""
    with suppress(UsageError):
        return {own_fingerprint(home): _author(top)}
    return {}


def _author(top: str) -> str:
    try:
        name, mail = (git(top, "config", f"user.{what}").strip() for what in ("name", "email"))
    except GitError as error:
        raise UsageError("git does not know who you are: git config user.name, user.email") from error
    return owner(f"{name} <{mail}>"[:90]) or ""
