"""`app.files`: why a line is there, and what became of a file."""

from __future__ import annotations

import os
from itertools import accumulate
from typing import TYPE_CHECKING

from howcome.clients.projects import top_of
from howcome.learn.origins import Origins

if TYPE_CHECKING:
    from howcome.app.learning import Learning
    from howcome.app.projects import Projects
    from howcome.learn.origins import Past
    from howcome.store.base import Store


class Files:
    """What git and the sessions of a file's project say of it."""

    def __init__(self, store: Store, projects: Projects, learn: Learning) -> None:
        self._store, self._projects, self._learn = store, projects, learn

    def line(self, path: str, line: int) -> tuple[str, Past]:
        """A file's name, and where a line of it (counted from 1) comes from; see `learn.origins`."""
        return self._origins(path).of_line(path, line)

    def history(self, path: str, limit: int) -> tuple[str, list[Past], str]:
        """A file's name, the edits, plans and commits that are about it, newest first, and what git had to say."""
        return self._origins(path).of_file(path, limit)

    def _origins(self, path: str) -> Origins:
        folder = os.path.dirname(os.path.abspath(path))
        above = [] if top_of(folder) else accumulate(folder.split(os.sep), lambda head, name: f"{head}{os.sep}{name}")
        known = (one for one in (folder, *reversed(list(above))) if self._projects.scope_of(one).project_id)
        folder = next(known, folder)  # a plain folder's sessions worked above it, maybe
        project = self._projects.scope_of(folder).project_id
        return Origins(self._store, project, self._projects.root_of(folder), self._learn.rationales())
