"""One memory behind all agents: their real programs, asked one after the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.e2e.agents import Agent

if TYPE_CHECKING:
    from pathlib import Path

SAID = "We decided to keep upload chunks at 8 MiB, because the harbour proxy drops larger bodies."
ASKED, AGAIN = "How large should upload chunks be? Decide.", "Why are upload chunks limited to 8 MiB?"
HOOKED = ("codex", "gemini", "copilot")
"""The agents that have hooks of ours; OpenCode's model has to ask."""


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of an agent's own settings."""
    names = (".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".config/opencode/opencode.json")
    found = {name: folder / name for name in (*names, ".copilot/mcp-config.json", ".copilot/hooks/howcome.json")}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file()}


def notices(asked: str) -> str:
    """What a model was sent, without its escapes."""
    return asked.replace("&lt;", "<").replace("&gt;", ">").replace('\\"', '"')


@pytest.mark.parametrize("name", HOOKED)
def test_what_one_session_decides_reaches_the_next_ones_request(tmp_path: Path, name: str) -> None:
    """Captured at the end of the first session, said with the second one's prompt; nothing is left behind."""
    agent = Agent(name, tmp_path / "home", tmp_path / "harbour")
    agent.connect()
    connected = files(agent.home)
    assert "<howcome-memory" not in notices(agent.ask(ASKED, SAID))
    second = notices(agent.ask(AGAIN, "Because of the proxy."))
    assert "<howcome-memory" in second
    assert "the harbour proxy drops larger bodies" in second.partition("<howcome-memory")[2]
    status = json.loads(agent.howcome("status", "--json"))
    assert status["last_hook"] is not None
    assert status["quarantine"]["records"] == 0
    found = json.loads(agent.howcome("search", "upload chunks", "--json"))["results"]
    assert found
    assert files(agent.home).keys() == connected.keys()


@pytest.mark.parametrize("name", [*HOOKED, "opencode"])
def test_every_agent_gets_its_bytes_back(tmp_path: Path, name: str) -> None:
    """As they were before, with a session between."""
    agent = Agent(name, tmp_path / "home", tmp_path / "harbour")
    before = files(agent.home)
    agent.howcome("init", "--agent", name, "--yes", "--no-import")
    asked = agent.ask(ASKED, SAID)
    assert "search_memory" in asked  # its tools are offered
    assert '"hook"' not in asked
    agent.howcome("uninstall", "--agent", name, "--yes")
    assert files(agent.home) == before


def test_what_is_decided_in_one_agent_answers_in_the_others(tmp_path: Path) -> None:
    """One memory behind all of them, each session under its own agent's name."""
    agents = [Agent(name, tmp_path / "home", tmp_path / "harbour") for name in HOOKED]
    for agent in agents:
        agent.connect()
    agents[0].ask(ASKED, SAID)
    for agent in agents[1:]:
        assert "the harbour proxy drops larger bodies" in notices(agent.ask(AGAIN)).partition("<howcome-memory")[2]
    agents[0].howcome("import")  # Copilot makes the file of a session this short after its last hook
    sessions = json.loads(agents[0].howcome("timeline", "--json"))["sessions"]
    assert {session["agent"] for session in sessions} == set(HOOKED)
