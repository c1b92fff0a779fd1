"""The ledger of commands with the real client: what failed in one session is answered in the next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.client import call, say
from tests.client.install import VERSIONS
from tests.processes import failures

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client import Run
    from tests.e2e.desk import Desk

TOOL = """#!/bin/sh
case "$*" in *--stat*) echo "unknown flag: --stat" >&2; exit 1;; *) echo "two files";; esac
"""
LINE = "`./tide diff 88 --stat` failed here, last on"
FIX = "`./tide diff 88 --names` then worked."


def connect(desk: Desk, folder: Path, form: str) -> None:
    """Install the hooks in one form, with the client where the installer looks for its version."""
    folder.mkdir()
    (folder / "claude").symlink_to(desk.client.executable)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    desk.howcome("init", "--yes", "--hook-form", form, env={"PATH": path})
    desk.write("tide", TOOL).chmod(0o755)


def run_of(desk: Desk, *commands: str) -> Run:
    """A session that runs some commands."""
    calls = [call("Bash", command=command, description="look") for command in commands]
    return desk.ask("which files are in it?", [*calls, say("Done.")])


def told(run: Run) -> list[int]:
    """The requests (by their place) that the line first stands in."""
    return [place for place, body in enumerate(run.bodies("main")) if LINE in str(body) and FIX in str(body)][:1]


@pytest.mark.parametrize("form", ["command", "mcp"])
def test_a_command_that_failed_in_an_earlier_session(form: str, desk: Desk, tmp_path: Path) -> None:
    """Right after the failure, in the next request of the model; nothing in the session that found it."""
    if form == "mcp" and desk.old:
        pytest.skip("this client knows no such hook")
    connect(desk, tmp_path / "bin", form)
    first = run_of(desk, "./tide diff 88 --stat", "./tide diff 88 --names")
    assert told(first) == []
    assert first.notices() == []
    second = run_of(desk, "./tide diff 104 --stat", "./tide diff 104 --names")
    assert told(second) == [1]
    assert second.notices() == []
    assert failures(desk.store) == []
    assert desk.left_after(5) == []


def test_ahead_of_a_run_and_of_an_edit(desk: Desk, tmp_path: Path) -> None:
    """Through the server: a command that never worked, and a file with a decision, each told once."""
    if desk.version != VERSIONS[0]:
        pytest.skip("this client knows no such hook")
    connect(desk, tmp_path / "bin", "mcp")
    for number in (1, 2, 3):
        run_of(desk, f"./tide diff {number} --stat", f"./tide diff {number} --names")
    gauge = desk.write("gauge.txt", "level = 3\n")
    desk.howcome("remember", "gauge.txt keeps whole numbers, because the sensor rounds.", "--type", "decision")
    edit = {"file_path": str(gauge), "old_string": "level", "new_string": "height"}
    calls = [call("Bash", command=f"echo {number}", description="count") for number in range(12)]
    again = [call("Bash", command="./tide diff 9 --stat", description="look") for _ in range(2)]
    run = desk.ask("which?", [*calls, *again, call("Read", file_path=str(gauge)), call("Edit", **edit), say("Done.")])
    bodies = [str(body) for body in run.bodies("main")]
    assert "failed here 3 times" not in bodies[12]
    assert bodies[13].count("failed here 3 times") == bodies[-1].count("failed here 3 times") == 1
    assert "whole numbers" not in bodies[-2]
    assert bodies[-1].count("whole numbers") == 1
    assert run.notices() == []
