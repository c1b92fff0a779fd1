"""Small repositories as tests write them, and what a build finds in one."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from howcome.codegraph.build import GraphBuilder, GraphReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.store.sqlite import SqliteStore


def write_tree(root: Path, files: Mapping[str, str | bytes], *, is_old: bool = True) -> Path:
    """Files below a folder; old ones are as good as unchanged for who looks at their times."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if is_old:
            os.utime(path, (1_700_000_000, 1_700_000_000))
    return root


def git(root: Path, *words: str) -> None:
    """A git command in a folder."""
    subprocess.run(["git", "-C", str(root), "-c", "init.defaultBranch=main", *words], check=True, capture_output=True)


def build(store: SqliteStore, root: Path, **options: int) -> GraphReport:
    """One build of a folder as its own project."""
    key = store.meta("key")
    assert isinstance(key, bytes)
    builder = GraphBuilder(store.code_graph, key, lambda: time.time_ns() // 1_000_000, **options)
    return builder.build(str(root), str(root), store.projects.of_root(str(root)))


def edges(store: SqliteStore, root: Path) -> list[tuple[str, str]]:
    """The edges of a folder's graph."""
    project_id = store.projects.of_root(str(root))
    assert project_id is not None
    return store.code_graph.edges(project_id)
