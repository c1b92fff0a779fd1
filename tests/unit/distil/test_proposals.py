"""Proposals that were agreed to, pins, and what reports name with its mending."""

from __future__ import annotations

import json

import pytest
from tests.unit.distil.test_findings import AGENT, CALL, RESULT, USER, Step, distilled, edit

WHY = (
    "I'd recommend Fathom over sonarlib for the gauge, and the main reason is **offline charts**. "
    "It reads `.fth` files."
)
LIST = """There are two ways for storing soundings:

1. **One column of JSON** - simple, no joins
2. **Soundings table** - one row for each

I'd go with the **one column of JSON**. A soundings table would add a join to each of the three queries in `tide.py`."""


def decisions(*steps: Step) -> list[str]:
    """The decisions of a session."""
    return [one.text for one in distilled(*steps) if one.type == "decision"]


@pytest.mark.parametrize("answer", ["yeah makes sense, go ahead with fathom", "Sounds good.", "ok do it"])
def test_a_proposal_with_its_reason_counts_once_it_is_agreed_to(answer: str) -> None:
    """With what it was chosen over."""
    assert decisions((USER, "fathom or sonarlib?"), (AGENT, WHY), (USER, answer)) == [
        "Fathom chosen over sonarlib for the gauge. Reason: offline charts. It reads `.fth` files."
    ] or decisions((USER, "fathom or sonarlib?"), (AGENT, WHY), (USER, answer))[0].startswith("Fathom chosen over")


@pytest.mark.parametrize(
    "answer", ["hm, why not sonarlib?", "yes but not now", "no, take sonarlib", "what about the cost?"]
)
def test_a_proposal_that_is_not_agreed_to_is_none(answer: str) -> None:
    """A question, a but and a no are no yes."""
    assert decisions((USER, "we need charts"), (AGENT, WHY), (USER, answer)) == []


def test_the_other_options_of_a_list_are_what_was_turned_down() -> None:
    """With what it is for, where the text says it."""
    found = decisions((USER, "how do we store them?"), (AGENT, LIST), (USER, "yes, keep it simple"))
    assert len(found) == 1
    assert "over soundings table. Reason: A soundings table would add a join" in found[0]


def test_what_was_asked_for_and_carried_out_needs_no_yes() -> None:
    """Who asks which one to take, and lets it be built, agreed."""
    steps = (USER, "which one should we use, fathom or sonarlib?"), (AGENT, WHY)
    assert decisions(*steps) == []
    assert decisions(*steps, *edit("/p/pyproject.toml", "x", "fathom"), (AGENT, "Added."))


def test_what_a_person_finds_too_much_was_turned_down() -> None:
    """The reason is what they say of it."""
    said = "keep the JSON column. a soundings table is overkill for this. just fix it in tide.py"
    assert decisions((USER, said), (AGENT, "Agreed.")) == [
        "JSON column chosen over soundings table. Reason: soundings table is overkill for this."
    ]


def test_a_pin_that_is_reported_is_a_dependency() -> None:
    """With its version and its reason."""
    found = distilled((USER, "add it"), (AGENT, "I'll pin `fathom==2.4.1` since 2.5 drops the `.fth` reader."))
    assert [(one.type, one.text) for one in found] == [
        ("dependency", "fathom pinned to 2.4.1 (`fathom==2.4.1`). Reason: 2.5 drops the `.fth` reader.")
    ]


def test_where_output_goes_is_no_package() -> None:
    """`2>/dev/null` is the shell's."""
    call = json.dumps({"command": "pip install fathom 2>/dev/null && pytest"})
    found = distilled((USER, "go"), (CALL, call, "Bash", ""), (RESULT, "ok", "Bash", ""), (AGENT, "Done."))
    assert [one.text for one in found] == ["fathom added as a dependency with `pip install fathom`."]


def test_a_report_that_names_a_fault_with_its_mending_tells_a_failure() -> None:
    """And a convention that it says holds from now on is a pattern."""
    said = (
        "Both are done:\n\n1. **Double tide bug** — fixed by reading `tides.sql` once, through `dict.fromkeys()`.\n"
        "2. **Drift in next_tide()** — was slow.\n\nThe log naming convention is `NNN_place.log`, kept in `logs/`."
    )
    found = distilled((USER, "fix both"), *edit("/p/tide.py", "a", "b"), (AGENT, said))
    assert [(one.type, one.text) for one in found] == [
        ("failure", "Double tide bug: fixed by reading `tides.sql` once, through `dict.fromkeys()`."),
        ("pattern", "Log naming convention: `NNN_place.log`, kept in `logs/`."),
    ]


def test_what_the_next_prompt_notes_as_open_is_a_task() -> None:
    """In the words of the report."""
    said = "Only the `gauge (arm64)` job fails, its image is built for amd64. It needs an image for both."
    found = distilled((USER, "look at CI"), (AGENT, said), (USER, "not now, note it as open"))
    assert [(one.type, one.status) for one in found] == [("context", "open")]


FOUND = (
    "`tide_lock` is held by the reader until the shell ends, so the writer gets `gauge is busy`. "
    "The fix is to close the reader in `readTide()` before the first write."
)


def test_a_fix_that_is_proposed_counts_once_it_is_carried_out() -> None:
    """With what is wrong, as the sentence before it says."""
    steps = (USER, "why does it fail with `gauge is busy`?"), (AGENT, FOUND)
    mended = "Fix: Close the reader in `readTide()` before the first write."

    def told(*more: Step) -> list[str]:
        return [one.text for one in distilled(*steps, *more) if mended in one.text]

    change = edit("/p/tide.py", "reader = openTide()", "with openTide() as reader:")
    assert told() == told((USER, "no, leave it"), *change) == []
    assert len(told((USER, "yes, fix it"), *change, (AGENT, "Done."))) == 1
    assert len(told(*change, (AGENT, "Done."))) == 1
