"""Commands as forks: what a test sees of one is what it sees of a process that Python was started for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from tests import forking
from tests.processes import COMMAND, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are processes of their own")

SAID = json.dumps({"agent": "cursor", "session_id": "7f3a", "cwd": "/gone/harbour", "text": "why does berth1 fail?"})


def fresh(*arguments: str, data: str = "", **environment: str) -> tuple[int, str, str]:
    """What a command that Python is started for ends with, and says."""
    done = subprocess.run(
        [*COMMAND, *arguments], input=data, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def forked(*arguments: str, data: str = "", **environment: str) -> tuple[int, str, str]:
    """The same of a fork."""
    surroundings = {**os.environ, **environment}
    assert forking.can_fork(surroundings, data.encode())
    done = run(*arguments, data=data.encode(), environment=surroundings)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "data"),
    [
        ("--version", ""), ("", ""), ("no such --command", ""), ("search", ""), ("search berth1 --json", ""),
        ("show ev-000000000000", ""), ("observe", SAID), ("observe --now", "{"), ("remember", ""),
        ("init --dry-run", ""), ("import --json /nowhere", ""),
        ("mcp", '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'),
        ("hook Stop", "{}"), ("uninstall", ""), ("memories", ""), ("timeline", ""),
    ],
)  # fmt: skip
def test_a_fork_says_what_a_process_says(
    words: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On both streams, and by how it ends; warnings are errors here and there."""
    monkeypatch.chdir(tmp_path)
    said = [
        way(*words.split(), data=data, HOWCOME_HOME=str(tmp_path / way.__name__), PYTHONWARNINGS=warnings)
        for way, warnings in ((fresh, "error"), (forked, "error"), (forked, ""))
    ]  # fmt: skip
    said = [tuple(str(one).replace("forked", "fresh") for one in ending) for ending in said]
    assert said == said[:1] * 3
    forms = [sorted(os.listdir(tmp_path / name)) for name in ("fresh", "forked") if (tmp_path / name).exists()]
    assert forms[:1] == forms[1:]


def test_a_fork_is_where_it_was_asked_to_be(tmp_path: Path, store_folder: Path) -> None:
    """Folder, environment, files for nobody else; nothing of an earlier command is left."""
    (tmp_path / "here").mkdir()
    assert run("remember", "kept", "in", "one", "place", "only", folder=tmp_path / "here").returncode == 0
    other = {**os.environ, "HOWCOME_HOME": str(tmp_path / "other")}
    assert "kept in one place" in run("memories", "--all-projects").stdout
    assert "kept in one place" not in run("memories", "--all-projects", environment=other).stdout
    assert (store_folder / "howcome.db").stat().st_mode & 0o077 == 0


def test_forks_run_side_by_side() -> None:
    """Each has its own answer."""
    said: dict[int, str] = {}

    def say(number: int) -> None:
        said[number] = run("search", f"berth{number}", "--json").stderr + run(f"--odd{number}").stderr

    threads = [threading.Thread(target=say, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"--odd{number}" in text for number, text in said.items())
    assert len(said) == 6


def test_a_fork_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """It waits for an answer of a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "never.jsonl")
    with pytest.raises(subprocess.TimeoutExpired):
        forking.run(["import-memories", str(tmp_path / "never.jsonl")], os.environ, str(tmp_path), b"", 1)


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LC_ALL", "LD_PRELOAD", "PYTHONPATH"])
def test_what_is_read_when_python_starts_makes_a_process(name: str) -> None:
    """A fork could not have another."""
    assert not forking.can_fork({**os.environ, name: "1"}, b"")
