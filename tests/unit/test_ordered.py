"""What in a user's words holds for good, and what is of the day; the words of a step that was turned down."""

from __future__ import annotations

import pytest

from howcome.recall.ordered import ordered

LONG = "We keep the gauges in metres and write the harbour's own zero into the header of each file that goes out."


@pytest.mark.parametrize(
    "said",
    [
        "Never release from a laptop.",
        "no no, never release from your side. The harbour master does it.",
        "Names as keys, always. Numbers moved two berths in May.",
        "but its own commit please, never mix both",
        "I don't want to see a float ever again.",
        "and every new berth needs a number, the office rejects it otherwise",
        "In this code base we don't log names.",
        "bitte nicht direkt bauen: immer mit `make quay`",
    ],
)
def test_what_holds_for_good_is_a_rule(said: str) -> None:
    """Whoever typed it, whatever stands before it."""
    assert ordered(said, is_refusal=False, most_chars=160) == said


@pytest.mark.parametrize(
    "said",
    [
        "Never mind, we'll look at it later.",
        "keep reading the old name, but always write the new one now",
        "The helper is defined in quay.py but never called anywhere.",
        "do we always need the tide table?",
        "yeah let's do the length only",
        "nobody should believe a month that we made up",
    ],
)
def test_what_is_of_the_day_is_none(said: str) -> None:
    """Neither is a statement or a question."""
    assert ordered(said, is_refusal=False, most_chars=160) == ""
    assert ordered(said, is_refusal=True, most_chars=160) == ""


@pytest.mark.parametrize(
    ("said", "is_rule"),
    [
        ("Not from your shell. Releases run in CI only.", True),
        ("No cloud services! The harbour has no line.", True),
        ("Nein, keine Cloud-Dienste im Hafen.", True),
        ("non, pas de logique dans les vues", True),
        ("no, that is overkill", False),
        ("no, I did not say that", False),
        ("don't check this in", False),
        ("don't worry about the lint, just go on", False),
        ("let's just drop the (manual strategy only)", False),
        ("no", False),
    ],
)
def test_who_turns_a_step_down_says_what_must_never_be(said: str, *, is_rule: bool) -> None:
    """Not where only this step is meant; and the same words are no rule where nothing was turned down."""
    assert bool(ordered(said, is_refusal=True, most_chars=160)) is is_rule
    assert ordered(said, is_refusal=False, most_chars=160) == ""


def test_of_a_long_text_the_rule_is_said_with_what_fits_before_it() -> None:
    """It may name what the rule is about."""
    said = f"{LONG} {LONG} Local time only in plots. I don't want to see a naive time ever again."
    expected = "Local time only in plots. I don't want to see a naive time ever again."
    assert ordered(said, is_refusal=False, most_chars=160) == expected
