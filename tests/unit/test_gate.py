"""Which exchanges are worth saying with a prompt."""

from __future__ import annotations

import pytest

from howcome.recall.gate import (
    FEW,
    HOUR_MS,
    LOOKED_AT,
    MAX_HOURS,
    SPEAK,
    SURE,
    chances,
    first_of_exchanges,
    worth_saying,
)
from howcome.retrieve.situation import Candidate, Ranked

NOW_MS = 1_800_000_000_000


def found(*, score: float, strength: float, hours: float = 1, session: int = 1, exchange: int = 1) -> Ranked:
    """A row as a search gives it."""
    candidate = Candidate(exchange, session, exchange, int(NOW_MS - hours * HOUR_MS), score, strength)
    return Ranked(candidate, score, {}, strength)


def chosen(*ranked: Ranked, terms: int = 10, is_asked: bool = False, others: int = FEW) -> list[int]:
    """The exchanges that are said; `others` share next to nothing with the prompt."""
    weak = [found(score=0.01, strength=0.01, session=99, exchange=99 + at) for at in range(others)]
    said = worth_saying([*ranked, *weak], terms, 0.15, NOW_MS, is_asked=is_asked)
    return [item.candidate.exchange for _, item in said]


def test_a_weak_exchange_is_not_said_and_a_strong_one_is() -> None:
    """Unasked."""
    assert chosen(found(score=0.1, strength=0.1)) == []
    assert chosen(found(score=0.4, strength=0.3)) == [1]
    assert chosen(found(score=0.1, strength=SURE)) == [1]


def test_who_asks_about_the_past_or_points_gets_what_is_strong_enough() -> None:
    """The threshold alone decides."""
    weak = found(score=0.1, strength=0.16, hours=500)
    assert chosen(weak) == []
    assert chosen(weak, is_asked=True) == chosen(weak, terms=1) == [1]
    assert chosen(found(score=0.1, strength=0.14), is_asked=True) == []


def test_exchanges_of_one_session_speak_for_each_other() -> None:
    """And those of many for none."""
    alone = [found(score=0.2, strength=0.15, hours=40, session=at, exchange=at) for at in range(1, 6)]
    together = [found(score=0.2, strength=0.15, hours=40, session=1, exchange=at) for at in range(1, 6)]
    assert chosen(*alone) == []
    assert chosen(*together) != []


@pytest.mark.parametrize("hours", [MAX_HOURS, 2 * MAX_HOURS, 9000])
def test_what_is_older_than_some_days_fades_no_further(hours: float) -> None:
    """A decision of last month is as good as one of last week."""
    [chance] = chances([found(score=0.3, strength=0.3, hours=hours)], NOW_MS)
    assert chance == chances([found(score=0.3, strength=0.3, hours=MAX_HOURS)], NOW_MS)[0]
    assert 0 < chance < 1
    assert chances([found(score=0.3, strength=0.3, hours=0)], NOW_MS)[0] > chance
    assert 0 < SPEAK < 1


def test_an_exchange_is_looked_at_once_and_few_are() -> None:
    """By its best row."""
    rows = [found(score=1 / at, strength=0.1, exchange=at // 2) for at in range(1, 60)]
    looked_at = first_of_exchanges(rows)
    assert len(looked_at) == LOOKED_AT
    assert len({item.candidate.exchange for item in looked_at}) == LOOKED_AT


def test_where_little_is_found_at_all_it_needs_no_more_than_the_threshold() -> None:
    """The only exchange of a new project with a word of the prompt."""
    assert chosen(found(score=0.1, strength=0.2), others=0) == [1]
    assert chosen(found(score=0.1, strength=0.2)) == []


def test_an_exchange_is_as_sure_as_its_surest_row() -> None:
    """Another row of it may have the better score."""
    rows = [found(score=0.2, strength=0.05), found(score=0.1, strength=0.3)]
    [one] = first_of_exchanges(rows)
    assert (one.score, one.strength) == (0.2, 0.3)
