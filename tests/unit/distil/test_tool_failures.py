"""Failures that tools tell themselves: rules of linters, hooks, broken tests, edits that missed their indentation."""

# ruff: noqa: RUF001 - marks are written as tools print them

from __future__ import annotations

import json
from hashlib import blake2b

import pytest
from tests.noting import with_following

from howcome.domain import events
from howcome.domain.candidates import Candidate
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.rules import RuleDistiller
from howcome.learn.rules.refusals import is_plain
from howcome.learn.rules.runs import failed_tests

START_MS = 1_773_900_000_000
USER, CALL, RESULT = events.USER_PROMPT, events.TOOL_CALL, events.TOOL_RESULT
ORIGINS = {USER: events.ORIGIN_USER, RESULT: events.ORIGIN_TOOL}
Step = tuple[str, str, str, str, bool]

ASKED: Step = (USER, "go on with the gauge", "", "", False)
GOCONST = "tide/gauge.go:31:9: string `harbour` has 4 occurrences, make it a constant (goconst)\n1 issues:"


def run(command: str, output: str = "", *, failed: bool = False) -> list[Step]:
    """A command and what came of it."""
    said = f"Exit code 1\n{output}" if failed else output
    return [(CALL, json.dumps({"command": command}), "Bash", "", False), (RESULT, said, "Bash", "", failed)]


def edit(file: str, old: str, new: str, refused: str = "") -> list[Step]:
    """An edit and what came of it."""
    call = json.dumps({"file_path": file, "old_string": old, "new_string": new})
    return [
        (CALL, call, "Edit", file, False),
        (RESULT, refused or "The file has been updated.", "Edit", file, bool(refused)),
    ]


def distilled(*steps: Step) -> list[Candidate]:
    """What a session taught."""
    told = []
    for number, (kind, text, tool, file, failed) in enumerate(steps):
        row = {
            "row": number + 1, "key": blake2b(b"%d" % number, digest_size=16).digest(),
            "kind": events.KINDS.index(kind),
            "origin": events.ORIGINS.index(ORIGINS.get(kind, events.ORIGIN_ASSISTANT)), "session": "s",
            "client": "claude-code", "project": "/p", "ts_ms": START_MS + number, "order_ms": START_MS + number,
            "tool": tool or None, "file": file or None, "branch": None, "agent_id": None,
            "failed": failed if kind == RESULT else None, "exit_code": None, "text_chars": len(text),
            "excerpt": text[:300],
        }  # fmt: skip
        told.append(StoredEvent(row, text))
    found: list[Candidate] = []
    for exchange, following in with_following(stream_of(told)):
        found += RuleDistiller().distil(exchange, following).candidates
    return found


def texts(*steps: Step) -> list[str]:
    """What the memories say."""
    return [candidate.text for candidate in distilled(*steps)]


SAID = "`make lint` failed: goconst: string … has … occurrences, make it a constant."


@pytest.mark.parametrize(
    ("mending", "how"),
    [
        (edit("/p/tide/gauge.go", '"harbour"', "harbourName"),
         'It passed after a change of the code (`"harbour"` became `harbourName`).'),
        (edit("/p/tide/gauge.go", "a()\nb()\nc()", "a()\nd()\ne()\nc()"), "It passed after a change of the code."),
        (edit("/p/tide/gauge.go", "x()", "x() //nolint:goconst // so"), "It passed with a `//nolint:goconst` comment."),
        (edit("/p/tide/gauge.go", "x()", "x() //nolint:goconst // G304: the path is our own"),
         "It passed with a `//nolint:goconst` comment."),
        (edit("/p/tide/gauge.go", "x()", "goconst()\nx() //nolint:lll,goconst // names of piers are data\ny()"),
         "It passed with a `//nolint:goconst` comment (“names of piers are data”)."),
        (edit("/p/.golangci.yml", "min: 3", "min: 5"), "It passed after a change of `.golangci.yml`."),
        (run("golangci-lint run --fix"), "It passed after `golangci-lint run --fix`."),
    ],
)  # fmt: skip
def test_a_rule_that_failed_a_check_is_told_with_what_satisfied_it(mending: list[Step], how: str) -> None:
    """In the tool's words, as the calls show it."""
    steps = [*run("make fmt && make lint", GOCONST, failed=True), *mending, *run("make lint", "0 issues.")]
    [candidate] = distilled(ASKED, *steps)
    assert (candidate.type, candidate.origin, candidate.text) == ("failure", events.ORIGIN_TOOL, f"{SAID} {how}")


