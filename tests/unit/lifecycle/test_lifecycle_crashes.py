"""Killed at any moment, `init` and `uninstall` leave whole files, and the next run finishes or undoes the work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hostile.scale import of

from howcome.wiring import Owner, install, parts_of, uninstall, wired_parts

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
OWNERS = (Owner("claude-code"), Owner("codex"))
SETTINGS = b'{\n\t"model": "opus",\n\t"hooks": {"Stop": []}\n}'
STATE = b'{"mcpServers": {"other": {"command": "x"}}, "numStartups": 3}'
CONFIG = b'model = "o9"\r\n\r\n[mcp_servers.other]\r\ncommand = "y"\r\n'

PROGRAM = """
import os, sys
from howcome.wiring import Owner, install, howcome_home, uninstall, wired_parts
from howcome.wiring import parts_of
owners = [Owner("claude-code"), Owner("codex")]
left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir"):
        left -= 1
        if left == 0:
            os._exit(9)
parts = [(owner, parts_of(owner)) for owner in owners]
sys.addaudithook(count)
if sys.argv[1] == "install":
    for owner, its in parts:
        install(owner, its, howcome_home())
else:
    uninstall([(owner, wired_parts(owner)) for owner in owners], howcome_home())
"""
"""Does one of the two, and is gone before its n-th change of a directory."""


def killed(what: str, step: int) -> bool:
    """Whether the process was gone before it was done."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, what, str(step)], check=False, stderr=subprocess.PIPE)
    assert done.returncode in (0, 9), done.stderr.decode()
    return done.returncode == 9


def originals(home: Path) -> None:
    """Files of the user's, as they were before."""
    for path, data in (
        (".claude/settings.json", SETTINGS),
        (".claude.json", STATE),
        (".codex/config.toml", CONFIG),
    ):
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_bytes(data)


def contents(home: Path) -> dict[str, bytes | None]:
    """Every file and folder of the home, but the memory's."""
    found = [path for path in home.rglob("*") if ".howcome" not in path.relative_to(home).parts[:1]]
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in found}


def wire(home: Path) -> None:
    """Install all."""
    for owner in OWNERS:
        install(owner, parts_of(owner), home / ".howcome")


def unwire(home: Path) -> None:
    """Undo all."""
    uninstall([(owner, wired_parts(owner)) for owner in OWNERS], home / ".howcome")


def assert_whole(home: Path) -> None:
    """Every file of the user's is what it was, or that with our entries."""
    settings = json.loads((home / ".claude" / "settings.json").read_bytes())
    assert settings["model"] == "opus"
    assert json.loads((home / ".claude.json").read_bytes())["mcpServers"]["other"] == {"command": "x"}
    assert b"[mcp_servers.other]\r\ncommand" in (home / ".codex" / "config.toml").read_bytes()


@pytest.mark.parametrize("then", ["undone", "finished"])
def test_an_install_killed_anywhere_can_be_undone_or_finished(home: Path, then: str) -> None:
    """After the kill all bytes can be had back, and so they can after a second install."""
    originals(home)
    before = contents(home)
    step = 1
    while killed("install", step):
        assert_whole(home)
        if then == "finished":
            wire(home)
            assert all(
                report.outcome == "unchanged" for report in install(OWNERS[0], parts_of(OWNERS[0]), home / ".howcome")
            )
        unwire(home)
        assert contents(home) == before, step
        step += of(7, 3) if then == "finished" else of(5, 2)
    assert step > 20


def test_an_uninstall_killed_anywhere_is_finished_by_the_next(home: Path) -> None:
    """After the kill a second uninstall gives all bytes back, and leaves neither records nor backups."""
    originals(home)
    before = contents(home)
    step = 1
    while True:
        wire(home)
        if not killed("uninstall", step):
            break
        assert_whole(home)
        unwire(home)
        assert contents(home) == before, step
        step += of(5, 2)
    assert step > 20
    assert contents(home) == before
    assert not os.path.lexists(home / ".howcome" / "installs")
