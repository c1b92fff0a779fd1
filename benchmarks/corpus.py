"""Transcripts to measure with: an invented corpus in Claude Code's own record form, or the files of a folder.

The mix follows what coding sessions hold: by bytes three quarters tool results (half of all bytes are their second
copy in `toolUseResult`), by events half tool calls and results, the rest prompts, answers and thinking.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import uuid
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from words import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Traffic = tuple[dict[str, Any], str, dict[str, Any]]
    """A tool call's input, its result, and the client's own copy of it."""

ROOT = "/home/dev/tidewater"
_UUID = re.compile(rb"\b([0-9a-f]{8})(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b")
_START = datetime(2026, 2, 2, 8)  # noqa: DTZ001 - written as UTC
_ATTACHMENTS = ("environment", "skill_listing", "session_context", "todo_reminder", "edited_text_file")


class Session:
    """One invented session: lines of its transcript, one exchange at a time.

    `events` counts what a reader must find in the lines handed out so far. A dense one has no second copies of results.
    """

    def __init__(self, seed: str, *, cwd: str = ROOT, agent: str | None = None, session_id: str | None = None,
                 dense: bool = False) -> None:  # fmt: skip
        self.words = Vocabulary(seed)
        self.random = random.Random(f"{seed} records")
        self.id = session_id or self._uuid()
        self.events = 0
        self._cwd, self._agent, self._dense = cwd, agent, dense
        self._parent: str | None = None
        self._clock = _START + timedelta(seconds=self.random.randrange(5_000_000))

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def exchange(self) -> Iterator[bytes]:
        """A prompt and all that follows until the next."""
        yield self._user(self.words.prose(self.random.choice((40, 90, 160, 400, 1500))))
        for name in self.random.sample(_ATTACHMENTS, self.random.randrange(3)):
            yield self._line("attachment", attachment={"type": name, "content": self.words.prose(300)})
        for _ in range(self.random.choice((1, 3, 5, 8, 12))):
            if self.random.random() < 0.6:
                thought = self.words.prose(self.random.choice((300, 900, 2400)))
                yield self._assistant({"type": "thinking", "thinking": thought, "signature": self._noise(700)})
            if self.random.random() < 0.3:
                yield self._assistant({"type": "text", "text": self.words.prose(self.random.choice((60, 200)))})
            yield from self._call()
        yield self._assistant({"type": "text", "text": self.words.prose(self.random.choice((200, 600, 1600)))})
        yield self._line("system", subtype="turn_duration", durationMs=self.random.randrange(90_000), isMeta=False)

    def lines(self, size: int) -> Iterator[bytes]:
        """Whole exchanges until about `size` bytes are reached (cut at a line)."""
        while True:
            for line in self.exchange():
                yield line
                size -= len(line)
                if size <= 0:
                    return

    def _noise(self, chars: int) -> str:
        return "".join(self.random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=chars))

    def _call(self) -> Iterator[bytes]:
        tool = self.random.choices(("Bash", "Read", "Edit", "Grep"), (37, 28, 23, 12))[0]
        call, path = "toolu_" + self._noise(24).replace("+", "a").replace("/", "b"), f"{ROOT}/{self.words.file()}"
        values, text, result = self._tool(tool, path)
        yield self._assistant({"type": "tool_use", "id": call, "name": tool, "input": values})
        failed = tool == "Bash" and self.random.random() < 0.12
        block = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": "Exit code 1\n" + text if failed else text,
            "is_error": failed,
        }
        yield self._user([block], **({} if self._dense else {"toolUseResult": result}))

    def _tool(self, tool: str, path: str) -> _Traffic:
        return {"Bash": self._bash, "Read": self._read, "Edit": self._edit, "Grep": self._grep}[tool](path)

    def _bash(self, _path: str) -> _Traffic:
        text = self.words.log(self.random.choice((80, 300, 900, 2500, 6000)))
        command = f"cd {ROOT} && pytest {self.words.file()} -k {self.words.name()} 2>&1 | tail -40"
        values = {"command": command, "description": " ".join(self.words.words(5))}
        return values, text, {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}

    def _read(self, path: str) -> _Traffic:
        lines = self.words.code(self.random.choice((700, 2500, 6000, 14_000)))
        text = "\n".join(f"{number:6d}→{line}" for number, line in enumerate(lines, 1))
        body = {"filePath": path, "content": "\n".join(lines), "numLines": len(lines), "startLine": 1}
        return {"file_path": path}, text, {"type": "text", "file": body}

    def _edit(self, path: str) -> _Traffic:
        old, new = (self.words.code(self.random.choice((120, 400, 1200))) for _ in range(2))
        near, whole = self.words.code(900), self.words.code(self.random.choice((8000, 20_000, 44_000)))
        values = {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new), "replace_all": False}
        text = f"The file {path} has been updated. Here's a part of it:\n" + "\n".join(near)
        changed = [f"-{line}" for line in old] + [f"+{line}" for line in new]
        patch = [{"oldStart": 12, "newStart": 12, "lines": changed}]
        return values, text, {"filePath": path, "originalFile": "\n".join(whole), "structuredPatch": patch}

    def _grep(self, _path: str) -> _Traffic:
        count, words = self.random.choice((3, 12, 40)), self.words
        text = "\n".join(f"{words.file()}:{self.random.randrange(900)}:{words.code_line()}" for _ in range(count))
        values = {"pattern": words.name(), "path": ROOT, "output_mode": "content", "-n": True}
        return values, text, {"mode": "content", "numFiles": 3, "filenames": [], "content": text, "numLines": count}

    def _user(self, content: object, **fields: object) -> bytes:
        self.events += 1
        return self._line("user", message={"role": "user", "content": content}, **fields)

    def _assistant(self, block: dict[str, Any]) -> bytes:
        self.events += 1
        usage = {
            "input_tokens": 9, "cache_creation_input_tokens": 812, "service_tier": "standard",
            "cache_read_input_tokens": self.random.randrange(90_000), "output_tokens": 320,
        }  # fmt: skip
        message = {
            "id": "msg_" + self._uuid()[:20], "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        return self._line("assistant", message=message, requestId="req_" + self._uuid()[:20])

    def _line(self, kind: str, **fields: object) -> bytes:
        self._clock += timedelta(milliseconds=self.random.randrange(500, 20_000))
        own = self._uuid()
        record = {
            "parentUuid": self._parent, "isSidechain": self._agent is not None, "userType": "external",
            "cwd": self._cwd, "sessionId": self.id, "version": "2.1.329", "gitBranch": "main", "type": kind, **fields,
            "uuid": own, "timestamp": self._clock.isoformat(timespec="milliseconds") + "Z",
        }  # fmt: skip
        if self._agent:
            record["agentId"] = self._agent
        self._parent = own
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def invent(folder: str, *, megabytes: float, sessions: int, seed: int, dense: bool = False) -> list[str]:
    """Writes a corpus below `folder` and returns its files; sizes differ as those of real sessions do."""
    os.makedirs(folder, exist_ok=True)
    source = random.Random(f"{seed} sizes")
    shares = [source.lognormvariate(0, 0.9) for _ in range(sessions)]
    paths = []
    for number, share in enumerate(shares):
        session = Session(f"{seed} {number}", dense=dense)
        paths.append(os.path.join(folder, f"{session.id}.jsonl"))
        with open(paths[-1], "wb") as stream:
            stream.writelines(session.lines(int(megabytes * 1e6 * share / sum(shares))))
    return paths


def read_lines(path: str) -> Iterator[bytes]:
    """The lines of a transcript, unpacked."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as stream:
        yield from stream