def test_a_reason_that_was_taken_away_again_is_not_quoted() -> None:
    """Somebody said that it was not true; the mark stayed."""
    mark = "x() //nolint:goconst // names of piers are data"
    marked = edit("/p/tide/gauge.go", "x()", mark)
    steps = [*run("make lint", GOCONST, failed=True), *marked, *run("make lint", "0 issues.")]
    other = edit("/p/tide/gauge.go", mark, "x() //nolint:goconst // each pier is named twice on purpose")
    assert "names of piers" in texts(ASKED, *steps)[0]
    assert texts(ASKED, *steps, *other) == [f"{SAID} It passed with a `//nolint:goconst` comment."]


def test_a_message_of_which_nothing_is_left_is_not_told() -> None:
    """Names and numbers say nothing of another place."""
    index = "tide/gauge.go:9:1: Name of it: readAll, Complexity: 38, Volume: 8041, Depth: 7 (quayindex)"
    mended = [*edit("/p/tide/gauge.go", "a\nb", "c"), *run("make lint", "0 issues.")]
    assert texts(ASKED, *run("make lint", index, failed=True), *mended) == []


def test_of_one_remedy_of_a_rule_the_last_example_stands_for_all() -> None:
    """Their subject is the same; the other remedy has one of its own."""
    subjects = [
        distilled(ASKED, *run("make lint", GOCONST, failed=True), *mending, *run("make lint", "0 issues."))[0].subject
        for mending in (
            edit("/p/tide/gauge.go", '"harbour"', "harbourName"),
            edit("/p/tide/gauge.go", '"quay"', "quayName"),
            edit("/p/tide/gauge.go", "x()", "x() //nolint:goconst // names of piers are data"),
        )
    ]
    assert (len(set(subjects)), subjects[0]) == (2, subjects[1])


def test_two_rules_of_one_run_are_two_memories_and_one_rule_broken_twice_is_one() -> None:
    """Fixed sentences share most of their words."""
    output = f"{GOCONST}\n{GOCONST}\ntide/gauge.go:9:2: Error return value of `f.Close` is not checked (errcheck)"
    mended = [*edit("/p/tide/gauge.go", "a", "b"), *run("make lint", "0 issues.")]
    assert len(texts(ASKED, *run("make lint", output, failed=True), *mended)) == 2


@pytest.mark.parametrize(
    "steps",
    [
        [*run("make lint", GOCONST, failed=True), *edit("/p/tide/gauge.go", "a", "b")],
        [*run("make lint", GOCONST, failed=True), *run("make lint", "0 issues.")],
        [*run("make lint", GOCONST, failed=True), *edit("/p/tide/gauge.go", "a", "b"), *run("make lint|tail", GOCONST)],
        [*run("golangci-lint run --enable-only goconst", GOCONST, failed=True), *edit("/p/tide/gauge.go", "a", "b"),
         *run("golangci-lint run --enable-only goconst")],
        [*run("golangci-lint run ./tide/sub/...", GOCONST, failed=True), *edit("/p/tide/gauge.go", "a", "b"),
         *run("golangci-lint run ./tide/sub/...")],
        [*run("make lint", "tide/gauge.go:3:2: undefined: level (typecheck)", failed=True),
         *edit("/p/tide/gauge.go", "a", "b"), *run("make lint", "0 issues.")],
        [*run("make lint | tail -5", GOCONST), *edit("/p/tide/gauge.go", "a", "b"),
         *run("make lint | tail -5", "make: *** [lint] Error 1\ntask failed")],
    ],
    ids=["not run again", "nothing was done", "still broken", "rules of one's own", "one place", "unfinished", "piped"],
)  # fmt: skip
def test_a_rule_is_not_told_where_nothing_shows_that_it_holds_or_was_satisfied(steps: list[Step]) -> None:
    """Nor what only says that work is not finished."""
    assert texts(ASKED, *steps) == []


def test_a_formatter_is_told_with_the_command_that_does_it() -> None:
    """Once for the project, whatever the files."""
    would = " at web/Gauge.tsx format ━━━\n\n  × Formatter would have printed the following content:\n"
    steps = [
        *run("bun run lint", would, failed=True),
        *run("bun run lint:fix"),
        *run("bun run lint", "Checked 9 files."),
    ]
    assert texts(ASKED, *steps) == [
        "`bun run lint` failed: the formatter would have changed files. It passed after `bun run lint:fix`."
    ]


