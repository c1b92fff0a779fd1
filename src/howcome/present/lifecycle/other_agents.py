"""Codex CLI, Gemini CLI, Cursor and OpenCode: built from their public formats, for the user scope.

Their project files are meant to be committed, so a path of this machine has no place in them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from howcome.present.lifecycle.commands import SERVER, directory, hook_command, server_environment, server_words
from howcome.present.lifecycle.install_record import Entry
from howcome.present.lifecycle.json_entries import HOOK, NEEDED, SERVER_ENTRY, JsonEntries
from howcome.present.lifecycle.parts import Merged, Part
from howcome.present.lifecycle.toml_entries import TABLE, TomlEntries

CODEX_EVENTS: Mapping[str, int] = {"SessionStart": 20, "UserPromptSubmit": 5, "Stop": 20}
"""Seconds. No PreCompact: the file keeps what is compacted, and earlier clients do not know it."""

GEMINI_EVENTS: Mapping[str, int] = {
    "SessionStart": 20000,
    "BeforeAgent": 5000,
    "AfterAgent": 20000,
    "PreCompress": 20000,
    "SessionEnd": 20000,
}
"""Milliseconds."""

CURSOR_EVENTS = (
    "sessionStart",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "afterShellExecution",
    "stop",
    "sessionEnd",
)
"""Without a timeout: sources disagree on its unit, and a hook of ours ends by itself."""


# ---------------------------------------------------------------- Codex CLI


def codex_dir() -> Path:
    """The folder of Codex's settings."""
    return directory("CODEX_HOME", "~/.codex")


def codex_parts(_scope: str, _root: str, _options: Mapping[str, str]) -> list[Part]:
    """A table in config.toml; hooks in hooks.json."""
    command, *arguments = server_words()
    value: dict[str, object] = {"command": command, "args": arguments}
    if environment := server_environment():
        value["env"] = environment  # its servers get a few variables only
    table = Entry(TABLE, ("mcp_servers", SERVER), value)
    handlers = [_grouped(event, "codex", timeout) for event, timeout in CODEX_EVENTS.items()]
    return [
        Merged(codex_dir() / "config.toml", (table,), TomlEntries()),
        Merged(codex_dir() / "hooks.json", tuple(handlers)),
    ]


def codex_found() -> bool:
    """Whether the agent is on this machine."""
    return codex_dir().is_dir() or shutil.which("codex") is not None


# ---------------------------------------------------------------- Gemini CLI


def gemini_dir() -> Path:
    """The folder of Gemini CLI's settings."""
    return directory("GEMINI_CLI_HOME", "~") / ".gemini"


def gemini_parts(_scope: str, _root: str, _options: Mapping[str, str]) -> list[Part]:
    """Both in settings.json, which may hold comments."""
    handlers = [_grouped(event, "gemini", timeout) for event, timeout in GEMINI_EVENTS.items()]
    entries = (_server("mcpServers"), *handlers)
    return [Merged(gemini_dir() / "settings.json", entries, JsonEntries(comments=True))]


def gemini_found() -> bool:
    """Whether the agent is on this machine."""
    return gemini_dir().is_dir() or shutil.which("gemini") is not None


# ---------------------------------------------------------------- Cursor


def cursor_dir() -> Path:
    """The folder of Cursor's settings."""
    return directory("HOME", "~") / ".cursor"


def cursor_parts(_scope: str, _root: str, _options: Mapping[str, str]) -> list[Part]:
    """The server in mcp.json; hooks in hooks.json, which must say its version."""
    handlers = [Entry(HOOK, ("hooks", event), {"command": hook_command(event, "cursor")}) for event in CURSOR_EVENTS]
    version = Entry(NEEDED, ("version",), 1)
    return [
        Merged(cursor_dir() / "mcp.json", (_server("mcpServers"),)),
        Merged(cursor_dir() / "hooks.json", (version, *handlers), JsonEntries(grouped=False)),
    ]


def cursor_found() -> bool:
    """Whether the agent is on this machine."""
    return cursor_dir().is_dir() or any(shutil.which(name) for name in ("cursor", "cursor-agent"))


# ---------------------------------------------------------------- OpenCode


def opencode_dir() -> Path:
    """The folder of OpenCode's settings."""
    return directory("XDG_CONFIG_HOME", "~/.config") / "opencode"


def opencode_parts(_scope: str, _root: str, _options: Mapping[str, str]) -> list[Part]:
    """The server in the file of the two that is there; it runs no commands as hooks."""
    with_comments = opencode_dir() / "opencode.jsonc"
    path = with_comments if with_comments.exists() else opencode_dir() / "opencode.json"
    value: dict[str, object] = {"type": "local", "command": server_words(), "enabled": True}
    if environment := server_environment():
        value["environment"] = environment
    return [Merged(path, (Entry(SERVER_ENTRY, ("mcp", SERVER), value),), JsonEntries(comments=True))]


def opencode_found() -> bool:
    """Whether the agent is on this machine."""
    return opencode_dir().is_dir() or shutil.which("opencode") is not None


# ---------------------------------------------------------------- shared shapes


def _server(*path: str) -> Entry:
    command, *arguments = server_words()
    value: dict[str, object] = {"command": command, "args": arguments}
    if environment := server_environment():
        value["env"] = environment
    return Entry(SERVER_ENTRY, (*path, SERVER), value)


def _grouped(event: str, agent: str, timeout: int) -> Entry:
    handler = {"type": "command", "command": hook_command(event, agent), "timeout": timeout}
    return Entry(HOOK, ("hooks", event), handler)
