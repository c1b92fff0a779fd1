"""OpenCode sessions into events: the lines that `opencode_store` unfolds from the client's database or its JSON files.

A line is the head of a session or one part of a message. Forks copy messages under new ids but keep their times, and
the database took over what the JSON files held: so a part is known by when its message was made, when it began itself,
and what it says, which no copy changes.
"""

from __future__ import annotations

from howcome.clients import records
from howcome.clients.claude_code_records import persons_words
from howcome.clients.records import ReaderState, Record, inside, parse_time_ms, text_field, without_own_blocks
from howcome.domain import events
from howcome.domain.events import Event, call_file

CLIENT = "opencode"
_OVER = ("completed", "error")
_IGNORED = frozenset({
    "agent", "agent-switched", "file", "idle", "location-switched", "model-switched", "patch", "retry", "skill",
    "snapshot", "step-finish", "step-start", "subtask", "synthetic", "system",
})  # fmt: skip
_INTERNAL_TOOLS = frozenset({
    "apply_patch", "bash", "batch", "edit", "glob", "grep", "invalid", "list", "lsp", "multiedit", "patch",
    "plan_enter", "plan_exit", "question", "read", "shell", "skill", "task", "todoread", "todowrite", "write",
})  # fmt: skip
_FIELD_NAMES = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}
"""The client's names of what other clients' tools call so: a call is found by its file, not by what it wrote."""


def read_record(record: Record, state: ReaderState) -> list[Event] | None:
    """The events of one line, [] when it is ignored by rule, None when its type is unknown."""
    kind = record.get("type")
    if kind == "session":
        own, parent = text_field(record, "id"), text_field(record, "parent")
        state.session_id, state.agent_id = parent or own or "", own if parent else None
        state.cwd = text_field(record, "directory") or state.cwd
        return []
    part = record.get("part")
    if kind != "part" or not isinstance(part, dict):
        return [] if kind == "unfinished" else None
    state.cwd = text_field(record, "cwd") or state.cwd
    return _part(record, part, state)


def _part(record: Record, part: Record, state: ReaderState) -> list[Event] | None:
    kind = part.get("type")
    if kind == "text":
        return _text(record, part, state)
    if kind == "reasoning":
        text = without_own_blocks(text_field(part, "text") or "")
        return [_event(record, part, state, events.ASSISTANT_THINKING, text)] if text.strip() else []
    if kind == "tool":
        return _tool(record, part, state)
    if kind == "shell":  # what a person ran in the session
        typed = text_field(part, "command")
        return [_event(record, part, state, events.USER_PROMPT, f"! {typed}")] if typed else []
    if kind == "compaction":
        how = "auto" if part.get("auto") else "manual"
        return [_event(record, part, state, events.COMPACTION, f"Conversation compacted ({how})")]
    return [] if isinstance(kind, str) and kind in _IGNORED else None


def _event(record: Record, part: Record, state: ReaderState, kind: str, text: str, **fields: object) -> Event:
    made, began = parse_time_ms(record.get("at")), parse_time_ms(inside(part, "time").get("start"))
    index = record.get("index")
    own = {
        "record_id": f"{made}.{began or 0}" if made else text_field(record, "message") or "",
        "block": index if isinstance(index, int) else 0, "ts_ms": began or made, **fields,
    }  # fmt: skip
    return records.event_of(CLIENT, record, state, kind, text, **own)


def _text(record: Record, part: Record, state: ReaderState) -> list[Event]:
    """What was said; not what the client adds in a person's name, nor the summary that a compaction leaves."""
    text = text_field(part, "text") or ""
    if part.get("synthetic") or part.get("ignored") or record.get("summary"):
        return []
    if record.get("role") == "user":
        text = persons_words(text)
        if text and not state.agent_id:
            return [_event(record, part, state, events.USER_PROMPT, text)]
    else:
        text = without_own_blocks(text).strip()
    if not text or record.get("role") not in ("user", "assistant"):
        return []
    said = events.ORIGIN_ASSISTANT if record.get("role") == "assistant" else events.ORIGIN_TASK  # a subagent's
    return [_event(record, part, state, events.ASSISTANT_TEXT, text, origin=said)]


def _tool(record: Record, part: Record, state: ReaderState) -> list[Event]:
    doing = inside(part, "state")
    time = inside(doing, "time")
    values = {_FIELD_NAMES.get(name, name): value for name, value in records.call_input(doing.get("input")).items()}
    tool = text_field(part, "tool")
    named = {"tool": tool, "tool_use_id": text_field(part, "callID"), "file": call_file(values)}
    began = parse_time_ms(time.get("start")) or parse_time_ms(record.get("at"))
    found = [_event(record, part, state, events.TOOL_CALL, "", input=values, ts_ms=began, **named)]
    if doing.get("status") in _OVER:
        text = without_own_blocks(text_field(doing, "output") or text_field(doing, "error") or "")
        code = records.as_exit_code(inside(doing, "metadata").get("exit"))
        came = records.outcome(tool, _INTERNAL_TOOLS, code, failed=doing.get("status") == "error") | named
        ended = parse_time_ms(time.get("end")) or began
        found.append(_event(record, part, state, events.TOOL_RESULT, text, ts_ms=ended, **came))
    return found
