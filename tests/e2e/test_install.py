"""What `howcome init` adds to a user's files works in the real client; `uninstall` takes it away, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client import Client, Script, call, say, where
from tests.client.transcripts import count
from tests.e2e.conftest import LIFE_CYCLE_VERSIONS
from tests.e2e.desk import HOWCOME, injected

if TYPE_CHECKING:
    from tests.client import Run
    from tests.e2e.desk import Desk

ODD = (
    '{\t"zeta" : {"b":1,  "a":[1,2 , 3]},\r\n\t\t"hooks":{"Stop":[ {"hooks":[{"type":"command","command":"true"}]} ],\n'
    '   "UserPromptSubmit" : [ ] },\n\t"model":"opus", "unknownKey": "\\u00e9 \u00e9 \U0001f30a",\n'
    '"permissions": {"allow":["Bash(ls:*)"]}\t}'
)
PLAIN = '{\n  "model": "opus"\n}\n'
FORMS = {"odd": ODD, "plain": PLAIN, "empty object": "{}", "no hooks of ours": '{"hooks": {}}\n', "empty file": ""}
DECISION = "We decided on the Fresnelite lamp, because its lens does not fog."
QUESTION = "why did we decide on the Fresnelite lamp, does its lens fog?"
TOOL = "mcp__howcome__search_memory"

OTHER_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {
        "initialize": {
            "protocolVersion": message.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "other", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "ring", "description": "Ring.", "inputSchema": {"type": "object"}}]},
    }
    result = results.get(message["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.fixture(scope="session", params=LIFE_CYCLE_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name one client version; one more than elsewhere."""
    return str(request.param)


def settle(desk: Desk, text: str) -> bytes:
    """Give the user a settings file."""
    desk.settings.parent.mkdir(parents=True, exist_ok=True)
    desk.settings.write_bytes(text.encode())
    return text.encode()


def commands(path: Path) -> list[str]:
    """List the hook commands of a settings file."""
    hooks = json.loads(path.read_text(encoding="utf-8")).get("hooks", {})
    return [handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]]


