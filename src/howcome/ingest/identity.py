"""Who is who: a repository that moved, or a second clone of it, is the project that it was; in doubt somebody is asked.

Nothing here runs when a turn ends: asking git for a repository's first commits is a process.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

from howcome.clients.git import GitError, git
from howcome.clients.projects import is_repository
from howcome.domain.identity import OTHER, SAME, Repository, compare, normal_remote
from howcome.ingest.exclusion import Places
from howcome.store.base import Store

MAX_CONFIG_BYTES = 256 << 10
MAX_COMMITS = 16
_SECTION = re.compile(r'^\s*\[\s*(?:remote\s+"(?P<remote>[^"]*)"|[^\]]*)\s*\]')
_URL = re.compile(r"^\s*url\s*=\s*(?P<url>.+?)\s*$", re.IGNORECASE)


def remote_of(root: str) -> str:
    """The normal form of a repository's remote: `origin`'s, or that of the only one; "" without one."""
    try:
        with open(os.path.join(_common_folder(root), "config"), "rb") as stream:
            lines = stream.read(MAX_CONFIG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    remotes: dict[str, str] = {}
    section = None
    for line in lines:
        head, url = _SECTION.match(line), _URL.match(line)
        if head:
            section = head["remote"]
        elif url and section is not None:
            remotes.setdefault(section, normal_remote(url["url"].strip('"')))
    return remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else "")


def read_repository(root: str, limit_s: float) -> Repository | None:
    """What the repository at a project's root shows; None when there is none. Starts git, for so long at most."""
    folder = _common_folder(root)
    if not os.path.isdir(os.path.join(folder, "objects")):
        return None
    is_shallow, commits = os.path.exists(os.path.join(folder, "shallow")), list[str]()
    if not is_shallow:
        with suppress(GitError):  # git cannot say, or not in time
            commits = sorted(git(root, "rev-list", "--max-parents=0", "HEAD", "--", limit_s=limit_s).split())
    known = tuple(commits) if len(commits) <= MAX_COMMITS else ()
    return Repository(root, known, remote_of(root), is_shallow=is_shallow)


def _common_folder(root: str) -> str:
    """Where git keeps what all worktrees share; a bare repository is its own."""
    inner = os.path.join(root, ".git")
    return inner if os.path.isdir(inner) else root


GIT_LIMIT_S = 2.0
"""How long git may take for one repository: the first commits of 100,000 are found in some 0.5 s."""


def meet_folder(
    store: Store, places: Places, folder: str, now_ms: Callable[[], int], limit_s: float = GIT_LIMIT_S
) -> None:
    """A session begins in a folder: see `Identities.meet`; an excluded one is not looked at."""
    root, is_certain = places.root_of(folder)
    if folder and is_certain and not places.is_excluded(folder):
        Identities(store, now_ms).meet(root, limit_s)


class Doubt(NamedTuple):
    """Two projects that may be one: their roots, the older one's first, and whether everything says so."""

    one: str
    other: str
    is_sure: bool


class Identities:
    """What is known of repositories, and what follows."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store, self._now_ms = store, now_ms

    def meet(self, root: str, limit_s: float = GIT_LIMIT_S) -> None:
        """A folder that may be new: where it shows that it is a known project's, it is that from now on."""
        if self._store.projects.of_root(root) is not None or not is_repository(root):
            return
        found = read_repository(root, limit_s)
        if found is not None:
            self.introduce(found)

    def introduce(self, found: Repository) -> None:
        """A repository whose root is no project's, here or on another machine, is from now on the one that it shows."""
        self._store.projects.keep_repository(found, self._now_ms())
        apart = self._store.projects.roots_apart()
        for known in self._store.projects.repositories():
            project_id = self._store.projects.of_root(known.root)
            pair = tuple(sorted((found.root, known.root)))
            if project_id is not None and pair not in apart and compare(known, found) == SAME:
                self._store.projects.alias(found.root, project_id, self._now_ms())
                return

    def refresh(self, limit_s: float) -> None:
        """Looks at the repositories of projects that were never looked at, or have another remote now."""
        deadline = time.monotonic() + limit_s
        known = {found.root: found for found in self._store.projects.repositories()}
        for _, root in self._store.projects.roots():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            if is_repository(root) and (root not in known or known[root].remote != remote_of(root)):
                found = read_repository(root, min(GIT_LIMIT_S, left_s))
                if found is not None:
                    self._store.projects.keep_repository(found, self._now_ms())


def may_be(root: str, other: str) -> bool:
    """Whether a folder may be the project with the other root: that one's is gone, or both show one repository."""
    if not os.path.isdir(other):
        return True
    one, two = (read_repository(place, GIT_LIMIT_S) for place in (root, other))
    return one is not None and two is not None and compare(one, two) != OTHER


def moved_from(store: Store, places: Places, folder: str) -> list[str]:
    """The roots of the projects that a repository may be, of which nothing is stored; an excluded one is not looked at.

    The folders of those projects are gone, and their first commits are the same: without a remote nothing is sure. Git
    is asked only where a project's folder is gone.
    """
    root, is_certain = places.root_of(folder)
    if not is_certain or places.is_excluded(folder):
        return []
    apart = store.projects.roots_apart()
    projects = {one for _, one in store.projects.roots() if tuple(sorted((one, root))) not in apart}
    gone = [one for one in store.projects.repositories() if one.root in projects and not os.path.isdir(one.root)]
    found = read_repository(root, GIT_LIMIT_S) if gone and is_repository(root) else None
    return [one.root for one in gone if found is not None and compare(one, found) != OTHER]


def doubts(store: Store) -> list[Doubt]:
    """The pairs of projects that may be one, and about which nobody has decided."""
    roots = {root for _, root in store.projects.roots()}
    known = [found for found in store.projects.repositories() if found.root in roots]
    apart = store.projects.roots_apart()
    return [
        Doubt(one.root, other.root, is_sure=verdict == SAME)
        for one, other in combinations(known, 2)
        if (verdict := compare(one, other)) != OTHER and tuple(sorted((one.root, other.root))) not in apart
    ]
