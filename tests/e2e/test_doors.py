"""One prompt through three doors of the real client: a command, a command that asks a warm server, an MCP tool."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest
from tests.client import say
from tests.e2e.desk import injected
from tests.warm import server, socket_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.desk import Desk

DECISION = "We decided to store TidalClock timestamps in UTC because local time repeats an hour every autumn."
QUESTION = "which timezone should the TidalClock export write?"


def connect(desk: Desk, folder: Path, form: str) -> None:
    """Install the hooks in one form, with the client where the installer looks for its version."""
    folder.mkdir()
    (folder / "claude").symlink_to(desk.client.executable)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    desk.howcome("init", "--yes", "--hook-form", form, env={"PATH": path})


@pytest.mark.parametrize("door", ["command", "socket", "mcp"])
def test_every_door_brings_the_decision_once(door: str, desk: Desk, tmp_path: Path) -> None:
    """The context comes with the prompt, without a complaint, a log line or a process that stays."""
    if door == "mcp" and desk.version.startswith("2.0"):
        pytest.skip("this client knows no such hook")
    connect(desk, tmp_path / "bin", "mcp" if door == "mcp" else "command")
    desk.ask("how do we keep the tide tables?", [say(DECISION)])
    with contextlib.ExitStack() as stack:
        if door == "socket":
            stack.enter_context(server(60, HOME=str(desk.home), HOWCOME_HOME=str(desk.store)))
            socket_of(desk.store)
        run = desk.ask(QUESTION, [say("UTC.")])
    contexts = [context for context in injected(run.bodies("main")[0]) if DECISION in context[3]]
    assert len(contexts) == 1
    assert run.notices() == []
    assert not (desk.store / "hook-errors.log").exists()
    assert desk.left_after(5) == []
