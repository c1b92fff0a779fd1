"""Gemini CLI: recordings of lines or whole documents; server and hooks in one settings.json, which may hold comments.

Built from its public sources and formats.
"""

from __future__ import annotations

import os

from howcome.clients.base import Client, History, Wiring
from howcome.clients.hook import CAPTURE_OR_CATCH_UP, CATCH_UP, INGEST, PROMPT, RECALL, START, Hook, always_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired


class _History(History):
    reader = "gemini_records"
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
    try_this = "start `gemini`; /mcp lists the tools"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        from howcome.clients.wiring import SettingsFile

        entries = (install.server("mcpServers"), *install.hooks(CLIENT.wired_hooks()))
        return [SettingsFile(self.folder() / "settings.json", entries, "jsonc")]


CLIENT = Client(
    "gemini",
    "Gemini CLI",
    history=_History(),
    wiring=_Wiring(),
    hooks={  # timeouts in milliseconds; standard output must be one JSON value
        "SessionStart": Hook(CATCH_UP, START, timeout=20000, shape=always_json),
        "BeforeAgent": Hook(RECALL, PROMPT, timeout=5000, shape=always_json),
        "AfterAgent": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20000, shape=always_json),
        "PreCompress": Hook(CAPTURE_OR_CATCH_UP, INGEST, timeout=20000, shape=always_json),
        "SessionEnd": Hook(CAPTURE_OR_CATCH_UP, START, timeout=20000, shape=always_json),
    },
)
