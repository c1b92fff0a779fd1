"""The last words of a running transcript, for prompts that only point at them ("ok, let's do that")."""

from __future__ import annotations

import json
import os

from howcome.clients.base import Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TAIL_BYTES = 64 << 10
"""The first look; the client may keep a snapshot of its request, some 60 KB of it, between any two turns."""

MAX_TAIL_BYTES = 1 << 20
MAX_RECORDS = 20
MAX_TEXT_CHARS = 8000


def recent_text(path: str) -> str:
    """What was said and touched in the last records of a transcript, newest last; '' when there is none to read."""
    window, parts = TAIL_BYTES, []
    while True:
        data, size = _tail(path, window)
        parts = _last_said(data)
        if len(parts) >= MAX_RECORDS or window >= min(size, MAX_TAIL_BYTES):
            break
        window *= 4
    return "\n".join(reversed(parts))[-MAX_TEXT_CHARS:]


def recent_calls(path: str) -> list[Called]:
    """The last calls of a transcript that have a result, newest first."""
    errors: dict[object, str | None] = {}
    found = []
    for line in reversed(_tail(path, MAX_TAIL_BYTES)[0].split(b"\n")):
        for block in reversed(_blocks(line)) if b'"tool_use' in line or b'"tool_result"' in line else ():
            if block.get("type") == "tool_result":
                errors[block.get("tool_use_id")] = _text_of(block) if block.get("is_error") else None
            elif block.get("type") == "tool_use" and block.get("id") in errors:
                values = block.get("input")
                error = errors[block["id"]]
                found.append(
                    Called(block["id"], str(block.get("name")), values if isinstance(values, dict) else {}, error)
                )
    return found


def _tail(path: str, window: int) -> tuple[bytes, int]:
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
    content = block.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def _last_said(data: bytes) -> list[str]:
    """What the lines of a window say, newest first."""
    parts: list[str] = []
    for line in reversed(data.split(b"\n")):
        if b'"message"' in line and (b'"assistant"' in line or b'"user"' in line):
            parts += reversed(_said(line))
        if len(parts) >= MAX_RECORDS:
            break
    return parts


def _said(line: bytes) -> list[str]:
    found: list[str] = []
    for block in _blocks(line):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            found.append(block["text"][:2000])
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            found += [value[:300] for value in block["input"].values() if isinstance(value, str)]
    return found


def _blocks(line: bytes) -> list[dict[str, Any]]:
    """What a turn consists of; nothing of a line that is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # the first line of the window is cut, the last may be unfinished
        return []
    is_turn = isinstance(record, dict) and record.get("type") in ("assistant", "user")
    message = record.get("message") if is_turn else None  # copies of requests have messages too
    if not isinstance(message, dict) or record.get("isMeta") or record.get("isCompactSummary"):
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
