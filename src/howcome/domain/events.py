"""Event: one immutable fact from a transcript, and the four resolutions it is kept at.

| resolution  | limit (characters)        | read by                        |
|-------------|---------------------------|--------------------------------|
| summary     | 160                       | listings, one line a hit       |
| excerpt     | 600, 300 for tool traffic | injected context               |
| search text | 4,000, 800 for tool traffic | the lexical index         |
| payload     | everything (redacted)     | replay, `show`, full timelines |
"""

from __future__ import annotations

import json

from howcome.domain.text import code_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

USER_PROMPT = "user_prompt"
ASSISTANT_TEXT = "assistant_text"
ASSISTANT_THINKING = "assistant_thinking"
TOOL_CALL = "tool_call"
TOOL_RESULT = "tool_result"
COMPACTION = "compaction"
KINDS = (USER_PROMPT, ASSISTANT_TEXT, ASSISTANT_THINKING, TOOL_CALL, TOOL_RESULT, COMPACTION)
KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
"""Every kind of event that is read somewhere, in the order of their numbers in the store (append only)."""

RATIONALE = "rationale"
"""What an exchange was asked for, what was done and why: derived, read in no file (`domain.rationales`)."""

STORED_KINDS = (*KINDS, RATIONALE)
"""Every kind of event that a session is told with."""

TURN_KINDS = (USER_PROMPT, ASSISTANT_TEXT)
"""What a person or the agent said: the passages that answer most questions."""

SHELLS = ("bash", "shell", "run_shell_command", "local_shell", "exec_command", "execute", "terminal", "run_command")
EDITORS = (
    "edit", "write", "multiedit", "notebookedit", "str_replace_based_edit_tool", "str_replace_editor", "replace",
    "write_file", "apply_patch", "patch", "create_file", "create", "edit_file",
)  # fmt: skip
READERS = ("read", "read_file", "read_many_files", "view", "view_file", "notebookread", "open_file")
WRITERS = ("write", "write_file", "create_file", "create")
"""Tools that run a command, that change a file, that read one, and of those that change one those that write all of it;
of every agent, in lower case."""

SEARCHED_KINDS = (*TURN_KINDS, TOOL_CALL, TOOL_RESULT)
"""What is searched: thoughts and boundaries are kept, and shown where they stand."""

ORIGIN_USER = "user"
ORIGIN_ASSISTANT = "assistant"
ORIGIN_TOOL = "tool"
ORIGIN_EXTERNAL = "external"
ORIGIN_TASK = "task"
"""What an agent told a subagent to do: it repeats what that agent was asked and says nothing of the outcome."""

ORIGINS = (ORIGIN_USER, ORIGIN_ASSISTANT, ORIGIN_TOOL, ORIGIN_EXTERNAL, ORIGIN_TASK)
ORIGIN_NUMBERS = {origin: number for number, origin in enumerate(ORIGINS)}
"""Who the words are from, in the order of their numbers in the store (append only)."""

PUSHED_ORIGINS = (ORIGIN_USER, ORIGIN_ASSISTANT)
"""The only words that are ever pushed into a session."""

OWN_SERVERS = ("howcome", "recollect")  # the former name: transcripts of that time are read, too
OWN_TOOLS = frozenset((
    "search_memory", "get_context", "get_memories", "replay_session", "get_timeline", "expand_memory", "remember",
    "update_memory", "forget", "list_stale", "memory_status", "hook",
))  # fmt: skip
"""The tools of howcome's MCP server (`mcp/tools.TOOLS`): what they were asked is not history."""

SUMMARY_CHARS = 160
EXCERPT_CHARS = 600
TOOL_EXCERPT_CHARS = 300
SEARCH_TEXT_CHARS = 800
TURN_SEARCH_CHARS = 4000
"""Turns are searched further than tool traffic: a plan's end is as good as its start (docs/evaluation.md)."""

CALL_FIELDS = (
    "file_path", "path", "notebook_path", "command", "pattern", "query", "url", "description", "subject", "skill",
    "prompt",
)  # fmt: skip
"""Input fields that say what a tool call did, in the order in which they are shown."""

CONTENT_FIELDS = ("content", "new_string", "old_string", "new_source", "plan", "todos", "input")
"""Input fields that hold what was written: kept, but not what the call is found by."""

CALL_FIELD_CHARS = 400