TSC = (
    "$ bun test src/\n 12 pass\n 0 fail\n$ tsc --noEmit\n"
    "src/tide/level.test.ts(6,4): error TS2739: Type 'Gauge' is missing 'depth'.\nhusky - pre-commit script failed"
)


def test_a_commit_that_a_hook_refused_tells_check_finding_and_way_out() -> None:
    """A file that nobody staged is said to be outside."""
    steps = [
        *run("git add src/quay.ts && git commit -m 'feat: quay'", TSC, failed=True),
        *edit("/p/src/tide/level.test.ts", "a", "b"),
        *run("git commit -m 'feat: quay'", "[main 0a1b2c3] feat: quay"),
    ]
    found = "`git commit` failed: the pre-commit hook (`tsc --noEmit`) found TS2739 in `level.test.ts`"
    said, how = (
        "(“Type 'Gauge' is missing 'depth'”)",
        "It went through after a change of `level.test.ts` (`a` became `b`).",
    )
    assert texts(ASKED, *steps) == [f"{found} {said}, a file outside of the commit. {how}"]
    assert texts(ASKED, *edit("/p/src/tide/level.test.ts", "c", "d"), *steps) == [f"{found} {said}. {how}"]


@pytest.mark.parametrize(
    "steps",
    [
        [*run("git commit -m x", TSC, failed=True)],
        [*run("bun run check && git commit -m x", TSC.replace("husky", "x"), failed=True), *edit("/p/a.ts", "a", "b"),
         *run("git commit -m x", "[main 0a1b2c3] x")],
        [*run("git push", "! [rejected] main -> main (fetch first)", failed=True), *run("git pull"), *run("git push")],
    ],
    ids=["never went through", "no hook", "the remote"],
)  # fmt: skip
def test_a_commit_that_no_hook_refused_or_that_never_went_through_is_not_told(steps: list[Step]) -> None:
    """What a chain ran before the commit is no hook of it."""
    assert [text for text in texts(ASKED, *steps) if "hook" in text] == []


ROUND = "git commit --no-verify -m 'feat: quay'"
WENT = "[main 0a1b2c3] feat: quay"


@pytest.mark.parametrize(
    ("then", "how"),
    [
        ([*run(ROUND, WENT)], None),
        ([*run("HUSKY=0 git commit -m 'feat: quay'", WENT)], None),
        ([*run("git commit -nm 'feat: quay'", WENT)], None),
        ([*run(ROUND, WENT), *edit("/p/src/tide/level.test.ts", "a", "b"), *run("git commit -m 'fix: level'", WENT)],
         "It went through after a change of `level.test.ts` (`a` became `b`)."),
        ([*run(ROUND, WENT), *edit("/p/web/other.ts", "a", "b"), *run("git commit -m 'fix: other'", WENT)], None),
        ([*edit("/p/src/tide/level.test.ts", "import a", "// @ts-nocheck\nimport a"),
          *run("git commit -m 'feat: quay'", WENT)], None),
    ],
    ids=["no-verify", "HUSKY", "-n", "mended later", "something else later", "the whole file"],
)  # fmt: skip
def test_a_way_round_a_hook_is_never_told_as_the_way_out(then: list[Step], how: str | None) -> None:
    """The next commit that passed it is, where a change of what it found came before."""
    steps = [*run("git add src/quay.ts && git commit -m 'feat: quay'", TSC, failed=True), *then]
    hooked = [text for text in texts(ASKED, *steps) if "hook" in text]
    assert [text.endswith(how) for text in hooked] == [True] if how else not hooked


def test_a_command_that_worked_because_its_checks_were_skipped_is_no_remedy() -> None:
    """Nor a rule that was switched off for a whole file."""
    failed = run("npm run smoke", "Error: GAUGE_DEPTH is not set", failed=True)
    assert texts(ASKED, *failed, *run("SKIP=depth npm run smoke", "done")) == []
    assert texts(ASKED, *failed, *run("GAUGE_DEPTH=4 npm run smoke", "done")) != []
    off = edit("/p/tide/gauge.go", "package tide", "//nolint\npackage tide")
    assert texts(ASKED, *run("make lint", GOCONST, failed=True), *off, *run("make lint", "0 issues.")) == []


