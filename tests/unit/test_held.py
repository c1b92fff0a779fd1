"""Files that the agent reads by itself are read within bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from howcome.clients.registry import client_of
from howcome.hooks import held

if TYPE_CHECKING:
    from pathlib import Path

SAID = "The tide table comes from the harbour office."


def is_said(root: Path, text: str) -> bool:
    """Whether a file of Claude Code's says so."""
    client = client_of("claude-code")
    assert client is not None
    return held.held(client, {"cwd": str(root)})(text)


def test_an_import_is_read_once_and_only_so_many(tmp_path: Path) -> None:
    """However often it is named, and of a long list the first ones."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "tides.md").write_text(SAID)
    (tmp_path / "CLAUDE.md").write_text("@tides.md " * 5000)
    assert is_said(tmp_path, SAID)
    (tmp_path / "CLAUDE.md").write_text(" ".join(f"@m{at}.md" for at in range(held.MAX_IMPORTED)) + " @tides.md")
    assert not is_said(tmp_path, SAID)


def test_what_is_no_file_leaves_nothing_open(tmp_path: Path) -> None:
    """A folder of that name, a pipe that nobody writes to."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.md").mkdir()
    os.mkfifo(tmp_path / "b.md")
    (tmp_path / "CLAUDE.md").write_text("@a.md @b.md")
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        assert not is_said(tmp_path, SAID)
    assert len(os.listdir("/dev/fd")) == before
