"""What every reader shares: the state it carries from record to record, and small decoders of record fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from howcome.clients.prompt_queue import PromptQueue
from howcome.domain import events
from howcome.domain.events import Event

Record = Mapping[str, object]
Named = dict[str, str | None]
"""What a call and its result are known by: tool, tool_use_id, file."""

MAX_PENDING_CALLS = 200
"""Tool calls remembered until their result comes; a call that never got one must not grow the state for ever."""

OWN_BLOCK = re.compile(  # under the former name, too
    r"<(howcome|recollect)-memory\b[^<>]{0,200}>.*?(?:</\1-memory[^<>]{0,200}>|\Z)", re.DOTALL
)
"""What howcome itself injected: never taken for anybody's words (it would feed the memory with its echo)."""

ORIGINS = {
    events.USER_PROMPT: events.ORIGIN_USER, events.TOOL_RESULT: events.ORIGIN_TOOL,
    events.COMPACTION: events.ORIGIN_TOOL,
}  # fmt: skip
"""Whose the words of a kind of event are, where nothing else is known; the agent's for any other."""

_EXIT_CODE = re.compile(r"\s*(?:Error: )?Exit code:? (-?\d{1,6})\b")


class ReaderState:
    """What a reader must remember between records of one file; kept with the cursor, in the same transaction.

    `calls` maps an open tool call's id to [tool, file]; the other fields are for formats that name the session,
    the folder, the branch or the subagent only once, at the head of the file. `queue` is what was typed meanwhile.
    """

    __slots__ = ("agent_id", "branch", "calls", "cwd", "queue", "session_id")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        values = values or {}
        self.session_id = str(values.get("session_id") or "")
        self.cwd = _text_or_none(values.get("cwd"))
        self.branch = _text_or_none(values.get("branch"))
        self.agent_id = _text_or_none(values.get("agent_id"))
        calls = values.get("calls")
        self.calls: dict[str, list[str | None]] = dict(calls) if isinstance(calls, dict) else {}
        queue = values.get("queue")
        self.queue = PromptQueue(queue if isinstance(queue, dict) else None)

    def to_values(self) -> dict[str, object]:
        """The state as JSON values, empty parts left out."""
        values = {name: getattr(self, name) for name in self.__slots__}
        values["queue"] = self.queue.to_values()
        return {name: value for name, value in values.items() if value}

    def open_call(self, call_id: str | None, tool: str | None, file: str | None) -> Named:
        """What a call is known by; it is remembered until its result names it."""
        if call_id:
            if len(self.calls) >= MAX_PENDING_CALLS:
                del self.calls[next(iter(self.calls))]
            self.calls[call_id] = [tool, file]
        return {"tool": tool, "tool_use_id": call_id, "file": file}

    def close_call(self, call_id: str | None) -> Named:
        """What the call is known by that this result answers; by its id alone when it was never seen."""
        tool, file = self.calls.pop(call_id or "", None) or (None, None)
        return {"tool": tool, "tool_use_id": call_id, "file": file}


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def text_field(record: Record, name: str) -> str | None:
    """A string field, or None when it is missing, empty or something else."""
    return _text_or_none(record.get(name))


def inside(record: Record, name: str) -> Record:
    """A field that is an object; an empty one when it is missing or something else."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Record]:
    """The objects in a list; none in anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def call_input(values: object) -> dict[str, object]:
    """What a tool was called with, as an object."""
    return values if isinstance(values, dict) else {"input": values}


def event_of(client: str, record: Record, state: ReaderState, kind: str, text: str, **fields: object) -> Event:
    """An event of a record: what `fields` do not say is by the record's usual names, or the state's, or the kind's."""
    values = {
        "record_id": text_field(record, "id") or "", "block": 0, "session_id": state.session_id, "cwd": state.cwd,
        "ts_ms": parse_time_ms(record.get("timestamp")), "branch": state.branch, "agent_id": state.agent_id,
        "origin": ORIGINS.get(kind, events.ORIGIN_ASSISTANT), **fields,
    }  # fmt: skip
    return Event(client=client, kind=kind, text=text, **values)  # type: ignore[arg-type]


def parse_time_ms(value: object) -> int | None:
    """UTC milliseconds of an ISO 8601 text or of a number of seconds or milliseconds; None when it is neither."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        milliseconds = round(moment.timestamp() * 1000)
        return milliseconds if milliseconds >= 0 else None  # no client is older than 1970, and no index holds less
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14:
        return int(value if value > 1e11 else value * 1000)
    return None


def exit_code(text: str) -> int | None:
    """The exit code that a failed command's result starts with."""
    match = _EXIT_CODE.match(text)
    return int(match.group(1)) if match else None


def without_own_blocks(text: str) -> str:
    """`text` without anything howcome injected into it."""
    return OWN_BLOCK.sub("", text) if "-memory" in text else text


def describe_media(block: Record) -> str:
    """A short stand-in for an image or document: its bytes are counted, not kept."""
    source = inside(block, "source")
    data = source.get("data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    kind = source.get("media_type") or block.get("type") or "media"
    return f"[{kind}, {size} bytes]"
