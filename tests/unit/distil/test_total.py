"""The sources take whatever is stored: it never raises, and hostile text does not make it slow."""

from __future__ import annotations

import json
import time
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples

from howcome.domain import events
from howcome.domain.candidates import REASONS
from howcome.domain.memories import TYPES
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.sources import SourceDistiller

HOSTILE_CHARS, LINE_CHARS = 100_000, 1_900
MAX_CPU_S = 5.0
"""Of the processor's time, whatever else it does: it takes 0.3 s, and a rule that goes back and forth takes minutes."""

WORDS = (
    "Root cause: ", "the problem is that ", "because ", "`x.py` ", "**a ", "__b ", "~~", "We decided to use ", " over ",
    "instead of ", "always ", "never ", "option 2, ", "1. ", "- [ ] ", "# ", "\n", "\n\n", "```\n", "…", "...", "?",
    ": ",
    "never fails ", "was missing, so ", "\ud800", "\u0000", "é", "总是", "@", "[a](b)", "(((", "now ", "lines 1-2 ",
    "tomorrow ",
    "fix: ", "npm install left-pad ", "go get x@v1 ", "Task #1 created successfully: ", "<", "|", "\t", "\u2028", "🎉",
)  # fmt: skip
TOOLS = (
    "Bash",
    "Edit",
    "Write",
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "AskUserQuestion",
    "ExitPlanMode",
    "Task",
    "",
    None,
)
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=20), max_size=25).map("".join)
values = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=3)
inputs = st.dictionaries(
    st.sampled_from((
        "command", "old_string", "new_string", "content", "todos", "questions", "plan", "file_path", "taskId", "edits",
        "status", "subject",
    )),
    values | st.lists(st.dictionaries(st.sampled_from(("content", "status", "question", "options", "label")), values)),
    max_size=5,
)  # fmt: skip
bodies = texts | inputs.map(json.dumps) | st.sampled_from(("null", "[]", "{", '"', "1e999", "{}"))
stored_events = st.fixed_dictionaries({
    "kind": st.sampled_from((
        events.USER_PROMPT, events.ASSISTANT_TEXT, events.ASSISTANT_THINKING, events.TOOL_CALL, events.TOOL_RESULT,
        events.COMPACTION,
    )),
    "origin": st.sampled_from(events.ORIGINS), "tool": st.sampled_from(TOOLS), "text": bodies,
    "file": st.sampled_from((None, "", "package.json", "CLAUDE.md", "C:\\a\\go.mod", "/x/" + "y" * 300)),
    "failed": st.sampled_from((None, False, True)), "exit_code": st.sampled_from((None, 0, 1, -9)),
    "ts_ms": st.sampled_from((None, 0, 1_700_000_000_000)), "agent_id": st.sampled_from((None, "a")),
})  # fmt: skip


def stored(number: int, values: dict[str, object]) -> StoredEvent:
    """An event as the store gives it, whatever is in it."""
    text = str(values["text"])
    row = {
        "row": number + 1, "key": blake2b(b"%d" % number, digest_size=16).digest(), "session": "s",
        "client": "claude-code",
        "project": "/p", "order_ms": 1_700_000_000_000 + number, "branch": None, "text_chars": len(text),
        "excerpt": text[:300],
        **values, "kind": events.KINDS.index(str(values["kind"])),
        "origin": events.ORIGINS.index(str(values["origin"])),
    }  # fmt: skip
    return StoredEvent(row, text)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(stored_events, min_size=1, max_size=12))
def test_no_source_raises_whatever_a_session_holds(rows: list[dict[str, object]]) -> None:
    """Odd characters, JSON that is none, missing times and tools: candidates or rejections, never an error."""
    stream = stream_of([stored(number, row) for number, row in enumerate(rows)])
    for place in range(len(stream)):
        gave = SourceDistiller().distil(stream, place)
        assert set(gave.rejected) <= set(REASONS)
        assert all(candidate.type in TYPES and candidate.evidence for candidate in gave.candidates)


def exchange(said: str, kind: str, tool: str | None = None) -> list[StoredEvent]:
    """A short exchange in which one thing is long."""
    base = {"tool": None, "file": None, "failed": None, "exit_code": None, "ts_ms": None, "agent_id": None}
    rows = [
        {"kind": events.USER_PROMPT, "origin": events.ORIGIN_USER, "text": "why does the build fail?"},
        {"kind": events.TOOL_CALL, "origin": events.ORIGIN_ASSISTANT, "tool": "Bash",
         "text": '{"command": "make all"}'},
        {"kind": events.TOOL_RESULT, "origin": events.ORIGIN_TOOL, "tool": "Bash", "text": "error: it broke",
         "failed": True},
        {"kind": kind, "origin": events.ORIGIN_USER if kind == events.USER_PROMPT else events.ORIGIN_ASSISTANT,
         "text": said, "tool": tool, "failed": True if kind == events.TOOL_RESULT else None},
        {"kind": events.TOOL_CALL, "origin": events.ORIGIN_ASSISTANT, "tool": "Bash",
         "text": '{"command": "make all"}'},
        {"kind": events.TOOL_RESULT, "origin": events.ORIGIN_TOOL, "tool": "Bash", "text": "ok", "failed": False},
    ]  # fmt: skip
    return [stored(number, base | row) for number, row in enumerate(rows)]


UNITS = (
    "a", " ", "`", "**a ", "__a ", "~~a ", "*a ", "[a](", "![a](b", "...", ". ", "?!", "(", "a.b/", "a_", "A-", "@a ",
    "1. ", "- a\n",
    "# a\n", "because ", "we use a not b, ", "instead of ", "the cause is ", "fails because `x` ", "is never ",
    "now ", "so ",
    "always use `a`. ", "it turns out ", "from a to b ", "rather than a, ", "line 1, ", "yesterday ", "TODO: ",
    "fix: a ", "\t",
    "npm install a ", "`a` is not ", "every a b c ", "we ", "| a ", "a: ", "“a” ", "option 1. a\n",
)  # fmt: skip


LOUD = ("error: ", "/a/b ", "a.b/", "expected a received b ", "\x1b[1m", "'a' ", "- a\n", "|")


@pytest.mark.parametrize(
    ("kind", "unit"),
    [(events.ASSISTANT_TEXT, unit) for unit in UNITS] + [(events.TOOL_RESULT, unit) for unit in LOUD],
)
def test_a_long_text_of_one_thing_is_read_in_linear_time(kind: str, unit: str) -> None:
    """100 kB of what makes a regular expression go back and forth, in the longest lines that are read."""
    said = unit * (HOSTILE_CHARS // len(unit))
    said = "\n".join(said[place : place + LINE_CHARS] for place in range(0, len(said), LINE_CHARS))
    stream = stream_of(exchange(said, kind, "Bash" if kind == events.TOOL_RESULT else None))
    started_s = time.process_time()
    for place in range(len(stream)):
        SourceDistiller().distil(stream, place)
    assert time.process_time() - started_s < MAX_CPU_S
