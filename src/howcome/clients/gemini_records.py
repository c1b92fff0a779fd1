"""Gemini CLI chat recordings into events: JSON Lines, and the whole documents (`.json`) that came before them.

A line is the head of a session, a message, `{"$set": …}` (new metadata, or the whole history after a compression) or
`{"$rewindTo": id}`. A message is written again, whole, each time something is added to it; its events' keys make that
harmless. Only the head names the session and no record names the folder: that is known by the file's place (`place`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial

from howcome.clients import records
from howcome.clients.decode import decode_record
from howcome.clients.records import ReaderState, Record, describe_media, parse_time_ms, text_field, without_own_blocks
from howcome.domain import events
from howcome.domain.events import Event, call_file
from howcome.errors import RecordError, TranscriptError

CLIENT = "gemini"
HEAD_FIELDS = ("sessionId", "projectHash", "startTime", "kind")
"""What never changes in a document's metadata; the rest (`lastUpdated`, `summary`) would change its first line."""

_OVER = ("success", "error", "cancelled")
_NOT_A_PERSONS = (
    "<session_context>", "<loaded_context>", "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context", "Here is a summary of changes in the user's editor context",
    "System: Please continue.", "System: Potential loop detected.",
)  # fmt: skip
_NOT_THE_MODELS = ("<state_snapshot>", "Got it. Thanks for the additional context!")
"""How messages begin that stand for the model's after a compression."""

_SNAPSHOT, _MASKED = "<state_snapshot>", "<tool_output_masked>"
_WRAPPED = re.compile(r"\A\s*<untrusted_context>\n?(.*?)\n?</untrusted_context>\s*\Z", re.DOTALL)
_GROUP = re.compile(r"\nProcess Group PGID: \d+(?=\n|\Z)")
_REFERENCED = "--- Content from referenced files ---"
_HOOK_CONTEXT = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
_SHELL, _SHELL_EXIT = "run_shell_command", re.compile(r"^Exit Code: (-?\d{1,6})$", re.MULTILINE)
_INTERNAL_TOOLS = frozenset({
    "activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "glob", "grep_search", "invoke_agent",
    "list_background_processes", "list_directory", "read_background_output", "read_file", "read_many_files", "replace",
    _SHELL, "save_memory", "search_file_content", "update_topic", "write_file", "write_todos",
})  # fmt: skip


def read_record(record: Record, state: ReaderState) -> list[Event] | None:
    """The events of one line, [] when it is ignored by rule, None when its type is unknown."""
    if "$rewindTo" in record:  # what was taken back was said all the same
        return []
    update = record.get("$set")
    if isinstance(update, dict):
        messages = update.get("messages")
        history = messages if isinstance(messages, list) else []
        return [event for item in history if isinstance(item, dict) for event in _message(item, state) or ()]
    if "type" in record or "sessionId" not in record:
        return _message(record, state)
    session = text_field(record, "sessionId") or ""
    if state.session_id and session != state.session_id:  # a subagent: its place named the session it belongs to
        state.agent_id = session
    else:
        state.session_id = session
    return []


def _message(record: Record, state: ReaderState) -> list[Event] | None:
    kind = record.get("type")
    if kind == "user":
        return _said_by_user(record, state)
    if kind == "gemini":
        text = without_own_blocks(_text(record.get("content"))).strip()
        said = _event(record, state, events.ASSISTANT_TEXT, text)
        is_said = bool(text) and not text.startswith(_NOT_THE_MODELS)
        return [*_thoughts(record, state), *([said] if is_said else []), *_tools(record, state)]
    return [] if kind in ("info", "error", "warning") else None


_event = partial(records.event_of, CLIENT)


def _said_by_user(record: Record, state: ReaderState) -> list[Event]:
    sent = _text(record.get("content"))
    text = _text(record.get("displayContent")) or sent
    if sent.startswith(_NOT_A_PERSONS):  # what is shown beside it is the last prompt once more
        return []
    if _SNAPSHOT in text[:400]:
        return [_event(record, state, events.COMPACTION, "Conversation compacted")]
    words = _HOOK_CONTEXT.sub("", without_own_blocks(text)).partition(_REFERENCED)[0].strip()
    if not words or words.startswith(_NOT_A_PERSONS):
        return []
    if state.agent_id:  # a subagent's task was written by the agent that started it
        return [_event(record, state, events.ASSISTANT_TEXT, words, origin=events.ORIGIN_TASK)]
    return [_event(record, state, events.USER_PROMPT, words)]


