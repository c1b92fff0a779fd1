"""GitHub Copilot CLI session events (1.0.64 to 1.0.102) into events: one object a line, `{type, id, timestamp, data}`.

A whitelist: what a user typed, what the agent said and thought, calls, their results, compactions. The rest repeats it
or is the client's own; `hook.*` holds what hooks were told and said, our own words among it, and is never read.
"""

from __future__ import annotations

import re

from howcome.clients import records
from howcome.clients.records import ReaderState, Record, inside, text_field, without_own_blocks
from howcome.domain import events
from howcome.domain.events import Event, call_file

CLIENT = "copilot"

_KNOWN = (
    "abort", "assistant.", "auto_mode", "capabilities.", "command.", "commands.", "elicitation.",
    "exit_plan_mode.", "external_tool.", "hook.", "mcp.", "mcp_app.", "model.", "pending_messages.",
    "permission.", "sampling.", "session.", "skill.", "subagent.", "system.", "tool.", "user_input.",
)  # fmt: skip
"""How the types begin that are ignored by rule."""

_INTERNAL_TOOLS = frozenset({
    "apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "glob", "grep", "list_bash", "lsp",
    "powershell", "read_agent", "read_bash", "read_powershell", "report_intent", "rg", "skill", "stop_bash",
    "stop_powershell", "str_replace_editor", "task", "task_complete", "update_todo", "view", "write_bash",
    "write_powershell",
})  # fmt: skip
_SAYINGS = {"reasoningText": events.ASSISTANT_THINKING, "content": events.ASSISTANT_TEXT}
_TRAILERS = re.compile(  # what the client and other hooks put behind a result
    r"\s*(?:<shellId: \S+ completed with exit code -?\d+>)?"
    r'(?:\s*Tool "[^"\n]{1,80}" (?:succeeded|failed)\. Additional guidance from postToolUse\w* hooks:\n.*)?\Z',
    re.DOTALL,
)


def read_record(record: Record, state: ReaderState) -> list[Event] | None:
    """The events of one line, [] when it is ignored by rule, None when its type is unknown."""
    kind, data = record.get("type"), record.get("data")
    if not isinstance(kind, str) or not isinstance(data, dict):
        return None
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(record, data, state)
    return [] if kind.startswith(_KNOWN) else None


def _event(record: Record, state: ReaderState, kind: str, text: str, **fields: object) -> Event:
    return records.event_of(CLIENT, record, state, kind, text, agent_id=text_field(record, "agentId"), **fields)


def _where(record: Record, data: Record, state: ReaderState) -> list[Event]:  # noqa: ARG001 - a reader's signature
    """A session begins, or goes on somewhere."""
    state.session_id = text_field(data, "sessionId") or state.session_id
    context = data.get("context")
    if isinstance(context, dict):
        state.cwd = text_field(context, "cwd") or text_field(context, "gitRoot") or state.cwd
        state.branch = text_field(context, "branch")
    return []


def _typed(record: Record, data: Record, state: ReaderState) -> list[Event]:
    words = without_own_blocks(text_field(data, "content") or "").strip()
    source = text_field(data, "source") or "user"
    if not words:
        return []
    if "agentId" in record or source.startswith("agent-"):  # a subagent's task was written by the one that started it
        return [_event(record, state, events.ASSISTANT_TEXT, words, origin=events.ORIGIN_TASK)]
    return [_event(record, state, events.USER_PROMPT, words)] if source == "user" else []


def _said(record: Record, data: Record, state: ReaderState) -> list[Event]:
    found = []
    for block, (name, kind) in enumerate(_SAYINGS.items()):
        text = without_own_blocks(text_field(data, name) or "")
        if text and not text.isspace():
            found.append(_event(record, state, kind, text, block=block))
    return found


def _call(record: Record, data: Record, state: ReaderState) -> list[Event]:
    values = records.call_input(data.get("arguments"))
    named = state.open_call(text_field(data, "toolCallId"), text_field(data, "toolName"), call_file(values))
    return [_event(record, state, events.TOOL_CALL, "", input=values, **named)]


def _result(record: Record, data: Record, state: ReaderState) -> list[Event]:
    named = state.close_call(text_field(data, "toolCallId"))
    code = records.as_exit_code(inside(data, "shellExecution").get("exitCode"))
    came = records.outcome(named["tool"], _INTERNAL_TOOLS, code, failed=data.get("success") is False)
    result = inside(data, "result")
    text = text_field(result, "detailedContent") or text_field(result, "content")
    text = text or text_field(inside(data, "error"), "message") or ""
    text = without_own_blocks(_TRAILERS.sub("", text, count=1))
    return [_event(record, state, events.TOOL_RESULT, text, **came, **named)]


def _compacted(record: Record, data: Record, state: ReaderState) -> list[Event]:
    tokens = data.get("preCompactionTokens")
    text = f"Conversation compacted ({data.get('trigger') or 'manual'}, {tokens or 0} tokens before)"
    return [_event(record, state, events.COMPACTION, text)] if data.get("success") else []


_READERS = {
    "assistant.message": _said,
    "session.compaction_complete": _compacted,
    "session.resume": _where,
    "session.start": _where,
    "tool.execution_complete": _result,
    "tool.execution_start": _call,
    "user.message": _typed,
}
