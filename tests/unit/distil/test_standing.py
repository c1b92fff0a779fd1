"""What was said and did not stand: mended, undone, taken back, objected to, or about nothing that is named."""

from __future__ import annotations

import json

import pytest
from tests.unit.distil.test_findings import AGENT, CALL, DAY, RESULT, USER, Step, commit, distilled, edit, texts

from howcome.learn.rules.naming import is_about_a_tool, own

ASKED: Step = (USER, "look into the lost receipts")
SAID: Step = (AGENT, "The issue is that `ReceiptQueue` never acknowledges a message, so every receipt is sent twice.")
FIX = edit("/p/queue.py", "class ReceiptQueue:\n    pass", "class ReceiptQueue:\n    ack = True")
FILLER: tuple[Step, ...] = tuple(step for n in range(6) for step in ((USER, f"next, part {n}"), (AGENT, "Looked.")))


def bash(command: str) -> tuple[Step, Step]:
    """A command that went well."""
    return (CALL, json.dumps({"command": command}), "Bash", ""), (RESULT, "ok", "Bash", "")


def about(word: str, *steps: Step) -> list[str]:
    """The memories of a session that have a word in them."""
    return [text for text in texts(distilled(*steps)) if word in text]


def test_a_fault_is_fixed_when_the_edit_took_out_what_it_names() -> None:
    """The day of the edit stands behind it."""
    assert about("acknowledges", ASKED, SAID, *FIX, (AGENT, "Fixed."))[0].endswith(f"(fixed on {DAY}).")


@pytest.mark.parametrize(
    "changed",
    [
        edit("/p/docs/plan.md", "ReceiptQueue drops", "ReceiptQueue acknowledges"),
        edit("/p/queue.py", "# ReceiptQueue never acks", "# ReceiptQueue acks"),
        edit("/p/test_queue.py", "ReceiptQueue()", "ReceiptQueue(ack=True)"),
        edit("/p/ledger.py", "total = 1", "total = ReceiptQueue().count"),
    ],
)
def test_a_fault_that_something_else_touched_is_told_neither_as_there_nor_as_mended(changed: tuple[Step, Step]) -> None:
    """Documents, comments, tests and other code that only uses the name show no mending."""
    assert about("acknowledges", ASKED, SAID, *changed, (AGENT, "Fixed.")) == []


@pytest.mark.parametrize(
    "later",
    [
        edit("/p/queue.py", "class ReceiptQueue:\n    ack = True", "class ReceiptQueue:\n    pass"),
        bash("git checkout -- queue.py"),
        bash("git reset --hard"),
        ((AGENT, "Now let me revert my change to `ReceiptQueue`."), (AGENT, "Reverted.")),
    ],
)
def test_a_fix_that_is_undone_later_is_none(later: tuple[Step, Step]) -> None:
    """However long after it in the same session."""
    assert about("acknowledges", ASKED, SAID, *FIX, (AGENT, "Fixed."), *FILLER, (USER, "no"), *later) == []


def test_a_fix_that_is_committed_outlives_a_reset() -> None:
    """What git throws away then is something else."""
    assert about("fixed on", ASKED, SAID, *FIX, *commit("queue: acknowledge"), *bash("git reset --hard"))


def test_callers_that_moved_away_did_not_mend_what_they_left() -> None:
    """Nobody is told that a library's call works by now."""
    said = "The issue is that `store.Refs.RemoveReference()` never deletes packed ones, because it reads loose files."
    moves = [
        step
        for file in ("a.go", "b.go")
        for step in edit(f"/p/{file}", "store.Refs.RemoveReference(ref)", "deleteBranch(ref)")
    ]
    found = about("RemoveReference", ASKED, (AGENT, said), *moves, (AGENT, "Fixed."))
    assert found
    assert "fixed on" not in found[0]


def test_what_is_said_in_the_present_of_code_that_is_changed_next_is_none() -> None:
    """It describes what was there for a moment."""
    said = "`openGauge()` returns an error for a second harbour unless warnings are off, because of `ErrTaken`."
    change = edit("/p/gauge.go", "func openGauge() error { return ErrTaken }", "func openGauge() error { return nil }")
    assert about("openGauge", (USER, "why?"), (AGENT, said)) != []
    assert about("openGauge", (USER, "go on"), (AGENT, said), *change, (AGENT, "Done.")) == []


@pytest.mark.parametrize(
    "said",
    [
        '`strings.Contains` is case-sensitive, so "Low" never matches "low" and the comparison always fails.',
        "`git diff HEAD` only shows changes of tracked files, so new ones are always missing in it.",
        "`tmpDir` is only removed after the run, because `hasNew` stays `false` until then.",
        "`items-start` only aligns the first line, because `min-width` is ignored by the column.",
        "`--force` only removes what `deleteHarbour` lists, because packed ones are ignored.",
        "A `push_remote_tide` setting only works if everybody has the right to push, which nobody has.",
    ],
)
def test_what_names_nothing_of_the_project_is_none(said: str) -> None:
    """Of a language, of git, of a style sheet, of a local variable, of "the script", of a setting that never was."""
    change = edit("/p/tide.go", "a := 1", "a := 2")
    found = distilled((USER, "go on"), *bash("ls"), (AGENT, said), *change, (AGENT, "Done."))
    assert [one.text for one in found if one.type == "discovery"] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("`tide ebb` and `src/gauge.go` use openGauge() of `GaugeStore`.", ["tide ebb", "src/gauge.go", "openGauge"]),
        ("`strings.Contains`, `git push`, `--force` and `tmpDir` are known to GitHub.", []),
        ("`make lint` runs `harbour_lock`.", ["make lint", "harbour_lock"]),
    ],
)
def test_names_that_a_project_coined(text: str, names: list[str]) -> None:
    """Files, functions, types and commands of its own."""
    assert own(text)[: len(names) or None] == names


