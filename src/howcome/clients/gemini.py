"""Gemini CLI: recordings of lines or whole documents; server and hooks in one settings.json, which may hold comments.

Seen with 0.61.0. Three of its ways decide how it is wired:

* What is said at SessionStart becomes part of the first prompt, and that prompt is lost when the session is resumed. So
  the briefing comes with the first prompt.
* PreCompress comes before every request to the model, and the request waits for it. The recording keeps what is
  compressed, so there is no hook of ours.
* At the end of a hook's time only its shell is ended, and what the shell started is waited for. So ours takes the
  shell's place.
"""

from __future__ import annotations

import os

from howcome.clients.base import Client, History, Wiring
from howcome.clients.hook import (
    CAPTURE_OR_CATCH_UP,
    FIRST_RECALL,
    INGEST,
    MEET,
    NOTHING,
    PROMPT,
    START,
    Hook,
    always_json,
    nothing,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired


class _History(History):
    reader = "gemini_records"
    reads = ("GEMINI.md",)
    tail = "gemini"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        own = environment.get("GEMINI_CLI_HOME") or home  # stands for the home folder, not for ~/.gemini
        return [os.path.join(own, ".gemini", "tmp")]

    def transcripts(self, root: str) -> Iterator[str]:
        from howcome.clients.gemini_records import transcripts

        return transcripts(root)

    def may_be(self, path: str) -> bool:
        from howcome.clients.gemini_records import is_recording

        return is_recording(os.path.basename(path))

    def wrote_document(self, path: str, head: bytes) -> bool:
        return path.endswith(".json") and b'"projectHash"' in head  # all of it need not be in what was read

    def wrote_record(self, record: Record) -> bool:
        return "projectHash" in record or "$set" in record

    def open_lines(self, path: str, *, is_idle: bool = False) -> BinaryIO:
        if not path.endswith(".json"):
            return super().open_lines(path, is_idle=is_idle)
        import io

        from howcome.clients.files import read_whole
        from howcome.clients.gemini_records import unfold

        return io.BytesIO(unfold(read_whole(path)))

    def place_of(self, path: str) -> dict[str, str]:
        from howcome.clients.gemini_records import place

        return place(path)


class _Wiring(Wiring):
    programs = ("gemini",)
    settings = ("GEMINI_CLI_HOME", "~", ".gemini")
    ends_shells_only = True
    try_this = "start `gemini`; /mcp lists the tools"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        from howcome.clients.wiring import OwnFile, SettingsFile

        entries = (install.server("mcpServers"), *install.hooks(CLIENT.wired_hooks()))
        found: list[Wired] = [SettingsFile(self.folder() / "settings.json", entries, "commented")]
        if options.get("permissions") != "no":
            found.append(OwnFile(self.folder() / "policies" / "howcome.toml", _policy(), "policy"))
        return found


def _policy() -> bytes:
    """Allows what changes nothing: without a rule a run with `-p` is offered no tool of a server at all."""
    import json

    from howcome.clients.wiring import READ_ONLY_TOOLS, SERVER

    tools = json.dumps(list(READ_ONLY_TOOLS))
    return f'[[rule]]\nmcpName = "{SERVER}"\ntoolName = {tools}\ndecision = "allow"\npriority = 100\n'.encode()


CLIENT = Client(
    "gemini",
    "Gemini CLI",
    history=_History(),
    wiring=_Wiring(),
    hooks={  # timeouts in milliseconds; standard output must be one JSON value
        "SessionStart": Hook(MEET, START, timeout=20000, shape=nothing),
        "BeforeAgent": Hook(FIRST_RECALL, PROMPT, timeout=5000, shape=always_json),
        "AfterAgent": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20000, shape=always_json),
        "PreCompress": Hook(NOTHING, INGEST, shape=nothing, is_wired=False),  # earlier installs wired it
        "SessionEnd": Hook(CAPTURE_OR_CATCH_UP, START, timeout=20000, shape=always_json),
    },
)
