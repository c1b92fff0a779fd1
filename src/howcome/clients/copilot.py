"""GitHub Copilot CLI: one file of events a session; its MCP server in mcp-config.json.

It reads a project's Claude Code hooks, too, and takes no context from them; hooks of its own are not wired.
"""

from __future__ import annotations

import os

from howcome.clients.base import Client, History, Wiring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired

_EVENTS = "events.jsonl"


class _History(History):
    reader = "copilot_records"
    tail = "copilot"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        own = environment.get("COPILOT_HOME") or os.path.join(home, ".copilot")
        return [os.path.join(own, "session-state")]

    def transcripts(self, root: str) -> Iterator[str]:
        try:
            sessions = sorted(os.listdir(root))
        except OSError:
            return
        paths = (os.path.join(root, session, _EVENTS) for session in sessions)  # beside it lie files of the user's
        yield from (path for path in paths if os.path.isfile(path))

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
        from howcome.clients.wiring import SERVER, SERVER_ENTRY, Entry, SettingsFile

        command, *arguments = install.server_words
        environment = dict(install.server_environment)
        value = {"type": "local", "command": command, "args": arguments, "env": environment, "tools": ["*"]}
        return [SettingsFile(self.folder() / "mcp-config.json", (Entry(SERVER_ENTRY, ("mcpServers", SERVER), value),))]


CLIENT = Client("copilot", "GitHub Copilot CLI", history=_History(), wiring=_Wiring())
