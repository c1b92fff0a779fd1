"""Reading what the client wrote and what it sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

HOOK_NOTICES = frozenset({"hook_non_blocking_error", "hook_blocking_error", "hook_cancelled"})


class Place(NamedTuple):
    """Where a text stands in a request; the top-level system prompt is message -1."""

    message: int
    role: str
    block: int
    kind: str


def where(body: dict[str, Any], text: str) -> list[Place]:
    """Find every block of a request that holds the text."""
    parts = [(-1, "system-prompt", body.get("system"))]
    parts += [(i, str(m.get("role")), m.get("content")) for i, m in enumerate(body.get("messages") or [])]
    places = []
    for index, role, content in parts:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for position, block in enumerate(blocks):
            if any(text in string for string in strings(block)):
                places.append(Place(index, role, position, str(block.get("type"))))
    return places


def strings(value: Any) -> list[str]:
    """Collect all strings inside a JSON value."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [string for child in children for string in strings(child)]


def count(body: dict[str, Any], text: str) -> int:
    """Count the occurrences of a text in all strings of a request."""
    return sum(string.count(text) for string in strings(body))


def transcript_files(config: Path) -> list[Path]:
    """List all transcripts below a client's configuration folder."""
    return sorted((config / "projects").rglob("*.jsonl"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Parse a transcript."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def hook_notices(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pick the records with which the client tells its user that a hook went wrong."""
    attachments = [record["attachment"] for record in records if record.get("type") == "attachment"]
    return [attachment for attachment in attachments if attachment.get("type") in HOOK_NOTICES]
