"""The last words of a running transcript, for prompts that only point at them ("ok, let's do that")."""

from __future__ import annotations

import json
import os

TAIL_BYTES = 64 << 10
"""The first look; the client may keep a snapshot of its request, some 60 KB of it, between any two turns."""

MAX_TAIL_BYTES = 1 << 20
MAX_RECORDS = 20
MAX_TEXT_CHARS = 8000


def recent_text(path: str) -> str:
    """What was said and touched in the last records of a transcript, newest last; '' when there is none to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        size, window, parts = os.fstat(descriptor).st_size, TAIL_BYTES, []
        while True:
            parts = _last_said(os.pread(descriptor, window, max(0, size - window)))
            if len(parts) >= MAX_RECORDS or window >= min(size, MAX_TAIL_BYTES):
                break
            window *= 4
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return "\n".join(reversed(parts))[-MAX_TEXT_CHARS:]


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
        return [content[:2000]]
    found: list[str] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            found.append(block["text"][:2000])
        elif isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            found += [value[:300] for value in block["input"].values() if isinstance(value, str)]
    return found
