"""Each agent gets what its own format wants, from the files its user has, and gives every byte back."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.lifecycle.wiring import AGENTS, EVENT_TIMEOUTS, files, put, unwire, values, wire

from howcome.clients.claude_code import client_version, require_tool_hooks
from howcome.clients.registry import client_of
from howcome.clients.wiring import READ_ONLY_TOOLS
from howcome.errors import LifecycleError, UsageError
from howcome.wiring import Owner, hook_command, inspect, install, is_distrusted, parts_of, recorded_owners, trust
from howcome.wiring.commands import hook_interpreter, is_hook, is_server

OTHERS: dict[str, dict[str, bytes]] = {
    "claude-code": {
        ".claude/settings.json": (
            b'{"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(ls:*)"]}, "hooks": {"Stop": []}}\n'
        ),
        ".claude.json": (
            b'{\n  "numStartups": 7,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n'
            b'  "projects": {}\n}'
        ),
        ".claude/skills/other/SKILL.md": b"theirs",
    },
    "codex": {
        ".codex/config.toml": b'model = "o9"\n\n[mcp_servers.other]\ncommand = "x"\n',
        ".codex/hooks.json": b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}',
    },
    "gemini": {
        ".gemini/settings.json": b'{\n  // mine\n  "theme": "GitHub", /* and */ "hooks": {"BeforeTool": []}\n}\n'
    },
    "cursor": {
        ".cursor/mcp.json": b'{"mcpServers": {"other": {"url": "http://localhost/"}}}',
        ".cursor/hooks.json": b'{"version": 1, "hooks": {"stop": [{"command": "./theirs.sh"}]}}',
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": (
            b'{\n  "$schema": "https://opencode.ai/config.json",\n  // servers\n  "mcp": {},\n}\n'
        ),
    },
    "copilot": {".copilot/mcp-config.json": b'{"mcpServers": {"other": {"type": "http", "url": "http://localhost/"}}}'},
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("with_files", [True, False], ids=["with files", "without"])
def test_an_agent_is_wired_and_unwired_without_a_trace(home: Path, agent: str, *, with_files: bool) -> None:
    """All bytes, all folders; init twice is init once; every part is found in order."""
    if with_files:
        put(home, OTHERS[agent])
    before = files(home)
    assert {report.outcome for report in wire(agent)} <= {"created", "changed"}
    assert {state.state for state in inspect([agent])} == {"ok"}
    now = files(home)
    assert {report.outcome for report in wire(agent)} == {"unchanged"}
    assert files(home) == now
    assert recorded_owners() == [Owner(agent)]
    unwire(agent)
    assert files(home) == before
    assert not (home / ".howcome" / "installs").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_write_meanwhile_stays(home: Path, agent: str) -> None:
    """Every file written anew by its agent: exactly ours goes."""
    put(home, OTHERS[agent])
    before = {name: values(home / name) for name in OTHERS[agent] if not name.endswith(".md")}
    wire(agent)
    for name in before:
        if name.endswith(".json"):
            (home / name).write_text(json.dumps({**values(home / name), "theirs": [1]}, indent=4))
        else:
            (home / name).write_text("// \n" * name.endswith("c") + "\n" + (home / name).read_text())
    unwire(agent)
    for name, there_before in before.items():
        expected = {**there_before, "theirs": [1]} if name.endswith(".json") else there_before
        assert values(home / name) == expected


def test_claude_code_gets_hooks_server_permissions_skill_and_commands(home: Path) -> None:
    """The places are those that the real client reads."""
    put(home, OTHERS["claude-code"])
    wire("claude-code")
    settings = values(home / ".claude" / "settings.json")
    assert set(settings["hooks"]) == set(EVENT_TIMEOUTS)
    allowed = [*(f"mcp__howcome__{tool}" for tool in READ_ONLY_TOOLS), "Skill(temporal-recall)"]
    assert settings["permissions"] == {"deny": ["Read(.env)"], "allow": ["Bash(ls:*)", *allowed]}
    server = values(home / ".claude.json")["mcpServers"]["howcome"]
    assert server["type"] == "stdio"
    assert os.access(server["command"], os.X_OK)
    assert is_server([server["command"], *server["args"]])
    assert server["env"] == {}
    assert (home / ".claude/skills/temporal-recall/SKILL.md").read_text().startswith("---\nname: temporal-recall\n")
    names = sorted(os.listdir(home / ".claude/commands/howcome"))
    assert names == ["forget.md", "recall.md", "remember.md", "timeline.md", "wrap-up.md"]
    assert stat.S_IMODE((home / ".claude/commands/howcome/recall.md").stat().st_mode) == 0o600


def test_assets_name_only_tools_that_there_are() -> None:
    """A tool that may be called without asking is read-only, in commands too; a skill stays short."""
    assets = Path(__file__).parents[3] / "src/howcome/clients/assets"
    for asset in assets.rglob("*.md"):
        text = asset.read_text()
        allowed = [line for line in text.splitlines() if line.startswith("allowed-tools:")]
        tools = [tool.strip() for line in allowed for tool in line.partition(":")[2].split(",")]
        assert {tool.removeprefix("mcp__howcome__") for tool in tools} <= set(READ_ONLY_TOOLS)
        assert len(text.splitlines()) <= 80
        assert "description:" in text.partition("\n---\n")[0]


def test_permissions_can_be_left_out_and_taken_out(home: Path) -> None:
    """`permissions=no` adds none, and removes those of an earlier install; what the user allowed himself stays."""
    put(home, {".claude/settings.json": b'{"permissions": {"allow": ["mcp__howcome__search_memory"]}}'})
    wire("claude-code")
    wire("claude-code", options={"permissions": "no"})
    allowed = ["mcp__howcome__search_memory"]
    assert values(home / ".claude/settings.json")["permissions"] == {"allow": allowed}
    assert {report.outcome for report in wire("claude-code", options={"permissions": "no"})} == {"unchanged"}
    (home / ".claude/settings.json").write_text(json.dumps(values(home / ".claude/settings.json"), indent=1))
    unwire("claude-code")
    assert values(home / ".claude/settings.json") == {"permissions": {"allow": allowed}}


def test_another_configuration_folder_holds_everything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With CLAUDE_CONFIG_DIR the client's own state is there too; an uninstall without it still finds the files."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    wire("claude-code")
    assert "howcome" in values(home / "elsewhere/.claude.json")["mcpServers"]
    assert not (home / ".claude").exists()
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    unwire("claude-code")
    assert files(home) == {}


def test_the_clients_older_state_file_is_used_where_it_is(home: Path) -> None:
    """The client prefers `.config.json` in its folder."""
    put(home, {".claude/.config.json": b"{}"})
    wire("claude-code")
    assert "howcome" in values(home / ".claude/.config.json")["mcpServers"]
    assert not (home / ".claude.json").exists()


def test_a_project_is_wired_in_the_users_own_files_only(home: Path) -> None:
    """Project scope beside user scope in one file: each is undone by itself."""
    put(home, OTHERS["claude-code"])
    before, roots = files(home), [str(home / "shop"), str(home / "café")]
    for root in roots:
        Path(root).mkdir()
        wire("claude-code", scope="project", root=root)
    wire("claude-code")
    state = values(home / ".claude.json")
    assert set(state["projects"]) == set(roots)
    assert set(state["mcpServers"]) == {"other", "howcome"}
    unwire("claude-code", scope="project", root=roots[0])
    state = values(home / ".claude.json")
    assert set(state["projects"]) == {roots[1]}
    assert set(state["mcpServers"]) == {"other", "howcome"}
    assert {found.state for found in inspect()} == {"ok"}
    unwire("claude-code")
    assert set(values(home / ".claude.json")["mcpServers"]) == {"other"}
    assert not (home / "shop" / ".claude").exists()
    assert (home / "café" / ".claude" / "settings.local.json").exists()
    unwire("claude-code", scope="project", root=roots[1])
    assert files(home) == {**before, "shop": None, "café": None}


def test_other_agents_have_no_project_scope(home: Path) -> None:
    """Their project files are committed."""
    with pytest.raises(UsageError, match="leave --scope project out"):
        wire("codex", scope="project", root=str(home))


def test_every_hook_that_is_installed_has_somebody_to_answer_it(home: Path) -> None:
    """The events of each agent's wiring are those of its dialect."""
    assert home.is_dir()
    for agent in AGENTS:
        entries = [entry for part in parts_of(Owner(agent)) for entry in part.entries if entry.kind == "hook"]
        client = client_of(agent)
        assert client is not None
        assert {entry.path[-1] for entry in entries} <= set(client.hooks)


