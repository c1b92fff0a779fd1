"""What is proven, proposed for a file that an agent reads into each session: a diff first, written on a yes.

Somebody may refuse a line for good: it is proposed no more, until they propose it again.
"""

from __future__ import annotations

import difflib
import json
import os
from contextlib import suppress
from pathlib import Path

from howcome.app import App
from howcome.clients.registry import histories
from howcome.domain.candidates import told
from howcome.domain.memories import Memory
from howcome.domain.stored import Scope
from howcome.errors import UsageError
from howcome.files import write_whole
from howcome.wiring import GRADUATED, wired_parts
from howcome.wiring.atomic_files import edit_safely, read_snapshot
from howcome.wiring.commands import howcome_home
from howcome.wiring.engine import FileReport, install, uninstall
from howcome.wiring.install_record import Owner
from howcome.wiring.parts import ENTRY, Merged, TextBlock, block, found_in

CLAUDE, AGENTS, MEMORY = "CLAUDE.md", "AGENTS.md", "MEMORY.md"
REFUSED = "graduation.json"
"""The file with the keys of what somebody refused."""


class Graduation:
    """A proposal for one project's file: of a `name`, or the one that has the block or is there first."""

    def __init__(self, app: App, scope: Scope, root: str, *, name: str | None = None, is_removal: bool = False) -> None:
        self.root, self.path = root, _file(app, root, name)
        part = Merged(self.path, (ENTRY,), TextBlock())
        self._before = edit_safely(self.path, read_snapshot, self.path).data
        plain = (part.without_ours(self._before, None, ()) if self._before is not None else None) or b""
        names = dict.fromkeys(name for history in histories().values() for name in history.reads)
        files = [file for name in names if os.path.realpath(file := Path(root, name)) != os.path.realpath(self.path)]
        others = [file.read_text("utf-8", "replace") for file in files if file.is_file()]
        found = [] if is_removal else app.learn.proven(scope, [plain.decode("utf-8", "replace"), *others])
        app.search.look(found)
        refused = refused_keys()
        self.memories: list[Memory] = [one for one in found if one.standing != "gone" and one.key.hex() not in refused]
        self.lines = [told(one.text) for one in self.memories]
        self._part = Merged(self.path, (ENTRY,), TextBlock(block(self.lines)))
        self._after = self._part.with_ours(self._before, None, ()) if self.lines else plain

    @property
    def diff(self) -> list[str]:
        """What would change; empty: nothing."""
        before = self._before or b""
        old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, self._after))
        path = str(self.path)
        return list(difflib.unified_diff(old, new, path, path, lineterm="")) if before != self._after else []

    def write(self) -> FileReport:
        """Puts the block in, or takes it out, with a record that gives the same bytes back."""
        return self._put(self._part, is_there=bool(self.lines))

    def take_back(self) -> None:
        """What `write` did: the block is what it was before, or gone."""
        earlier = found_in((self._before or b"").decode("utf-8", "replace"))
        self._put(Merged(self.path, (ENTRY,), TextBlock(earlier)), is_there=bool(earlier))

    def _put(self, part: Merged, *, is_there: bool) -> FileReport:
        owner, home = _owner(self.root), howcome_home()
        return (install(owner, [part], home) if is_there else uninstall([(owner, [part])], home))[0]


def refused_keys() -> set[str]:
    """Keys (hexadecimal) of memories that are not proposed for files."""
    with suppress(OSError, ValueError, TypeError), open(howcome_home() / REFUSED, encoding="utf-8") as stream:
        found = json.load(stream)
        return {str(key) for key in found} if isinstance(found, list) else set()
    return set()


def refuse(memory: Memory, *, is_refused: bool = True) -> bool:
    """Proposes a memory no more, or again; whether that changed anything."""
    keys = refused_keys()
    new = keys | {memory.key.hex()} if is_refused else keys - {memory.key.hex()}
    write_whole(str(howcome_home() / REFUSED), json.dumps(sorted(new)).encode())
    return new != keys


def _owner(root: str) -> Owner:
    return Owner(GRADUATED, "project", root)


def _file(app: App, root: str, name: str | None) -> Path:
    """The file that is named, or that has the block, or the first that is there, else CLAUDE.md."""
    if name != MEMORY:
        has = [part.path for part in wired_parts(_owner(root)) if name is None]
        there = [one for one in (CLAUDE, AGENTS) if os.path.isfile(os.path.join(root, one))]
        return next(iter(has), Path(root, name or next(iter(there), CLAUDE)))
    folders = app.learn.in_step().folders().get(root, [])
    if not folders:
        raise UsageError("the agent keeps no memory folder for this project; choose another --file")
    return Path(folders[0], MEMORY)
