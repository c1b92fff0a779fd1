"""Sentences made impersonal, dates made absolute, and what is then fit to be kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from howcome.domain import candidates
from howcome.learn.dates import absolute, day_spoken_of
from howcome.learn.fitness import dangles, fault
from howcome.learn.rewriting import impersonal, without_you

THURSDAY_MS = int(datetime(2026, 3, 19, 10, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("So I found that `pump.py` leaks handles!", "`pump.py` leaks handles."),
        ("It turns out we never close the socket in `dial()`.", "The code never closes the socket in `dial()`."),
        (
            "I spent two hours on it and it turns out someone hardcoded a port in `gauge.ts`.",
            "A port was hardcoded in `gauge.ts`.",
        ),
        ("Our cache is basically unbounded (thanks @mira)", "The cache is unbounded."),
        ("We need a retry budget, which is annoying.", "A retry budget is needed."),
        ("Noor said that the `tide` table has no index on line 42.", "The `tide` table has no index."),
    ],
)
def test_what_is_said_becomes_a_fact_without_a_person(said: str, kept: str) -> None:
    """First person, names, feelings and lead-in words go; what was learned stays."""
    assert impersonal(said) == kept


def test_a_rule_speaks_to_nobody() -> None:
    """Rules lose the one who is told."""
    assert without_you("run the linter before you commit") == "run the linter before committing"
    assert without_you("each time you change the schema, regenerate") == "each time one changes the schema, regenerate"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("broken since yesterday", "broken since 2026-03-18"),
        ("fixed last Monday", "fixed on 2026-03-16"),
        ("frozen until Friday", "frozen until 2026-03-20"),
        ("three days ago it worked", "on 2026-03-16 it worked"),
        ("due next week", "due in the week of 2026-03-23"),
        ("`today` is a field", "`today` is a field"),
        ("frozen until last Friday", "frozen until 2026-03-13"),
        ("it worked before yesterday", "it worked before 2026-03-18"),
        ("Nine weeks ago", "on 2026-01-15"),
        ("gone in the previous month, the last week broke", "gone in 2026-02, in the week of 2026-03-09 broke"),
        ("the Friday build", "the 2026-03-13 build"),
        ("Friday\u2019s build, every Monday and on Mondays", "the 2026-03-13 build, every Monday and on Mondays"),
        ("in the last 3 days", "in the last 3 days"),
        ("ready tomorrow, starting this Thursday", "ready on 2026-03-20, starting 2026-03-19"),
    ],
)
def test_relative_dates_become_those_of_the_calendar(said: str, kept: str) -> None:
    """Seen from the day on which they were said."""
    assert absolute(said, THURSDAY_MS) == kept


def test_a_date_that_went_with_its_frame_is_still_known() -> None:
    """The first one spoken of, for "Identified …"."""
    assert day_spoken_of("I debugged this yesterday", THURSDAY_MS) == "2026-03-18"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("`dial()` never closes its socket.", ""),
        ("Had a great weekend.", candidates.NOT_TECHNICAL),
        ("Should `dial()` close the socket?", candidates.QUESTION),
        ("`dial()` probably leaks its socket.", candidates.HYPOTHETICAL),
        ("This breaks `dial()` on retries.", candidates.NOT_SELF_CONTAINED),
        ("The test fails because of `dial()`.", candidates.NOT_SELF_CONTAINED),
        ("I closed the socket in `dial()`.", candidates.PERSONAL),
        ("The key of `dial()` is [redacted:generic:0a1b2c3d].", candidates.SECRET),
        ("Reviewed the `dial()` module and stored findings.", candidates.RECORDING),
        ("Ok.", candidates.TOO_SHORT),
    ],
)
def test_only_a_fact_that_stands_by_itself_is_fit(text: str, reason: str) -> None:
    """Everything else has its reason."""
    assert fault(text) == reason


def test_a_pronoun_is_clear_where_its_name_stands_before() -> None:
    """What is named in the same text may be an it later on."""
    assert not dangles("`dial()` leaks because it never closes the socket.")
    assert dangles("Because it never closes the socket, `dial()` leaks.")
