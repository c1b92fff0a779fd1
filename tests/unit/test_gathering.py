"""Fusion of what tiers offer: agreement never hurts, whatever the strategy; meaning and words on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from howcome.retrieve.gathering import Gathering
from howcome.retrieve.ranking import (
    INTERSECTION,
    LONE_MEANING_WEIGHT,
    MEANING,
    RRF,
    SHIPPED,
    STRATEGIES,
    WEIGHTS,
    Ranking,
)
from howcome.retrieve.situation import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.stored import Filter, Hit

    Offers = dict[int, dict[str, float]]

TIERS = tuple(tier for tier, weight in WEIGHTS.items() if weight)
OFFERS = st.dictionaries(
    st.integers(1, 8), st.dictionaries(st.sampled_from(TIERS), st.floats(0.01, 1), min_size=1), min_size=1
)

ROUNDED = 1e-12
"""What sums of products may differ by."""


class Sessions:
    """Of the port of vectors only what fusion asks: which sessions are a single turn."""

    def __init__(self, lone: Iterable[int] = ()) -> None:
        self.lone = set(lone)

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """Nothing is searched here."""
        raise NotImplementedError

    def cosines(self, text: str, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """Nothing is searched here."""
        raise NotImplementedError

    def memories(self, text: str, wanted: Filter) -> dict[int, float]:
        """Nothing is searched here."""
        raise NotImplementedError

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Those that were named."""
        return self.lone & set(session_ids)

    def refresh(self) -> None:
        """Nothing changes."""


