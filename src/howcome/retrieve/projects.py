"""Which project a question or a memory is about, told by a folder or by a name: one answer for every door."""

from __future__ import annotations

import os

from howcome.clients.projects import is_repository, project_root
from howcome.domain.events import squeeze
from howcome.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.store.base import Store

    Project = tuple[int, str]
    Named = tuple[int | None, str]

MAX_NAME_CHARS = 60
"""A folder's name is somebody's text: in a message it is a short word, not a place for sentences."""

MAX_NAMED = 8


def project_of(store: Store, folder: str) -> int | None:
    """The project that a folder belongs to; None when nothing of it is stored."""
    root = project_root(folder)
    if is_repository(root):  # git knows better than what was seen there once
        return store.projects.of_root(root)
    for path in dict.fromkeys((_real(folder), folder)):
        found = store.projects.of_path(path)
        if found is not None:
            return found
    return store.projects.of_root(root)


def root_of(store: Store, folder: str) -> str:
    """The root of the project that a folder belongs to, whether anything of it is stored or not."""
    found = project_of(store, folder)
    return project_root(folder) if found is None else dict(store.projects.roots())[found]


def project_named(store: Store, name: str, here: str, instead: str) -> Named:
    """The stored project (id, root) with a name: a folder, the last parts of a root, or a whole root.

    A folder that is there is a project, too, when nothing of it is stored: its id is None.

    Args:
        store: Where projects are known.
        name: What somebody wrote.
        here: The folder that a relative path starts from.
        instead: What else could be written, for the message.

    Raises:
        UsageError: none has that name (the message names those most like it), or several have it.
    """
    from howcome.domain.windows import windows_path

    foreign = windows_path(name)
    folder = foreign or os.path.join(here, os.path.expanduser(name))
    known = store.projects.roots()
    roots = dict(known)
    by_folder = project_of(store, folder)
    named = _ending(known, name)
    is_path = foreign is not None or os.sep in name or name in (os.curdir, os.pardir, "~")
    if by_folder is not None and (is_path or not named or by_folder in named):
        return by_folder, roots[by_folder]
    if len(named) == 1:
        return named[0], roots[named[0]]
    said = repr(squeeze(name, MAX_NAME_CHARS))
    if named:
        places = ", ".join(_typed_names(known, sorted(roots[row] for row in named)))
        raise UsageError(f"several projects are called {said}: write one with its folder ({places}); {instead}")
    if os.path.isdir(folder):
        return None, project_root(folder)
    nearest = _typed_names(known, _nearest(name, roots.values()))
    choice = f"use one of: {', '.join(nearest)}" if nearest else "no project is known yet"
    what = f"nothing is stored of the folder {said}" if is_path else f"no project is called {said}"
    raise UsageError(f"{what}; {choice}; {instead}")


def project_label(root: str, parts: int = 1) -> str:
    """A project's name as a short word on one line: the last parts of its root."""
    words = root.rstrip(os.sep).split(os.sep)[-parts:]
    return squeeze("/".join(words), MAX_NAME_CHARS) or root[:MAX_NAME_CHARS]


def _real(folder: str) -> str:
    """A folder without symbolic links; what is no absolute path stands for itself."""
    try:
        return os.path.realpath(folder) if os.path.isabs(folder) else folder
    except (OSError, ValueError):  # a name that no file system holds
        return folder


def _ending(known: Sequence[Project], name: str) -> list[int]:
    """The projects whose root is the name, else those whose root ends with it."""
    ends = os.sep + name.strip(os.sep)
    exact = [row for row, root in known if root == name.rstrip(os.sep)]
    return exact or [row for row, root in known if len(ends) > 1 and root.endswith(ends)]


def _typed_names(known: Sequence[Project], roots: Iterable[str]) -> list[str]:
    """For some roots what to type: as few of their last parts as no other project has, at last all of them.

    Names are short words in a message: what would have to be cut could not be typed, so it is left out.
    """
    names: list[str] = []
    for root in roots:
        parts = root.strip(os.sep).split(os.sep)
        ends = [os.sep.join(parts[-number:]) for number in range(1, len(parts) + 1)]
        name = next((end for end in ends if len(_ending(known, end)) == 1), root)
        if name == squeeze(name, MAX_NAME_CHARS):
            names.append(name)
        if len(names) == MAX_NAMED:
            break
    return names


def _nearest(name: str, roots: Iterable[str]) -> list[str]:
    """Roots of projects, those whose names are most like `name` first."""
    from difflib import SequenceMatcher

    wanted = os.path.basename(name.rstrip(os.sep)).casefold()[:MAX_NAME_CHARS]

    def unlikeness(root: str) -> tuple[float, str]:
        return -SequenceMatcher(None, wanted, project_label(root).casefold()).ratio(), root

    return sorted(roots, key=unlikeness)
