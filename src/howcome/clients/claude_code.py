"""Claude Code: transcripts of lines, hooks, the MCP server, permissions, a skill and slash commands.

User scope covers every project, subdirectory and worktree. Project scope uses the two places that are the user's own
and are read in that project only: `.claude/settings.local.json` and the project's part of `.claude.json`.
"""

from __future__ import annotations

import os

from howcome.clients import hook
from howcome.clients.base import Client, History, Wiring
from howcome.clients.hook import INGEST, PROMPT, START, Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from howcome.clients.hook import Called
    from howcome.clients.records import Record
    from howcome.clients.wiring import Entry, Install, Wired
    from howcome.domain.spending import Spent

_TOOLS = "Bash|Edit|Write|MultiEdit|NotebookEdit"
HOOKS = {
    "SessionStart": Hook(hook.CATCH_UP, START, timeout=20),
    "UserPromptSubmit": Hook(hook.RECALL, PROMPT, timeout=5),
    "PreToolUse": Hook(hook.ABOUT_TO, PROMPT, timeout=5, matcher=_TOOLS, is_wired=False),
    "PostToolUseFailure": Hook(hook.FAILED, PROMPT, timeout=5, matcher="Bash"),
    "PreCompact": Hook(hook.FLUSH, INGEST, timeout=20, shape=hook.as_text),
    "Stop": Hook(hook.END_TURN, INGEST, timeout=20, shape=hook.as_message),  # context would make the model go on
    "SubagentStart": Hook(hook.BEGIN_AGENT, PROMPT, timeout=5),
    "SubagentStop": Hook(hook.CAPTURE, INGEST, timeout=20),
    "SessionEnd": Hook(hook.CAPTURE, START, timeout=20),  # without one, all SessionEnd hooks share 1.5 s
}
"""Timeouts in seconds. All events are known to every supported client: one that a client does not know makes it drop
the whole file. PreToolUse comes with each call: some 45 ms as a command, and so it is wired through the server only."""

MCP_TOOL_SINCE = (2, 1, 118)

COMMON_FIELDS = ("hook_event_name", "session_id", "transcript_path", "cwd")
MCP_TOOL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt",),
    "PreToolUse": ("tool_name", "tool_use_id", "tool_input.command", "tool_input.file_path"),
    "PostToolUseFailure": ("tool_name", "tool_use_id", "tool_input.command", "error"),
}
"""Events that the form `mcp` answers through the running MCP server, and the fields of the payload that are passed on,
beside the common ones, under their last names. Each has to be named (there is no way to pass the payload whole); one
that is missing arrives as an empty string; quotes, newlines and `${…}` inside a value arrive as they are.
Never SessionStart: the client has no server then, and says so on its user's screen."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((
        "type", "subtype", "uuid", "sessionId", "session_id", "timestamp", "cwd", "gitBranch", "agentId", "isSidechain",
        "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage", "origin", "turnOrigin",
        "compactMetadata", "microcompactMetadata", "version", "operation", "content", "reason", "toolDenialKind",
    ), ()),
    "message": ("content", "model"),
    "attachment": ("type", "prompt", "commandMode", "isMeta", "origin"),
    "toolUseResult": ("answers", "annotations"),
}  # fmt: skip
"""Every field of a record that `claude_code_records` reads (and of an object among them, its fields). A decoder may
skip all others: half of a transcript is the structured copy of tool results, of which only answers are read."""

MANAGED_SETTINGS = "/etc/claude-code/managed-settings.json"
TAIL_BYTES = 1 << 20
"""Where the last Stop hook of a session is looked for; a turn of 2.1.329 writes some 100 KB after it."""

_SKILL = "temporal-recall"


class _History(History):
    reader = "claude_code_records"
    reads = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
    tail = "claude-code"
    fields = FIELDS
    memory_files = "projects/memory"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        return [os.path.join(environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")]

    def wrote_record(self, record: Record) -> bool:
        return "sessionId" in record or "uuid" in record

    def spent_in(self, path: str) -> Iterator[Spent]:
        from howcome.clients.claude_code_records import spent_in

        return spent_in(self.open_lines(path))

    def recent_calls(self, path: str) -> list[Called]:
        from howcome.clients.tail import recent_calls

        return recent_calls(path)


class _Wiring(Wiring):
    programs = ("claude",)
    settings = ("CLAUDE_CONFIG_DIR", "~/.claude", "")
    scopes = ("user", "project")
    try_this = "start `claude` in a project where you worked before: it is told what it needs."
    try_too = " Or type /howcome:recall"
    off_switch = "disableAllHooks"
    why_no_hooks = "claude --debug hooks"
    tool_hooks_since = MCP_TOOL_SINCE
    project_variable = "CLAUDE_PROJECT_DIR"
    session_variable = "CLAUDE_CODE_SESSION_ID"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        from howcome.clients.wiring import ALLOWED, READ_ONLY_TOOLS, SERVER, Entry, SettingsFile

        entries = _hooks(install, options.get("hook_form", "auto"))
        if options.get("permissions") != "no":  # what changes nothing, and the skill that says how to use it
            rules = [*(f"mcp__{SERVER}__{tool}" for tool in READ_ONLY_TOOLS), f"Skill({_SKILL})"]
            entries += [Entry(ALLOWED, ("permissions", "allow"), rule) for rule in rules]
        local = self.local_file(root) if scope == "project" else None
        if local:
            server = install.server("projects", root, "mcpServers", type="stdio")
            return [SettingsFile(local, tuple(entries)), SettingsFile(self._state(), (server,))]
        server = install.server("mcpServers", type="stdio")
        settings = SettingsFile(self.folder() / "settings.json", tuple(entries))
        return [settings, SettingsFile(self._state(), (server,)), *_own_files(self.folder())]

    def local_file(self, root: str) -> Path | None:
        from pathlib import Path

        return Path(root) / ".claude" / "settings.local.json" if root else None

    def _state(self) -> Path:
        """The file in which the client keeps its own state and the user's MCP servers."""
        from howcome.clients.wiring import directory

        older = self.folder() / ".config.json"  # the client prefers it where it exists
        return older if older.exists() else directory("CLAUDE_CONFIG_DIR", "~") / ".claude.json"

    def require_form(self, form: str) -> None:
        if form == "mcp":
            require_tool_hooks(client_version())

    def settings_in_effect(self, home: str, environment: Mapping[str, str], folder: str) -> list[str]:
        own = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        local = (os.path.join(folder, ".claude", name) for name in ("settings.json", "settings.local.json"))
        return list(dict.fromkeys((MANAGED_SETTINGS, os.path.join(own, "settings.json"), *local)))

    def plugin_in(self, settings: Mapping[str, object]) -> str:
        switches = settings.get("enabledPlugins")
        ours = [name for name, is_on in switches.items() if is_on is True] if isinstance(switches, dict) else []
        return next((f"claude plugin uninstall {name}" for name in ours if name.startswith("howcome@")), "")

    def hook_noted_ms(self, path: str, command: str) -> int:
        """The client notes which Stop hooks it ran: so no hook has to write down that it was there."""
        from howcome.clients.decode import decode_record
        from howcome.clients.records import parse_time_ms
        from howcome.clients.tail import last_bytes
        from howcome.errors import RecordError

        for line in reversed(last_bytes(path, TAIL_BYTES)[0].splitlines()):
            if b'"stop_hook_summary"' in line and command.encode() in line:
                try:
                    return parse_time_ms(decode_record(line, None).get("timestamp")) or 0
                except RecordError:
                    return 0
        return 0


