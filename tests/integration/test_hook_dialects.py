"""Other agents' hooks, by their public formats: each gets its own answer, and nobody's payload does harm elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, Codex, write
from tests.checks import assert_accounted, timeline
from tests.histories import Gemini, gemini_project
from tests.processes import COMMAND, HOOK, LAUNCH, LIMIT_S, ask, assert_silent, hook, python, run
from tests.warm import server, socket_of

from howcome.clients.registry import DEFAULT, clients, hook_of
from howcome.present.warm_client import is_worth_asking
from howcome.store.sqlite import SqliteStore

DIALECTS = {client.name: client.hooks for client in clients() if client.hooks}
CLAUDE_CODES = DIALECTS.pop(DEFAULT)
CWD = "/home/mara/harbour"
PROMPT = "why does berth1 fail again?"
COPILOT: list[dict[str, Any]] = [
    {"id": "1", "parentId": None, "type": "session.start", "data": {"sessionId": "p1", "context": {"cwd": CWD}}},
    {"id": "2", "parentId": None, "type": "user.message", "data": {"content": "why does the crane stall?"}},
    {"id": "3", "parentId": None, "type": "assistant.message", "data": {"content": "Dust."}},
]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def call(agent: str, event: str, **fields: Any) -> subprocess.CompletedProcess[bytes]:
    """A hook of an agent, with the payload's own name for the event unless a field says otherwise."""
    data = json.dumps({"hook_event_name": event, **fields}).encode()
    return hook(event, data, "--agent", agent)


def said(done: subprocess.CompletedProcess[bytes]) -> Any:
    """The one JSON value that a hook printed; None for nothing."""
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


def codex(event: str, transcript: Path | None = None, **fields: Any) -> Any:
    """A hook of Codex CLI."""
    common = {"session_id": "c1", "turn_id": "t1", "cwd": CWD, "model": "gpt-5-codex", "permission_mode": "default"}
    path = str(transcript) if transcript else None
    return said(call("codex", event, transcript_path=path, **common, **fields))


def gemini(event: str, transcript: Path | None = None, **fields: Any) -> Any:
    """A hook of Gemini CLI."""
    common = {"session_id": "g1", "cwd": CWD, "timestamp": "2026-03-02T09:00:00Z"}
    return said(call("gemini", event, transcript_path=str(transcript or "/gone.json"), **common, **fields))


def copilot(event: str, agent: str = "copilot", **fields: Any) -> Any:
    """A hook of Copilot CLI, by Claude Code's name for the event."""
    common = {"session_id": "p1", "timestamp": "2026-03-02T09:00:00.000Z", "cwd": CWD}
    return said(call(agent, event, **{**common, **fields}))


def cursor(event: str, agent: str = "cursor", **fields: Any) -> subprocess.CompletedProcess[bytes]:
    """A hook of Cursor."""
    common = {
        "conversation_id": "k1", "generation_id": "n1", "session_id": "k1", "model": "default", "transcript_path": None,
        "cursor_version": "3.3.30", "workspace_roots": [CWD], "user_email": "mara@example.org",
    }  # fmt: skip
    return call(agent, event, **{**common, **fields})


def events_of(folder: Path, session: str) -> list[tuple[str, str]]:
    """What a store holds of a session."""
    store = SqliteStore(str(folder))
    try:
        assert_accounted(store)
        return timeline(store, session)
    finally:
        store.close()


@pytest.mark.usefixtures("past")
def test_codex_prompts_are_answered_as_claude_codes() -> None:
    """The same names, the same shape; a null transcript is none."""
    answer = codex("UserPromptSubmit", prompt=PROMPT)["hookSpecificOutput"]
    assert answer["hookEventName"] == "UserPromptSubmit"
    assert "berth1" in answer["additionalContext"]
    assert codex("UserPromptSubmit", prompt="ok, go ahead") is None


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SubagentStop", "SessionStart"])
def test_codex_sessions_are_captured_with_and_without_a_path(event: str, home: Path, store_folder: Path) -> None:
    """A rollout that is named is read; where none is, every one with unread bytes."""
    rollout = Codex()
    lines = [rollout.message("user", "why does the crane stall?"), rollout.message("assistant", "Dust.")]
    path = write(home / ".codex" / "sessions" / "2026" / "rollout-a.jsonl", rollout.meta(), *lines)
    assert codex(event, path if event == "Stop" else None) is None
    assert [text for _, text in events_of(store_folder, rollout.session)] == ["why does the crane stall?", "Dust."]