def state(desk: Desk) -> dict[str, Any]:
    """Read what the client keeps in `~/.claude.json`."""
    value = json.loads((desk.home / ".claude.json").read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def first(run: Run) -> dict[str, Any]:
    """Return the first request of the main conversation."""
    return run.bodies("main")[0]


def names_our_tool(run: Run) -> bool:
    """Tell whether the first request offers the tool, with its schema or by name."""
    return TOOL in json.dumps(first(run))


def recalls(run: Run) -> bool:
    """Tell whether the first request carries what was said of the lamp, put there by the prompt's hook."""
    return any("Fresnelite" in text for _, _, _, text in injected(first(run)))


def decide(desk: Desk) -> None:
    """Run a session in which something is decided; all of it is searchable then, whatever its last hook left."""
    desk.ask("which lamp is it?", [say(DECISION)])
    desk.howcome("import")


def ask_in(desk: Desk, folder: Path, prompt: str, script: Any) -> Run:
    """Run one prompt in another folder."""
    run = desk.client.run(folder, prompt, script, allow=("Read",))
    assert run.exit_code == 0, run.stderr or run.stdout
    return run


def folders(desk: Desk) -> tuple[Path, Path]:
    """Make a subdirectory and a worktree of the project."""
    below, beside = desk.project / "src" / "deep", desk.project.parent / "harbour-fix"
    below.mkdir(parents=True)
    desk.write("src/deep/pier.txt", "pier")
    git = ["git", "-c", "user.name=Me", "-c", "user.email=me@example.org"]
    for words in (["add", "."], ["commit", "-qm", "First"], ["worktree", "add", "-q", str(beside)]):
        subprocess.run([*git, *words], cwd=desk.project, check=True, capture_output=True)
    return below, beside


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("form", FORMS)
def test_uninstall_gives_back_the_same_bytes(desk: Desk, form: str) -> None:
    """Whatever the file looked like, it looks like that again; a file that the client would read stays readable."""
    before = settle(desk, FORMS[form])
    desk.howcome("init", "--yes")
    assert any("howcome" in command for command in commands(desk.settings))
    desk.howcome("uninstall", "--yes")
    assert desk.settings.read_bytes() == before
    assert list(desk.files()) == [".claude/settings.json"]


def test_without_a_file_before_there_is_none_after(desk: Desk) -> None:
    """Neither the files nor the folders made for them stay, nor anything else in the HOME."""
    before = desk.files()
    desk.howcome("init", "--yes")
    assert desk.settings.is_file()
    assert (desk.home / ".claude" / "skills" / "temporal-recall" / "SKILL.md").is_file()
    desk.howcome("uninstall", "--yes")
    assert desk.files() == before
    assert not desk.settings.parent.exists()


def test_what_somebody_else_wrote_meanwhile_stays(desk: Desk) -> None:
    """Exactly our entries go; the hooks and keys that came after the installation stay."""
    settle(desk, ODD)
    desk.howcome("init", "--yes")
    settings = json.loads(desk.settings.read_text(encoding="utf-8"))
    extra = {"hooks": [{"type": "command", "command": "echo somebody else"}]}
    settings["hooks"]["Stop"].append(extra)
    settings["hooks"]["PostToolUse"] = [extra]
    settings["theme"] = "dark"
    desk.settings.write_text(json.dumps(settings, indent=4), encoding="utf-8")
    desk.howcome("uninstall", "--yes")
    left = json.loads(desk.settings.read_text(encoding="utf-8"))
    expected = json.loads(ODD)
    assert left["hooks"]["Stop"] == [*expected["hooks"]["Stop"], extra]
    assert left["hooks"]["PostToolUse"] == [extra]
    assert not any("howcome" in command for command in commands(desk.settings))
    assert {key: left[key] for key in left if key != "hooks"} == {
        **{key: expected[key] for key in expected if key != "hooks"},
        "theme": "dark",
    }


def test_installing_twice_is_installing_once(desk: Desk) -> None:
    """The second run changes no byte, and one removal is enough."""
    before = settle(desk, ODD)
    desk.howcome("init", "--yes")
    once = desk.files()
    desk.howcome("init", "--yes")
    assert desk.files() == once
    desk.howcome("uninstall", "--yes")
    assert desk.settings.read_bytes() == before


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude.json"])
def test_a_file_that_is_not_valid_is_refused_with_the_remedy(desk: Desk, name: str) -> None:
    """The file, the line and what to do are named; nothing is written, to this file or any other."""
    path = desk.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('{\n  "model": "opus",\n}\n')
    before = desk.files()
    done = subprocess.run(
        [str(HOWCOME), "init", "--yes"],
        cwd=desk.project,
        env=desk.client.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    for part in (f"{path}, line 3, column 1", "Correct it there, or move the file away, and try again"):
        assert part in done.stderr
    assert desk.files() == before
    assert not desk.store.exists()


# ---------------------------------------------------------------- in the client


def test_beside_other_hooks_and_servers_all_of_them_run(desk: Desk) -> None:
    """Theirs and ours answer in one session; afterwards exactly ours is cut, though the client wrote its file anew."""
    server = desk.home / "other_server.py"
    server.write_text(OTHER_SERVER)
    theirs = {"hooks": [{"type": "command", "command": "echo THEIR-BELL"}]}
    before = settle(desk, json.dumps({"hooks": {"UserPromptSubmit": [theirs]}, "theme": "dark"}, indent=4) + "\n\n")
    other = {"command": sys.executable, "args": [str(server)], "env": {}}
    (desk.home / ".claude.json").write_text(json.dumps({"numStartups": 3, "mcpServers": {"other": other}}))
    desk.howcome("init", "--yes")
    decide(desk)
    run = desk.ask(QUESTION, [say("No.")])
    assert recalls(run)
    assert where(first(run), "THEIR-BELL")
    assert names_our_tool(run)
    assert "mcp__other__ring" in json.dumps(first(run))
    assert run.notices() == []
    now = state(desk)
    desk.howcome("uninstall", "--yes")
    assert desk.settings.read_bytes() == before
    del now["mcpServers"]["howcome"]
    assert state(desk) == now
    assert now["mcpServers"] == {"other": other} or desk.old


def test_the_user_scope_works_everywhere(desk: Desk) -> None:
    """One install covers a subdirectory and a worktree: hooks, server, and the memory of the same project."""
    below, beside = folders(desk)
    desk.howcome("init", "--yes")
    decide(desk)
    for folder in (below, beside):
        run = ask_in(desk, folder, QUESTION, [say("No.")])
        assert recalls(run), folder
        assert names_our_tool(run), folder
        assert run.notices() == []


def test_the_read_only_tools_need_no_question(desk: Desk) -> None:
    """In `-p` nobody could answer one: a search is allowed, to remember something is not."""
    desk.howcome("init", "--yes")
    decide(desk)
    script = [call(TOOL, query="Fresnelite lamp"), call("mcp__howcome__remember", text="Lamps"), say("Done.")]
    run = desk.ask("look it up", script)
    bodies = run.bodies("main")
    assert count(bodies[1], "Fresnelite") > count(bodies[0], "Fresnelite")
    assert "haven't granted" not in json.dumps(bodies[1])
    assert "haven't granted" in json.dumps(bodies[2])


def test_without_permissions_a_search_is_asked_for(desk: Desk) -> None:
    """`--no-permissions` leaves the user's settings on that alone."""
    desk.howcome("init", "--yes", "--no-permissions")
    run = desk.ask("look it up", [call(TOOL, query="Fresnelite lamp"), say("Done.")])
    assert "haven't granted" in json.dumps(run.bodies("main")[1])


def test_the_skill_and_the_commands_are_known(desk: Desk) -> None:
    """The skill is offered to the model with its description; each command expands under its name."""
    desk.howcome("init", "--yes")
    run = desk.ask("/howcome:recall the lamp of pier nine", [say("Nothing yet.")])
    assert where(first(run), "for: the lamp of pier nine")
    assert "temporal-recall" in json.dumps(first(run))
    assert "Recall what earlier coding sessions decided" in json.dumps(first(run))
    for name in ("remember", "timeline", "forget"):
        assert where(first(desk.ask(f"/howcome:{name} pier nine", [say("Done.")])), ": pier nine")


def test_the_skill_opens(desk: Desk) -> None:
    """The model gets the skill's words when it asks for them."""
    desk.howcome("init", "--yes")
    run = desk.ask("what do we know?", [call("Skill", skill="temporal-recall"), say("Nothing yet.")])
    assert any(where(body, "three layers, cheap to dear") for body in run.bodies("main")[1:])


def test_another_configuration_folder_is_honoured(desk: Desk) -> None:
    """With CLAUDE_CONFIG_DIR everything goes there, works there, and leaves `~/.claude` alone."""
    config = desk.home / "elsewhere"
    desk.client = Client(desk.client.executable, desk.home, {"CLAUDE_CONFIG_DIR": str(config)})
    desk.howcome("init", "--yes")
    assert (config / "settings.json").is_file()
    decide(desk)
    run = desk.ask(QUESTION, [say("No.")])
    assert recalls(run)
    assert names_our_tool(run)
    assert not desk.settings.exists()
    assert not (desk.home / ".claude.json").exists()


def test_a_project_scope_stays_in_the_project(desk: Desk) -> None:
    """Root: hooks and server; another project: neither. Newer clients read both from below and from a worktree too."""
    below, beside = folders(desk)
    elsewhere = desk.project.parent / "elsewhere"
    elsewhere.mkdir()
    desk.howcome("init", "--yes", "--scope", "project")
    decide(desk)
    run = desk.ask(QUESTION, [say("No.")])
    assert recalls(run)
    assert names_our_tool(run)
    run = ask_in(desk, elsewhere, QUESTION, [say("No.")])
    assert not recalls(run)
    assert not names_our_tool(run)
    if desk.version == LIFE_CYCLE_VERSIONS[0]:
        for folder in (below, beside):
            run = ask_in(desk, folder, QUESTION, [say("No.")])
            assert recalls(run), folder
            assert names_our_tool(run), folder
    desk.howcome("uninstall", "--yes")
    assert not (desk.project / ".claude").exists()
    assert "howcome" not in json.dumps(state(desk).get("projects", {}))


def test_hooks_through_the_server_where_the_client_knows_them(desk: Desk, tmp_path: Path) -> None:
    """The newest client's prompt is answered by the running server; for an older one the form is refused."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "claude").symlink_to(desk.client.executable)
    path = {"PATH": f"{shelf}{os.pathsep}{desk.client.environment()['PATH']}"}
    if desk.version != LIFE_CYCLE_VERSIONS[0]:
        (shelf / "claude").unlink()
        (shelf / "claude").write_text(f'#!/bin/sh\nexec node "{desk.client.executable}" "$@"\n')
        (shelf / "claude").chmod(0o755)
        with pytest.raises(AssertionError, match=rf"2\.1\.118 or newer, and this is {desk.version}"):
            desk.howcome("init", "--yes", "--hook-form", "mcp", env=path)
        assert desk.files() == {}
        return
    desk.howcome("init", "--yes", "--hook-form", "mcp", env=path)
    decide(desk)
    run = desk.ask(QUESTION, [say("No.")])
    assert run.notices() == []
    assert recalls(run)


def test_after_the_removal_sessions_are_on_their_own(desk: Desk) -> None:
    """Nothing is injected, offered or read any more; the memory stays where it was."""
    desk.howcome("init", "--yes")
    decide(desk)
    desk.howcome("uninstall", "--yes")
    run = desk.ask(QUESTION, Script([say("No, says the Barnacleist.")]))
    assert injected(first(run)) == []
    assert not names_our_tool(run)
    assert "temporal-recall" not in json.dumps(first(run))
    assert desk.found("Fresnelite lamp")
    assert not [hit for hit in desk.found("Barnacleist") if "Barnacleist" in hit["excerpt"]]
