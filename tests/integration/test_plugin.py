"""The plugin's launcher: it finds howcome, installs it where there is none, and is silent where `init` wired hooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.mcp_server import McpServer
from tests.plugin import ROOT, plugin_files
from tests.processes import HOOK_FIELDS, LIMIT_S, answer_of, payload, run
from tests.repositories import git, write_tree
from tests.warm import eventually

from howcome.clients.claude_code import CLIENT

HOOKS = CLIENT.wired_hooks()
LAUNCHER = ROOT / "plugin" / "launch.sh"
PROMPT = HOOK_FIELDS["UserPromptSubmit"]
INSTALLER = """#!/bin/sh
echo "$@" >>"$HOME/asked"
mkdir -p "$UV_TOOL_BIN_DIR"
cp "$HOME/installed" "$UV_TOOL_BIN_DIR/howcome"
"""
"""An installer that needs no network: it puts an installed howcome where `uv tool install` is told to."""


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No howcome on PATH; the plugin's data folder."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    folder = tmp_path / "data"
    monkeypatch.setenv("CLAUDE_PLUGIN_DATA", str(folder))
    return folder


def installed(path: Path) -> Path:
    """A howcome as an installer leaves it: a script that names an environment's interpreter, and the packages there."""
    environment = path.parent / "environment"
    packages = environment / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    for package in Path(sysconfig.get_path("platlib")).iterdir():
        (packages / package.name).symlink_to(package)
    (packages / "howcome").symlink_to(ROOT / "src" / "howcome")
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(sys.executable)
    path.write_text(f"#!{environment}/bin/python -E\nfrom howcome.__main__ import main\nmain()\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def howcome(home: Path) -> Path:
    """One that its user installed."""
    (home / ".local" / "bin").mkdir(parents=True)
    return installed(home / ".local" / "bin" / "howcome")


def fire(event: str, transcript: Path, launcher: Path = LAUNCHER, **fields: str) -> subprocess.CompletedProcess[bytes]:
    """A hook as the client runs it: by the command of the plugin's own file."""
    hooks = json.loads(plugin_files()["plugin/hooks/hooks.json"])["hooks"]
    (command,) = [handler["command"] for group in hooks[event] for handler in group["hooks"]]
    data = payload(event, transcript, "running", **fields)
    environment = {**os.environ, "CLAUDE_PLUGIN_ROOT": str(launcher.parent)}
    return subprocess.run(
        ["/bin/sh", "-c", command], input=data, capture_output=True, check=False, timeout=LIMIT_S, env=environment
    )


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a hook adds to the prompt."""
    return (answer_of("UserPromptSubmit", done) or {"additionalContext": ""})["additionalContext"]


def test_the_plugins_hooks_are_the_ones_that_init_writes(home: Path) -> None:
    """Every event that is wired, for the same tools, with its timeout; each command ends with 0."""
    assert run("init", "--yes", "--no-import").returncode == 0
    settings = (home / ".claude" / "settings.json").read_text()
    wired, of_plugin = json.loads(settings)["hooks"], json.loads(plugin_files()["plugin/hooks/hooks.json"])["hooks"]
    for groups in (*wired.values(), *of_plugin.values()):
        assert groups[0]["hooks"][0].pop("command").endswith("2>/dev/null || true")
    assert of_plugin == wired


def test_a_prompt_is_answered_by_the_howcome_that_is_there(past: Path, howcome: Path) -> None:
    """With its interpreter and its launch.py; by itself where that cannot be told from its first line."""
    assert "berth" in said(fire("UserPromptSubmit", past, **PROMPT))
    howcome.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m howcome "$@"\n')
    data = payload("UserPromptSubmit", past, "another", **PROMPT)
    done = subprocess.run(["sh", str(LAUNCHER), "UserPromptSubmit"], input=data, capture_output=True, check=False)
    assert "berth" in said(done)


@pytest.mark.parametrize("event", HOOKS)
def test_without_a_howcome_nothing_is_in_the_way(event: str, tmp_path: Path, outside: Path) -> None:
    """Exit 0 and silence; only the beginning of a session says something, to its user and not to the model."""
    done = fire(event, tmp_path / "a.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(json.loads(done.stdout or b"{}")) == (["systemMessage"] if event == "SessionStart" else [])
    if event == "SessionStart":
        eventually(lambda: not (outside / "installing").exists())
        assert "Neither uv nor pipx" in (outside / "install.log").read_text()


def test_the_first_session_installs_it_and_an_update_does_so_again(
    past: Path, home: Path, tmp_path: Path, outside: Path
) -> None:
    """From the source beside the launcher, once, in the background; again where the plugin lies in another folder."""
    installed(home / "installed")
    (tmp_path / "bin" / "uv").write_text(INSTALLER)
    (tmp_path / "bin" / "uv").chmod(0o755)
    assert b"systemMessage" in fire("SessionStart", past, source="resume").stdout
    eventually(lambda: (outside / "source").exists() and not (outside / "installing").exists())
    assert fire("SessionStart", past, source="resume").stdout == b""
    assert "berth" in said(fire("UserPromptSubmit", past, **PROMPT))
    asked = [f"tool install --force --reinstall {ROOT}"]
    assert (home / "asked").read_text().splitlines() == asked
    update = shutil.copytree(ROOT / "plugin", tmp_path / "0.2.0", symlinks=True, ignore=lambda *_: ["src"])
    (update / "src").mkdir()
    fire("SessionStart", past, update / "launch.sh", source="resume")
    eventually(lambda: len((home / "asked").read_text().splitlines()) == 2)
    eventually(lambda: (outside / "source").read_text().strip() == str(update))


def test_a_server_waits_for_the_installation(home: Path, tmp_path: Path, outside: Path) -> None:
    """The first session has its tools, too; where nothing can be installed the server ends."""
    words = ["sh", str(LAUNCHER), "mcp"]
    assert subprocess.run(words, capture_output=True, check=False, timeout=LIMIT_S).returncode == 1
    eventually(lambda: not (outside / "installing").exists())
    installed(home / "installed")
    (tmp_path / "bin" / "uv").write_text(INSTALLER.replace("mkdir", "sleep 1.5; mkdir"))
    (tmp_path / "bin" / "uv").chmod(0o755)
    with McpServer(words) as server:
        assert server.request("tools/list")["result"]["tools"]


@pytest.mark.parametrize("place", ["user", "project", "subfolder", "worktree"])
def test_beside_init_the_plugin_is_silent(
    past: Path, howcome: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """What `init` wired acts, wherever it holds; the plugin says nothing, offers nothing and installs nothing."""
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_tree(work, {"src/a.txt": "a"})
    git(work, "init", "-q")
    me = ("-c", "user.name=Mara", "-c", "user.email=mara@example.org")
    git(work, *me, "commit", "-q", "--allow-empty", "-m", "First")
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"))
    folder = {"subfolder": work / "src", "worktree": tmp_path / "tree"}.get(place, work)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    assert said(fire("UserPromptSubmit", past, **PROMPT))
    scope = "user" if place == "user" else "project"
    assert run("init", "--yes", "--no-import", "--scope", scope, folder=work).returncode == 0
    for event in HOOKS:
        assert (fire(event, past, **PROMPT).stdout, fire(event, past).returncode) == (b"", 0)
    with McpServer(["sh", str(LAUNCHER), "mcp"]) as server:
        assert server.first["instructions"] == ""
        assert server.request("tools/list")["result"]["tools"] == []
        assert server.request("tools/call", {"name": "search_memory", "arguments": {"query": "tide"}})["error"]
    howcome.rename(tmp_path / "gone")
    assert subprocess.run(["sh", str(LAUNCHER), "mcp"], check=False, timeout=LIMIT_S).returncode == 0
    assert not (tmp_path / "data").exists()
    (tmp_path / "gone").rename(howcome)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(elsewhere))
    fields = {**PROMPT, "session_id": "elsewhere"}
    assert bool(said(fire("UserPromptSubmit", past, **fields))) == (scope == "project")
    assert run("uninstall", "--yes", folder=work).returncode == 0
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    assert said(fire("UserPromptSubmit", past, **{**fields, "session_id": "afterwards"}))
