"""Which edits are of a file, what they put in, and which of them wrote a line."""

from __future__ import annotations

import pytest
from tests.sessions import START_MS, Part, call, changed, ran, session

from howcome.clients.git import Commit
from howcome.history.origins import bare, committing, edits_of, writer_of

ROOT = "/home/mara/harbour"
"""The project of the sessions that `tests.sessions` makes."""

PATCH = """*** Begin Patch
*** Update File: src/tide.py
@@
 import math
-level = 1
+level = 2
*** Add File: src/berth.py
+level = 3
*** End Patch"""


def written(*parts: list[Part], file: str = "src/tide.py") -> list[list[str]]:
    """The lines that each edit of a file put in."""
    edits = edits_of(_with_ids(*parts), file)
    return [[edit.written[place] for place in edit.new] for edit in edits]


def _with_ids(*parts: list[Part]) -> list:  # type: ignore[type-arg]
    for number, pair in enumerate(parts):
        for part in pair:
            part["tool_use_id"] = f"t{number}"
    return session(*parts)


@pytest.mark.parametrize(
    ("path", "file", "is_of"),
    [
        (f"{ROOT}/src/tide.py", "src/tide.py", True),
        ("src/tide.py", "src/tide.py", True),
        (f"{ROOT}/.worktrees/x/src/tide.py", "src/tide.py", True),
        ("/home/other/harbour/src/tide.py", "src/tide.py", True),
        ("C:\\harbour\\src\\tide.py", "src/tide.py", True),
        (f"{ROOT}/docs/README.md", "README.md", False),
        ("docs/README.md", "README.md", False),
        (f"{ROOT}/README.md", "README.md", True),
    ],
)
def test_a_path_is_the_file_in_every_checkout_and_no_other_one_of_its_name(path: str, file: str, is_of: bool) -> None:
    """A worktree, another clone, another machine; not a folder's file of the same name."""
    assert bool(written(changed(path, "a", "b"), file=file)) == is_of


def test_what_was_put_in_is_told_from_what_was_there() -> None:
    """The lines that a replacement did not have; of several edits in one call each; of a patch those of the file."""
    assert written(changed("src/tide.py", "  a\n}", "  a\n}\nb\n}")) == [["b", "}"]]
    several = {"file_path": "src/tide.py", "edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}]}
    assert written(call("MultiEdit", **several)) == [["b"], ["c"]]
    assert written(call("apply_patch", input=PATCH)) == [["level = 2"]]
    assert written(call("apply_patch", input=PATCH), file="src/berth.py") == [["level = 3"]]
    assert written(ran(f"apply_patch <<'EOF'\n{PATCH}\nEOF")) == [["level = 2"]]
    assert written(call("create", path="src/tide.py", file_text="level = 5")) == [["level = 5"]]
    heredoc = "cat > src/tide.py <<'EOF'\nlevel = 4\nEOF"
    assert [line for [*lines] in written(ran(heredoc)) for line in lines if "level" in line] == ["level = 4"]


def test_what_failed_put_nothing_in() -> None:
    """A refused edit, one whose text was not there."""
    refused = call("Edit", "no", failed=True, file_path="src/tide.py", old_string="a", new_string="b")
    assert written(refused, changed("src/tide.py", "a", "c")) == [["c"]]
    assert written(call("Read", "a\nb", file_path="src/tide.py")) == []


def test_the_last_edit_before_the_commit_wrote_the_line() -> None:
    """One after it did not; of lines that look alike the one among the same lines did."""
    edits = edits_of(
        _with_ids(
            changed("a.py", "", "if x:\n    go()\n"), changed("a.py", "", "if y:\n    go()\n"),
            changed("a.py", "zz", "if x:\n    go()"),
        ),
        "a.py",
    )  # fmt: skip
    lines = bare("if x:\n  go()\nif y:\n  go()")
    assert [_wrote(edits, lines, at, None) for at in range(4)] == [(2, True), (2, True), (1, True), (1, True)]
    assert _wrote(edits, lines, 1, START_MS + 60_000) == (0, True)
    assert _wrote(edits, lines, 0, START_MS - 60_000) is None
    assert _wrote(edits, bare("go()\ngo()"), 0, None) == (2, False)


def test_an_edit_of_a_part_of_a_line_wrote_that_line() -> None:
    """If no other line has the part, and if it is long enough to tell."""
    edits = edits_of(_with_ids(changed("a.py", "compute(2)", "compute(3)"), changed("a.py", "x", "y")), "a.py")
    assert _wrote(edits, bare("total = compute(3) + y\nrest = y"), 0, None) == (0, True)
    assert _wrote(edits, bare("total = compute(3)\nrest = compute(3) - 1"), 0, None) is None
    assert _wrote(edits, bare("rest = y"), 0, None) is None


def _wrote(edits: list, lines: list[str], at: int, until_ms: int | None) -> tuple[int, bool] | None:  # type: ignore[type-arg]
    found = writer_of(edits, lines, at, until_ms)
    return (edits.index(found[0]), found[1]) if found else None


@pytest.mark.parametrize(
    ("command", "output", "made"),
    [
        ("git add -A && git commit -m 'Raise the tide'", "[main 1234567] x", True),
        ('git -C ../x commit -q -m "$(cat <<EOF\nRaise the tide\n\nWhy.\nEOF\n)"', "", True),
        ("wrapper git commit -F m.txt", "[main 9999999] Raise the tide", True),
        ("git commit -a", "[main abcdef12] Something else", True),
        ("git log --grep 'Raise the tide'", "abcdef12 Raise the tide", False),
        ("git commit -m 'Raise the tide again'", "[main 1234567] Raise the tide again", False),
    ],
)
def test_a_commit_is_known_by_its_hash_or_its_message(command: str, output: str, made: bool) -> None:
    """Of a call that commits; reading the log makes no commit."""
    commit = Commit("abcdef12" * 5, "1773914400", "1773914400", "Raise the tide")
    assert (committing(_with_ids(ran(command, output)), commit) is not None) == made
    assert committing(_with_ids(ran(command, output, failed=True)), commit) is None