def gathered(offers: Offers, rows_a_session: int = 1) -> Gathering:
    """What tiers offered, as they would."""
    gathering = Gathering()
    for tier in TIERS:
        gathering.add(tier, [
            Candidate(row, row // rows_a_session, row, 0, given_scores[tier])
            for row, given_scores in offers.items() if tier in given_scores
        ])  # fmt: skip
    return gathering


@st.composite
def changes(draw: st.DrawFn, *, is_new: bool) -> tuple[Offers, Offers, int]:
    """Offers, the same where one tier finds a row too (or is surer of it), and that row."""
    offers = draw(OFFERS)
    row, tier = draw(st.sampled_from(sorted(offers))), draw(st.sampled_from(TIERS))
    others = {name: score for name, score in offers[row].items() if name != tier}
    if is_new:
        before, after = others or {next(name for name in TIERS if name != tier): 0.5}, draw(st.floats(0, 1))
    else:
        low, after = sorted((draw(st.floats(0.01, 1)), draw(st.floats(0.01, 1))))
        before = {**others, tier: low}
    return {**offers, row: before}, {**offers, row: {**before, tier: after}}, row


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(changes(is_new=True), st.sets(st.integers(0, 8)), st.integers(1, 3))
def test_a_tier_that_agrees_never_lowers_a_score(
    strategy: str, change: tuple[Offers, Offers, int], lone: set[int], rows_a_session: int
) -> None:
    """Of a row that others found, when one more tier finds it too, however little it believes."""
    offers, agreed, row = change
    # a tier that found nothing else raises what ranks could reach: everybody's share is less
    tier = agreed[row].keys() - offers[row].keys()
    assume(strategy != RRF or tier <= {name for scores in offers.values() for name in scores})
    ranking, vectors = Ranking(WEIGHTS, strategy), Sessions(lone)
    before = gathered(offers, rows_a_session).fused(ranking, vectors)
    after = gathered(agreed, rows_a_session).fused(ranking, vectors)
    assert after[row] >= before[row] - ROUNDED


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(changes(is_new=False), st.sets(st.integers(0, 8)), st.integers(1, 3))
def test_a_surer_tier_never_lowers_a_score(
    strategy: str, change: tuple[Offers, Offers, int], lone: set[int], rows_a_session: int
) -> None:
    """Of the row that it is surer of, even where that becomes what all cosines are measured by."""
    offers, surer, row = change
    ranking, vectors = Ranking(WEIGHTS, strategy), Sessions(lone)
    before = gathered(offers, rows_a_session).fused(ranking, vectors)
    after = gathered(surer, rows_a_session).fused(ranking, vectors)
    assert after[row] >= before[row] - ROUNDED


@given(OFFERS, st.sampled_from(STRATEGIES), st.sets(st.integers(0, 8)), st.integers(1, 3))
def test_scores_are_shares(offers: Offers, strategy: str, lone: set[int], rows_a_session: int) -> None:
    """From 0 to 1, whatever the strategy, one for every row."""
    fused = gathered(offers, rows_a_session).fused(Ranking(WEIGHTS, strategy), Sessions(lone))
    assert set(fused) == set(offers)
    assert all(0 <= score <= 1 + ROUNDED for score in fused.values())


def test_only_rows_that_every_tier_found_are_an_intersection() -> None:
    """Of the tiers that found anything."""
    offers = {1: {"fulltext": 0.9}, 2: {"fulltext": 0.5, "entity": 0.5}}
    fused = gathered(offers).fused(Ranking(WEIGHTS, INTERSECTION), None)
    assert fused[1] == 0
    assert fused[2] > 0


def test_first_everywhere_is_all_that_ranks_can_give() -> None:
    """And equal scores have equal ranks."""
    offers = {1: {"fulltext": 0.9, "entity": 0.9}, 2: {"fulltext": 0.4, "entity": 0.2}, 3: {"fulltext": 0.4}}
    fused = gathered(offers).fused(Ranking(WEIGHTS, RRF), None)
    assert fused[1] == 1
    assert fused[2] > fused[3]


def test_nothing_offered_is_nothing_fused() -> None:
    """By any strategy."""
    assert [Gathering().fused(Ranking(WEIGHTS, strategy), Sessions()) for strategy in STRATEGIES] == [{}] * 4


def test_meaning_counts_more_where_a_session_is_one_passage() -> None:
    """What the words like best is a conversation's here, what is meant a passage's."""
    offers = {1: {"fulltext": 0.6, MEANING: 0.3}, 2: {"fulltext": 0.3, MEANING: 0.6}}
    alone = gathered(offers).fused(SHIPPED, Sessions({1, 2}))
    talk = gathered(offers).fused(SHIPPED, Sessions())
    assert alone[2] > alone[1]
    assert talk[1] > talk[2]


def test_meaning_stands_on_the_scale_of_the_words() -> None:
    """The best cosine counts what the best words do; a row by its session's weight, a passage by their share."""
    fused = gathered({1: {"fulltext": 0.8, MEANING: 0.2}, 2: {MEANING: 0.4}, 3: {MEANING: 0.4}}).fused(
        SHIPPED, Sessions({3})
    )
    weight = WEIGHTS[MEANING]
    assert fused == pytest.approx({
        1: (1 - weight) * 0.8 + weight * 0.4, 2: weight * 0.8, 3: (weight + (LONE_MEANING_WEIGHT - weight) / 3) * 0.8,
    })  # fmt: skip


def test_words_and_meaning_of_one_row_are_more_than_those_of_two() -> None:
    """A session whose words are in one turn and whose meaning is in another has said less of what is asked."""
    offers = {2: {"fulltext": 0.8}, 3: {MEANING: 0.9}, 4: {"fulltext": 0.8, MEANING: 0.9}}
    fused = gathered(offers, rows_a_session=2).fused(SHIPPED, Sessions())
    assert fused[4] > max(fused[2], fused[3])
    apart = gathered(offers).fused(SHIPPED, Sessions())
    assert fused == apart, "which session they are of makes no difference"


def test_what_a_tier_says_of_rows_that_others_found_counts_as_if_it_had_found_them() -> None:
    """And says nothing of how sure it is."""
    offers = {1: {"fulltext": 0.8}, 2: {"fulltext": 0.4}, 3: {MEANING: 0.9}}
    gathering = gathered(offers)
    gathering.add_scores(MEANING, {1: 0.1, 2: 0.7})
    asked = {1: {"fulltext": 0.8, MEANING: 0.1}, 2: {"fulltext": 0.4, MEANING: 0.7}, 3: {MEANING: 0.9}}
    assert gathering.scores == asked
    assert gathering.fused(SHIPPED, Sessions()) == gathered(asked).fused(SHIPPED, Sessions())
    assert gathering.strengths == gathered(offers).strengths
