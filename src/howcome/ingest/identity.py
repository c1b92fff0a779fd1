"""Who is who: a repository that moved, or a second clone of it, is the project that it was; in doubt somebody is asked.

Nothing here runs when a turn ends: asking git for a repository's first commits is a process.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from howcome.clients.projects import is_repository
from howcome.clients.repository import read_repository, remote_of
from howcome.domain.identity import OTHER, SAME, compare
from howcome.ingest.exclusion import Places
from howcome.store.base import Store

GIT_LIMIT_S = 2.0
"""How long git may take for one repository: the first commits of 100,000 are found in some 0.5 s."""


def meet_folder(
    store: Store, places: Places, folder: str, now_ms: Callable[[], int], limit_s: float = GIT_LIMIT_S
) -> None:
    """A session begins in a folder: see `Identities.meet`; an excluded one is not looked at."""
    root, is_certain = places.root_of(folder)
    if folder and is_certain and not places.is_excluded(folder):
        Identities(store, now_ms).meet(root, limit_s)


class Doubt:
    """Two projects that may be one: their roots, the older one's first, and whether everything says so."""

    __slots__ = ("is_sure", "one", "other")

    def __init__(self, one: str, other: str, *, is_sure: bool) -> None:
        self.one, self.other, self.is_sure = one, other, is_sure


class Identities:
    """What is known of repositories, and what follows."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store, self._now_ms = store, now_ms

    def meet(self, root: str, limit_s: float = GIT_LIMIT_S) -> None:
        """A folder that may be new: where it shows that it is a known project's, it is that from now on."""
        if self._store.projects.of_root(root) is not None or not is_repository(root):
            return
        found = read_repository(root, limit_s)
        if found is None:
            return
        self._store.projects.keep_repository(found, self._now_ms())
        apart = self._store.projects.roots_apart()
        for known in self._store.projects.repositories():
            project_id = self._store.projects.of_root(known.root)
            pair = tuple(sorted((root, known.root)))
            if project_id is not None and pair not in apart and compare(known, found) == SAME:
                self._store.projects.alias(root, project_id, self._now_ms())
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


def doubts(store: Store) -> list[Doubt]:
    """The pairs of projects that may be one, and about which nobody has decided."""
    roots = {root for _, root in store.projects.roots()}
    known = [found for found in store.projects.repositories() if found.root in roots]
    apart = store.projects.roots_apart()
    found = []
    for place, one in enumerate(known):
        for other in known[place + 1 :]:
            verdict = compare(one, other)
            if verdict != OTHER and tuple(sorted((one.root, other.root))) not in apart:
                found.append(Doubt(one.root, other.root, is_sure=verdict == SAME))
    return found
