"""A part of a project as a filter: a workspace package, or a folder; which exchanges and memories are about it.

Nothing of it is stored: an exchange is about a part when a call of it named a file below its folders, as the rows say
when they are asked. So what was done in a package that has moved is found by its old folder.
"""

from __future__ import annotations

import json
import os
import re

from howcome.domain.events import squeeze
from howcome.domain.stored import Subsystem
from howcome.errors import UsageError
from howcome.retrieve.classify import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope
    from howcome.store.base import Store

MANIFESTS = ("package.json", "Cargo.toml", "go.mod", "pyproject.toml")
"""What makes a folder below a project's root a package of its workspace."""

MAX_MANIFEST_BYTES = 200_000
MAX_NAMED = 12
"""So many parts are named where somebody asks for one that is not there."""

_NAMED = re.compile(r"""^(?:name\s*=\s*["']([^"'\n]+)|module\s+(\S+))""", re.MULTILINE)


def subsystem(store: Store, scope: Scope, name: str) -> Subsystem:
    """The part of a project that somebody calls so, and what is about it.

    Raises:
        UsageError: there is none, and there never was one that anything was done in.
    """
    root = None if scope.project_id is None else dict(store.projects.roots()).get(scope.project_id)
    folders = folders_of(name, root)
    exchanges = store.sessions.exchanges_in(scope, folders) if all(folders) else {}
    if not all(folders) or (root and not exchanges and not os.path.isdir(os.path.join(root, folders[0]))):
        there = ", ".join(_parts(root)) if root else ""
        raise UsageError(f"no package or folder {squeeze(name, 60)!r}" + (f"; there are {there}" if there else ""))
    return Subsystem(folders, exchanges)


def _parts(root: str) -> list[str]:
    """Some folders of a project that can be named: packages first."""
    try:
        own = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        own = []
    return list(dict.fromkeys([*(folder for folder, _ in packages(root)), *own]))[:MAX_NAMED]


def is_about(store: Store, memory: Memory, part: Subsystem) -> bool:
    """Whether a memory names a file of a part, or an exchange that is about the part bears it out."""
    text = memory.text.replace("\\", "/")
    if any(re.search(rf"(?<![\w./-]){re.escape(folder)}/", text) for folder in part.folders):
        return True
    cited = (event for ident in memory.evidence for event in store.log.find(ident, limit=1))
    return any(store.log.opening(event.row) in part.exchanges for event in cited)


def folders_of(name: str, root: str | None) -> list[str]:
    """The folders that somebody calls so: a path, else packages with that name or folder, else what is said.

    A file stands for its folder; of an absolute path what is below the root counts.
    """
    wanted = name.replace("\\", "/")
    if root is not None and f"{wanted}/".startswith(f"{root}/"):
        wanted = wanted[len(root) :]
    wanted = "/".join(part for part in wanted.split("/") if part not in ("", "."))
    if root is not None and os.path.isfile(os.path.join(root, wanted)):
        wanted = os.path.dirname(wanted)
    if root is not None and wanted and not os.path.isdir(os.path.join(root, wanted)):
        return [folder for folder, names in packages(root) if wanted in names] or [wanted]
    return [wanted]


def packages(root: str) -> Iterable[tuple[str, Collection[str]]]:
    """The packages below a project's root: each one's folder, and what it is called."""
    tree = Tree(root)
    for manifest in MANIFESTS:
        for path in tree.called(manifest):
            folder = os.path.dirname(path)
            if folder:
                yield folder, {os.path.basename(folder), *_declared(os.path.join(root, path))}


def _declared(path: str) -> list[str]:
    """What a manifest calls its package: whole, and the last part of it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as manifest:
            text = manifest.read(MAX_MANIFEST_BYTES)
        found = str(json.loads(text).get("name", "")) if path.endswith(".json") else ""
    except (OSError, ValueError, AttributeError):
        return []
    match = _NAMED.search(text) if not found else None
    found = found or (match[1] or match[2] if match else "")
    return [found, found.rpartition("/")[2]] if found else []
