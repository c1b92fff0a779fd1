"""Codex CLI: rollouts of lines; a table in config.toml and hooks in hooks.json.

Seen with 0.169. It runs a hook only when its user has trusted it. It is wired for the user only: its project files are
meant to be committed, so a path of this machine has no place in them.
"""

from __future__ import annotations

import os

from howcome.clients.base import Client, History, Wiring
from howcome.clients.hook import CAPTURE_OR_CATCH_UP, CATCH_UP, INGEST, PROMPT, RECALL, START, Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired


class _History(History):
    reader = "codex_records"
    reads = ("AGENTS.md",)
    tail = "codex"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        own = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
        return [os.path.join(own, "sessions"), os.path.join(own, "archived_sessions")]

    def wrote_record(self, record: Record) -> bool:
        return "payload" in record or "record_type" in record or record.get("type") == "session_meta"


class _Wiring(Wiring):
    programs = ("codex",)
    settings = ("CODEX_HOME", "~/.codex", "")
    trust_server = ("codex", "app-server")
    try_this = "start `codex`; /hooks shows whether it trusts howcome's (it runs no other hook), /mcp lists the tools"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        from howcome.clients.wiring import TABLE, TRUST, Entry, SettingsFile

        server = install.server("mcp_servers", kind=TABLE)  # a table: its environment is a few variables
        kept = {place: state for place, (_, state) in self._states(install.is_hook).items() if state}
        trust = (Entry(TRUST, ("hooks", "state", place), state) for place, state in kept.items())
        return [
            SettingsFile(self.folder() / "config.toml", (server, *trust), "toml"),
            SettingsFile(self.folder() / "hooks.json", tuple(install.hooks(CLIENT.wired_hooks()))),
        ]

    def untrusted(self, is_ours: Callable[[str], bool]) -> list[str]:
        states = self._states(is_ours).values()
        return [event for event, state in states if not state.get("trusted_hash")]

    def _states(self, is_ours: Callable[[str], bool]) -> dict[str, tuple[str, dict[str, object]]]:
        """Our hooks by file, event and place: their event, and what config.toml keeps of them.

        A trusted hook has a hash there; another hook put before it undoes that.
        """
        import json
        import re

        path = self.folder() / "hooks.json"
        try:
            hooks = json.loads(path.read_bytes())["hooks"]
            import tomllib  # `status` asks, mostly where there is no Codex

            config = tomllib.loads((self.folder() / "config.toml").read_text(encoding="utf-8"))
            state = config.get("hooks", {}).get("state", {})
            return {
                place: (event, state.get(place, {}))
                for event, groups in hooks.items()
                for group, entry in enumerate(groups)
                for number, hook in enumerate(entry["hooks"])
                if is_ours(hook.get("command", ""))
                for place in [f"{path}:{re.sub('(?<!^)(?=[A-Z])', '_', event).lower()}:{group}:{number}"]
            }
        except (OSError, ValueError, RecursionError, LookupError, AttributeError, TypeError):
            return {}  # what cannot be read is found by other checks


CLIENT = Client(
    "codex",
    "Codex CLI",
    history=_History(),
    wiring=_Wiring(),
    hooks={  # timeouts in seconds; `transcript_path` may be null
        "SessionStart": Hook(CATCH_UP, START, timeout=20),
        "UserPromptSubmit": Hook(RECALL, PROMPT, timeout=5),
        "Stop": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20),
        # The file keeps what is compacted, and earlier clients do not know these.
        "PreCompact": Hook(CAPTURE_OR_CATCH_UP, INGEST, is_wired=False),
        "SubagentStop": Hook(CAPTURE_OR_CATCH_UP, INGEST, is_wired=False),
    },
)