@pytest.mark.parametrize(
    ("command", "is_of_git"),
    [("git add a && " * 3000 + "git commit -m x", True), ("cd app && git commit -m x", True), ("git push", False),
     ("make lint && git commit -m x", False), ("git diff | tail && git commit -m x", False), ("git status", False)],
)  # fmt: skip
def test_a_commit_is_plain_when_nothing_but_git_runs_before_it(command: str, *, is_of_git: bool) -> None:
    """However long the chain is."""
    assert is_plain(command) is is_of_git


def test_a_script_that_was_looked_for_in_another_folder_is_no_failure_of_it() -> None:
    """It was run again after a `cd`; and a command with a path of somebody's home is of that machine only."""
    missing = run("bun run lint", 'error: Script not found "lint"', failed=True)
    again = run("cd /p && bun run lint", "web/a.ts:1: something else", failed=True)
    assert texts(ASKED, *missing, *again, *run("bun run lint:fix", "Fixed 1 file.")) == []
    away = run("git -C /home/mara/quay status", "error: unexpected argument '-C' found", failed=True)
    assert texts(ASKED, *away, *run("git status", "clean")) == []


TESTIFY = (
    "--- FAIL: TestA (0.0s)\n    --- FAIL: TestA/one (0.0s)\n        a_test.go:3: \n            Error:  \tnot equal\n"
    "            Messages:  \tlevel stays"
)
BROKEN = "--- FAIL: TestGaugeKeepsLog (0.02s)\n    gauge_test.go:41: the log of the first tide was overwritten\nFAIL"


def test_a_test_that_a_change_mended_is_told_with_the_file() -> None:
    """Its name, its line, the file."""
    steps = [
        *run("make test", BROKEN, failed=True),
        *edit("/p/tide/gauge.go", "a", "b"),
        *run("make test", "ok \ttide"),
    ]
    assert texts(ASKED, *steps) == [
        (
            "`TestGaugeKeepsLog` failed: the log of the first tide was overwritten."
            " It passed after a change of `gauge.go` (`a` became `b`)."
        )
    ]


def test_a_test_that_was_just_written_or_whose_expectation_was_changed_is_not_told() -> None:
    """Red first, or the other way round; but what it says of where it runs is."""
    green = run("make test", "ok \ttide")
    written = edit("/p/tide/gauge_test.go", "", "func TestGaugeKeepsLog(t *testing.T) {")
    red = run("make test", BROKEN, failed=True)
    assert texts(ASKED, *written, *red, *edit("/p/tide/gauge.go", "a", "b"), *green) == []
    assert texts(ASKED, *red, *edit("/p/tide/gauge_test.go", "a", "b"), *green) == []
    place = BROKEN.replace("the log of the first tide was overwritten", "read /tmp/q: fatal: not a git repository")
    mended = [*edit("/p/tide/gauge_test.go", "a", "b"), *edit("/p/tide/gauge_test.go", "c", "d")]
    [told] = texts(ASKED, *written, *run("make test", place, failed=True), *mended, *green)
    said = "`TestGaugeKeepsLog` failed: read /tmp/q: fatal: not a git repository."
    assert told == f"{said} It passed after a change of `gauge_test.go`."


@pytest.mark.parametrize(
    ("output", "name", "said"),
    [
        ("FAILED tests/test_quay.py::test_berth[2] - KeyError: 'depth'", "test_berth", "KeyError: 'depth'"),
        ("---- tide::reads stdout ----\nthread 'tide::reads' panicked at src/tide.rs:9:\nno gauge here", "tide::reads",
         "no gauge here"),
        ("error: expect(received).toBe(expected)\n\n(fail) Gauge > keeps its log [1.20ms]", "Gauge > keeps its log",
         "expect(received).toBe(expected)"),
        ("  ● Gauge › keeps its log\n\n    TypeError: level is undefined\n", "Gauge › keeps its log",
         "TypeError: level is undefined"),
        ("=== RUN   TestA\n    a_test.go:3: the gauge must not move\n--- FAIL: TestA (0.00s)", "TestA",
         "the gauge must not move"),
        (TESTIFY, "TestA/one", "level stays"),
    ],
    ids=["pytest", "cargo", "bun", "jest", "go -v", "testify"],
)  # fmt: skip
def test_a_failed_test_is_read_as_its_runner_prints_it(output: str, name: str, said: str) -> None:
    """Name and line; of nested ones the innermost."""
    [failed] = failed_tests(output)
    assert (failed.name, failed.said) == (name, said)
