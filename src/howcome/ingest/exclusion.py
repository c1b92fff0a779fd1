"""Where events belong: the project of a folder, and the folders that nobody wants remembered."""

from __future__ import annotations

import os
from collections.abc import Sequence

from howcome.clients.projects import fold_worktree, is_inside, is_repository, own_settings, project_root


class Places:
    """Projects and exclusions of folders, looked up once each.

    Args:
        exclude: Folders whose sessions are not stored (absolute; what is below them too).
        fixed_root: Every event belongs to this project, whatever its folder says (for evaluation).
    """

    def __init__(self, exclude: Sequence[str] = (), fixed_root: str | None = None) -> None:
        named = [os.path.normpath(os.path.expanduser(path)) for path in exclude]
        self._exclude = tuple(dict.fromkeys(named + [os.path.realpath(path) for path in named]))
        self._fixed_root = fixed_root
        self._excluded: dict[str, bool] = {}
        self._roots: dict[str, tuple[str, bool]] = {}

    def root_of(self, cwd: str) -> tuple[str, bool]:
        """The root of the project that `cwd` belongs to, and whether a repository said so (or only the path)."""
        if self._fixed_root is not None:
            return self._fixed_root, True
        if cwd not in self._roots:
            root = project_root(cwd)
            self._roots[cwd] = (root, is_repository(root) or fold_worktree(cwd) != cwd)
        return self._roots[cwd]

    def is_excluded(self, cwd: str) -> bool:
        """Whether the user, or the repository itself, wants nothing of this folder stored."""
        if cwd not in self._excluded:
            is_named = self.is_named(cwd)
            said = {} if is_named or self._fixed_root is not None else own_settings(self.root_of(cwd)[0])
            # None: somebody wanted to say something: store nothing until it can be read
            self._excluded[cwd] = is_named or said is None or said.get("capture") is False
        return self._excluded[cwd]

    def is_named(self, folder: str) -> bool:
        """Whether the user's setting `exclude` names a folder, or one above it: what is known of it is not told."""
        folder, root = os.path.normpath(folder), self.root_of(folder)[0]
        return any(is_inside(folder, path) or is_inside(root, path) for path in self._exclude)
