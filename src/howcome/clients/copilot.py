"""GitHub Copilot CLI: one file of events a session; its MCP server in mcp-config.json, its hooks in a file of our own.

Seen with 1.0.102. Its hooks by Claude Code's names get Claude Code's fields, but only the end of a turn names the
transcript, a subagent's task comes as a prompt, too, and context is taken at the top of the answer alone.
"""

from __future__ import annotations

import os

from howcome.clients.base import Client, History, Wiring, names_in
from howcome.clients.hook import CAPTURE_OR_CATCH_UP, CATCH_UP, INGEST, PROMPT, RECALL, START, Hook, at_the_top, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from howcome.clients.hook import Payload
    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired

_EVENTS = "events.jsonl"


def _sessions(home: str, environment: Mapping[str, str]) -> str:
    """The folder with a folder for each session."""
    return os.path.join(environment.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "session-state")


class _History(History):
    reader = "copilot_records"
    reads = ("AGENTS.md", ".github/copilot-instructions.md")
    tail = "copilot"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        return [_sessions(home, environment)]

    def transcripts(self, root: str) -> Iterator[str]:
        paths = (os.path.join(root, session, _EVENTS) for session in names_in(root))  # beside it lie the user's files
        return filter(os.path.isfile, paths)

    def wrote_record(self, record: Record) -> bool:
        kind = record.get("type")
        return isinstance(kind, str) and "." in kind and "parentId" in record and isinstance(record.get("data"), dict)

    def place_of(self, path: str) -> dict[str, str]:
        folder, name = os.path.split(path)
        return {"session_id": os.path.basename(folder)} if name == _EVENTS else {}


class _Wiring(Wiring):
    programs = ("copilot",)
    settings = ("COPILOT_HOME", "~/.copilot", "")
    try_this = "start `copilot`; /mcp lists the server"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        import json

        from howcome.clients.wiring import OwnFile, SettingsFile

        server = install.server("mcpServers", type="local", tools=["*"])
        hooks = {
            event: [{"type": "command", "command": install.hook_command(event), "timeoutSec": hook.timeout}]
            for event, hook in CLIENT.wired_hooks().items()
        }
        content = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
        return [
            SettingsFile(self.folder() / "mcp-config.json", (server,)),
            OwnFile(self.folder() / "hooks" / "howcome.json", content.encode(), "hooks"),
        ]


class _Copilot(Client):
    def heard(self, event: str, payload: Payload) -> Payload | None:
        """The transcript is where its session's is, unless it is named."""
        found = super().heard(event, payload)
        session = text_of(payload, "session_id")
        if found is None or "agentId" in payload or not session or os.sep in session:
            return None
        if text_of(found, "transcript_path"):
            return found
        path = os.path.join(_sessions(os.path.expanduser("~"), os.environ), session, _EVENTS)
        return {**found, "transcript_path": path}


CLIENT = _Copilot(
    "copilot",
    "GitHub Copilot CLI",
    history=_History(),
    wiring=_Wiring(),
    hooks={  # timeouts in seconds
        "SessionStart": Hook(CATCH_UP, START, timeout=20, shape=at_the_top),
        "UserPromptSubmit": Hook(RECALL, PROMPT, timeout=5, shape=at_the_top),
        "Stop": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20, shape=at_the_top),
        "PreCompact": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20, shape=at_the_top),
        "SessionEnd": Hook(CAPTURE_OR_CATCH_UP, START, timeout=20, shape=at_the_top),
    },
)
