"""Codex CLI rollouts into events: `{timestamp, type, payload}` lines, and the older lines without an envelope.

`response_item` is what the model saw and said; `event_msg` repeats it for display and is ignored by rule. The session
and its folder are named once, by `session_meta` (an older fork copies its parent's lines after its own first one, a
later one only names it), and the folder again by each `turn_context`. Time and content identify a record: older ones
have no id of their own. Later ones say who spoke; a subagent's rollout belongs to its parent's session.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from howcome.clients import records
from howcome.clients.decode import decode_embedded
from howcome.clients.records import ReaderState, Record, inside, text_field, without_own_blocks
from howcome.domain import events
from howcome.domain.events import Event, call_file
from howcome.errors import RecordError

CLIENT = "codex"
_NOT_A_PERSONS = (
    "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions for",
    "<turn_aborted>", "<permissions instructions>", "<collaboration_mode>", "<skill>", "<user_shell_command>",
    "<subagent_notification>", "<personality_spec>", "<model_switch>", "<hook_prompt ",
)  # fmt: skip
_ITEM_TYPES = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call", "tool_search_call", "tool_search_output", "compaction", "ghost_snapshot",
    "image_generation_call", "other",
})  # fmt: skip
_IGNORED = ("event_msg", "world_state", "inter_agent_communication", "token_usage_record")
_PASSED = "internal_chat_message_metadata_passthrough"
_PROCESS_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,6})")
_HEAD = re.compile(
    r"(?:Chunk ID: .*\n)?Wall time: .*\n(?:Process exited .*\n)?(?:Original token count: .*\n)?Output:\n?"
)


def read_record(record: Record, state: ReaderState) -> list[Event] | None:
    """The events of one line, [] when it is ignored by rule, None when its type is unknown."""
    kind, payload = record.get("type"), record.get("payload")
    if isinstance(payload, dict):
        if kind == "session_meta":
            return _session_meta(payload, state)
        if kind == "turn_context":
            state.cwd = text_field(payload, "cwd") or state.cwd
            return []
        if kind == "response_item":
            return _item(record, payload, state)
        if kind == "compacted":
            return [_event(record, state, events.COMPACTION, "Conversation compacted")]
        return [] if kind in _IGNORED else None
    if isinstance(kind, str) and kind in _ITEM_TYPES:
        return _item(record, record, state)
    if "record_type" in record:
        return []
    if kind is None and "id" in record and "timestamp" in record:
        return _session_meta(record, state)
    return None


def _session_meta(payload: Record, state: ReaderState) -> list[Event]:
    if state.session_id:  # a fork's copy of its parent's head: the file is the first one's
        return []
    thread, root = text_field(payload, "id"), text_field(payload, "session_id")
    parent = root or text_field(payload, "parent_thread_id")
    if payload.get("thread_source") == "subagent" and thread and parent:
        state.session_id, state.agent_id = parent, thread
    else:
        state.session_id = thread or root or ""
    state.cwd = text_field(payload, "cwd") or state.cwd
    state.branch = text_field(inside(payload, "git"), "branch")
    return []


def _event(record: Record, state: ReaderState, kind: str, text: str, **fields: object) -> Event:
    own = {"record_id": text_field(record, "timestamp") or "", **fields}
    return records.event_of(CLIENT, record, state, kind, without_own_blocks(text), **own)


def _item(record: Record, item: Record, state: ReaderState) -> list[Event] | None:
    kind = item.get("type")
    if kind == "message":
        return _message(record, item, state)
    if kind == "reasoning":
        text = "\n".join(_texts(item.get("summary")) + _texts(item.get("content")))
        return [_event(record, state, events.ASSISTANT_THINKING, text)] if text.strip() else []
    if kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call"):
        return [_call(record, item, state)]
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [_output(record, item, state)]
    return [] if isinstance(kind, str) and kind in _ITEM_TYPES else None


def _message(record: Record, item: Record, state: ReaderState) -> list[Event]:
    role = item.get("role")
    text = "\n".join(_texts(item.get("content"))).strip()
    if not text:
        return []
    if role == "assistant":
        is_summary = inside(record, "metadata").get("compaction_output")  # `compacted` says that there was one
        return [] if is_summary else [_event(record, state, events.ASSISTANT_TEXT, text)]
    if role != "user" or text.startswith(_NOT_A_PERSONS) or _speakers(item) - {"user"}:
        return []
    if state.agent_id:  # a subagent's task was written by the agent that started it
        return [_event(record, state, events.ASSISTANT_TEXT, text, origin=events.ORIGIN_TASK)]
    return [_event(record, state, events.USER_PROMPT, text)]


def _speakers(item: Record) -> set[object]:
    """Who put a message's parts there, as far as it says so: `user`, `harness`, `tool`."""
    parts = records.objects(inside(item, _PASSED).get("content_item_metadata"))
    return {kind for part in parts if isinstance(kind := inside(part, "provenance").get("type"), str)}


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [text for block in records.objects(content) if (text := text_field(block, "text"))]


def _call(record: Record, item: Record, state: ReaderState) -> Event:
    kind = item.get("type")
    tool = text_field(item, "name") or ("shell" if kind == "local_shell_call" else "web_search")
    if (server := text_field(item, "namespace")) and server.startswith("mcp__"):
        tool = f"{server}__{tool}"
    values = _call_input(item)
    named = state.open_call(text_field(item, "call_id") or text_field(item, "id"), tool, call_file(values))
    return _event(record, state, events.TOOL_CALL, "", input=values, **named)


def _call_input(item: Record) -> dict[str, object]:
    raw = item.get("arguments", item.get("input", item.get("action")))
    if isinstance(raw, str):
        with suppress(RecordError):
            raw = decode_embedded(raw)
    values = dict(records.call_input(raw))
    command = values.pop("cmd", None) if "command" not in values else values["command"]
    if isinstance(command, list):  # ["bash", "-lc", "make test"]: the last word is what was run
        words = [str(word) for word in command]
        is_shell = len(words) == 3 and words[1] in ("-lc", "-c")
        values["command"] = words[2] if is_shell else " ".join(words)
    elif command is not None:
        values["command"] = command
    return values


def _output(record: Record, item: Record, state: ReaderState) -> Event:
    named = state.close_call(text_field(item, "call_id"))
    text, code, success = _output_text(item.get("output"))
    if code is None:
        code = records.exit_code(text)
    if code is None and (match := _PROCESS_EXIT.search(text[:400])):
        code = int(match.group(1))
    if head := _HEAD.match(text):
        text = text[head.end() :]
    failed = code not in (None, 0) or success is False
    tool = named["tool"]
    origin = events.ORIGIN_EXTERNAL if tool is None or "__" in tool or "web" in tool else events.ORIGIN_TOOL
    return _event(record, state, events.TOOL_RESULT, text, origin=origin, failed=failed, exit_code=code, **named)


def _output_text(output: object) -> tuple[str, int | None, bool | None]:
    """Text, exit code and success of an output: plain text, JSON text with metadata, or an object."""
    if isinstance(output, str) and output.startswith("{"):
        with suppress(RecordError):
            output = decode_embedded(output)
    if isinstance(output, dict):
        code, success = inside(output, "metadata").get("exit_code"), output.get("success")
        text = output.get("output", output.get("content"))
        text = text if isinstance(text, str) else json.dumps(output if text is None else text, ensure_ascii=False)
        return text, records.as_exit_code(code), success if isinstance(success, bool) else None
    return "\n".join(_texts(output)), None, None
