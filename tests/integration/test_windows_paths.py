"""Transcripts of a Windows machine, read on another system: one project, however its folder is spelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write
from tests.processes import ask

from howcome.clients.projects import project_root

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ingest

    from howcome.store.sqlite import SqliteStore

ROOT = "C:/Users/mara/harbour"
SPELLINGS = (
    r"C:\Users\mara\harbour", r"c:\Users\mara\harbour", "C:/Users/mara/harbour", "c:/Users\\mara/harbour/",
    "\\\\?\\C:\\Users\\mara\\harbour", "/c/Users/mara/harbour", "/C/Users/mara/harbour",
    "/cygdrive/c/Users/mara/harbour",
    r"C:\Users\mara\harbour\.", r"C:\Users\mara\harbour\src\..", "\\\\.\\C:\\Users\\mara\\harbour",
)  # fmt: skip


@pytest.mark.parametrize("path", SPELLINGS)
def test_every_spelling_is_one_folder(path: str) -> None:
    """Drive letters in either case, slashes of both kinds, long-path prefixes, the shells' own forms."""
    assert project_root(path) == ROOT


@pytest.mark.parametrize(
    ("path", "root"),
    [
        (r"\\server\share\repo", "//server/share/repo"),
        ("\\\\?\\UNC\\server\\share\\repo", "//server/share/repo"),
        ("D:\\", "D:/"),
        (r"C:\Users\mara\harbour\.claude\worktrees\w1\src", ROOT),
        (r"C:\Users\mara\harbour.worktrees\w1", ROOT),
        ("/home/mara/c/Users", "/home/mara/c/Users"),
        ("/code/Users/x", "/code/Users/x"),
        ("C:relative", "C:relative"),
        ("notes", "notes"),
    ],
)
def test_what_a_path_stands_for(path: str, root: str) -> None:
    """Shares, drives and worktrees; a path of another kind stays as it is."""
    assert project_root(path) == root


def roots(store: SqliteStore) -> list[str]:
    """The roots of all projects."""
    return [root for _, root in store.projects.roots()]


def test_sessions_in_a_folder_and_below_it_are_one_project(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Within a session and across sessions; a home folder or a drive does not swallow what is below it."""
    for number, cwd in enumerate((*SPELLINGS, "C:\\Users\\mara\\harbour\\src", "c:/Users/mara/harbour/docs/api")):
        claude = Claude(f"s{number}", cwd)
        moved = claude.text("done", cwd=cwd.rstrip("/\\") + "\\lib")
        ingest(write(tmp_path / f"{number}.jsonl", claude.user(f"berth {number}"), moved))
    assert roots(store) == [ROOT]
    for number, cwd in enumerate(("C:\\Users\\mara", "C:\\", "C:\\Users\\mara\\other", "D:\\harbour", "/home/mara/x")):
        ingest(write(tmp_path / f"o{number}.jsonl", Claude(f"o{number}", cwd).user(f"other {number}")))
    assert roots(store) == sorted([ROOT, "C:/Users/mara", "C:/", "C:/Users/mara/other", "D:/harbour", "/home/mara/x"])


def test_it_is_found_by_each_of_its_names(tmp_path: Path, store_folder: Path) -> None:
    """A person may write the path as Windows shows it."""
    ask("import", write(tmp_path / "a.jsonl", *Claude(cwd=SPELLINGS[0]).conversation(2)))
    for name in (SPELLINGS[0], SPELLINGS[4], ROOT, "harbour"):
        found = ask("search", "--project", name, "berth1")
        assert json.dumps(found).count("berth1") > 0
    assert store_folder.exists()