@pytest.mark.usefixtures("past")
def test_gemini_always_gets_one_json_value(tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Context for a prompt under its own event's name; an empty object for nothing."""
    monkeypatch.setenv("HOWCOME_BRIEFING_TOKENS", "0")
    answer = gemini("BeforeAgent", prompt=PROMPT)["hookSpecificOutput"]
    assert answer["hookEventName"] == "BeforeAgent"
    assert "berth1" in answer["additionalContext"]
    assert gemini("BeforeAgent", prompt="ok, go ahead") == {}
    for event in ("SessionStart", "AfterAgent", "SessionEnd"):
        assert gemini(event, prompt=PROMPT, prompt_response="done", reason="exit", source="startup") == {}
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(1))  # whoever's format it turns out to be
    assert gemini("AfterAgent", path) == {}
    assert len(events_of(store_folder, "running")) == 5


@pytest.mark.usefixtures("past")
def test_gemini_is_briefed_with_its_first_prompt() -> None:
    """What SessionStart says makes the client lose a prompt: the briefing comes once, with what the prompt is told."""
    assert gemini("SessionStart", source="startup") == {}
    first = gemini("BeforeAgent", prompt=PROMPT)["hookSpecificOutput"]["additionalContext"]
    assert ("Last in this project:" in first, "berth1" in first) == (True, True)
    assert "Last in this project:" not in str(gemini("BeforeAgent", prompt="and why does berth1 fail at night?"))


@pytest.mark.usefixtures("past")
def test_a_session_that_goes_on_is_not_briefed(home: Path) -> None:
    """What it did itself is no other session's: it was resumed, or its first prompts were asked nothing."""
    chat = Gemini("g1")
    path = gemini_project(home) / "session-2026-03-02T09-00-9e1f0000.jsonl"
    write(path, chat.head(), *chat.exchange("the crane"))
    assert gemini("AfterAgent", path) == {}
    assert "Last in this project:" not in str(gemini("BeforeAgent", prompt=PROMPT))


@pytest.mark.usefixtures("past")
def test_what_a_first_prompt_is_briefed_with_is_no_answer_to_it() -> None:
    """`why` has the briefing's lines for themselves, with its reason, and the prompt's with theirs."""
    run("remember", "--project", CWD, "Always write the tide table in feet.")
    both = gemini("BeforeAgent", prompt=PROMPT)["hookSpecificOutput"]["additionalContext"]
    assert "tide table" in both
    begun, asked = sorted(ask("why", "g1")["verdicts"], key=lambda one: one["hook"] != "SessionStart")
    assert (begun["hook"], asked["hook"]) == ("SessionStart", "UserPromptSubmit")
    assert "tide table" in str(begun)
    assert "words" not in str([one["why"] for one in begun["considered"]])
    assert "tide table" not in str(asked)
    assert begun["tokens"] + asked["tokens"] == pytest.approx(len(both) / 4, rel=0.5)


@pytest.mark.parametrize(("agent", "event"), [("gemini", "BeforeAgent"), ("codex", "UserPromptSubmit")])
def test_every_agents_prompts_are_worth_asking_the_warm_process(agent: str, event: str) -> None:
    """Whatever else is said with them."""
    assert is_worth_asking(hook_of(agent, event))


@pytest.mark.usefixtures("past")
def test_a_subagents_task_is_told_nothing() -> None:
    """Codex asks for it under its parent's session, whose window it is not."""
    assert codex("UserPromptSubmit", prompt=PROMPT, agent_id="thread-2", agent_type="default") is None
    assert codex("UserPromptSubmit", prompt=PROMPT) is not None


@pytest.mark.usefixtures("past")
def test_gemini_prompts_go_through_the_socket_too(store_folder: Path) -> None:
    """The same bytes, whoever answers."""
    alone = call("gemini", "BeforeAgent", prompt=PROMPT, session_id="a", cwd=CWD).stdout
    with server():
        socket_of(store_folder)
        assert call("gemini", "BeforeAgent", prompt=PROMPT, session_id="b", cwd=CWD).stdout == alone
        assert b"berth1" in alone
        assert said(call("gemini", "BeforeAgent", prompt="ok, go ahead", session_id="b", cwd=CWD)) == {}