def _items(value: object) -> list[object]:
    """What may be one thing or a list of things, as a list."""
    return value if isinstance(value, list) else [value]


def _text(content: object) -> str:
    """The words of a content: a string, a part or parts; not its thoughts, calls and results, which are kept apart."""
    found = [
        item if isinstance(item, str) else text_field(item, "text") or "" if isinstance(item, dict) else ""
        for item in _items(content)
        if not (isinstance(item, dict) and item.get("thought"))
    ]
    return "".join(found)


def _thoughts(record: Record, state: ReaderState) -> Iterator[Event]:
    for block, thought in enumerate(_items(record.get("thoughts"))):
        if not isinstance(thought, dict):
            continue
        text = "\n".join(part for name in ("subject", "description") if (part := text_field(thought, name)))
        if text.strip():
            ts_ms = parse_time_ms(thought.get("timestamp"))
            yield _event(record, state, events.ASSISTANT_THINKING, text, block=block, ts_ms=ts_ms)


def _tools(record: Record, state: ReaderState) -> Iterator[Event]:
    for call in _items(record.get("toolCalls")):
        if not isinstance(call, dict):
            continue
        values = records.call_input(call.get("args"))
        named = {
            "tool": text_field(call, "name"), "tool_use_id": text_field(call, "id"),
            "file": call_file(values) or text_field(values, "absolute_path"),
        }  # fmt: skip
        yield _event(record, state, events.TOOL_CALL, "", input=values, **named)
        result = _result(call)
        if call.get("status") in _OVER and _MASKED not in result[:100]:  # masked: the record before held it whole
            yield _event(record, state, events.TOOL_RESULT, result, **named, **_outcome(call, result))


def _outcome(call: Record, result: str) -> dict[str, object]:
    """When a call ended and how, and whose words its result is."""
    tool, code = text_field(call, "name"), None
    if tool == _SHELL:
        codes = _SHELL_EXIT.findall(result)
        code = int(codes[-1]) if codes else 0 if result.startswith("Output:") else None
    came = records.outcome(tool, _INTERNAL_TOOLS, code, failed=call.get("status") != "success")
    return {**came, "ts_ms": parse_time_ms(call.get("timestamp"))}


def _result(call: Record) -> str:
    """What a call returned; parallel calls may each hold all their results, of which one is its own."""
    parts = []
    for item in _items(call.get("result")):
        answer = item.get("functionResponse") if isinstance(item, dict) else None
        if isinstance(answer, dict):
            if answer.get("id") in (None, call.get("id")):
                parts.append(_answer(answer.get("response")))
        elif isinstance(item, dict) and isinstance(media := item.get("inlineData"), dict):
            parts.append(describe_media({"source": {"media_type": media.get("mimeType"), "data": media.get("data")}}))
        else:
            parts.append(_text(item))
    text = "\n".join(part for part in parts if part) or text_field(call, "resultDisplay") or ""
    text = _HOOK_CONTEXT.sub("", without_own_blocks(text)).rstrip() if "<hook_context>" in text else text
    wrapped = _WRAPPED.match(text)  # the client's tags around whatever came from outside of it
    return _GROUP.sub("", wrapped[1]) if wrapped else without_own_blocks(text)


def _answer(response: object) -> str:
    if isinstance(response, dict):
        for name in ("output", "error", "content"):
            if isinstance(text := response.get(name), str):
                return text
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def unfold(document: bytes) -> bytes:
    """A whole document (`.json`) as lines: its head, each message, and each tool call of it on a line of its own.

    A document is written anew for every message; its lines stay what they were and only grow. A call of the last
    message that is still running is an unfinished last line.

    Raises:
        TranscriptError: it is not a whole document (yet).
    """
    try:
        record = decode_record(document, None)
    except RecordError as error:
        raise TranscriptError(f"not a whole document: {error.reason}") from error
    found = [_line({name: record[name] for name in HEAD_FIELDS if name in record})]
    messages = record.get("messages")
    messages = messages if isinstance(messages, list) else []
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            found.append(_line(message))
            continue
        envelope = {name: message.get(name) for name in ("id", "timestamp", "type")}
        found.append(_line({name: message[name] for name in message if name not in ("toolCalls", "tokens")}))
        for call in _items(message.get("toolCalls") or []):
            line = _line({**envelope, "toolCalls": [call]})
            if number == len(messages) and isinstance(call, dict) and call.get("status") not in _OVER:
                return b"".join(found) + line.rstrip(b"\n")
            found.append(line)
    return b"".join(found)


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
