"""The last words of a running transcript, for prompts that only point at them ("ok, let's do that").

BLOCKS says for each form of transcript what a line consists of: blocks of Claude Code's form, whosever the line is.
"""

from __future__ import annotations

import json
import os

from howcome.clients.hook import Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Block = dict[str, Any]

TAIL_BYTES = 64 << 10
"""The first look; the client may keep a snapshot of its request, some 60 KB of it, between any two turns."""

MAX_TAIL_BYTES = 1 << 20
_SPOKEN = (b'"message"', b'"response_item"', b'"gemini"', b'"user', b'"assistant', b'"tool.execution_start"')
"""What stands in every line that somebody spoke in, of whatever form: other lines need no decoding."""

MAX_RECORDS = 20
MAX_TEXT_CHARS = 8000


def recent_text(path: str, form: str = "claude-code") -> str:
    """What was said and touched in the last records of a transcript, newest last; '' when there is none to read."""
    window = TAIL_BYTES
    while True:
        data, size = last_bytes(path, window)
        parts = _last_said(data, form)
        if len(parts) >= MAX_RECORDS or window >= min(size, MAX_TAIL_BYTES):
            return "\n".join(reversed(parts))[-MAX_TEXT_CHARS:]
        window *= 4


def recent_calls(path: str) -> list[Called]:
    """The last calls of a transcript that have a result, newest first."""
    errors: dict[object, str | None] = {}
    found = []
    for line in reversed(last_bytes(path, MAX_TAIL_BYTES)[0].split(b"\n")):
        is_of_tools = b'"tool_use' in line or b'"tool_result"' in line
        for block in reversed(_claude_code(_record(line))) if is_of_tools else ():
            if block.get("type") == "tool_result":
                errors[block.get("tool_use_id")] = _text_of(block) if block.get("is_error") else None
            elif block.get("type") == "tool_use" and block.get("id") in errors:
                values = _called(block.get("input"))["input"]
                found.append(Called(block["id"], str(block.get("name")), values, errors[block["id"]]))
    return found


def last_bytes(path: str, window: int) -> tuple[bytes, int]:
    """The last bytes of a file, and how many it has; nothing of what is none, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b"", 0
    try:
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, window, max(0, size - window)), size
    except OSError:
        return b"", 0
    finally:
        os.close(descriptor)


def _text_of(block: Mapping[str, object]) -> str:
    return "\n".join(str(part.get("text") or "") for part in _parts(block.get("content")))


def _last_said(data: bytes, form: str) -> list[str]:
    """What the lines of a window say, newest first."""
    parts: list[str] = []
    for line in reversed(data.split(b"\n")):
        if any(word in line for word in _SPOKEN):  # snapshots of requests are long, and none of them is
            parts += reversed(_said(BLOCKS[form](_record(line))))
        if len(parts) >= MAX_RECORDS:
            break
    return parts


def _said(blocks: list[Block]) -> list[str]:
    found: list[str] = []
    for block in blocks:
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            found.append(block["text"][:2000])
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            found += [value[:300] for value in block["input"].values() if isinstance(value, str)]
    return found


def _record(line: bytes) -> Mapping[str, Any]:
    """A line's record; nothing of one that is cut or unfinished."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _parts(content: object) -> list[Block]:
    """A content, whether it is a text or a list of parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _texts(content: object) -> list[Block]:
    """The parts that are texts, by whatever name."""
    return [{"type": "text", "text": part["text"]} for part in _parts(content) if isinstance(part.get("text"), str)]


def _called(values: object) -> Block:
    """A call, with what it was called with."""
    return {"type": "tool_use", "input": values if isinstance(values, dict) else {}}


def _claude_code(record: Mapping[str, Any]) -> list[Block]:
    is_turn = record.get("type") in ("assistant", "user")
    message = record.get("message") if is_turn else None  # copies of requests have messages too
    if not isinstance(message, dict) or record.get("isMeta") or record.get("isCompactSummary"):
        return []
    return _parts(message.get("content"))


def _codex(record: Mapping[str, Any]) -> list[Block]:
    item = record.get("payload") if record.get("type") == "response_item" else None
    if not isinstance(item, dict):
        return []
    if item.get("type") == "function_call":
        values = _record(str(item.get("arguments")).encode("utf-8", "replace"))
        words = values.get("command")  # once ["bash", "-lc", "make test"]
        return [_called({**values, "command": words[-1]} if isinstance(words, list) and words else values)]
    return _texts(item.get("content")) if item.get("role") in ("assistant", "user") else []


def _gemini(record: Mapping[str, Any]) -> list[Block]:
    if record.get("type") not in ("gemini", "user"):
        return []
    calls = record.get("toolCalls")
    called = [_called(call.get("args")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return _texts(record.get("displayContent") or record.get("content")) + called


def _copilot(record: Mapping[str, Any]) -> list[Block]:
    data = record.get("data")
    if not isinstance(data, dict):
        return []
    if record.get("type") == "tool.execution_start":
        return [_called(data.get("arguments"))]
    return _texts(data.get("content")) if record.get("type") in ("assistant.message", "user.message") else []


BLOCKS = {"claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "copilot": _copilot}
"""The form of a transcript → what a record of it consists of."""
