"""What changes a score after fusion: each change has a bound, newer never counts less, what is off changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain import memories, ranking
from howcome.domain.ranking import (
    DAY_MS,
    HERE,
    OPENNESS,
    RECENCY,
    SURVIVAL_BY_TYPE,
    Adjustment,
    Facts,
)
from howcome.domain.times import Span

SHARE = st.floats(0, 1)
MOMENT = st.integers(-(10**15), 10**15)
WEIGHT = st.floats(0, 5)
TYPE = st.sampled_from([*memories.TYPES, "", "a type of a later version"])
FACTS = st.builds(
    Facts, MOMENT, type=TYPE, is_open=st.booleans(), reads=st.integers(-1, 10**9),
    is_here=st.booleans(),
)  # fmt: skip
SPAN = Span(1_700_000_000_000, 1_700_086_400_000)
ALL = (RECENCY, SURVIVAL_BY_TYPE, OPENNESS, HERE, ranking.in_time([SPAN]))
NOW = 1_790_000_000_000


def aged(days: float, **more: object) -> Facts:
    """A row of that age."""
    return Facts(NOW - round(days * DAY_MS), **more)  # type: ignore[arg-type]


def at(weight: float, shipped: Adjustment) -> Adjustment:
    """An adjustment at another weight."""
    return Adjustment(shipped.name, weight, shipped.bonus)


# -- bounds ------------------------------------------------------------------------------------------------------------
@given(st.sampled_from(ALL), WEIGHT, FACTS, MOMENT)
def test_a_factor_is_at_most_1_and_at_least_what_its_weight_leaves(
    shipped: Adjustment, weight: float, facts: Facts, now: int
) -> None:
    """Whatever the clocks, types and counts say."""
    assert 1 / (1 + weight) - 1e-12 <= at(weight, shipped).factor(facts, now) <= 1


@given(st.sampled_from(ALL), FACTS, MOMENT)
def test_without_weight_nothing_changes(shipped: Adjustment, facts: Facts, now: int) -> None:
    """Off means off."""
    assert at(0, shipped).factor(facts, now) == 1


@given(SHARE, st.lists(st.tuples(st.sampled_from(ALL), WEIGHT), max_size=6), FACTS, MOMENT)
def test_all_adjustments_together_keep_a_score_between_0_and_1(
    score: float, chosen: list[tuple[Adjustment, float]], facts: Facts, now: int
) -> None:
    """And no sequence of them raises it."""
    adjusted, factors = ranking.adjusted(score, facts, [at(weight, one) for one, weight in chosen], now)
    assert 0 <= adjusted <= score
    assert factors.keys() == {one.name for one, _ in chosen}


@given(SHARE, SHARE, FACTS, MOMENT)
def test_rows_that_are_alike_keep_their_order(first: float, second: float, facts: Facts, now: int) -> None:
    """Among rows of one age, type and state the fused score decides."""
    low, high = sorted((first, second))
    assert ranking.adjusted(low, facts, ALL, now)[0] <= ranking.adjusted(high, facts, ALL, now)[0]


@given(TYPE, MOMENT, MOMENT)
def test_age_sets_a_memory_back_by_no_more_than_an_event(kind: str, moment: int, now: int) -> None:
    """Both stand in one order; what was kept on purpose must not sink below what was merely said."""
    oldest_event = RECENCY.factor(Facts(-(10**15)), 10**15)
    assert SURVIVAL_BY_TYPE.factor(Facts(moment, type=kind), now) >= oldest_event - 1e-12


# -- age ---------------------------------------------------------------------------------------------------------------
@given(st.sampled_from([RECENCY, SURVIVAL_BY_TYPE]), TYPE, MOMENT, MOMENT, MOMENT)
def test_newer_never_counts_less(by_age: Adjustment, kind: str, first: int, second: int, now: int) -> None:
    """Of two rows of one type, the newer one counts at least as much."""
    older, newer = sorted((first, second))
    assert by_age.factor(Facts(older, type=kind), now) <= by_age.factor(Facts(newer, type=kind), now)


@given(st.sampled_from([RECENCY, SURVIVAL_BY_TYPE]), TYPE, st.integers(0, 10**15))
def test_what_has_a_future_date_is_new_and_no_more(by_age: Adjustment, kind: str, ahead_ms: int) -> None:
    """A clock that was wrong once must not put a row before all others for ever."""
    assert by_age.factor(Facts(NOW + ahead_ms, type=kind), NOW) == 1


def test_half_of_the_bonus_of_recency_is_gone_after_a_week() -> None:
    """1 now, (1 + .15) / 1.3 after a week, 1 / 1.3 in the end."""
    assert RECENCY.factor(aged(0), NOW) == 1
    assert RECENCY.factor(aged(7), NOW) == pytest.approx(1.15 / 1.3)
    assert RECENCY.factor(aged(5000), NOW) == pytest.approx(1 / 1.3)


@pytest.mark.parametrize(
    ("kind", "days", "left"),
    [("pattern", 30, 0.6602), ("decision", 14, 0.3679), ("decision", 7, 0.7022), ("failure", 45, 0.3679),
     ("dependency", 30, 0.7518), ("context", 7, 0.3679), ("discovery", 30, 0.3679), ("unheard of", 15, 0.6065)],
)  # fmt: skip
def test_what_is_left_of_a_memory_by_its_type(kind: str, days: float, left: float) -> None:
    """By hand: exp(-(days / scale) ** shape); an unknown type, and the one nobody chose, is neither short nor long."""
    assert ranking.survival(aged(days, type=kind), NOW) == pytest.approx(left, abs=0.0001)


def test_every_type_with_a_life_of_its_own_is_a_type() -> None:
    """A misspelt row of the table would never be used."""
    assert set(ranking.SURVIVAL) <= set(memories.TYPES)


# -- state -------------------------------------------------------------------------------------------------------------
def test_what_is_resolved_counts_a_little_less() -> None:
    """A tie-breaker: an open memory wins among about equal ones only."""
    assert OPENNESS.factor(aged(0), NOW) == 1
    assert OPENNESS.factor(aged(0, is_open=False), NOW) == pytest.approx(1 / 1.1)


# -- the lists ---------------------------------------------------------------------------------------------------------
def test_a_time_that_is_named_stands_for_age() -> None:
    """Who asks about last March does not want what is newest; for memories as for events."""
    assert [one.name for one in ranking.for_events([])] == ["recency"]
    assert [one.name for one in ranking.for_events([SPAN])] == ["time"]
    assert [one.name for one in ranking.for_memories([])] == ["survival", "open", "level"]
    assert [one.name for one in ranking.for_memories([SPAN])] == ["time", "open", "level"]


def test_what_stands_in_the_named_time_counts_twice_what_is_far() -> None:
    """1 inside, half of it far away."""
    timed = ranking.in_time([SPAN])
    assert timed.factor(Facts(1_700_000_000_001), NOW) == 1
    assert timed.factor(Facts(0), NOW) == pytest.approx(0.5)


# -- stale -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "days"),
    [("decision", 24), ("failure", 90), ("context", 10), ("", 69), ("pattern", 255), ("dependency", 592)],
)
def test_what_has_faded_and_nobody_asked_for_is_stale(kind: str, days: int) -> None:
    """Each type at its age; read twice or pinned it never is."""
    assert not ranking.is_stale(aged(days, type=kind), NOW)
    assert ranking.is_stale(aged(days + 1, type=kind, reads=1), NOW)
    assert not ranking.is_stale(aged(9 * days, type=kind, reads=2), NOW)
    assert not ranking.is_stale(aged(9 * days, type=kind, is_pinned=True), NOW)


def test_what_somebody_keeps_without_a_type_is_no_passing_state() -> None:
    """Nobody said that it is `context`; what a distiller calls so is a task or a situation, and fades in days."""
    by_hand, distilled = (
        memories.Memory({
            "row": 1, "key": b"1", "type": memories.DEFAULT_TYPE, "text": "…", "project": None, "agent": None,
            "origin": "user", "status": memories.OPEN, "created_ms": NOW - 30 * DAY_MS, "supersedes": None,
            "superseded_by": None, "deleted_ms": None, "purged_ms": None, "access_count": 0, "source": source,
            "subject": "", "said_ms": None, "pinned_ms": None, "status_ms": None, "supersedes_key": None,
            "superseded_by_key": None,
        })
        for source in (memories.HAND, memories.RULES)
    )  # fmt: skip
    assert not ranking.is_stale(ranking.facts_of(by_hand), NOW)
    assert ranking.is_stale(ranking.facts_of(distilled), NOW)


def test_what_is_pinned_does_not_fade() -> None:
    """Ten years later it counts as if it had been said today."""
    assert SURVIVAL_BY_TYPE.factor(aged(3650, type="decision", is_pinned=True), NOW) == 1.0
