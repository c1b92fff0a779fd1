"""The last words of a running transcript, for prompts that only point at them ("ok, let's do that")."""

from __future__ import annotations

import json
import os

TAIL_BYTES = 64 << 10
MAX_RECORDS = 20
MAX_TEXT_CHARS = 8000


def recent_text(path: str) -> str:
    """What was said and touched in the last records of a transcript, newest last; '' when there is none to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    parts: list[str] = []
    for line in reversed(data.split(b"\n")):
        if b'"assistant"' in line or b'"user"' in line:
            parts += _said(line)
        if len(parts) >= MAX_RECORDS:
            break
    return "\n".join(reversed(parts))[-MAX_TEXT_CHARS:]


def _said(line: bytes) -> list[str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # the first line of the window is cut, the last may be unfinished
        return []
    message = record.get("message") if isinstance(record, dict) else None
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
