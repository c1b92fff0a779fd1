"""What is refused, or has nothing to do, leaves nothing behind: not even an empty store."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.processes import run

HEAD = '{"howcome": "memories", "version": 1}\n'
MEMORY = {
    "key": "0" * 32, "type": "context", "text": "the gnomon is bent", "project": None, "agent": None, "origin": "user",
    "status": "open", "created_ms": 1_790_000_000_000, "deleted_ms": None, "supersedes": None, "evidence": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "data", "code", "says"),
    [
        ("import-memories /nonexist", "", 2, "No such file"),
        ("import-memories -", "", 2, "empty"),
        ("import-memories -", '{"key": 1}\n', 2, "no export"),
        ("import-memories --dry-run -", HEAD + json.dumps(MEMORY), 0, "1 would be added"),
        ("remember --project nope kept-in-UTC-as-the-gauge-does", "", 2, "a folder that is there"),
        ("remember --evidence ev-1 kept-in-UTC-as-the-gauge-does", "", 1, "no event ev-1"),
        ("remember --agent \n kept-in-UTC-as-the-gauge-does", "", 2, "an agent's id is one line"),
        ("remember  ", "", 2, "needs words"),
        ("observe --now", "{", 1, "kept"),
        ("observe --retry", "", 0, "0 events stored"),
        ("upgrade --yes", "", 0, "no memory yet"),
    ],
)
def test_a_command_that_keeps_nothing_makes_no_store(home: Path, words: str, data: str, code: int, says: str) -> None:
    """The home is as empty as before."""
    done = run(*words.split(" "), data=data.encode())
    assert (done.returncode, os.listdir(home)) == (code, []), done
    assert says in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "remember --project {} kept-in-UTC-as-the-gauge-does",
        "remember kept-in-UTC-as-the-gauge-does",
        "import-memories {}/m.jsonl",
    ],
)
def test_what_can_be_kept_makes_one(home: Path, tmp_path: Path, words: str) -> None:
    """In a project that nobody has been in before."""
    (tmp_path / "m.jsonl").write_text(HEAD + json.dumps(MEMORY))
    done = run(*words.format(tmp_path).split())
    assert done.returncode == 0, done.stderr
    assert (home / ".howcome" / "howcome.db").exists()