def test_tools_that_a_text_names_are_told_from_those_that_everybody_has() -> None:
    """A linter by its name, a client, a product; git and a language are none."""
    assert is_about_a_tool("The `exhaustive` linter requires every case.")
    assert is_about_a_tool("Tide Agent CLI uses `--force` for that.")
    assert not is_about_a_tool("`git reset` only moves HEAD.")
    assert not is_about_a_tool("Python imports a module once.")


def test_a_general_talk_teaches_nothing() -> None:
    """Names in mixed case are mostly those of products where nothing is run or read."""
    assert (
        texts(distilled((USER, "which should I buy?"), (AGENT, "LensMart only ships to stores because it rents.")))
        == []
    )


PLAN = """Implement the following plan:

# Plan: Tide alarms

## Design decisions

- **Opt-in**: alarms are off by default (`enableAlarms: false`), so that nobody is woken.
"""


def test_what_a_plan_decides_counts_once_it_is_built() -> None:
    """Its title says what it is for."""
    built = edit("/p/alarm.ts", "const a = {};", "const a = { enableAlarms: false };")
    assert about("Alarms are", (USER, PLAN), (AGENT, "Done.")) == about("Opt-in", (USER, PLAN), (AGENT, "Done.")) == []
    found = about("enableAlarms", (USER, PLAN), *built, (AGENT, "Done."))
    assert found
    assert found[0].startswith("Tide alarms: Opt-in: ")
    taken_out = edit("/p/alarm.ts", "const a = { enableAlarms: false };", "const a = {};")
    assert about("enableAlarms", (USER, PLAN), *built, (AGENT, "Done."), (USER, "simpler"), *taken_out) == []


def test_a_choice_that_a_person_turns_against_is_none() -> None:
    """In one of the next prompts."""
    said = (
        "Replaced all `GaugeId(text)` casts with `mustGaugeId()` to avoid silent bad values instead of checking each."
    )
    steps = (USER, "clean up"), *edit("/p/id.go", "GaugeId(text)", "mustGaugeId(text)"), (AGENT, said)
    assert about("mustGaugeId", *steps) != []
    assert about("mustGaugeId", *steps, (USER, "panics are not great either, any other option?")) == []


def test_what_a_session_says_again_in_other_words_is_kept_once() -> None:
    """The later saying, when it says no less."""
    first = "`readTide()` returns null for `moon_phase` because `TideIndex` only selects two columns."
    again = "`TideIndex` only selects two columns, so `readTide()` returns null for `moon_phase`."
    found = about("moon_phase", (USER, "why null?"), (AGENT, first), (USER, "say it again"), (AGENT, again))
    assert len(found) == 1


def test_a_rule_that_is_worded_anew_is_kept_in_its_last_wording() -> None:
    """An instruction that a later edit takes out of its file holds no more."""
    first, last = "- Always use `tide.Lock()` in slow tests.", "- Use `tide.Lock()` in every test, but never in setup."
    steps = (USER, "note it"), *edit("/p/AGENTS.md", "# Tests", f"# Tests\n\n{first}")
    assert texts(distilled(*steps, (AGENT, "Noted."))) == ["Always use `tide.Lock()` in slow tests."]
    again = (USER, "not only slow ones"), *edit("/p/AGENTS.md", first, last), (AGENT, "Reworded.")
    assert texts(distilled(*steps, (AGENT, "Noted."), *again)) == [
        "Use `tide.Lock()` in every test, but never in setup."
    ]


def test_a_line_of_a_commit_that_names_nothing_stands_after_what_the_commit_is_about() -> None:
    """Its scope, or its title; tidying up is no decision."""
    change = "Make --slow and --fast mutually exclusive to avoid a run that is neither, instead of taking the last one."
    found = texts(distilled((USER, "commit"), *commit(f"fix(tide): flags\n\n- {change}"), (AGENT, "Done.")))
    assert found == [f"tide: {change}"]
    tidied = "Move countTides/formatTide to `shared.ts` to avoid duplication."
    assert texts(distilled((USER, "commit"), *commit(f"tide: tidy\n\n- {tidied}"), (AGENT, "Done."))) == []


def test_an_answer_that_is_said_to_be_otherwise_later_is_none() -> None:
    """In its own words, near to what takes its place."""
    question = "When should `gauge` flush readings to the archive?"
    options = [
        {"label": "Flush on harbour commit", "description": "Readings stay in memory until the harbour commits."},
        {"label": "Flush at once", "description": "Nothing is lost."},
    ]
    asked: tuple[Step, Step] = (
        (CALL, json.dumps({"questions": [{"question": question, "options": options}]}), "AskUserQuestion", ""),
        (RESULT, f'"{question}"="Flush on harbour commit"', "AskUserQuestion", ""),
    )
    steps = (USER, "plan it"), *asked, (AGENT, "Noted.")
    assert len(about("chosen over", *steps)) == 1
    said = "So the rule becomes: a harbour in port still waits for its commit, one at sea will flush at once."
    assert about("chosen over", *steps, *FILLER, (USER, "ships at sea cannot wait"), (AGENT, said)) == []
