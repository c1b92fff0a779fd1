"""What somebody thought better of, only guessed, said without its other half, or said twice; and what kind it is."""

from __future__ import annotations

import pytest
from tests.unit.distil.test_findings import AGENT, DAY, USER, Step, distilled, edit, texts

from howcome.domain import events
from howcome.domain.candidates import Candidate

THINKING = events.ASSISTANT_THINKING
ASKED: Step = (USER, "why do berths get the same number twice?")
MORE: tuple[Step, Step] = ((USER, "look at it once more"), (AGENT, "Looking."))


def about(word: str, *steps: Step) -> list[Candidate]:
    """The memories of a session that have a word in them."""
    return [one for one in distilled(*steps) if word in one.text]


RULE: Step = (
    AGENT,
    "Done:\n\n1. **Table** - who sets it\n2. **Key invariant** - `PendingBerthID` must not be reused for new ships",
)


@pytest.mark.parametrize(
    "later",
    [
        "The fix was too broad: within one tide `PendingBerthID` has to be the same.",
        "That was an over-correction. `PendingBerthID` is shared by all ships of a convoy.",
        "The fix changed the intended behaviour of `PendingBerthID`.",
    ],
)
def test_a_rule_that_is_later_said_to_go_too_far_is_none(later: str) -> None:
    """Where its name stands near the words that take it back, in whichever exchange."""
    [rule] = about("PendingBerthID", ASKED, RULE, *MORE)
    assert rule.type == "pattern"
    assert about("must not", ASKED, RULE, *MORE, (USER, "and?"), (AGENT, later)) == []
    assert about("must not", ASKED, RULE, *MORE, (USER, "and?"), (AGENT, later.replace("PendingBerthID", "Crane")))
    confirmed = (AGENT, "That is the intended behaviour of `PendingBerthID`.")
    assert about("must not", ASKED, RULE, *MORE, (USER, "and?"), confirmed)


ONLY: Step = (AGENT, "1. Harbour branch `tide/<hash>` is only created when `SaveTide` is called")


@pytest.mark.parametrize(
    ("later", "is_kept"),
    [
        ("**Dredging does not count tides**, but it also creates commits on the harbour branch.", False),
        ("`SaveTide` also creates the harbour branch when it is called twice.", True),
        ("The harbour branch is pushed by the pilot.", True),
    ],
    ids=["another doer", "the same one", "something else"],
)
def test_what_only_one_is_said_to_do_and_another_does_too_is_not_so(later: str, *, is_kept: bool) -> None:
    """Somebody else does the same to the same thing."""
    assert bool(about("only created", ASKED, ONLY, *MORE, (USER, "and?"), (AGENT, later))) is is_kept


CAUSE = (
    "The root cause is that `readTide()` closes the gauge before `resetGauge()` runs, so the reset fails.\n\n"
    "The fix is to make `resetGauge()` tolerate a closed gauge, since `sweepGauge()` runs next."
)
GUESSES = (
    "The gauge is closed.\n\nActually, it should be open here. Let me reconsider.\n\nWait, the reset ran before.\n\n"
    "Actually, the most likely cause is the reader. The simplest fix is to tolerate it."
)
TOLERATE = edit("/p/gauge.py", "def resetGauge(): fail()", "def resetGauge(): pass")


def test_a_cause_that_was_the_last_of_several_guesses_is_not_told() -> None:
    """As the thoughts right before it show."""
    assert about("readTide", ASKED, (THINKING, "The reader closes it."), (AGENT, CAUSE), *TOLERATE) != []
    assert about("readTide", ASKED, (THINKING, GUESSES), (AGENT, CAUSE), *TOLERATE) == []