def test_codex_gets_a_table_and_hooks(home: Path) -> None:
    """Hooks in groups, timeouts in seconds, commands that say the agent."""
    wire("codex")
    hooks = values(home / ".codex/hooks.json")["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "Stop"}
    handler = hooks["Stop"][0]["hooks"][0]
    assert handler["type"] == "command"
    assert shlex.split(handler["command"])[-6:] == ["Stop", "--agent", "codex", "2>/dev/null", "||", "true"]
    assert is_server(values(home / ".codex/config.toml")["mcp_servers"]["howcome"]["args"])


@pytest.mark.parametrize("is_again", [False, True], ids=["once", "connected again"])
def test_what_codex_keeps_of_our_hooks_goes_with_them(home: Path, *, is_again: bool) -> None:
    """It writes there that they are trusted; what it keeps of others' hooks stays, also in the same file."""
    put(home, OTHERS["codex"])
    config, hooks = home / ".codex/config.toml", home / ".codex/hooks.json"
    theirs = f'\n[hooks.state]\n\n[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:theirs"\n'
    config.write_text(config.read_text() + theirs)
    before = files(home)
    wire("codex")
    places = ("session_start:0:0", "user_prompt_submit:0:0", "stop:1:0")
    tables = [f'\n[hooks.state."{hooks}:{place}"]\ntrusted_hash = "sha256:5f"\n' for place in places]
    with config.open("a") as stream:
        stream.writelines(tables)
    assert not is_distrusted(Owner("codex"))
    if is_again:
        wire("codex")
        assert config.read_text().count("trusted_hash") == 4
    unwire("codex")
    assert files(home) == before


def test_a_header_that_codex_wrote_for_our_hooks_goes_with_them(home: Path) -> None:
    """Where nothing else stands in its table."""
    put(home, {".codex/config.toml": b'model = "o9"\n'})
    before = files(home)
    wire("codex")
    config, hooks = home / ".codex/config.toml", home / ".codex/hooks.json"
    state = f'\n[hooks.state]\n\n[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:5f"\n'
    config.write_text(config.read_text() + state)
    assert is_distrusted(Owner("codex"))  # two others are not trusted
    unwire("codex")
    assert files(home) == before


def test_without_codex_its_user_has_to_trust_our_hooks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can be asked then."""
    monkeypatch.setenv("PATH", str(home))
    wire("codex")
    assert not trust(Owner("codex"))


CODEX = """#!{python}
import json, os, sys
for line in sys.stdin:
    asked, result = json.loads(line), {{}}
    if asked["method"] == "hooks/list":
        places = [(os.path.join(folder, ".codex", "hooks.json"), folder) for folder in {folders!r}]
        hooks = [
            {{"key": f"{{path}}:{{event}}", "currentHash": "sha256:5f", "sourcePath": path, "command": one["command"]}}
            for path, _ in places
            for event, groups in json.load(open(path))["hooks"].items()
            for group in groups
            for one in group["hooks"]
        ]
        result = {{"data": [{{"hooks": hooks}}]}}
    elif asked["method"] == "config/batchWrite":
        json.dump(list(asked["params"]["edits"][0]["value"]), open({told!r}, "w"))
    print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""
"""A server that lists the hooks of some folders, and keeps which it was told to trust."""


def test_only_what_we_wrote_is_trusted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository's hook may look like ours, and runs something else before; so may one beside ours."""
    ours = [hook_command(event, "codex") for event in ("SessionStart", "UserPromptSubmit", "Stop")]
    wire("codex")
    repository, told, program = home / "repository", home / "told.json", home / "bin" / "codex"
    foreign = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch owned; {ours[2]}"}]}]}}
    put(home, {"repository/.codex/hooks.json": json.dumps(foreign).encode(), "bin/codex": b""})
    beside = values(home / ".codex/hooks.json")
    beside["hooks"]["PreToolUse"] = foreign["hooks"]["Stop"]
    (home / ".codex/hooks.json").write_text(json.dumps(beside))
    folders = [str(home), str(repository)]
    program.write_text(CODEX.format(python=sys.executable, folders=folders, told=str(told)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.chdir(repository)
    trust(Owner("codex"))
    path = home / ".codex/hooks.json"
    assert json.loads(told.read_text()) == [f"{path}:{event}" for event in ("SessionStart", "UserPromptSubmit", "Stop")]


def test_gemini_gets_milliseconds(home: Path) -> None:
    """A hook of five seconds is not cut off after five milliseconds; one file holds both."""
    wire("gemini")
    settings = values(home / ".gemini/settings.json")
    assert settings["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000
    assert set(settings["mcpServers"]["howcome"]) == {"command", "args"}
    assert "PreCompress" not in settings["hooks"]  # it comes before every request to the model


def test_a_file_that_gemini_itself_refuses_is_refused(home: Path) -> None:
    """It reads comments, but no comma before a closing bracket: saying that it is connected would be wrong."""
    put(home, {".gemini/settings.json": b'{\n  // mine\n  "theme": "x",\n}\n'})
    before = files(home)
    with pytest.raises(LifecycleError, match="comma"):
        wire("gemini")
    assert files(home) == before


def test_geminis_hooks_take_their_shells_place() -> None:
    """Its time limit ends the shell alone, and waits for whatever that started. Without the script nothing happens."""
    command = hook_command("BeforeAgent", "gemini")
    assert is_hook(command, "BeforeAgent")
    assert not is_hook(command, "AfterAgent")
    interpreter = hook_interpreter(command)
    assert interpreter is not None
    assert os.access(interpreter, os.X_OK)
    running = subprocess.Popen(["bash", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while b"python" not in Path(f"/proc/{running.pid}/cmdline").read_bytes():  # it waits for its payload
        assert running.poll() is None
    running.terminate()
    assert running.communicate(timeout=20)[0] == b""
    gone = command.replace("launch.py", "gone.py")
    assert subprocess.run(["bash", "-c", gone], capture_output=True, check=False).returncode == 0


def test_copilots_hooks_are_a_file_of_ours(home: Path) -> None:
    """Its events by Claude Code's names, with seconds."""
    wire("copilot")
    found = values(home / ".copilot/hooks/howcome.json")
    assert found["version"] == 1
    assert {event: hooks[0]["timeoutSec"] for event, hooks in found["hooks"].items()} == {
        "SessionStart": 20, "UserPromptSubmit": 5, "Stop": 20, "PreCompact": 20, "SessionEnd": 20
    }  # fmt: skip
    assert is_hook(found["hooks"]["Stop"][0]["command"], "Stop")


def test_cursors_hooks_stand_plainly_under_a_version(home: Path) -> None:
    """A version of the user's stays; hooks that are there already stay beside ours."""
    put(home, OTHERS["cursor"])
    wire("cursor")
    hooks = values(home / ".cursor/hooks.json")
    assert hooks["version"] == 1
    assert [set(hook) for hook in hooks["hooks"]["stop"]] == [{"command"}, {"command"}]
    assert hooks["hooks"]["beforeSubmitPrompt"][0]["command"].endswith("--agent cursor 2>/dev/null || true")


def test_opencode_gets_one_list_of_words(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file that is there, under $XDG_CONFIG_HOME, with the memory's place where that is not the default."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    monkeypatch.setenv("HOWCOME_HOME", str(home / "mem"))
    owner = Owner("opencode")
    install(owner, parts_of(owner), home / "mem")
    server = values(home / "xdg/opencode/opencode.json")["mcp"]["howcome"]
    assert (server["type"], server["enabled"]) == ("local", True)
    assert is_server(server["command"])
    assert server["environment"] == {"HOWCOME_HOME": str(home / "mem")}


def test_another_memory_folder_is_followed_everywhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers' environment says where; a second install with another place changes just that."""
    for place in ("one", "two"):
        monkeypatch.setenv("HOWCOME_HOME", str(home / place))
        for agent in AGENTS:
            owner = Owner(agent)
            install(owner, parts_of(owner), home / "records")
        assert values(home / ".claude.json")["mcpServers"]["howcome"]["env"] == {"HOWCOME_HOME": str(home / place)}
        assert values(home / ".codex/config.toml")["mcp_servers"]["howcome"]["env"] == {
            "HOWCOME_HOME": str(home / place)
        }
        assert values(home / ".gemini/settings.json")["mcpServers"]["howcome"]["env"] == {
            "HOWCOME_HOME": str(home / place)
        }
    assert str(home / "one") not in "".join(
        (home / name).read_text() for name in (".claude.json", ".codex/config.toml")
    )


# ---------------------------------------------------------------- forms and versions


def test_the_form_mcp_passes_every_field_by_name(home: Path) -> None:
    """The prompt's hook asks the server; the other events keep their commands; the way back leaves nothing of it."""
    wire("claude-code", options={"hook_form": "mcp"})
    hooks = values(home / ".claude/settings.json")["hooks"]
    handler = hooks["UserPromptSubmit"][0]["hooks"][0]
    assert (handler["type"], handler["server"], handler["tool"]) == ("mcp_tool", "howcome", "hook")
    assert handler["input"]["prompt"] == "${prompt}"
    assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command"
    assert hooks["PostToolUseFailure"][0]["matcher"] == "Bash"
    before = hooks["PreToolUse"][0]
    assert set(before["matcher"].split("|")) >= {"Bash", "Edit", "Write"}
    assert before["hooks"][0]["input"]["command"] == "${tool_input.command}"
    assert {found.state for found in inspect()} == {"ok"}
    wire("claude-code")
    text = (home / ".claude/settings.json").read_text()
    assert "mcp_tool" not in text
    assert '"input"' not in text
    assert "PreToolUse" not in text  # a process before each call is too dear
    unwire("claude-code")
    assert files(home) == {}


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("2.1.329 (Claude Code)", (2, 1, 329)),
        ("2.0.76 (Claude Code)\n", (2, 0, 76)),
        ("hello", None),
        ("", None),
    ],
)
def test_the_version_is_what_the_client_on_path_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: tuple[int, ...] | None
) -> None:
    """A client that waits for its terminal, or says something else, is unknown."""
    client = tmp_path / "claude"
    client.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{says}'\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert client_version() == version
    if version and version >= (2, 1, 118):
        require_tool_hooks(version)
    else:
        with pytest.raises(LifecycleError, match=r"2\.1\.118 or newer"):
            require_tool_hooks(version)


def test_without_a_client_the_version_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No `claude` on PATH, or one that cannot be run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert client_version() is None
    (tmp_path / "claude").write_bytes(b"\x7fELF")
    (tmp_path / "claude").chmod(0o755)
    assert client_version() is None


# ---------------------------------------------------------------- knowing our commands again


def test_a_hook_command_is_known_by_its_shape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With or without an agent and a home; its interpreter can be told."""
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "a b"))
    for command in (hook_command("Stop"), hook_command("Stop", "codex")):
        assert is_hook(command, "Stop")
        assert not is_hook(command, "SessionEnd")
        interpreter = hook_interpreter(command)
        assert interpreter is not None
        assert os.access(interpreter, os.X_OK)
    assert hook_interpreter("echo 'howcome/launch.py") is None
    assert hook_interpreter("python -c 'howcome/launch.py' || true") is None
