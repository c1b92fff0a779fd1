"""Small repositories as tests write them, and what a build finds in one."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from howcome.codegraph.build import GraphReport, ProjectGraphs
from howcome.ingest.exclusion import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.store.sqlite import SqliteStore


DAY_S = 24 * 3600


class Dated:
    """A repository whose commits are an hour apart, the first of them two days ago; it begins with one on `master`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home, self._now_s = folder, home, int(time.time()) - 2 * DAY_S
        folder.mkdir()
        self.git("init", "-q", "-b", "master")
        self.commit(f"{folder.name}.txt")

    def git(self, *words: str, at: Path | None = None) -> None:
        """Runs git without the caller's settings."""
        self._now_s += 3600
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "mara@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **{f"GIT_{who}_DATE": f"{self._now_s} +0000" for who in ("AUTHOR", "COMMITTER")},
        }  # fmt: skip
        subprocess.run(["git", *words], cwd=at or self.folder, env=environment, check=True, capture_output=True)

    def commit(self, name: str, lines: int = 30) -> None:
        """A commit of one file."""
        (self.folder / name).write_text("".join(f"the {name} has its berth number {at}\n" for at in range(lines)))
        self.git("add", ".")
        self.git("commit", "-qm", name)

    def branch(self, name: str) -> None:
        """A branch with a commit; the trunk is what is checked out afterwards."""
        self.git("switch", "-qc", name)
        self.commit(f"{name.replace('/', '-')}.txt")
        self.git("switch", "-q", "master")


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
    graphs = ProjectGraphs(store, Places(()), lambda: time.time_ns() // 1_000_000, **options)
    return graphs.build(str(root), str(root))


def edges(store: SqliteStore, root: Path) -> list[tuple[str, str]]:
    """The edges of a folder's graph."""
    project_id = store.projects.of_root(str(root))
    assert project_id is not None
    return store.code_graph.edges(project_id)
