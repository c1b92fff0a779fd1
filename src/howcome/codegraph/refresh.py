"""The import graphs of projects: built when somebody asks for one, and from then on kept up with the files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from howcome.codegraph.build import GraphBuilder, GraphReport
from howcome.codegraph.sources import top_of
from howcome.errors import ProviderError, UsageError
from howcome.ingest.exclusion import Places
from howcome.store.base import Store

REFRESH_MS = 10 * 60_000
"""A graph is refreshed when it is older: files change while somebody works, and listing them costs git 10 to 100 ms."""

PIECE_S = 0.05
"""Between pieces of so much work whoever refreshes may rest."""


class _OverError(Exception):
    """The refresh has to end."""


class ProjectGraphs:
    """Builds graphs into one store."""

    def __init__(self, store: Store, places: Places, now_ms: Callable[[], int]) -> None:
        self._store, self._places, self._now_ms = store, places, now_ms
        self._builder: GraphBuilder | None = None

    def build(self, folder: str, root: str, on_progress: Callable[[int, int], None] | None = None) -> GraphReport:
        """Reads which file imports which in the project of a folder; only what changed is parsed again.

        Raises:
            UsageError: the folder is excluded.
            ProviderError: a parser is not installed.
        """
        if self._places.is_excluded(folder):
            raise UsageError("nothing of this folder is kept: the setting `exclude` or its .howcome.toml says so")
        if self._builder is None:  # mostly nothing is due, and compiling the rules for secrets takes time
            key = self._store.meta("key")
            self._builder = GraphBuilder(self._store.code_graph, key if isinstance(key, bytes) else b"", self._now_ms)
        return self._builder.build(top_of(folder) or root, root, self._store.projects.of_root(root), on_progress)

    def refresh(self, rest: Callable[[], bool]) -> bool:
        """Refreshes the graphs that are old, of projects that are on this machine; False when it had to end.

        Args:
            rest: Called after each piece of work; False: end now. What was begun then is left as it was.

        A project that cannot be read is tried again when its graph would be old again.
        """
        for project_id, root, state in self._store.code_graph.states():
            name, now_ms = f"import graph {project_id}", self._now_ms()
            is_paused = self._store.model_answers.pause_of(name, now_ms) is not None
            if is_paused or not self._is_due(root, state.built_ms, now_ms):
                continue
            try:
                self.build(root, root, _resting(rest))
            except _OverError:
                return False
            except (ProviderError, OSError) as error:
                self._store.model_answers.pause(name, now_ms, now_ms + REFRESH_MS, type(error).__name__)
            if not rest():
                return False
        return True

    def _is_due(self, root: str, built_ms: int, now_ms: int) -> bool:
        """Whether a graph is old (or from the future: a clock was put back) and its files are here and wanted."""
        is_old = not 0 <= now_ms - built_ms < REFRESH_MS
        return is_old and os.path.isdir(root) and not self._places.is_excluded(root)


def _resting(rest: Callable[[], bool]) -> Callable[[int, int], None]:
    """Told of every file, it rests after each piece of work."""
    started = time.monotonic()

    def on_file(_number: int, _total: int) -> None:
        nonlocal started
        if time.monotonic() - started >= PIECE_S:
            if not rest():
                raise _OverError
            started = time.monotonic()

    return on_file
