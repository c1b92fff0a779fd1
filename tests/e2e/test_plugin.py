"""The real client installs the plugin from this folder, the plugin installs howcome, and takes it away again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.client import call, say, where
from tests.client.loopback import Loopback, loopback
from tests.e2e.conftest import LIFE_CYCLE_VERSIONS
from tests.e2e.desk import HOWCOME, injected
from tests.plugin import ROOT
from tests.processes import failures
from tests.warm import eventually

from howcome import __version__

if TYPE_CHECKING:
    from tests.e2e.desk import Desk

DECISION = "We decided on the Fresnelite lamp, because its lens does not fog."
QUESTION = "why did we decide on the Fresnelite lamp, does its lens fog?"
TOOL = "mcp__plugin_howcome_howcome__search_memory"
PLUGIN = "howcome@howcome"
INSTALL_SECONDS = 120
CLIENTS_OWN = (".claude/plugins/cache/", ".claude/projects/", ".cache/claude-cli-nodejs/")
"""What the client keeps for some days: the plugin's copy, transcripts, its logs."""


@pytest.fixture(scope="session", params=LIFE_CYCLE_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name one client version, as for what `init` writes."""
    return str(request.param)


@pytest.fixture(params=["uv", "pipx"])
def _installer(request: pytest.FixtureRequest, desk: Desk) -> None:
    """The one installer on the client's PATH, and a network that it can reach."""
    name = str(request.param)
    program = Path(sys.executable).with_name(name)
    if not program.exists():
        pytest.skip(f"{name} is not there: make e2e installs it")
    folder = desk.home.parent / "installer"
    folder.mkdir()
    (folder / name).symlink_to(program)
    path = os.pathsep.join([str(folder), desk.client.environment()["PATH"]])
    certificates = {name: value for name, value in os.environ.items() if name in ("SSL_CERT_FILE", "UV_INDEX_URL")}
    desk.client.extra |= {"PATH": path, **certificates}
    desk.client.network = Loopback(None)


def plugin(desk: Desk, *words: str) -> str:
    """Run `claude plugin …`; where it can reach nothing, which saves it the time limits of what it would ask."""
    executable = desk.client.executable
    program = ["node", str(executable)] if executable.suffix == ".js" else [str(executable)]
    done = loopback().run(
        lambda: subprocess.run(
            [*program, "plugin", *words], cwd=desk.project, env=desk.client.environment(), capture_output=True,
            text=True, timeout=60, check=False,
        )
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def data(desk: Desk) -> Path:
    """The plugin's own folder; where a client names none, a part of its copy of the plugin."""
    plugins = desk.home / ".claude" / "plugins"
    return plugins / (f"cache/howcome/howcome/{__version__}/.data" if desk.old else "data/howcome-howcome")


def connect(desk: Desk) -> None:
    """Install the plugin, and wait until its first session has installed howcome."""
    plugin(desk, "marketplace", "add", str(ROOT))
    plugin(desk, "install", PLUGIN)
    desk.ask("hello", [say("Hello.")])
    eventually((data(desk) / "source").exists, INSTALL_SECONDS, (data(desk) / "install.log").read_text)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("_installer")
def test_a_second_session_is_answered_from_the_first_and_nothing_is_left(desk: Desk) -> None:
    """Nothing is in PATH or HOME before but an installer; afterwards nothing but the memory."""
    connect(desk)
    desk.ask("which lamp is it?", [say(DECISION)])
    run = desk.ask(QUESTION, [say("It does not.")])
    told = [text for _, _, _, text in injected(run.bodies("main")[0]) if DECISION in text]
    assert len(told) == 1
    assert run.notices() == []
    allowed = desk.client.run(
        desk.project, "/howcome:recall the lamp", [call(TOOL, query="Fresnelite lamp"), say("Found.")], allow=[TOOL]
    )
    bodies = allowed.bodies("main")
    assert where(bodies[0], "for: the lamp")
    assert "Fresnelite" in json.dumps(bodies[-1]["messages"][-1])
    assert "Recall what earlier coding sessions decided" in json.dumps(bodies[0])
    assert failures(desk.store) == []
    plugin(desk, "uninstall", PLUGIN)
    plugin(desk, "marketplace", "remove", "howcome")
    assert desk.left_after(10) == []
    assert data(desk).exists() == desk.old  # with the copy, which newer clients delete some days later
    left = [name for name in desk.files() if not name.startswith(CLIENTS_OWN)]
    assert [name for name in left if "howcome" in name or not name.startswith((".claude", "tmp/"))] == []
    assert "howcome@" not in desk.settings.read_text()
    run = desk.ask(QUESTION, [say("No.")])
    assert injected(run.bodies("main")[0]) == []
    assert TOOL not in json.dumps(run.bodies("main")[0])


def test_beside_init_one_of_them_acts(desk: Desk) -> None:
    """One injection and one set of tools; `doctor` names it, and what takes one of them out."""
    plugin(desk, "marketplace", "add", str(ROOT))
    plugin(desk, "install", PLUGIN)
    (desk.home / ".local" / "bin").mkdir(parents=True)
    (desk.home / ".local" / "bin" / "howcome").symlink_to(HOWCOME)
    desk.howcome("init", "--yes")
    desk.ask("which lamp is it?", [say(DECISION)])
    desk.howcome("import")
    run = desk.ask(QUESTION, [say("It does not.")])
    told = [text for _, _, _, text in injected(run.bodies("main")[0]) if DECISION in text]
    assert len(told) == 1
    assert run.notices() == []
    request = json.dumps(run.bodies("main")[0])
    assert "mcp__howcome__search_memory" in request
    assert TOOL not in request
    assert not (data(desk) / "install.log").exists()
    (found,) = [one for one in desk.report("doctor")["findings"] if "its plugin" in one["what"]]
    assert found["remedy"].startswith(f"claude plugin uninstall {PLUGIN}")
    desk.howcome("uninstall", "--yes")
    run = desk.ask("and now?", [say("Now.")])
    assert "mcp__howcome__search_memory" not in json.dumps(run.bodies("main")[0])
