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

from howcome.clients import hook
from howcome.clients.base import Client, History, Wiring, names_in
from howcome.clients.hook import INGEST, PROMPT, START, Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from howcome.clients.records import Record
    from howcome.clients.wiring import Install, Wired

_CHATS = "chats"
_PLACE_FILE_BYTES = 1 << 20
_RULE = '[[rule]]\nmcpName = "{server}"\ntoolName = {tools}\ndecision = "allow"\npriority = 100\n'


class _History(History):
    reader = "gemini_records"
    reads = ("GEMINI.md",)
    tail = "gemini"

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        own = environment.get("GEMINI_CLI_HOME") or home  # stands for the home folder, not for ~/.gemini
        return [os.path.join(own, ".gemini", "tmp")]

    def transcripts(self, root: str) -> Iterator[str]:
        """The recordings below `~/.gemini/tmp`: only its projects' chat folders are looked into."""
        for project in names_in(root):
            yield from super().transcripts(os.path.join(root, project, _CHATS))

    def may_be(self, path: str) -> bool:
        """Lines, or a document from before there were lines."""
        name = os.path.basename(path)
        return super().may_be(name) or (name.startswith("session-") and name.endswith(".json"))

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
        """The project's folder, and a subagent's session.

        `<project>/chats/session-….jsonl` is a session's own file, `<project>/chats/<session>/….jsonl` a subagent's.
        """
        folder = os.path.dirname(path)
        found = {}
        if os.path.basename(folder) != _CHATS and os.path.basename(os.path.dirname(folder)) == _CHATS:
            found["session_id"] = os.path.basename(folder)
            folder = os.path.dirname(folder)
        cwd = _project_folder(os.path.dirname(folder)) if os.path.basename(folder) == _CHATS else None
        return {**found, "cwd": cwd} if cwd else found


def _project_folder(project: str) -> str | None:
    """The path behind `tmp/<project>`: by its marker, else by the client's lists (a name, or before that a SHA-256)."""
    marker = _read(os.path.join(project, ".project_root")).decode("utf-8", "replace").strip()
    if os.path.isabs(marker):
        return marker
    home, name = os.path.dirname(os.path.dirname(project)), os.path.basename(project)
    known = _read_object(os.path.join(home, "projects.json")).get("projects")
    known = {str(path): slug for path, slug in known.items()} if isinstance(known, dict) else {}
    from hashlib import sha256

    older = (*known, *_read_object(os.path.join(home, "trustedFolders.json")))
    digests = {path: sha256(path.encode("utf-8", "surrogatepass")).hexdigest() for path in older}
    return next((path for path, slug in (*known.items(), *digests.items()) if slug == name), None)


def _read_object(path: str) -> dict[str, object]:
    from howcome.clients.decode import decode_record
    from howcome.errors import RecordError

    try:
        return decode_record(_read(path), None)
    except RecordError:
        return {}


def _read(path: str) -> bytes:
    """The start of one of the client's small files, b'' when there is none."""
    from howcome.files import read_plain

    return read_plain(path, _PLACE_FILE_BYTES) or b""


class _Wiring(Wiring):
    programs = ("gemini",)
    settings = ("GEMINI_CLI_HOME", "~", ".gemini")
    ends_shells_only = True
    try_this = "start `gemini`; /mcp lists the tools"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        import json

        from howcome.clients.wiring import READ_ONLY_TOOLS, SERVER, OwnFile, SettingsFile

        entries = (install.server("mcpServers"), *install.hooks(CLIENT.wired_hooks()))
        found: list[Wired] = [SettingsFile(self.folder() / "settings.json", entries, "commented")]
        if options.get("permissions") != "no":  # without a rule a run with `-p` is offered no tool of a server at all
            rule = _RULE.format(server=SERVER, tools=json.dumps(list(READ_ONLY_TOOLS))).encode()
            found.append(OwnFile(self.folder() / "policies" / "howcome.toml", rule, "policy"))
        return found


CLIENT = Client(
    "gemini",
    "Gemini CLI",
    history=_History(),
    wiring=_Wiring(),
    hooks={  # timeouts in milliseconds; standard output must be one JSON value
        "SessionStart": Hook(hook.MEET, START, timeout=20000, shape=hook.nothing),
        "BeforeAgent": Hook(hook.FIRST_RECALL, PROMPT, timeout=5000, shape=hook.always_json),
        "AfterAgent": Hook(hook.CAPTURE_OR_CATCH_UP, INGEST, timeout=20000, shape=hook.always_json),
        "SessionEnd": Hook(hook.CAPTURE_OR_CATCH_UP, START, timeout=20000, shape=hook.always_json),
    },
)
