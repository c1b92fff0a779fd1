"""The four resolutions of an event: each within its limit, each saying what it can in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain import events
from howcome.mcp.tools import TOOLS

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=3000)
LONG = st.builds(lambda part, times: part * times, st.text(min_size=1, max_size=30), st.integers(1, 600))
KIND = st.sampled_from(events.KINDS)
TOOL = st.sampled_from([None, "Bash", "Edit", "mcp__server__a_long_tool_name"])


@given(KIND, TOOL, TEXT | LONG, st.sampled_from([None, True, False]))
def test_a_summary_is_one_short_line(kind: str, tool: str | None, text: str, failed: bool | None) -> None:
    """At most 160 characters, no line break, no double blanks."""
    line = events.summary(kind, tool, text, failed=failed)
    assert len(line) <= 160
    assert len(line.splitlines()) <= 1
    assert "  " not in line


@pytest.mark.parametrize(
    ("kind", "tool", "failed", "expected"),
    [
        (events.USER_PROMPT, None, None, "why is it red?"),
        (events.TOOL_CALL, "Bash", None, "Bash: why is it red?"),
        (events.TOOL_RESULT, "Bash", False, "Bash: why is it red?"),
        (events.TOOL_RESULT, "Bash", True, "Bash failed: why is it red?"),
        (events.TOOL_RESULT, None, True, "why is it red?"),
        (events.ASSISTANT_TEXT, "Bash", None, "why is it red?"),
    ],
)
def test_a_summary_names_the_tool_and_its_failure(
    kind: str, tool: str | None, failed: bool | None, expected: str
) -> None:
    """Tool traffic begins with the tool; a failed result says so; what was said is quoted."""
    assert events.summary(kind, tool, "why is\n  it red?", failed=failed) == expected


@given(TEXT | LONG, st.integers(2, 500))
def test_squeezing_keeps_the_first_words(text: str, limit: int) -> None:
    """The line is the beginning of the text with its blanks folded, and says when it is cut."""
    line, folded = events.squeeze(text, limit), " ".join(text.split())
    assert len(line) <= limit
    assert folded.startswith(line.removesuffix("…"))
    assert line == folded or line.endswith("…")


def test_what_blanks_push_out_of_sight_is_said_to_be_there() -> None:
    """A line of blanks between two words takes no room, and nothing is left out silently."""
    assert events.squeeze("first" + " " * 5000 + "second", 20) == "first second"
    assert events.squeeze("one" + "\n" * 5000 + "two three four five", 12) == "one two thr…"


def test_a_text_that_begins_with_many_blanks_still_has_a_summary() -> None:
    """Indented output and blank lines do not hide the first words."""
    assert events.summary(events.TOOL_RESULT, "Bash", "\n" * 5000 + "FAILED test_store", failed=True).endswith(
        "FAILED test_store"
    )


@given(KIND, TEXT | LONG)
def test_an_excerpt_is_the_beginning_within_the_limit(kind: str, text: str) -> None:
    """600 characters for what was said, 300 for tool traffic, cut with an ellipsis only when it is cut."""
    limit = events.excerpt_limit(kind)
    assert limit == (300 if kind in (events.TOOL_CALL, events.TOOL_RESULT) else 600)
    excerpt = events.cut(text, limit)
    assert len(excerpt) <= limit
    assert excerpt == text or (excerpt.endswith("…") and text.startswith(excerpt[:-1]))


@given(KIND, TOOL, st.sampled_from([None, "src/store.py", "x" * 5000]), TEXT | LONG)
def test_a_search_text_keeps_its_limit(kind: str, tool: str | None, file: str | None, text: str) -> None:
    """4,000 characters of what was said, 1,000 of tool traffic."""
    found = events.searchable(kind, tool, file, text)
    assert len(found) <= (1000 if kind in (events.TOOL_CALL, events.TOOL_RESULT) else 4000)


@given(LONG, st.integers(10, 2000))
def test_head_and_tail_keeps_both_ends(text: str, limit: int) -> None:
    """A long text keeps three quarters from its start and the rest from its end; a short one is left alone."""
    found = events.head_and_tail(text, limit)
    assert len(found) <= limit
    if len(text) <= limit:
        assert found == text
    else:
        assert found.startswith(text[: limit * 3 // 4])
        assert text.endswith(found[limit * 3 // 4 + 1 :])


def test_the_search_text_of_a_result_names_its_tool_and_file() -> None:
    """A result is found by the file it is about, which is written once."""
    assert (
        events.searchable(events.TOOL_RESULT, "Read", "src/store.py", "def add(): ...")
        == "Read src/store.py\ndef add(): ..."
    )
    assert events.searchable(events.TOOL_CALL, "Read", "src/store.py", "src/store.py") == "Read\nsrc/store.py"
    assert events.searchable(events.USER_PROMPT, "Read", "src/store.py", "why?") == "why?"


def test_the_conclusion_of_a_long_result_is_searchable() -> None:
    """The last line of ten thousand is in the search text."""
    text = "ok\n" * 10_000 + "1 failed, 312 passed"
    assert "1 failed, 312 passed" in events.searchable(events.TOOL_RESULT, "Bash", None, text)


def test_a_call_is_described_by_what_it_does() -> None:
    """The file and the command come first; what was written is left out."""
    values = {"new_string": "x = 1", "description": "build it", "file_path": "a.py", "command": "make", "mode": "fast"}
    assert events.call_text("Edit", values).split("\n") == ["a.py", "make", "build it", "fast"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (None, "Bash"),
        ({}, ""),
        ({"input": "*** Begin Patch"}, "*** Begin Patch"),
        ({"count": 3, "paths": ["a"]}, ""),
        ({"command": "x" * 9000}, "x" * 400),
    ],
)
def test_a_call_with_odd_input_is_described_anyway(values: dict[str, object] | None, expected: str) -> None:
    """No input, no strings, only content, or far too much of it."""
    assert events.call_text("Bash", values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"file_path": "a.py", "path": "b"}, "a.py"),
        ({"path": "src"}, "src"),
        ({"notebook_path": "n.ipynb"}, "n.ipynb"),
        ({"file_path": ""}, None),
        ({"file_path": 3}, None),
        (None, None),
    ],
)
def test_the_file_of_a_call_is_found(values: dict[str, object] | None, expected: str | None) -> None:
    """The field that names a file, when it does."""
    assert events.call_file(values) == expected


def test_numbers_of_kinds_and_origins_never_change() -> None:
    """They are stored: new ones are appended."""
    assert events.KINDS == (
        "user_prompt", "assistant_text", "assistant_thinking", "tool_call", "tool_result", "compaction",
    )  # fmt: skip
    assert events.ORIGINS == ("user", "assistant", "tool", "external", "task")
    assert set(events.PUSHED_ORIGINS) == {"user", "assistant"}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("mcp__howcome__search_memory", True), ("mcp__plugin_howcome_howcome__forget", True),
        ("howcome_get_context", True), ("howcome__remember", True), ("mcp__howcome__other", False),
        ("phowcome__forget", False), ("search_memory", False), ("Bash", False), (None, False), ("howcome", False),
        ("mcp__recollect__search_memory", True),  # as transcripts of the former name have it
    ],
)  # fmt: skip
def test_our_own_tools_are_known_by_every_name(tool: str | None, expected: bool) -> None:
    """As clients call them; a tool of the same name of another server is not ours."""
    assert events.is_own_tool(tool) is expected


def test_every_tool_of_the_server_is_known_as_ours() -> None:
    """A new one that is forgotten here would be found by what it was asked."""
    assert set(TOOLS) | {"hook"} == events.OWN_TOOLS


def test_what_memory_was_asked_is_kept_but_not_searched() -> None:
    """Or every search would be the best answer to the next one."""
    assert events.searchable(events.TOOL_CALL, "mcp__howcome__search_memory", None, "utc or local") == ""
    assert "utc" in events.searchable(events.TOOL_CALL, "Grep", None, "utc or local")
