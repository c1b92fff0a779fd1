"""Files of a project's import graph: which of them somebody means, and what one imports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howcome.domain.code import ends_alike, file_name, file_stem
from howcome.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.code import GraphState
    from howcome.log.code_graph import ImportGraph
    from howcome.store.base import Store

MAX_SHOWN = 8
NO_GRAPH = "there is no import graph of this project: run `howcome graph build` in it"


@dataclass(slots=True, eq=False)
class FileImports:
    """One file of a graph: its path, what it imports, what imports it (paths below the project's root)."""

    path: str
    imports: list[str]
    imported_by: list[str]
    graph: GraphState


def files_meant(graph: ImportGraph, project_id: int, named: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """The files (row id, path) that each name may mean: a path, an end of one, a file's name, or its stem alone.

    A name with an ending is a file's name; without one it is a stem (`TidalClock` is `tidal_clock.py`), the last part
    of a dotted one. Of files that a whole path ends with, the longest is meant.
    """
    wanted = {name: name.lower().replace(os.sep, "/") for name in named}
    names = {file_name(name) for name in wanted.values()}
    stems = {_stem(name) for name in wanted.values()} - {""}
    known = [(row, path, path.lower()) for row, path in graph.files_called(project_id, names, stems)]
    found = {}
    for name, low in wanted.items():
        same = [(row, path) for row, path, lowered in known if ends_alike(lowered, low)]
        if same and all(low.endswith(path.lower()) for _, path in same):
            same = [max(same, key=lambda pair: len(pair[1]))]
        found[name] = same or [(row, path) for row, path, lowered in known if _is_called(lowered, low)]
    return {name: files for name, files in found.items() if files}


def imports_of(store: Store, project_id: int | None, file: str, below: str) -> FileImports:
    """What a file imports and what imports it.

    Args:
        store: Where the graph is.
        project_id: Whose graph; None for a folder of which nothing is stored.
        file: What somebody calls the file: a path, an end of one, or a name.
        below: The folder that a relative path may start from, as a path below the project's root.

    Raises:
        NotFoundError: there is no graph, or no such file in it.
        UsageError: several files are called so.
    """
    graph = store.code_graph.state(project_id) if project_id is not None else None
    if graph is None or project_id is None:
        raise NotFoundError(NO_GRAPH)
    here = os.path.normpath(os.path.join(below, file))
    meant = files_meant(store.code_graph, project_id, dict.fromkeys((here, file)))
    exact = [pair for pair in meant.get(here, ()) if pair[1] == here]
    found = exact or meant.get(file, [])
    if not found:
        raise NotFoundError(f"no source file of this project is called {file!r}; is it new? `howcome graph build`")
    if len(found) > 1:
        shown = ", ".join(path for _, path in found[:MAX_SHOWN])
        raise UsageError(f"several files are called {file!r}: write more of the path ({shown})")
    row, path = found[0]
    return FileImports(path, *store.code_graph.imports(row), graph)


def _stem(name: str) -> str:
    """The stem that a name without a file's ending means: of `store.retry_policy` the last part."""
    last = name.rpartition("/")[2].rpartition(".")[2]
    return file_stem(last)


def _is_called(path: str, name: str) -> bool:
    """Whether a name without an ending means a path: by its last part, and by the folders it names."""
    head, _, last = name.rpartition("/")
    folder = path.rpartition("/")[0]
    return file_stem(path) == _stem(last) and (not head or ends_alike(folder, head))