@pytest.mark.usefixtures("past")
def test_copilot_takes_context_at_the_top_alone() -> None:
    """A briefing, then what a prompt is told; a subagent's task is told nothing; nothing is an empty object."""
    assert set(copilot("SessionStart", source="new")) == {"additionalContext"}
    assert "berth1" in copilot("UserPromptSubmit", prompt=PROMPT)["additionalContext"]
    assert copilot("UserPromptSubmit", prompt=PROMPT, session_id="p2", agentId="p3", parentAgentId="p2") is None
    assert copilot("UserPromptSubmit", prompt="ok, go ahead") == {}


def test_copilots_session_is_found_where_it_lies(home: Path, store_folder: Path) -> None:
    """Only the end of a turn names the transcript."""
    path = write(home / ".copilot" / "session-state" / "p1" / "events.jsonl", *COPILOT)
    assert copilot("SessionEnd", reason="complete") == {}
    assert [text for _, text in events_of(store_folder, "p1")] == ["why does the crane stall?", "Dust."]
    write(path, *COPILOT[-1:], append=True)
    for session in ("../p1", "", "p1/../p1"):
        assert copilot("Stop", session_id=session) is None
    assert len(events_of(store_folder, "p1")) == 2


@pytest.mark.usefixtures("past")
def test_a_projects_hooks_of_claude_codes_are_none_of_copilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a trusted folder it runs them, too: what it would be told twice, and in a shape that it does not read."""
    assert copilot("UserPromptSubmit", DEFAULT, prompt=PROMPT, transcript_path=None) is not None
    monkeypatch.setenv("COPILOT_CLI", "1")
    assert copilot("UserPromptSubmit", DEFAULT, prompt=PROMPT, transcript_path=None) is None


@pytest.mark.usefixtures("past")
def test_it_is_the_hooks_environment_that_tells_who_runs_it(
    store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the warm process's, which another agent may have started."""
    monkeypatch.setenv("COPILOT_CLI", "1")
    with server():
        socket_of(store_folder)
        assert copilot("UserPromptSubmit", DEFAULT, prompt=PROMPT, transcript_path=None) is None
        monkeypatch.delenv("COPILOT_CLI")
        assert copilot("UserPromptSubmit", DEFAULT, prompt=PROMPT, transcript_path=None) is not None


def test_cursor_is_observed_from_prompt_to_stop(store_folder: Path) -> None:
    """What is said and run is spooled at once, redacted, and in the store when the turn is over; twice is once."""
    turn: list[tuple[str, dict[str, Any], Any]] = [
        ("sessionStart", {"composer_mode": "agent"}, {}),
        ("beforeSubmitPrompt", {"prompt": f"deploy with {SECRET}", "attachments": []}, {"continue": True}),
        ("afterShellExecution", {"command": "make deploy", "output": "Error 2", "duration": 120, "cwd": CWD}, {}),
        ("afterShellExecution", {"command": "make deploy", "output": "Error 2", "duration": 130, "cwd": CWD}, {}),
        ("afterAgentResponse", {"text": "The crane's token is stale.", "input_tokens": 1}, {}),
    ]
    for event, fields, answer in [*turn, turn[1]]:
        assert said(cursor(event, **fields)) == answer
    spooled = b"".join(path.read_bytes() for path in (store_folder / "spool").rglob("*") if path.is_file())
    assert b"make deploy" in spooled
    assert SECRET.encode() not in spooled
    assert said(cursor("stop", status="completed", loop_count=0)) == {}
    found = events_of(store_folder, "k1")
    assert [kind for kind, _ in found].count("user_prompt") == 1
    assert [kind for kind, _ in found].count("tool_result") == 2
    assert ("assistant_text", "The crane's token is stale.") in found
    assert not (store_folder / "hook-errors.log").exists()
    assert said(cursor("sessionEnd", reason="completed")) == {}


@pytest.mark.parametrize("fields", [{"prompt": ""}, {"prompt": None}, {"prompt": ["x"]}, {"workspace_roots": "x"}, {}])
def test_cursor_may_always_go_on(fields: dict[str, Any], store_folder: Path) -> None:  # noqa: ARG001 - sets the home
    """An empty or odd payload is not kept, and does not keep the prompt."""
    assert said(cursor("beforeSubmitPrompt", **fields)) == {"continue": True}
    assert said(cursor("afterShellExecution", command=7, output=None)) == {}
    assert said(cursor("afterAgentResponse", text={})) == {}


