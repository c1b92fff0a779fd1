"""`agent_id` in every tool that reads: only what is that agent's, a client's, a subagent's or an owner's."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from tests.builders import CWD, Claude, write

from howcome.clients.discover import named_transcripts
from howcome.domain.memories import MemoryFilter
from howcome.mcp.session import Session
from howcome.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAIN, SUB, OWNER, NOBODY = "claude-code", "a17", "planner", "nobody"


@pytest.fixture
def session(tmp_path: Path, store_folder: Path) -> Iterator[Session]:
    """A client's session over a store with a session, its subagent, and two memories."""
    claude = Claude("main")
    started = [claude.user("why does the ostrich fence fail?"), claude.call("Task", "toolu_1", prompt="look into it")]
    agent = Claude("main", isSidechain=True, agentId=SUB, start=claude.number)
    told = [agent.user("find out about the ostrich fence"), agent.text("The ostrich fence has blue paint.")]
    claude.number = agent.number
    path = write(tmp_path / "main.jsonl", *started, claude.text("Blue paint on the ostrich fence."))
    write(tmp_path / "main" / "subagents" / f"agent-{SUB}.jsonl", *told)
    with Session({**os.environ, "HOWCOME_HOME": str(store_folder), "CLAUDE_PROJECT_DIR": CWD}, CWD) as opened:
        for found in named_transcripts([str(path), str(tmp_path / "main")]):
            opened.app.ingest.file(found)
        opened.app.index.finish()
        opened.app.memories.add("the ostrich fence wants red paint", project=CWD, agent=OWNER, type="decision")
        opened.app.memories.add("the ostrich fence is by the quay", project=CWD)
        yield opened


def call(session: Session, name: str, /, **arguments: object) -> str:
    """What a tool answers."""
    [content] = session.call(name, arguments)["content"]  # type: ignore[misc]
    return str(content["text"])


def event(session: Session, text: str) -> str:
    """The id of the event that says so."""
    said = call(session, "get_timeline", session="main")
    return re.findall(rf"(ev-[0-9a-f]{{12}})[^\n]*{text}", said)[0]


def test_every_tool_takes_it() -> None:
    """So that agents which share a store may each see their own."""
    assert [name for name, tool in TOOLS.items() if all(one.name != "agent_id" for one in tool.parameters)] == []


def test_a_search_is_of_one_agent(session: Session) -> None:
    """A client has its sessions, with what their subagents did; a subagent what it said; an owner its memories."""
    everything = call(session, "search_memory", query="ostrich fence paint")
    assert all(text in everything for text in ("Blue paint on", "red paint", "by the quay"))
    of_main, of_sub, of_owner = (
        call(session, "search_memory", query="ostrich fence paint", agent_id=name) for name in (MAIN, SUB, OWNER)
    )
    assert ("Blue paint on" in of_main, "mem-" in of_main) == (True, False)
    assert ("Blue paint on" in of_sub, "has blue paint" in of_sub, "mem-" in of_sub) == (False, True, False)
    assert ("red paint" in of_owner, "by the quay" in of_owner, "ev-" in of_owner) == (True, False, False)
    assert "no agent nobody" in call(session, "search_memory", query="ostrich", agent_id=NOBODY)


def test_a_session_is_told_as_one_agent_saw_it(session: Session) -> None:
    """Its events only, in each tool that tells them in their order."""
    answered = event(session, "has blue paint")
    for tool, arguments in (
        ("get_context", {"id": answered}), ("replay_session", {"id": answered}), ("expand_memory", {"id": answered}),
        ("get_timeline", {"session": "main"}),
    ):  # fmt: skip
        told = call(session, tool, agent_id=SUB, **arguments)
        assert "has blue paint" in told
        assert "why does the ostrich" not in told
    assert "why does the ostrich" in call(session, "get_timeline", session="main", agent_id=MAIN)
    assert "main" in call(session, "get_timeline", agent_id=SUB)
    assert "No sessions of agent nobody" in call(session, "get_timeline", agent_id=NOBODY)


def test_what_is_anothers_is_not_read(session: Session) -> None:
    """By its id neither, and the answer says how it is."""
    kept = session.app.memories.listed(session.scope(None), MemoryFilter(), 9)
    [mine], [other] = ([one.id for one in kept if one.agent == agent] for agent in (OWNER, None))
    asked = event(session, "why does the ostrich")
    assert "red paint" in call(session, "get_memories", ids=[mine], agent_id=OWNER)
    for tool in ("get_memories", "expand_memory", "get_context"):
        for ident in (other, asked):
            named = {"ids": [ident]} if tool == "get_memories" else {"id": ident}
            answer = call(session, tool, **named, agent_id=OWNER)
            assert "leave out agent_id" in answer


def test_what_an_agent_has_is_counted_and_tidied_by_itself(session: Session) -> None:
    """Memories that it owns; sessions that it was in."""
    assert call(session, "memory_status", agent_id=OWNER) == "Agent planner: 1 memory and 0 sessions, of all projects."
    assert call(session, "memory_status", agent_id=SUB) == "Agent a17: 0 memories and 1 session, of all projects."
    assert call(session, "list_stale", agent_id=OWNER) == "No memories here have faded."
    assert "contradict" in call(session, "list_stale", contradictions=True, agent_id=OWNER)