# -- what is wired ---------------------------------------------------------------------------------------------------
def _hooks(install: Install, form: str) -> list[Entry]:
    """One handler for each event."""
    from howcome.clients.wiring import HOOK, SERVER, Entry

    if form != "mcp":
        return install.hooks(CLIENT.wired_hooks())
    entries = install.hooks(HOOKS)
    for number, (event, served) in enumerate(HOOKS.items()):
        if event in MCP_TOOL_FIELDS:
            fields = {name.rpartition(".")[2]: f"${{{name}}}" for name in (*COMMON_FIELDS, *MCP_TOOL_FIELDS[event])}
            tool = {"type": "mcp_tool", "server": SERVER, "tool": "hook", "input": fields, "timeout": served.timeout}
            entries[number] = Entry(HOOK, ("hooks", event), tool, served.matcher)
    return entries


def _own_files(folder: Path) -> list[Wired]:
    from pathlib import Path

    from howcome.clients.wiring import SERVER, OwnFile

    assets = Path(__file__).parent / "assets"
    skill = (assets / "SKILL.md").read_bytes()
    found: list[Wired] = [OwnFile(folder / "skills" / _SKILL / "SKILL.md", skill, f"skill {_SKILL}")]
    for command in sorted((assets / "commands").iterdir(), key=lambda file: file.name):
        if command.name.endswith(".md"):
            name = f"/{SERVER}:{command.name.removesuffix('.md')}"
            found.append(OwnFile(folder / "commands" / SERVER / command.name, command.read_bytes(), name))
    return found


# -- the client's version --------------------------------------------------------------------------------------------
def client_version() -> tuple[int, ...] | None:
    """The version of the `claude` on PATH; None when there is none, or it does not say."""
    import re
    import shutil
    import subprocess

    words = [shutil.which("claude") or "", "--version"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(rb"\s*(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else None


def require_tool_hooks(version: tuple[int, ...] | None) -> None:
    """Refuse hooks through MCP where the client on PATH may not know them."""
    from howcome.errors import LifecycleError

    if version is not None and version >= MCP_TOOL_SINCE:
        return
    least = ".".join(map(str, MCP_TOOL_SINCE))
    seen = "no `claude` on PATH says its version" if version is None else f"this is {'.'.join(map(str, version))}"
    raise LifecycleError(
        f"Hooks through MCP need Claude Code {least} or newer, and {seen}. An older client would drop its whole"
        " settings file. Update the client, or use --hook-form command. Nothing was written."
    )


class _ClaudeCode(Client):
    def is_called(self, environment: Mapping[str, str]) -> bool:
        """Copilot runs the hooks in a trusted project's settings of Claude Code's, too: it has its own."""
        return not environment.get("COPILOT_CLI")


CLIENT = _ClaudeCode("claude-code", "Claude Code", history=_History(), hooks=HOOKS, wiring=_Wiring())