BARE = "The root cause: `TideStart` was being ignored for buoys, and `parseLine()` was reading them by line."


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("This PR fixes a bug where buoy logs produced incorrect `tide_usage` in `tides.json`. ",
         "Buoy logs produced incorrect `tide_usage` in `tides.json`. Root cause: `TideStart` was being ignored"),
        ("When a pilot leaves, `applyTide()` never fires. ",
         "`applyTide()` never fires when a pilot leaves. Root cause: `TideStart` was being ignored"),
        ("I read the log of buoys. ", ""),
    ],
    ids=["what a change is for", "when", "nothing"],
)  # fmt: skip
def test_a_root_cause_carries_its_symptom_or_is_none(before: str, kept: str) -> None:
    """The sentence before it."""
    found = [one.text for one in about("TideStart", (USER, "review the change"), (AGENT, f"{before}{BARE}"))]
    assert [text[: len(kept)] for text in found] == ([kept] if kept else [])


def test_a_link_of_a_chain_of_calls_is_not_told_alone() -> None:
    """What stands under "The flow is:"."""
    said = "`tideData.input` comes from `parseTide()` (`tide.py`)"
    flow = f"Here it is.\n\nThe flow is:\n1. `onTide` fires\n2. It calls `initTide()`\n3. {said}\n4. So it is empty"
    assert about("parseTide", (USER, "how does the flow go?"), (AGENT, flow)) == []
    assert about("parseTide", (USER, "how does it go?"), (AGENT, f"{said}, because `onTide` never reads it.")) != []


def test_what_was_mended_under_a_folder_of_tests_says_so() -> None:
    """It is no fault of the product; and it is not so "still"."""
    said = "The issue is that `NewHarbour` still writes its log to `env.Dir/tide` but `logPath()` looks elsewhere."
    change = edit("/p/integration_test/harbour.go", 'NewHarbour(dir + "tide")', "NewHarbour(logPath())")
    [found] = texts(about("NewHarbour", ASKED, (AGENT, said), *change, (AGENT, "Fixed.")))
    assert found == (
        "Problem: `NewHarbour` writes its log to `env.Dir/tide` but `logPath()` looks elsewhere"
        f" (fixed on {DAY}, in the tests)."
    )


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Since `PrepareTide` already checks the seal, `PostTide` trusts that check rather than looking again.",
         "decision"),
        ("`TideStore` must never be opened from `pilot.py`, because its lock is held by the daemon.", "pattern"),
        ("`TideStore` never closes its lock, because `closeLock()` returns early.", "discovery"),
    ],
)  # fmt: skip
def test_a_finding_is_of_the_kind_that_its_words_say(said: str, kind: str) -> None:
    """What must not be is a rule, what is trusted rather than something else a choice."""
    assert [one.type for one in about("Tide", (USER, "go on"), (AGENT, said))] == [kind]


def test_a_finding_that_is_told_again_with_most_of_its_names_is_one() -> None:
    """The later one stands for both."""
    first = "`tideToRow` maps `harbour_code`, but `recentTides()` doesn't select `harbour_code` and `tide_level`."
    second = (
        "The root cause is that the `recentTides()` queries weren't selecting the `harbour_code` and `tide_level`"
        " columns, so every row was empty."
    )
    steps = (ASKED, (AGENT, f"The issue is that {first}"), *edit("/p/t.py", "recentTides(a)", "recentTides(b)"))
    assert len(about("recentTides", *steps, (AGENT, "Fixed."))) == 1
    [kept] = about("recentTides", *steps, (AGENT, "Fixed."), (USER, "and?"), (AGENT, second))
    assert "weren't" in kept.text


def test_a_rule_without_its_exception_is_not_told() -> None:
    """The next line of the same edit is the whole rule; an exception from something else changes nothing."""
    short = "- Always use `quay.Lock()` in tests."
    whole = "- Every test should call `quay.Lock()` first, unless it changes the tide of the whole process."
    other = "- Never push to main, unless `make tide` passes."
    alone = texts(distilled(ASKED, *edit("/p/CLAUDE.md", "# Rules", f"# Rules\n\n{short}\n{other}")))
    assert any(text.startswith("Always use `quay.Lock()`") for text in alone)
    both = texts(distilled(ASKED, *edit("/p/CLAUDE.md", "# Rules", f"# Rules\n\n{short}\n{whole}")))
    assert not any(text.startswith("Always use `quay.Lock()`") for text in both)
    assert any("unless" in text for text in both)
