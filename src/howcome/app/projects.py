"""`app.projects`: which project a folder belongs to, and which projects are one."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import suppress

from howcome.app.clock import now_ms
from howcome.clients.projects import project_root
from howcome.domain.stored import Scope
from howcome.errors import StoreError
from howcome.retrieve.projects import project_named, project_of, root_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.ingest.identity import Doubt
    from howcome.settings import Settings
    from howcome.store.base import Store


class Projects:
    """Projects by folder, by name, and by what git shows of them."""

    def __init__(self, store: Store, settings: Settings, fixed_root: str | None) -> None:
        self._store, self._settings, self._fixed_root = store, settings, fixed_root

    def scope_of(self, folder: str) -> Scope:
        """The scope of a folder: its project."""
        if self._fixed_root is not None:
            return Scope.project(self._store.projects.of_path(folder))
        return Scope(project_of(self._store, folder), folder=folder)

    def root_of(self, folder: str) -> str:
        """The root of the project that a folder belongs to; what is kept there is found by `scope_of` it."""
        self.recognize(folder)
        return root_of(self._store, folder)

    def of_root(self, root: str) -> int | None:
        """The id of the project with a root; None when nothing of it is stored."""
        return self._store.projects.of_root(root)

    def named(self, name: str, here: str, instead: str) -> tuple[int | None, str]:
        """The project (id, root) with a name; see `retrieve.projects.project_named`."""
        self.recognize(os.path.join(here, os.path.expanduser(name)))
        return project_named(self._store, name, here, instead)

    def roots(self) -> list[tuple[int, str]]:
        """Every project that is stored: id and root."""
        return list(self._store.projects.roots())

    def excluded(self) -> dict[int, str]:
        """The roots, by id, of the stored projects that the setting `exclude` names by one of their roots."""
        if not self._settings.exclude:
            return {}
        from howcome.ingest.exclusion import Places

        places, also = Places(self._settings.exclude), defaultdict[str, list[str]](list)
        for other, root in self.aliases():
            also[root].append(other)
        return {number: root for number, root in self.roots() if any(map(places.is_named, [root, *also[root]]))}

    def held(self, project_id: int) -> tuple[int, int]:
        """How many events and memories of a project are stored."""
        return self._store.accounts.of_project(project_id)

    def aliases(self) -> list[tuple[str, str]]:
        """Other roots of projects, each with the project's own."""
        return list(self._store.projects.aliases())

    def meet(self, folder: str, limit_s: float) -> None:
        """A session begins in a folder; see `ingest.identity.meet_folder`."""
        from howcome.ingest.exclusion import Places
        from howcome.ingest.identity import meet_folder

        meet_folder(self._store, Places(self._settings.exclude), folder, now_ms, limit_s)
        if self.scope_of(folder).project_id is not None:
            self.meet_branches(folder, is_asked=False)  # the worker does

    def recognize(self, folder: str) -> None:
        """A command is run in a clone of which nothing is stored: if its remote is a project's, it may be that one.

        Git is asked then, so hooks do not call this; they meet the folder as the session begins.
        """
        if self._fixed_root is not None or self._store.is_read_only or self.scope_of(folder).project_id is not None:
            return
        from howcome.ingest.identity import GIT_LIMIT_S, remote_of

        remote = remote_of(root := project_root(folder))
        known = [one.root for one in self._store.projects.repositories() if one.remote == remote] if remote else []
        if known and root not in known:  # else it was looked at
            with suppress(StoreError), self._store.projects.without_waiting():  # the next command asks again
                self.meet(folder, GIT_LIMIT_S)

    def look(self, limit_s: float) -> None:
        """Asks git about projects that nobody looked at yet, and about branches where sessions were and HEAD moved."""
        from howcome.clients.git import Branches
        from howcome.ingest.identity import Identities

        end_s = time.monotonic() + limit_s
        Identities(self._store, now_ms).refresh(limit_s)
        for top in Branches(self._store.folder, "").met():
            if time.monotonic() < end_s:
                self.meet_branches(top)

    def meet_branches(self, folder: str, *, is_asked: bool = True) -> None:
        """Asks git which branches are not merged where a folder is; see `clients.git.Branches.meet`."""
        from howcome.clients.git import Branches

        gate = self._store.gate
        with suppress(OSError):  # it cannot be kept: less is known then
            may_keep = lambda name: gate is None or gate.text(name) == name  # noqa: E731
            Branches(self._store.folder, folder).meet(may_keep, is_asked=is_asked)

    def doubts(self) -> list[Doubt]:
        """The pairs of projects that may be one, and about which nobody has decided."""
        from howcome.ingest.identity import doubts

        return doubts(self._store)

    def moved(self, folder: str) -> list[tuple[str, str]]:
        """The roots of the projects that a folder of which nothing is stored may be, each with the folder's own."""
        from howcome.ingest.exclusion import Places
        from howcome.ingest.identity import moved_from

        if self._fixed_root is not None or self.scope_of(folder).project_id is not None:
            return []
        return [(old, project_root(folder)) for old in moved_from(self._store, Places(self._settings.exclude), folder)]

    def may_be(self, root: str, other: str) -> bool:
        """Whether a folder may be the project with the other root: that one's is gone, or both show one repository."""
        from howcome.ingest.identity import may_be

        return may_be(root, other)

    def keep_apart(self, root: str, other: str) -> None:
        """Two projects stay two."""
        self._store.projects.keep_apart(root, other, now_ms())

    def join(self, one: int, other: int | None, root: str) -> None:
        """A project (None: a folder of which nothing is stored yet) becomes a part of another, for good.

        What searches read must be made anew.
        """
        if other is None:
            self._store.projects.alias(root, one, now_ms())
            return
        self._store.projects.join(one, other, now_ms())
        self._store.turn_vectors.move(other, one)
