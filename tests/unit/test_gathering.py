"""Fusion of what tiers offer: agreement never hurts, whatever the strategy; meaning and words on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieve.gathering import Gathering
from recollect.retrieve.ranking import MEANING, RRF, SHIPPED, STRATEGIES, UNION, WEIGHTED, WEIGHTS, Ranking
from recollect.retrieve.situation import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.domain.stored import Filter, Hit

TIERS = tuple(tier for tier, weight in WEIGHTS.items() if weight)
OFFERS = st.dictionaries(
    st.integers(1, 8), st.dictionaries(st.sampled_from(TIERS), st.floats(0.01, 1), min_size=1), min_size=1
)


class Sessions:
    """Of the port of vectors only what fusion asks: rows of one session each, some of them all of it."""

    def __init__(self, lone: Iterable[int] = ()) -> None:
        self.lone = set(lone)

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """Nothing is searched here."""
        raise NotImplementedError

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Those that were named."""
        return self.lone & set(session_ids)

    def refresh(self) -> None:
        """Nothing changes."""


def gathered(offers: dict[int, dict[str, float]], rows_a_session: int = 1) -> Gathering:
    """What tiers offered, as they would."""
    gathering = Gathering()
    for tier in TIERS:
        gathering.add(tier, [
            Candidate(row, row // rows_a_session, row, 0, given_scores[tier])
            for row, given_scores in offers.items() if tier in given_scores
        ])  # fmt: skip
    return gathering


@given(OFFERS, st.integers(1, 8), st.sampled_from(TIERS), st.floats(0.01, 1), st.sets(st.integers(1, 8)))
@pytest.mark.parametrize("strategy", [WEIGHTED, RRF, UNION])
@pytest.mark.parametrize("by_session", [False, True])
def test_a_tier_that_agrees_never_lowers_a_score(
    by_session: bool, strategy: str, offers: dict[int, dict[str, float]], row: int, tier: str, score: float,
    lone: set[int],
) -> None:  # fmt: skip
    """Of a row that others found, when one more tier finds it too."""
    if row not in offers or tier in offers[row] or len(offers[row]) < 1:
        return
    ranking, vectors = Ranking(WEIGHTS, strategy), Sessions(lone)
    before = gathered(offers).fused(ranking, vectors, by_session=by_session)
    known = {name for scores in offers.values() for name in scores}
    agreed = {**offers, row: {**offers[row], tier: score}}
    after = gathered(agreed).fused(ranking, vectors, by_session=by_session)
    if strategy == RRF and tier not in known:
        return  # a tier that found nothing else raises what could be reached: everybody's share is less
    assert after[row] >= before[row] - 1e-6


@given(OFFERS, st.sampled_from(STRATEGIES), st.booleans())
def test_scores_are_shares(offers: dict[int, dict[str, float]], strategy: str, by_session: bool) -> None:
    """From 0 to 1, whatever the strategy, one for every row."""
    fused = gathered(offers).fused(Ranking(WEIGHTS, strategy), Sessions(), by_session=by_session)
    assert set(fused) == set(offers)
    assert all(0 <= score <= 1 + 1e-6 for score in fused.values())


def test_only_rows_that_every_tier_found_are_an_intersection() -> None:
    """Of the tiers that found anything."""
    offers = {1: {"fulltext": 0.9}, 2: {"fulltext": 0.5, "entity": 0.5}}
    fused = gathered(offers).fused(Ranking(WEIGHTS, "intersection"), None, by_session=False)
    assert fused[1] == 0
    assert fused[2] > 0


def test_first_everywhere_is_all_that_ranks_can_give() -> None:
    """And equal scores have equal ranks."""
    offers = {1: {"fulltext": 0.9, "entity": 0.9}, 2: {"fulltext": 0.4, "entity": 0.2}, 3: {"fulltext": 0.4}}
    fused = gathered(offers).fused(Ranking(WEIGHTS, RRF), None, by_session=False)
    assert fused[1] == 1
    assert fused[2] > fused[3]


def test_meaning_counts_more_where_a_session_is_one_passage() -> None:
    """What the words like best is a conversation's here, what is meant a passage's."""
    offers = {1: {"fulltext": 0.6, MEANING: 0.3}, 2: {"fulltext": 0.3, MEANING: 0.6}}
    alone = gathered(offers).fused(SHIPPED, Sessions({1, 2}), by_session=True)
    talk = gathered(offers).fused(SHIPPED, Sessions(), by_session=True)
    assert alone[2] > alone[1]
    assert talk[1] > talk[2]


def test_a_session_has_the_best_words_and_the_best_meaning_of_its_rows() -> None:
    """The row that stands for it is the best of its own."""
    offers = {2: {"fulltext": 0.8}, 3: {MEANING: 0.9}, 4: {"fulltext": 0.8}}
    fused = gathered(offers, rows_a_session=2).fused(SHIPPED, Sessions(), by_session=True)
    assert fused[2] > fused[4]
    assert abs(fused[2] - fused[3]) < 1e-3
