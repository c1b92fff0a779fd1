"""One memory behind all agents: their real programs, asked one after the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.agents import AGENTS, ANSWERED, EACH, HOOKED, Agent, Call, ClaudeCode, agent_of
from tests.e2e.desk import processes_of
from tests.warm import eventually

if TYPE_CHECKING:
    from pathlib import Path

SAID = "We decided to keep upload chunks at 8 MiB, because the harbour proxy drops larger bodies."
ASKED, AGAIN = "How large should upload chunks be? Decide.", "Why are upload chunks limited to 8 MiB?"
REASON = "the harbour proxy drops"
GONE_S = 15
each = pytest.mark.parametrize(("name", "version"), EACH)
pytestmark = pytest.mark.timeout(600)  # seconds: six programs, on a machine that is busy with something else


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of an agent's own settings."""
    names = (
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".config/opencode/opencode.json",
    )
    found = {name: folder / name for name in (*names, ".copilot/mcp-config.json", ".copilot/hooks/howcome.json")}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file()}


def read(agent: Agent | ClaudeCode) -> list[dict[str, Any]]:
    """Its sessions, with what is unread read."""
    agent.howcome("import")
    return list(json.loads(agent.howcome("timeline", "--json"))["sessions"])


@each
def test_what_one_session_decides_reaches_the_next_ones_request(tmp_path: Path, name: str, version: str) -> None:
    """Captured at the end of the first session, said with the second one's prompt; nothing is left behind."""
    agent = agent_of(name, tmp_path, version)
    agent.connect()
    connected = files(agent.home)
    assert "<howcome-memory" not in agent.ask(ASKED, SAID).replace("&lt;", "<")
    assert REASON in agent.recalled(AGAIN)
    status = json.loads(agent.howcome("status", "--json"))
    assert (status["last_hook"] is not None) == (name in HOOKED)
    assert status["quarantine"]["records"] == 0
    assert json.loads(agent.howcome("search", "upload chunks", "--json"))["results"]
    assert files(agent.home).keys() == connected.keys()
    eventually(lambda: not processes_of(agent.home), GONE_S, lambda: processes_of(agent.home))


@each
def test_its_model_can_call_the_tools(tmp_path: Path, name: str, version: str) -> None:
    """They are offered, the internal one is not, and an answer comes back; nobody is asked for a permission."""
    agent = agent_of(name, tmp_path, version)
    agent.connect()
    agent.ask(ASKED, SAID)
    agent.howcome("import")
    sent = agent.ask("Look it up.", calls=[Call("search_memory", {"query": "upload chunks 8 MiB"})])
    assert "search_memory" in sent
    assert '"hook"' not in sent
    assert REASON in sent.partition(ANSWERED)[2]


@each
def test_a_session_that_is_killed_in_mid_tool_is_read_up_to_there(tmp_path: Path, name: str, version: str) -> None:
    """Its prompt is there, once, and so is the next session."""
    agent = agent_of(name, tmp_path, version)
    agent.connect()
    agent.kill_in_tool("Wait for the tide table of Bremerhaven.")
    [session] = read(agent)
    assert session["agent"] == name
    found = json.loads(agent.howcome("search", "tide table Bremerhaven", "--type", "user_prompt", "--json"))["results"]
    assert len(found) == 1
    agent.ask(ASKED, SAID)
    assert len(read(agent)) == 2
    assert json.loads(agent.howcome("status", "--json"))["quarantine"]["records"] == 0


@each
def test_every_agent_gets_its_bytes_back(tmp_path: Path, name: str, version: str) -> None:
    """As they were before, with a session between."""
    agent = agent_of(name, tmp_path, version)
    before = files(agent.home)
    agent.howcome("init", "--agent", name, "--yes", "--no-import")
    agent.ask(ASKED, SAID)
    agent.howcome("uninstall", "--agent", name, "--yes")
    assert files(agent.home) == before


@pytest.mark.parametrize("decider", AGENTS)
def test_what_is_decided_in_one_agent_answers_in_the_others(tmp_path: Path, decider: str) -> None:
    """One memory behind all of them, each session under its own agent's name."""
    agents = {name: agent_of(name, tmp_path) for name in AGENTS}
    for agent in agents.values():
        agent.connect()
    agents[decider].ask(ASKED, SAID)
    asking = {name: agent for name, agent in agents.items() if name != decider}
    last = agents["codex"]
    last.howcome("import")  # Copilot makes the file of a session this short after its last hook
    for name, agent in asking.items():
        assert REASON in agent.recalled(AGAIN), name
    assert {session["agent"] for session in read(last)} == set(agents)
