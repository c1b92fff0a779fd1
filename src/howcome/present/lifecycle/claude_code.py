"""Claude Code: hooks, the MCP server, permissions, a skill and slash commands, as plain entries and files.

User scope covers every project, subdirectory and worktree. Project scope uses the two places that are the user's own
and are read in that project only: `.claude/settings.local.json` and the project's part of `.claude.json`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from howcome.errors import LifecycleError
from howcome.present.lifecycle.commands import SERVER, directory, hook_command, server_environment, server_words
from howcome.present.lifecycle.install_record import Entry
from howcome.present.lifecycle.json_entries import ALLOWED, HOOK, SERVER_ENTRY
from howcome.present.lifecycle.parts import Merged, Part, Whole

AGENT = "claude-code"

EVENT_TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 20,
    "UserPromptSubmit": 5,
    "PreCompact": 20,
    "Stop": 20,
    "SubagentStop": 20,
    "SessionEnd": 20,  # without one in the settings, all SessionEnd hooks share 1.5 s
}
"""Every hook event that is installed, with its timeout in seconds. All are known to every supported client: an
event that a client does not know makes it drop the whole file."""

READ_ONLY_TOOLS = (
    "search_memory",
    "get_context",
    "get_memories",
    "replay_session",
    "get_timeline",
    "expand_memory",
    "list_stale",
    "memory_status",
)
"""Tools that change nothing, which the client may call without asking; the others ask each time."""

MCP_TOOL_EVENTS: frozenset[str] = frozenset({"UserPromptSubmit"})
"""Events that the form `mcp` answers through the running MCP server. Never SessionStart: the client has no server
then, and says so on its user's screen."""

MCP_TOOL_SINCE = (2, 1, 118)
"""The first client that knows such hooks; an older one drops the whole settings file for one."""

MCP_TOOL_FIELDS = ("hook_event_name", "session_id", "transcript_path", "cwd", "prompt")
"""Fields of the payload that are passed on. Each has to be named (there is no way to pass the payload whole); one that
is missing arrives as an empty string; quotes, newlines and `${…}` inside a value arrive as they are."""

HOOK_FORMS = ("auto", "command", "mcp")
_VERSION_SECONDS = 5
_SKILL = "temporal-recall"


def parts(scope: str, root: str, options: Mapping[str, str]) -> list[Part]:
    """What is installed: for the user, or for one project (`root`)."""
    permissions = [] if options.get("permissions") == "no" else permitted()
    entries = (*hooks(options.get("hook_form", "auto")), *permissions)
    if scope == "project":
        local = Path(root) / ".claude" / "settings.local.json"
        return [Merged(local, entries), Merged(client_state(), (server("projects", root, "mcpServers"),))]
    return [Merged(config_dir() / "settings.json", entries), Merged(client_state(), (server("mcpServers"),)), *_files()]


def config_dir() -> Path:
    """The directory of the user's settings."""
    return directory("CLAUDE_CONFIG_DIR", "~/.claude")


def client_state() -> Path:
    """The file in which the client keeps its own state and the user's MCP servers."""
    older = config_dir() / ".config.json"  # the client prefers it where it exists
    return older if older.exists() else directory("CLAUDE_CONFIG_DIR", "~") / ".claude.json"


def found() -> bool:
    """Whether the agent is on this machine."""
    return config_dir().is_dir() or shutil.which("claude") is not None


def hooks(form: str) -> list[Entry]:
    """One handler for each event."""
    return [Entry(HOOK, ("hooks", event), _handler(event, form)) for event in EVENT_TIMEOUTS]


def _handler(event: str, form: str) -> dict[str, object]:
    timeout = EVENT_TIMEOUTS[event]
    if form == "mcp" and event in MCP_TOOL_EVENTS:
        fields = {name: f"${{{name}}}" for name in MCP_TOOL_FIELDS}
        return {"type": "mcp_tool", "server": SERVER, "tool": "hook", "input": fields, "timeout": timeout}
    return {"type": "command", "command": hook_command(event), "timeout": timeout}


def permitted() -> list[Entry]:
    """What needs no question: the tools that change nothing, and opening the skill that says how to use them."""
    rules = [*(f"mcp__{SERVER}__{tool}" for tool in READ_ONLY_TOOLS), f"Skill({_SKILL})"]
    return [Entry(ALLOWED, ("permissions", "allow"), rule) for rule in rules]


def server(*path: str) -> Entry:
    """The MCP server, in the object at `path`."""
    command, *arguments = server_words()
    value = {"type": "stdio", "command": command, "args": arguments, "env": server_environment()}
    return Entry(SERVER_ENTRY, (*path, SERVER), value)


def _files() -> list[Part]:
    assets = resources.files("howcome.clients") / "assets"
    skill = (assets / "SKILL.md").read_bytes()
    found: list[Part] = [Whole(config_dir() / "skills" / _SKILL / "SKILL.md", skill, f"skill {_SKILL}")]
    for command in sorted((assets / "commands").iterdir(), key=lambda file: file.name):
        if command.name.endswith(".md"):
            name = f"/{SERVER}:{command.name.removesuffix('.md')}"
            found.append(Whole(config_dir() / "commands" / SERVER / command.name, command.read_bytes(), name))
    return found


# ---------------------------------------------------------------- the client's version


def client_version() -> tuple[int, ...] | None:
    """The version of the `claude` on PATH; None when there is none, or it does not say."""
    executable = shutil.which("claude")
    if executable is None:
        return None
    try:
        done = subprocess.run(
            [executable, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(rb"\s*(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else None


def require_form(form: str, version: tuple[int, ...] | None) -> None:
    """Refuse a hook form that the client on PATH may not know.

    Raises:
        LifecycleError: It says what to do instead.
    """
    if form != "mcp" or (version is not None and version >= MCP_TOOL_SINCE):
        return
    least = ".".join(map(str, MCP_TOOL_SINCE))
    seen = "no `claude` on PATH says its version" if version is None else f"this is {'.'.join(map(str, version))}"
    raise LifecycleError(
        f"Hooks through MCP need Claude Code {least} or newer, and {seen}. An older client would drop its whole"
        " settings file. Update the client, or use --hook-form command. Nothing was written."
    )
