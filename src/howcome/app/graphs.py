"""`app.graphs`: which file of a project imports which."""

from __future__ import annotations

import os

from howcome.app.clock import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.app.projects import Projects
    from howcome.codegraph.build import GraphReport, ProjectGraphs
    from howcome.retrieve.code_files import FileImports
    from howcome.settings import Settings
    from howcome.store.base import Store


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
        from howcome.ingest.exclusion import Places

        return ProjectGraphs(self._store, Places(self._settings.exclude, self._fixed_root), now_ms)

    def of(self, folder: str, file: str) -> FileImports:
        """What a file of a folder's project imports and what imports it; see `retrieve.code_files.imports_of`."""
        from howcome.clients.projects import top_of
        from howcome.retrieve.code_files import imports_of

        root = self._projects.root_of(folder)
        place = os.path.realpath(folder)
        below = os.path.relpath(place, top_of(place) or root)
        return imports_of(self._store, self._store.projects.of_root(root), file, below)
