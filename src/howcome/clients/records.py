"""What every reader shares: the state it carries from record to record, and small decoders of record fields."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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

MAX_EXIT_CODE = 2**32
"""Windows has codes of 32 bits; a larger number is none."""

_EXIT_CODE = re.compile(r"\s*(?:Error: )?Exit code:? (-?\d{1,6})\b")


Words = tuple[str, int | None]
"""What was typed, and when: UTC milliseconds."""

MAX_WAITING = 100
"""Entries that are remembered; the client's own notices may wait for ever."""

_WORDS, _TS, _IS_GIVEN = 0, 1, 2
_MARK, _NEWEST_MS, _IS_ANSWERED = 0, 1, 2


class PromptQueue:
    """What is typed while Claude Code works, as far as a transcript was read: it waits until the agent gets it.

    How the words come out of the queue depends on the client's version, and only one record says them for sure:

    | what happens | records behind `enqueue` | who says the words |
    |---|---|---|
    | the turn ends | `dequeue`, then a `user` record | the `user` record |
    | given to the working agent | `remove` and an `attachment` `queued_command`, in either order | the attachment |
    | the same, before some 2.1.60 | `remove` alone, without the words | nobody but `enqueue` |
    | taken back into the editor | `popAll` | nobody: it was never said |

    So words of the queue itself are said when `remove` has come and no attachment will: at once where the client wrote
    none so far, else when the agent, or a person, goes on. An attachment that comes after all says nothing new.
    Forks copy records with an id, but no operations of it.
    """

    __slots__ = ("attached_ms", "expected", "is_attaching", "said", "unconfirmed", "waiting")

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        values = values or {}
        self.waiting: list[list[Any]] = values.get("waiting") or []
        """Words ('' for what no person typed), time, and whether the agent was given them."""
        self.expected: str = values.get("expected") or ""
        """What the next `user` record says, because it was taken out of the queue."""
        self.unconfirmed: int = values.get("unconfirmed") or 0
        """Attachments whose `remove` has not come."""
        self.attached_ms: list[int] = values.get("attached_ms") or []
        """Times of attachments whose `enqueue` has not come: both may have the same, and be sorted by it."""
        self.is_attaching: bool = bool(values.get("is_attaching"))
        """Whether this client writes attachments."""
        self.said: list[list[Any]] = values.get("said") or []
        """What the queue itself said since a person's last prompt: marks of the words (they must not rest), when the
        newest that waited then was typed, and whether the agent went on since."""

    def to_values(self) -> dict[str, object]:
        """The queue as JSON values, empty parts left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}

    @property
    def holds_words(self) -> bool:
        """Whether words of a person are in it."""
        return bool(self.expected) or any(entry[_WORDS] for entry in self.waiting)

    def enqueue(self, words: str, ts_ms: int | None) -> None:
        """Somebody typed, or the client itself put something into the queue."""
        if ts_ms in self.attached_ms:
            self.attached_ms.remove(ts_ms)
        else:
            if len(self.waiting) >= MAX_WAITING:
                self._drop(next((entry for entry in self.waiting if not entry[_WORDS]), self.waiting[0]))
            self.waiting.append([words, ts_ms, False])

    def dequeue(self) -> None:
        """The next one becomes a `user` record."""
        entry = self._first()
        self._drop(entry)
        self.expected = entry[_WORDS] if entry else ""
        if entry is None:  # what was said for it may come as a record
            self.said = [[mark, newest_ms, False] for mark, newest_ms, _ in self.said]

    def take_back(self) -> None:
        """What the agent has not got is in the editor again; an operation for each, or one for all."""
        self.waiting = [entry for entry in self.waiting if entry[_IS_GIVEN]]

    def remove(self, words: str | None, reason: str | None) -> list[Words]:
        """The agent got it (`words` are None where the record does not say what), or for another `reason` nobody will.

        Returns:
            What is said by that.
        """
        entry = self._first() if words is None else self._first(words)
        if (not words and words is not None) or (reason and "absorbed" not in reason):
            self._drop(entry)
        elif self.unconfirmed and (words is None or entry is None):
            self.unconfirmed -= 1
        elif self.is_attaching and entry is not None:
            entry[_IS_GIVEN] = True
        elif words is not None:
            return self._say([entry] if entry else [])
        else:  # all that waits is given at once, but for commands when there is anything else
            return self._say([one for one in self.waiting if not one[_WORDS].startswith("/")] or self.waiting)
        return []

    def attach(self, words: str, ts_ms: int | None) -> bool:
        """An attachment says these words; whether they are new."""
        self.is_attaching = True
        entry = self._first(words, is_given=True) or self._first(words)
        said = self._said(words)
        if said is not None and (entry is None or (entry[_TS] or 0) <= said[_NEWEST_MS]):
            self._forget(said)
            return False
        if entry is None and ts_ms is not None:
            self.attached_ms = [*self.attached_ms[-MAX_WAITING:], ts_ms]
        if entry is None or not entry[_IS_GIVEN]:
            self.unconfirmed += 1
        self._drop(entry)
        return True

    def prompt(self, words: str) -> bool:
        """A `user` record says these words; whether they are new."""
        entry = None if words == self.expected else self._first(words) or self._first(words, is_given=True)
        said = self._said(words)
        is_new = words == self.expected or entry is not None or said is None or said[_IS_ANSWERED]
        self._drop(entry)
        self.expected = ""
        if is_new:
            self.said = []
        else:
            self._forget(said)
        return is_new

    def go_on(self) -> list[Words]:
        """Somebody answers or asks: what the agent was given is said; an attachment that still comes is not new."""
        found = self._say([entry for entry in self.waiting if entry[_IS_GIVEN]])
        self.said = [[mark, newest_ms, True] for mark, newest_ms, _ in self.said]
        return found

    def _first(self, words: str | None = None, *, is_given: bool = False) -> list[Any] | None:
        """The first (with these words) that the agent has got, or not."""
        waiting = (entry for entry in self.waiting if entry[_IS_GIVEN] == is_given)
        return next((entry for entry in waiting if words is None or entry[_WORDS] == words), None)

    def _drop(self, entry: list[Any] | None) -> None:
        if entry is not None:
            self.waiting = [one for one in self.waiting if one is not entry]

    def _said(self, words: str) -> list[Any] | None:
        return next((one for one in self.said if one[_MARK] == _mark(words)), None)

    def _forget(self, said: list[Any] | None) -> None:
        self.said = [one for one in self.said if one is not said]

    def _say(self, entries: list[list[Any]]) -> list[Words]:
        found = [(entry[_WORDS], entry[_TS]) for entry in entries if entry[_WORDS]]
        newest_ms = max((entry[_TS] or 0 for entry in self.waiting), default=0)
        self.waiting = [entry for entry in self.waiting if not any(entry is said for said in entries)]
        self.said = [*self.said, *([_mark(words), newest_ms, False] for words, _ in found)][-MAX_WAITING:]
        return found


def _mark(words: str) -> int:
    """Sixteen bits of words: enough to tell a few apart, too little to tell what they were."""
    return zlib.crc32(words.encode("utf-8", "surrogatepass")) & 0xFFFF


class ReaderState:
    """What a reader must remember between records of one file; kept with the cursor, in the same transaction.

    `calls` maps an open tool call's id to [tool, file]; the other fields are for formats that name the session,
    the folder, the branch or the subagent only once, at the head of the file. `queue` is what was typed meanwhile.
    """

    __slots__ = ("agent_id", "branch", "calls", "cwd", "queue", "session_id")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        values = values or {}
        self.session_id = str(values.get("session_id") or "")
        self.cwd, self.branch = text_field(values, "cwd"), text_field(values, "branch")
        self.agent_id = text_field(values, "agent_id")
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


def text_field(record: Record, name: str) -> str | None:
    """A string field, or None when it is missing, empty or something else."""
    value = record.get(name)
    return value if isinstance(value, str) and value else None


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


def as_exit_code(value: object) -> int | None:
    """A number with which a program can have ended."""
    return value if type(value) is int and abs(value) <= MAX_EXIT_CODE else None


def outcome(tool: object, internal: frozenset[str], code: int | None, *, failed: bool) -> dict[str, object]:
    """How a call ended, and whose words its result is: the machine's own tools', or anything else's (never trusted)."""
    origin = events.ORIGIN_TOOL if tool in internal else events.ORIGIN_EXTERNAL
    return {"failed": failed or code not in (None, 0), "exit_code": code, "origin": origin}


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