@pytest.mark.parametrize("name", ["Claude Code's", "Cursor's"])
@pytest.mark.parametrize("event", CLAUDE_CODES)
def test_cursor_running_claude_codes_hooks_is_left_alone(event: str, name: str, past: Path, store_folder: Path) -> None:
    """It can run the commands in `.claude/settings.json`: nothing is said, nothing stored, whatever names it uses."""
    theirs = {"UserPromptSubmit": "beforeSubmitPrompt", "SessionStart": "sessionStart", "Stop": "stop"}
    named = event if name == "Claude Code's" else theirs.get(event, "preCompact")
    path = write(past.parent / "agent-transcripts" / "k1.jsonl", *Claude("k1").conversation(1))
    fields = {"prompt": PROMPT, "hook_event_name": named, "transcript_path": str(path), "cwd": CWD}
    assert_silent(cursor(event, "claude-code", **fields))
    assert events_of(store_folder, "k1") == []
    assert not (store_folder / "spool").exists()


@pytest.mark.parametrize("agent", DIALECTS)
@pytest.mark.usefixtures("past")
def test_garbage_is_nobodys_dialect(agent: str) -> None:
    """Another event's payload, half a payload, an unknown agent or event: silence."""
    for event in DIALECTS[agent]:
        assert_silent(call(agent, event, hook_event_name="Other", prompt=PROMPT))
        done = subprocess.run([*HOOK, event, "--agent", agent], input=b'{"hook', capture_output=True, check=False)
        assert_silent(done)
        assert_silent(call("nobody", event, prompt=PROMPT))
    assert_silent(call(agent, "Nothing", prompt=PROMPT))
    assert_silent(call("claude-code", "BeforeAgent", prompt=PROMPT))


@pytest.mark.parametrize("agent", [agent for agent in DIALECTS if agent != "cursor"])
@pytest.mark.usefixtures("past")
def test_cursors_payload_is_not_another_agents(agent: str) -> None:
    """Whoever's hooks it runs."""
    for event in DIALECTS[agent]:
        assert_silent(cursor(event, agent, prompt=PROMPT))


@pytest.mark.parametrize("variable", ["HOWCOME_ACTIVE", "HOWCOME_DISABLE"])
@pytest.mark.parametrize("agent", sorted(DIALECTS))
@pytest.mark.usefixtures("past")
def test_a_hook_that_is_switched_off_still_answers_as_its_agent_wants(agent: str, variable: str) -> None:
    """A JSON value where every hook must give one, and Cursor's prompt may be sent; nothing of memory."""
    wanted = {"codex": b""}.get(agent, b"{}")
    for event in DIALECTS[agent]:
        data = json.dumps({"hook_event_name": event, "prompt": PROMPT, "cwd": CWD}).encode()
        words, environment = [*HOOK, event, "--agent", agent], {**os.environ, variable: "1"}
        done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=LIMIT_S, env=environment)
        expected = b'{"continue": true}' if event == "beforeSubmitPrompt" else wanted
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


@pytest.mark.usefixtures("past")
def test_the_command_line_takes_the_agent_too() -> None:
    """`howcome hook EVENT --agent NAME` is the same door."""
    data = json.dumps({"hook_event_name": "BeforeAgent", "prompt": PROMPT, "cwd": CWD}).encode()
    words = [*COMMAND, "hook", "BeforeAgent", "--agent", "gemini"]
    done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=LIMIT_S)
    assert "berth1" in said(done)["hookSpecificOutput"]["additionalContext"]


SERVED = """
import os, sys, types
server = types.ModuleType("howcome.mcp.server")
server.main = lambda arguments: (sys.stderr.write(",".join(sorted(sys.modules))), sys.stderr.flush(), 7)[-1]
sys.modules["howcome.mcp.server"] = server
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
with open(sys.argv[0]) as script:
    exec(compile(script.read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


@pytest.mark.parametrize("entry", ["launch.py", "howcome"])
def test_both_entries_start_the_server(entry: str) -> None:
    """`launch.py mcp` and `howcome mcp` run the server's main with its exit code, and load no click."""
    path = LAUNCH if entry == "launch.py" else LAUNCH.parent / "__main__.py"
    words = python(SERVED, LAUNCH.parents[1], path, "mcp")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, env={**os.environ})
    assert done.returncode == 7, done.stderr
    assert not {"click", "apsw", "tantivy", "howcome.cli.main"} & set(done.stderr.split(","))
    assert sys.executable == words[0]
