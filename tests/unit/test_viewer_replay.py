"""A session as the viewer shows it: its exchanges, and the lines that an edit changed."""

from __future__ import annotations

import pytest
from tests.sessions import agent, call, changed, ran, session, user

from howcome.learn.actions import actions_of
from howcome.web.replay import MAX_CHARS, difference, exchanges

SEVERAL = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]
FILE = "/home/mara/quay/poll.py"
PATCH = "*** Begin Patch\n*** Update File: poll.py\n@@\n wait = 1\n-tries = 3\n+tries = 5\n*** End Patch"


@pytest.mark.parametrize(
    ("done", "lines"),
    [(changed(FILE, "a\nb\n", "a\nc\n"), ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
     (call("Write", file_path=FILE, content="one\ntwo"), ["@@ -0,0 +1,2 @@", "+one", "+two"]),
     (call("MultiEdit", file_path=FILE, edits=SEVERAL),
      ["@@ -1 +1 @@", "-a", "+b", "@@ -1 +0,0 @@", "-c"]),
     (call("apply_patch", input=PATCH), PATCH.split("\n")),
     (call("Edit", file_path=FILE, edits="odd", old_string=1), [])],
    ids=["edit", "new file", "several", "patch", "odd"],
)  # fmt: skip
def test_an_edit_shows_what_it_changed(done: list[dict[str, object]], lines: list[str]) -> None:
    """Of whatever tool: with the lines around it."""
    [action] = actions_of(session(done))
    assert [line for _, line in difference(action)] == lines
    assert {kind for kind, line in difference(action) if line[:1] == "+"} <= {"added"}


def test_a_long_difference_is_cut() -> None:
    """Its beginning says what it was about."""
    [action] = actions_of(session(changed(FILE, "", "\n".join(map(str, range(9_000))))))
    shown = list(difference(action))
    assert shown[-1] == ("place", "…")
    assert sum(len(line) for _, line in shown) <= MAX_CHARS


def test_an_exchange_begins_with_what_was_asked() -> None:
    """What stands before the first prompt is one, too."""
    told = session(agent("before"), user("one"), agent("yes"), ran("make"), user("two"))
    assert [[event.text for event in part][:1] for part in exchanges(told)] == [["before"], ["one"], ["two"]]
    assert exchanges([]) == []