class Event:
    """One block of one transcript record, as said; text is decoded but not yet redacted.

    `block` is the place of the block in its record; `ts_ms` is UTC milliseconds or None where the record has no
    usable time; `failed` is None where success is unknown. `text` is the whole text; for a tool call it is the
    input as JSON and `input` the decoded input.
    """

    __slots__ = (
        "agent_id", "block", "branch", "client", "cwd", "exit_code", "failed", "file", "input", "kind", "origin",
        "record_id", "session_id", "text", "tool", "tool_use_id", "ts_ms",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - one row, one constructor
        self,
        *,
        client: str,
        kind: str,
        record_id: str,
        block: int,
        session_id: str,
        text: str,
        origin: str,
        ts_ms: int | None = None,
        cwd: str | None = None,
        branch: str | None = None,
        agent_id: str | None = None,
        tool: str | None = None,
        tool_use_id: str | None = None,
        file: str | None = None,
        failed: bool | None = None,
        exit_code: int | None = None,
        input: Mapping[str, object] | None = None,
    ) -> None:
        self.client, self.kind, self.record_id, self.block, self.session_id = client, kind, record_id, block, session_id
        self.text, self.origin, self.ts_ms, self.cwd, self.branch = text, origin, ts_ms, cwd, branch
        self.agent_id, self.tool, self.tool_use_id, self.file = agent_id, tool, tool_use_id, file
        self.failed, self.exit_code, self.input = failed, exit_code, input


def squeeze(text: str, limit: int) -> str:
    """`text` on one line, at most `limit` characters, cut with an ellipsis."""
    line = " ".join(text.split(None, limit // 2 + 1))  # more words than fit, without folding all of a long text
    if len(line) <= limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def excerpt_limit(kind: str) -> int:
    """How many characters of an event of this kind are worth injecting."""
    return TOOL_EXCERPT_CHARS if kind in (TOOL_CALL, TOOL_RESULT) else EXCERPT_CHARS


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, line breaks kept, cut with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def summary(kind: str, tool: str | None, text: str, *, failed: bool | None = None) -> str:
    """One line of at most 160 characters: the tool and what it was asked, or the first words."""
    head = ""
    if kind in (TOOL_CALL, TOOL_RESULT) and tool:
        head = tool + (" failed: " if failed else ": ")
    return squeeze(head + text, SUMMARY_CHARS)


def call_text(tool: str | None, values: Mapping[str, object] | None) -> str:
    """What a tool call did, in words: the fields of its input that say it, then other short strings."""
    if not isinstance(values, dict):
        return tool or ""
    parts = [value[:CALL_FIELD_CHARS] for name in CALL_FIELDS if isinstance(value := values.get(name), str) and value]
    parts += [
        value[:CALL_FIELD_CHARS]
        for name, value in values.items()
        if name not in CALL_FIELDS
        and name not in CONTENT_FIELDS
        and isinstance(value, str)
        and value
        and not value.isspace()
    ]
    if not parts:  # a patch or a note: its first lines say what it is about
        parts = [value[:CALL_FIELD_CHARS] for value in values.values() if isinstance(value, str)]
    return "\n".join(parts)


def strings_in(value: object) -> Iterator[str]:
    """The strings of a call's input, wherever they stand in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


def call_words(text: str) -> str:
    """The strings of a call's whole input, which is JSON; of another text that."""
    try:
        return "\n".join(strings_in(json.loads(text))) if text.startswith("{") else text
    except ValueError:
        return text


def call_file(values: Mapping[str, object] | None) -> str | None:
    """The file a tool call is about, where its input names one."""
    if not isinstance(values, dict):
        return None
    for name in ("file_path", "notebook_path", "path"):
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def head_and_tail(text: str, limit: int = SEARCH_TEXT_CHARS) -> str:
    """At most `limit` characters: three quarters from the start, the rest from the end, where results conclude."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n{text[-(limit - head - 1) :]}"


def is_own_tool(tool: str | None) -> bool:
    """Whether a tool is one of howcome's own, by whatever name a client calls it (`mcp__howcome__forget`, …)."""
    for server in OWN_SERVERS:
        head, mark, name = (tool or "").rpartition(server)
        if mark and (not head or head[-1] in "_.:/") and name.lstrip("_.:/") in OWN_TOOLS:
            return True
    return False


def searchable(kind: str, tool: str | None, file: str | None, text: str, whole: str = "") -> str:
    """The search text of an event: its words, with the tool and file it is about, within the limit.

    Of the code in a call's input (`whole`, as JSON) or in a result it has the identifiers. A search of memory is kept
    like any tool call, but not found by the words that it asked with.
    """
    if kind not in (TOOL_CALL, TOOL_RESULT):
        return head_and_tail(text, TURN_SEARCH_CHARS)
    if is_own_tool(tool):
        return ""
    head = " ".join(part for part in (tool, file if file and file not in text[:300] else None) if part)
    said = head_and_tail(f"{head}\n{text}" if head else text)
    code = code_terms(said if kind == TOOL_RESULT else call_words(whole))
    return f"{said}\n{code}" if code else said
