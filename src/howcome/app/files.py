"""`app.files` and `app.graphs`: why a line is there, what became of a file, and which file imports which."""

from __future__ import annotations

import os
from itertools import accumulate

from howcome.app.clock import now_ms
from howcome.clients.decode import clean_text
from howcome.clients.projects import top_of
from howcome.errors import UsageError
from howcome.ingest.exclusion import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.app.learning import Learning
    from howcome.app.projects import Projects
    from howcome.codegraph.build import GraphReport, ProjectGraphs
    from howcome.history.origins import Origins, Past
    from howcome.retrieve.code_files import FileImports
    from howcome.settings import Settings
    from howcome.store.base import Store


class Files:
    """What git and the sessions of a file's project say of it."""

    def __init__(self, store: Store, projects: Projects, learn: Learning) -> None:
        self._store, self._projects, self._learn = store, projects, learn

    def line(self, path: str, line: int) -> tuple[str, Past]:
        """A file's name, and where a line of it (counted from 1) comes from; see `history.origins`."""
        return self._origins(path).of_line(path, line)

    def named(self, name: str) -> str:
        """What a file is called: of a bare name that is no file here the one that sessions edited, in any folder.

        Raises:
            UsageError: there are several.
        """
        found = [] if os.path.exists(name) or os.path.basename(name) != name else self._origins(name).named(name)
        if len(found) > 1:
            raise UsageError(f"several files are called {clean_text(name)}: {', '.join(map(clean_text, found))}")
        return found[0] if found else name

    def history(self, path: str, limit: int) -> tuple[str, list[Past], str]:
        """A file's name, the edits, plans and commits that are about it, newest first, and what git had to say."""
        return self._origins(path).of_file(path, limit)

    def _origins(self, path: str) -> Origins:
        from howcome.history.origins import Origins

        folder = os.path.dirname(os.path.abspath(path))
        while not os.path.isdir(folder):  # the file need not be there any more, nor its folder
            folder = os.path.dirname(folder)
        above = [] if top_of(folder) else accumulate(folder.split(os.sep), lambda head, name: f"{head}{os.sep}{name}")
        known = (one for one in (folder, *reversed(list(above))) if self._projects.scope_of(one).project_id)
        folder = next(known, folder)  # a plain folder's sessions worked above it, maybe
        project = self._projects.scope_of(folder).project_id
        return Origins(self._store, project, self._projects.root_of(folder), self._learn.rationales())


class Graphs:
    """Import graphs of projects."""

    def __init__(self, store: Store, settings: Settings, projects: Projects, fixed_root: str | None) -> None:
        self._store, self._settings, self._projects, self._fixed_root = store, settings, projects, fixed_root

    def build(self, folder: str, on_progress: Callable[[int, int], None] | None = None) -> GraphReport:
        """Reads which file imports which in the project of a folder; see `ProjectGraphs.build`."""
        return self._graphs().build(folder, self._projects.root_of(folder), on_progress)

    def refresh(self, rest: Callable[[], bool]) -> bool:
        """Brings graphs that are old up to date, with rests; False when it had to end. See `ProjectGraphs.refresh`."""
        return self._graphs().refresh(rest)

    def _graphs(self) -> ProjectGraphs:
        from howcome.codegraph.build import ProjectGraphs

        return ProjectGraphs(self._store, Places(self._settings.exclude, self._fixed_root), now_ms)

    def of(self, folder: str, file: str) -> FileImports:
        """What a file of a folder's project imports and what imports it; see `retrieve.code_files.imports_of`."""
        from howcome.retrieve.code_files import imports_of

        root, place = self._projects.root_of(folder), os.path.realpath(folder)
        below = os.path.relpath(place, top_of(place) or root)
        return imports_of(self._store, self._store.projects.of_root(root), file, below)
