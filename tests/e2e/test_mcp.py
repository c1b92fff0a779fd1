"""The MCP server in the real client: what the model is told of it, what it answers, and that none is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client import Call, Script, StubModel, Turn, say, where
from tests.client.stub import listen
from tests.e2e.conftest import LIFE_CYCLE_VERSIONS
from tests.e2e.desk import injected

from howcome.mcp.tools import TOOLS
from howcome.worker.thread import worker_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.client import Run
    from tests.e2e.desk import Desk

REASON = "local time repeats an hour every autumn"
DECISION = f"We decided to store TidalClock timestamps in UTC because {REASON}."
PROMPT = "how do we keep the tide tables?"
QUESTION = "which timezone should the TidalClock export write?"
PREFIX = "mcp__howcome__"
LOADED = {"search_memory", "get_memories"}
GONE_S = 5
WITH_MCP_HOOKS = LIFE_CYCLE_VERSIONS[0]


@pytest.fixture(scope="session", params=LIFE_CYCLE_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name one client version; one more than elsewhere."""
    return str(request.param)


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """Connect the desk's client, and let a session decide something."""
    desk.howcome("init", "--yes")
    desk.ask(PROMPT, [say(DECISION)])
    desk.howcome("import")
    return desk


def tool(name: str, **arguments: Any) -> Turn:
    """A turn in which the model calls one of our tools."""
    return Turn(calls=(Call(PREFIX + name, arguments),))


def ask_with(desk: Desk, turns: Sequence[Turn], *allowed: str) -> Run:
    """One session whose model calls tools; `allowed` ones beside those that the settings allow."""
    run = desk.client.run(desk.project, "please look it up", turns, allow=[PREFIX + name for name in allowed])
    assert run.exit_code == 0, run.stderr or run.stdout
    return run


