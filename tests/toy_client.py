"""An agent that nobody has: its history, its hooks and its wiring as one object, to show that no more is needed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from howcome.clients.base import Client, History, Wiring
from howcome.clients.hook import Hook
from howcome.clients.records import ReaderState, parse_time_ms
from howcome.clients.wiring import HOOK, SERVER, SERVER_ENTRY, Entry, Install, SettingsFile, Wired
from howcome.domain.events import ASSISTANT_TEXT, ORIGIN_ASSISTANT, ORIGIN_USER, USER_PROMPT, Event

NAME = "quillwright"
SPEAKERS = {"me": (USER_PROMPT, ORIGIN_USER), "it": (ASSISTANT_TEXT, ORIGIN_ASSISTANT)}


class Chats(History):
    """One file of lines a chat: `{"chat", "where", "n", "at", "by", "says"}`."""

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        """One folder."""
        return [os.path.join(environment.get("QUILLWRIGHT_HOME") or os.path.join(home, ".quillwright"), "chats")]

    def may_be(self, path: str) -> bool:
        """By its name."""
        return path.endswith(".quill")

    def wrote_record(self, record: Mapping[str, object]) -> bool:
        """By two of its fields."""
        return "chat" in record and "says" in record

    def read_record(self, record: Mapping[str, object], state: ReaderState) -> list[Event] | None:
        """A line is an event."""
        if record.get("by") not in SPEAKERS:
            return None
        kind, origin = SPEAKERS[str(record["by"])]
        state.session_id, state.cwd = str(record["chat"]), str(record["where"])
        return [
            Event(
                client=NAME, kind=kind, origin=origin, record_id=f"{record['chat']}/{record['n']}", block=0,
                session_id=state.session_id, text=str(record["says"]), ts_ms=parse_time_ms(record["at"]), cwd=state.cwd,
            )
        ]  # fmt: skip


def as_hints(event: str, context: str) -> str:
    """What it reads of a hook."""
    return json.dumps({"for": event, "hints": [context] if context else []})


class Settings(Wiring):
    """One file, with comments, in which hooks stand plainly."""

    programs = ("quillwright",)
    is_grouped = False
    try_this = "start `quillwright`"
    off_switch = "muted"

    def folder(self) -> Path:
        """The folder of its settings."""
        return Path(os.environ["HOME"]) / ".quillwright"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        """Hooks and the server."""
        hooks = [
            Entry(HOOK, ("hooks", event), {"command": install.hook_command(event), "within": hook.timeout})
            for event, hook in CLIENT.wired_hooks().items()
        ]
        command, *arguments = install.server_words
        server = Entry(SERVER_ENTRY, ("helpers", SERVER), {"command": command, "args": arguments})
        return [SettingsFile(self.folder() / "settings.jsonc", (server, *hooks), "jsonc")]

    def settings_in_effect(self, home: str, environment: Mapping[str, str], folder: str) -> list[str]:
        """Where it may be switched off."""
        return [os.path.join(home, ".quillwright", "settings.jsonc"), os.path.join(folder, "quillwright.json")]


class Quillwright(Client):
    """Its hooks speak in words of its own."""

    def heard(self, event: str, payload: Mapping[str, object]) -> Mapping[str, object] | None:
        """Its fields under the common names."""
        if payload.get("on") != event:
            return None
        names = {"session_id": "chat", "prompt": "asks", "cwd": "where", "transcript_path": "log"}
        return {"hook_event_name": event, **{name: payload.get(own, "") for name, own in names.items()}}


CLIENT = Quillwright(
    NAME, "Quillwright", history=Chats(), wiring=Settings(),
    hooks={
        "asked": Hook("recall", "prompt_deadline_ms", timeout=7, shape=as_hints),
        "answered": Hook("capture", "ingest_deadline_ms", timeout=9, shape=as_hints),
    },
)  # fmt: skip
