"""Conversations that no agent wrote, as the records in which an agent writes its own: so they go the product's way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

TURN_SECONDS = 20
"""Turns without a time of their own are so far apart."""

_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Turn:
    """What was said at once, by whom: `user`, `assistant`, or a name."""

    id: str
    role: str
    text: str

    @classmethod
    def of(cls, row: Mapping[str, object]) -> Turn:
        """A turn of a data set; what a shared picture shows is part of it."""
        image = row.get("image")
        text = str(row["text"]) + (f" [image: {image}]" if image else "")
        return cls(str(row["id"]), str(row.get("role") or "user"), text)


@dataclass(frozen=True)
class Conversation:
    """A session's turns in their order, and when it began (None: nobody knows)."""

    session: str
    start_ms: int | None
    turns: Sequence[Turn]

    def timed(self) -> Iterable[tuple[int, Turn]]:
        """The turns with their times in UTC milliseconds, no two at the same."""
        start_ms = self.start_ms or 0
        return ((start_ms + number * TURN_SECONDS * 1000, turn) for number, turn in enumerate(self.turns))


def written_ms(text: object) -> int | None:
    """UTC milliseconds of a date in any form that begins with year, month, day (2023/12/18 (Mon) 04:17)."""
    numbers = [int(number) for number in _NUMBERS.findall(str(text or ""))][:6]
    try:
        return int(datetime(*numbers, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]
    except (TypeError, ValueError):
        return None


def write_conversations(path: Path, project: str, conversations: Iterable[Conversation]) -> Path:
    """One file of native records, of a project with that name; a record is called by its session and its turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for conversation in conversations:
            for record in _records(conversation, project):
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def _records(conversation: Conversation, project: str) -> Iterable[dict[str, object]]:
    speakers: dict[str, str] = {}
    for time_ms, turn in conversation.timed():
        role = _SPEAKERS.get(turn.role.lower())
        if role is None:  # two people: whoever speaks first asks; what one of them says begins with the name
            role = speakers.setdefault(turn.role, "assistant" if len(speakers) % 2 else "user")
        at = datetime.fromtimestamp(time_ms / 1000, UTC)
        yield {
            "type": role,
            "uuid": f"{conversation.session}/{turn.id}",
            "sessionId": conversation.session,
            "cwd": f"/{project}",
            "version": "0",
            "isSidechain": False,
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "message": {"role": role, "content": _content(turn, role)},
        }


def _content(turn: Turn, role: str) -> object:
    is_named = turn.role.lower() not in (*_SPEAKERS, "turn")
    text = f"{turn.role}: {turn.text}" if is_named else turn.text
    return text if role == "user" else [{"type": "text", "text": text}]
