"""Sessions for tests of what is learnt: words and calls in their order, as the store would give them."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

from howcome.domain import events
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.sources import SourceDistiller

if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.candidates import Candidate

START_MS, MINUTE_MS = 1_773_914_400_000, 60_000
ORIGINS = {
    events.USER_PROMPT: events.ORIGIN_USER, events.ASSISTANT_TEXT: events.ORIGIN_ASSISTANT,
    events.TOOL_CALL: events.ORIGIN_ASSISTANT, events.TOOL_RESULT: events.ORIGIN_TOOL,
}  # fmt: skip

Part = dict[str, object]


def user(text: str, *, refuses: str | None = None) -> Part:
    """What the user typed; `refuses`: the tool whose call it refused."""
    return {"kind": events.USER_PROMPT, "text": text, "tool": refuses}


def agent(text: str) -> Part:
    """What the agent said."""
    return {"kind": events.ASSISTANT_TEXT, "text": text}


def call(tool: str, output: str = "", *, failed: bool = False, origin: str = "", **values: object) -> list[Part]:
    """A call and what came of it."""
    file = events.call_file(values)
    return [
        {"kind": events.TOOL_CALL, "text": json.dumps(values), "tool": tool, "file": file},
        {"kind": events.TOOL_RESULT, "text": output, "tool": tool, "file": file, "failed": failed, "origin": origin},
    ]


def ran(command: str, output: str = "", *, failed: bool = False) -> list[Part]:
    """A command."""
    return call("Bash", output, failed=failed, command=command)


def changed(file: str, old: str = "a", new: str = "b") -> list[Part]:
    """A change of a file."""
    return call("Edit", "ok", file_path=file, old_string=old, new_string=new)


def session(*parts: Part | list[Part]) -> list[StoredEvent]:
    """The events of a session."""
    flat: list[Part] = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return [_stored(part, number) for number, part in enumerate(flat)]


def _stored(part: Part, number: int) -> StoredEvent:
    kind, text, ts_ms = str(part["kind"]), str(part["text"]), START_MS + number * MINUTE_MS
    return StoredEvent(
        {
            "row": number + 1, "key": blake2b(f"{number}".encode(), digest_size=16).digest(),
            "kind": events.KINDS.index(kind), "origin": events.ORIGINS.index(str(part.get("origin") or ORIGINS[kind])),
            "session": "s", "client": "claude-code", "project": "/home/mara/harbour", "ts_ms": ts_ms,
            "order_ms": ts_ms, "tool": part.get("tool"),
            "tool_use_id": part.get("tool_use_id"), "file": part.get("file"), "branch": "main", "agent_id": None,
            "failed": part.get("failed"), "exit_code": None, "text_chars": len(text), "excerpt": text[:300],
        },
        text,
    )  # fmt: skip


def learnt(*parts: Part | list[Part], only: Iterable[str] = ()) -> list[Candidate]:
    """What the sources find in a session; `only` some of them."""
    stream = stream_of(session(*parts))
    distiller = SourceDistiller()
    found = [one for place in range(len(stream)) for one in distiller.distil(stream, place).candidates]
    return [one for one in found if not only or one.source in only]