def unpacked_bytes(paths: list[str]) -> int:
    """How much the files hold, unpacked."""
    return sum(len(line) for path in paths if path.endswith(".gz") for line in read_lines(path)) + sum(
        os.path.getsize(path) for path in paths if not path.endswith(".gz")
    )


def copy_renamed(paths: list[str], folder: str, number: int) -> None:
    """Writes the files once more as other sessions: every uuid in them becomes another one, the same everywhere."""
    os.makedirs(folder, exist_ok=True)
    for place, path in enumerate(paths):
        with open(os.path.join(folder, f"{number}-{place}.jsonl"), "wb") as stream:
            stream.writelines(renamed(read_lines(path), number))


def renamed(lines: Iterable[bytes], number: int) -> Iterator[bytes]:
    """The lines with every uuid in them made another one, the same everywhere for the same number."""

    def rename(match: re.Match[bytes]) -> bytes:
        return b"%08x" % (int(match[1], 16) ^ (number * 0x01000193 & 0xFFFFFFFF)) + match[2]

    return (_UUID.sub(rename, line) for line in lines)


def said(paths: list[str]) -> Iterator[tuple[str, str, str]]:
    """What was said in the files: (folder, role, text) of prompts and answers."""
    for path in paths:
        for line in read_lines(path):
            if b'"text"' not in line and b'"content":"' not in line:
                continue
            record = json.loads(line)
            content = (record.get("message") or {}).get("content") if isinstance(record.get("message"), dict) else None
            blocks = (
                [{"type": "text", "text": content}]
                if isinstance(content, str)
                else content
                if isinstance(content, list)
                else []
            )
            for block in blocks:
                if (
                    isinstance(block, dict)
                    and block.get("type") == "text"
                    and block.get("text")
                    and not record.get("isMeta")
                ):
                    yield record.get("cwd") or "", record.get("type"), block["text"]


def strings(paths: list[str], limit: int) -> list[str]:
    """Every string that is said, called or printed in the messages of the files, up to about `limit` characters."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    size = 0
    for path in paths:
        for line in read_lines(path):
            if b'"message"' in line:
                known = len(found)
                message = json.loads(line).get("message")
                walk(message.get("content") if isinstance(message, dict) else None)
                size += sum(map(len, found[known:]))
        if size > limit:
            break
    return found


def main_folder(texts: list[tuple[str, str, str]]) -> str:
    """The folder in which most was said."""
    return Counter(folder for folder, _, _ in texts if folder).most_common(1)[0][0]