def results(run: Run) -> list[str]:
    """What the tools answered, in order, as the model saw it."""
    found = []
    for message in run.bodies("main")[-1]["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found


def planted(desk: Desk) -> dict[str, Any]:
    """The event in which it was decided."""
    return next(hit for hit in desk.found(DECISION) if hit["type"] == "assistant_text")


# ---------------------------------------------------------------- tools


def test_the_model_is_told_of_the_tools_and_how_to_use_them(ready: Desk) -> None:
    """The instructions whole and once; every tool by name; the schemas of two where the client defers the others."""
    body = ask_with(ready, [say("ok")]).bodies("main")[0]
    for words in ("Search it BEFORE you", "trust the code and say so"):
        assert len(where(body, words)) == 1, words
    loaded = {one["name"].removeprefix(PREFIX) for one in body["tools"] if one["name"].startswith(PREFIX)}
    assert loaded == (LOADED if ready.version == WITH_MCP_HOOKS else {*TOOLS, "hook"})
    for name in {*TOOLS, "hook"} - loaded:
        assert where(body, f"\n{PREFIX}{name}\n"), name


def test_a_search_by_the_model_finds_what_was_decided_and_its_id_opens_the_rest(ready: Desk) -> None:
    """Each reading tool, without a question to the user, answers from an earlier session."""
    decided = planted(ready)
    ident, session = decided["id"], decided["session_id"]
    run = ask_with(
        ready,
        [
            tool("search_memory", query="TidalClock timestamps"),
            tool("search_memory", query=["TidalClock", "UTC"], type=["assistant_text"], limit=3, since="2d"),
            tool("get_context", id=ident, before=3), tool("get_memories", ids=[ident]),
            tool("replay_session", id=ident, full=True), tool("expand_memory", id=ident[:11]),
            tool("get_timeline", session=session), tool("get_timeline"), tool("memory_status"), say("done"),
        ],
    )  # fmt: skip
    answers = results(run)
    assert len(answers) == 9
    assert all(ident in answer for answer in answers[:7])
    assert all(REASON in answer for answer in answers[2:7])  # a hit of a search is a line of 80 characters
    assert PROMPT in answers[4]
    assert session in answers[7]
    assert "(agents: claude-code)" in answers[8]
    assert run.notices() == []


def test_a_wrong_argument_is_answered_in_words_that_the_model_sees(ready: Desk) -> None:
    """An error of ours, or of the client's own check against the schema; the session goes on."""
    wrong = [tool("get_memories", ids=["ev-000000000000"]), tool("search_memory", query="x", since="soon"),
             tool("search_memory", query="x", limit=0), say("done")]  # fmt: skip
    answers = results(ask_with(ready, wrong))
    assert "a search prints ids" in answers[0]
    assert "write 2026-10-01" in answers[1]
    assert "limit" in answers[2]


def test_what_the_model_remembers_reaches_later_sessions(ready: Desk) -> None:
    """Kept with permission, found by the next session's search and said with its prompt; corrected and forgotten."""
    text = "The Fresnelite lamp is dimmed at dawn, because the gulls nest below it."
    kept = results(ask_with(ready, [tool("remember", text=text, type="decision"), say("kept")], "remember"))[0]
    ident = re.findall(r"mem-\w+", kept)[0]
    turns = [tool("search_memory", query="Fresnelite lamp"), say("At dawn.")]
    run = ready.ask("when is the Fresnelite lamp dimmed?", turns)
    assert ident in results(run)[0]
    assert any("gulls nest below" in text for _, _, _, text in injected(run.bodies("main")[0]))
    turns = [tool("update_memory", id=ident, text="The Fresnelite lamp is off at dawn."), say("corrected")]
    newer = re.findall(r"mem-\w+", results(ask_with(ready, turns, "update_memory"))[0])[0]
    assert newer != ident
    results(ask_with(ready, [tool("forget", id=newer), say("forgotten")], "forget"))
    assert ready.report("memories", "--all-projects", "--source", "hand")["memories"] == []


def test_tools_that_write_need_permission(ready: Desk) -> None:
    """What the settings allow reads only: the client asks, and without an answer nothing is kept."""
    answers = results(ask_with(ready, [tool("remember", text="Nobody allowed this."), say("no")]))
    assert "permission" in answers[0]
    assert ready.report("memories", "--all-projects", "--source", "hand")["memories"] == []


def test_what_the_tools_answered_is_not_stored_again(ready: Desk) -> None:
    """After sessions that searched, read and replayed it, what was decided is one event, and no wrapper is found."""
    ident = planted(ready)["id"]
    for _ in range(2):
        ask_with(ready, [tool("search_memory", query="TidalClock timestamps"), tool("get_memories", ids=[ident]),
                         tool("replay_session", id=ident, full=True), say("done")])  # fmt: skip
    ready.howcome("import")
    told = [hit["id"] for hit in ready.found(DECISION) if hit["kind"] == "event" and REASON in hit["excerpt"]]
    assert told == [ident]
    assert not [hit for hit in ready.found("quoted past words, not instructions") if "quoted past" in hit["excerpt"]]


# ---------------------------------------------------------------- the hook through the server


@pytest.fixture
def asking_the_server(desk: Desk) -> Desk:
    """A desk whose prompt hook is answered by the running server."""
    if desk.version != WITH_MCP_HOOKS:
        pytest.skip("this client knows no such hooks, and `init` refuses them")
    shelf = desk.home / "bin"
    shelf.mkdir()
    (shelf / "claude").symlink_to(desk.client.executable)
    path = {"PATH": f"{shelf}{os.pathsep}{desk.client.environment()['PATH']}"}
    desk.howcome("init", "--yes", "--hook-form", "mcp", env=path)
    desk.ask(PROMPT, [say(DECISION)])
    desk.howcome("import")
    return desk


def contexts(run: Run, request: int = -1) -> list[str]:
    """What the prompt's hook brought into a request."""
    return [text for _, _, _, text in injected(run.bodies("main")[request])]


def test_a_hook_through_the_server_says_what_the_command_says(asking_the_server: Desk) -> None:
    """The same context in the same place, on the first prompt of a session too, and later ones are not told twice."""
    desk = asking_the_server
    assert desk.left_after(GONE_S) == []  # a database that is written to cannot be copied
    # Nor can a socket, which a server that was killed leaves behind.
    shutil.copytree(desk.store, desk.home / "before", ignore=shutil.ignore_patterns("*.sock"))
    transcripts = desk.home / ".claude" / "projects"
    known = set(transcripts.rglob("*.jsonl"))
    asked = desk.ask(QUESTION, [say("UTC.")])
    resumed = desk.ask("and which timezone has the TidalClock import?", [say("UTC.")], resume=asked.session_id)
    assert desk.left_after(GONE_S) == []
    for path in set(transcripts.rglob("*.jsonl")) - known:
        path.unlink()
    shutil.rmtree(desk.store)
    (desk.home / "before").rename(desk.store)
    desk.howcome("init", "--yes", "--no-import", "--hook-form", "command")
    commanded = desk.ask(QUESTION, [say("UTC.")])
    assert '"mcp_tool"' not in desk.settings.read_text(encoding="utf-8")
    assert any(REASON in text for text in contexts(asked))
    assert contexts(asked) == contexts(commanded)
    assert [place[:3] for place in injected(asked.bodies("main")[0])] == [
        place[:3] for place in injected(commanded.bodies("main")[0])
    ]
    assert json.dumps(resumed.bodies("main")[0]).count(REASON) == 1
    assert (asked.notices(), resumed.notices(), commanded.notices()) == ([], [], [])


def test_the_server_is_there_for_the_first_prompt_of_every_session(asking_the_server: Desk) -> None:
    """Ten new sessions, ten answers: the client has the server connected by then."""
    for number in range(10):
        run = asking_the_server.ask(f"{QUESTION} ({number})", [say("UTC.")])
        assert any("TidalClock" in text for text in contexts(run, 0)), number
        assert run.notices() == []


# ---------------------------------------------------------------- processes


@contextlib.contextmanager
def session_under_way(desk: Desk) -> Iterator[subprocess.Popen[bytes]]:
    """A client whose model takes its time, with the server that it started."""
    script = Script([say("slowly", delay=8)])
    with StubModel(script, desk.client.network.run(listen)) as model, tempfile.TemporaryFile() as out:
        environment = {**desk.client.environment(), "ANTHROPIC_BASE_URL": model.url}
        process = desk.client.network.run(
            lambda: subprocess.Popen(
                [str(desk.client.executable), "-p", "--", QUESTION], cwd=desk.project, env=environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )
        )  # fmt: skip
        try:
            limit = time.monotonic() + 20
            while not (servers(desk) and model.bodies()) and time.monotonic() < limit:
                time.sleep(0.05)
            assert servers(desk)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def servers(desk: Desk) -> list[int]:
    """The process ids of the MCP servers of this desk."""
    mark, found = f"HOME={desk.home}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_ours = (folder / "cmdline").read_bytes().endswith(b"launch.py\0mcp\0")
            if is_ours and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def test_no_server_outlives_its_session(ready: Desk) -> None:
    """After sessions that ended by themselves."""
    for _ in range(3):
        ask_with(ready, [tool("search_memory", query="TidalClock"), say("done")])
    assert ready.left_after(GONE_S) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_no_server_outlives_a_client_that_is_killed(ready: Desk, number: int) -> None:
    """In the middle of a prompt, in whatever way; what was said is in the store afterwards."""
    with session_under_way(ready) as process:
        process.send_signal(number)
        process.wait(15)
        assert ready.left_after(GONE_S) == []
    ready.howcome("import")
    assert ready.unread() == 0
    assert planted(ready)


def test_of_the_servers_of_five_sessions_one_works(ready: Desk) -> None:
    """Five clients at once: each model's search is answered, one server holds the lock, none is left."""

    def search(number: int) -> Run:
        turns = [tool("search_memory", query="TidalClock timestamps"), say(f"slowly {number}", delay=4)]
        return ready.client.run(ready.project, f"look it up, {number}", turns)

    with ThreadPoolExecutor(5) as pool:
        pending = [pool.submit(search, number) for number in range(5)]
        seen, working = 0, set()
        while not all(one.done() for one in pending):
            running = servers(ready)
            seen = max(seen, len(running))
            if len(running) == 5:
                working.add(worker_state(str(ready.store))["pid"])
            time.sleep(0.1)
        runs = [one.result() for one in pending]
    assert seen == 5
    assert len(working - {None}) == 1
    for run in runs:
        assert run.exit_code == 0, run.stderr
        assert "TidalClock" in results(run)[0]
        assert run.notices() == []
    assert ready.left_after(GONE_S) == []
