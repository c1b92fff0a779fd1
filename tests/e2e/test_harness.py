"""The harness and the client behave as the other tests assume, shown with hooks that have nothing to do with us."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.client import Script, call, install, say, where
from tests.client.loopback import loopback
from tests.client.transcripts import transcript_files
from tests.e2e.desk import injected

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.desk import Desk

CONTEXT = "the harbour gate opens at four"


def hook(desk: Desk, event: str, command: str, timeout: int = 10) -> None:
    """Install one command hook of our own."""
    entry = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    desk.settings.parent.mkdir(parents=True, exist_ok=True)
    desk.settings.write_text(json.dumps({"hooks": {event: [entry]}}), encoding="utf-8")


def test_a_scripted_tool_call_really_runs(desk: Desk) -> None:
    """The tool's result comes back in the second request, and the answer is the scripted one."""
    path = desk.write("levels.txt", "high water 4.21 m\n")
    run = desk.ask("what is in levels.txt?", [call("Read", file_path=str(path)), say("High water.")])
    assert run.result == "High water."
    assert where(run.bodies("main")[1], "high water 4.21 m")
    assert {record["type"] for record in run.transcript()} >= {"user", "assistant"}


def test_a_failing_command_is_told_to_the_model(desk: Desk) -> None:
    """A command with a non-zero exit reaches the model as an error."""
    command = call("Bash", command="cat no-such-tide-table", description="Read a table")
    run = desk.ask("read it", [command, say("It is not there.")])
    assert where(run.bodies("main")[1], "no-such-tide-table: No such file")


def test_prompt_context_stands_where_the_client_puts_it(desk: Desk) -> None:
    """New clients put it in a message of its own after the prompt, old ones in a block before the prompt."""
    answer = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": CONTEXT}}
    hook(desk, "UserPromptSubmit", f"printf %s {shlex.quote(json.dumps(answer))}")
    body = desk.ask("when does the gate open?", [say("At four.")]).bodies("main")[0]
    (index, role, block, text) = injected(body)[0]
    prompt = next(place for place in where(body, "when does the gate open?") if place.role == "user")
    assert CONTEXT in text
    if desk.old:
        assert (index, role) == (prompt.message, "user")
        assert block < prompt.block
    else:
        assert (index, role) == (prompt.message + 1, "system")


def test_a_hook_that_fails_is_noticed_by_the_client(desk: Desk) -> None:
    """Exit code 2 blocks the prompt: the requests of a run show what a hook did to it."""
    hook(desk, "UserPromptSubmit", "exit 2")
    assert desk.try_to_ask("hello", [say("Hello.")]).bodies("main") == []


def test_resume_appends_to_the_same_session(desk: Desk) -> None:
    """A resumed session keeps its id and sends what was said before."""
    first = desk.ask("the gate is number seven", [say("Noted.")])
    second = desk.ask("which gate?", [say("Seven.")], resume=first.session_id)
    assert second.session_id == first.session_id
    assert where(second.bodies("main")[0], "the gate is number seven")


def test_a_subagent_is_answered_from_its_own_turns(desk: Desk) -> None:
    """The subagent's requests do not use up the turns of the main conversation."""
    spawn = desk.subagent("count gates", "Count all harbour gates, please.")
    run = desk.ask("count them", Script([spawn, say("Nine.")], subagent=[say("There are nine gates.")]))
    assert run.result == "Nine."
    assert where(run.bodies("main")[1], "There are nine gates.")
    assert any("There are nine gates." in path.read_text() for path in transcript_files(desk.client.config))


def test_compaction_gets_the_scripted_summary(desk: Desk) -> None:
    """After `/compact` the next request starts from the summary."""
    first = desk.ask("we moor at pier three", [say("Understood.")])
    desk.ask("/compact", Script(summary="<summary>Moored at pier three.</summary>"), resume=first.session_id)
    third = desk.ask("where do we moor?", [say("Pier three.")], resume=first.session_id)
    assert where(third.bodies("main")[0], "Moored at pier three.")


def test_the_client_reaches_only_loopback() -> None:
    """Inside the namespace no route leads out; without the rights for one there is nothing to show."""
    if not loopback().isolated:
        pytest.skip("no right to make a network namespace")

    def outside() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            return probe.connect_ex(("192.0.2.1", 9))

    assert loopback().run(outside) != 0


def test_a_run_over_its_limit_is_stopped(desk: Desk) -> None:
    """A model that never answers does not hang the tests."""
    run = desk.client.run(desk.project, "hello", [say("late", delay=20.0)], seconds=3.0)
    assert run.exit_code is None
    assert run.seconds < 10
    assert desk.left_after(5) == []


def test_a_client_that_cannot_be_installed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without npm, and without the registry, the error names the version and the cause."""
    monkeypatch.setattr("tests.client.install.shutil.which", lambda _name: None)
    with pytest.raises(install.InstallError, match=r"2\.1\.329 cannot be installed: npm is not on PATH"):
        install.installed("2.1.329", tmp_path)
    monkeypatch.undo()
    failure = subprocess.CompletedProcess([], 1, "", "npm error code E404\n")
    monkeypatch.setattr("tests.client.install.subprocess.run", lambda *_args, **_options: failure)
    with pytest.raises(install.InstallError, match="cannot be installed: npm error code E404"):
        install.installed("2.1.329", tmp_path)
    assert not any(tmp_path.iterdir())
