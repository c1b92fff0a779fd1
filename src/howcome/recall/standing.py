"""Whether what a memory is bound to still stands: the files that it names, and the names in them. No store is changed.

A file is known by its path, or by the calls of the exchanges that bear the memory out: only one that was there once can
be gone. It is looked for below each root of its project, and where a worktree had it.
"""

from __future__ import annotations

import os

from howcome.domain.events import TOOL_CALL
from howcome.domain.query import files_in
from howcome.domain.text import coined_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.memories import Memory
    from howcome.store.base import Store

SAME, CHANGED, GONE, UNKNOWN = "same", "changed", "gone", ""
MAX_FILES, MAX_BYTES = 3, 64 << 10
MAX_EVIDENCE, MAX_CALLS = 3, 40


def standing(store: Store, memory: Memory) -> str:
    """What has become of the files that a memory names: SAME, CHANGED, GONE or UNKNOWN.

    CHANGED: some are gone, or none holds a name of the memory any more.
    """
    files = files_in(memory.text)[:MAX_FILES]
    if not files:
        return UNKNOWN
    known = [*memory.roots, *(path for path, own in store.projects.aliases() if own in memory.roots)]
    roots = [path for path in known if os.path.isdir(path)]
    if not roots:
        return UNKNOWN
    there, gone = [], 0
    seen = None
    for file in files:
        name = file.lstrip("@").removeprefix("./")
        found = _first(name, roots)
        if found is None:
            seen = _touched(store, memory) if seen is None else seen
            paths = [path for path in seen if f"/{path}".endswith("/" + name.lstrip("/"))]
            found = next((place for path in paths if (place := _first(path, roots))), None)
            gone += found is None and any(path.startswith(f"{root}/") for path in paths for root in roots)
        there += [found] if found else []
    if gone:
        return CHANGED if there else GONE
    return (SAME if _holds(there, memory.text, files) else CHANGED) if there else UNKNOWN


def _first(path: str, roots: Iterable[str]) -> str | None:
    """Where a path is now: as it is, below a root, or, as of another worktree, by its last parts below a root."""
    if os.path.isabs(path) and os.path.isfile(path):
        return path
    for root in roots:
        parts = path.removeprefix(f"{root}/").strip("/").split("/")
        for start in range(len(parts) if os.path.isabs(path) else 1):
            candidate = os.path.join(root, *parts[start:])
            if os.path.isfile(candidate):
                return candidate
    return None


def _touched(store: Store, memory: Memory) -> list[str]:
    """The files of the calls in the exchanges that bear a memory out."""
    cited = [event for ident in memory.evidence[:MAX_EVIDENCE] for event in store.log.find(ident, limit=1)]
    openings = dict.fromkeys(store.log.opening(event.row) for event in cited)
    calls = (call for row in openings if row is not None for call in store.log.answers(row, MAX_CALLS, TOOL_CALL))
    return list(dict.fromkeys(call.file for call in calls if call.file))


def _holds(paths: Iterable[str], text: str, files: Iterable[str]) -> bool:
    """Whether a file holds a name that the text has beside its files', as far as that can be told."""
    named = " ".join(files).lower()
    names = [name for name in coined_names(text) if name not in named]
    if not names:
        return True
    for path in paths:
        try:
            with open(path, "rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        except OSError:
            return True
        said = content.decode("utf-8", "replace").lower()
        if len(content) > MAX_BYTES or any(name in said for name in names):
            return True
    return False
