"""Retrieval metrics against figures computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.evaluate.metrics import interval, mean, percentile, score_ranking

NAMES = ("any@1", "any@5", "any@10", "any@20", "R@10", "MRR", "nDCG@10")
SESSIONS = st.lists(st.sampled_from([f"s{number}" for number in range(30)]), unique=True, max_size=30)
SHARES = st.lists(st.floats(0, 1), max_size=60)


def test_metrics_by_hand_for_two_answers() -> None:
    """Found at places 2 and 7 of the ranking, a third one not at all."""
    ranked = ["x", "a", "y", "z", "u", "v", "b", "w"]
    scores = score_ranking(ranked, {"a", "b", "c"})
    gain = 1 / math.log2(3) + 1 / math.log2(8)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scores == pytest.approx(
        {
            "any@1": 0, "any@5": 1, "any@10": 1, "any@20": 1, "R@10": 2 / 3, "MRR": 1 / 2, "nDCG@10": gain / ideal,
        }
    )  # fmt: skip


PLACES = ((0, 1, 1, 1, 1), (4, 0, 1, 1, 1), (5, 0, 0, 1, 1), (9, 0, 0, 1, 1), (10, 0, 0, 0, 1), (20, 0, 0, 0, 0))


@pytest.mark.parametrize(("place", "at_1", "at_5", "at_10", "at_20"), PLACES)
def test_any_at_k_counts_the_first_k_places(place: int, at_1: int, at_5: int, at_10: int, at_20: int) -> None:
    """The boundaries are inclusive: the fifth place counts for any@5, the sixth does not."""
    scores = score_ranking([*(f"x{number}" for number in range(place)), "answer"], {"answer"})
    assert [scores[f"any@{k}"] for k in (1, 5, 10, 20)] == [at_1, at_5, at_10, at_20]
    assert scores["MRR"] == pytest.approx(1 / (place + 1))
    assert scores["nDCG@10"] == pytest.approx(1 / math.log2(place + 2) if place < 10 else 0)


def test_a_perfect_ranking_scores_one_everywhere() -> None:
    """All answers first."""
    assert set(score_ranking(["a", "b", "c"], {"a", "b", "c"}).values()) == {1.0}


def test_more_answers_than_places_can_still_be_perfect() -> None:
    """nDCG@10 compares with the best possible first ten; R@10 with all answers."""
    answers = {f"s{number}" for number in range(20)}
    scores = score_ranking(sorted(answers), answers)
    assert scores["nDCG@10"] == pytest.approx(1.0)
    assert scores["R@10"] == pytest.approx(0.5)


@pytest.mark.parametrize(("ranked", "relevant"), [([], {"a"}), (["a"], set()), (["b"], {"a"}), ([], set())])
def test_nothing_found_or_nothing_to_find_is_zero(ranked: list[str], relevant: set[str]) -> None:
    """No division by zero, no gift."""
    assert set(score_ranking(ranked, relevant).values()) == {0.0}


@given(SESSIONS, st.sets(st.sampled_from([f"s{number}" for number in range(30)])))
def test_every_metric_is_a_share_and_grows_with_k(ranked: list[str], relevant: set[str]) -> None:
    """0 to 1, and any@k never falls as k grows."""
    scores = score_ranking(ranked, relevant)
    assert tuple(scores) == NAMES
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in scores.values())
    assert scores["any@1"] <= scores["any@5"] <= scores["any@10"] <= scores["any@20"]


@given(SESSIONS.filter(lambda ranked: len(ranked) > 1), st.data())
def test_moving_the_answer_up_never_lowers_a_metric(ranked: list[str], data: st.DataObject) -> None:
    """A better ranking is never called worse."""
    place = data.draw(st.integers(1, len(ranked) - 1))
    better = [*ranked[: place - 1], ranked[place], ranked[place - 1], *ranked[place + 1 :]]
    worse_scores, better_scores = (score_ranking(order, {ranked[place]}) for order in (ranked, better))
    assert all(better_scores[name] >= worse_scores[name] for name in NAMES)


@given(SHARES)
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    """The bootstrap interval lies around the mean and within the values."""
    low, high = interval(values)
    assert low - 1e-9 <= mean(values) <= high + 1e-9
    if values:
        assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_the_interval_narrows_with_more_questions() -> None:
    """Ten times the questions, under half the width; and the same figures at every run."""
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 100
    widths = [high - low for low, high in map(interval, (few, many))]
    assert widths[1] < widths[0] / 2
    assert interval(few) == interval(few)


def test_the_interval_of_shares_is_the_one_of_the_textbook() -> None:
    """Half of 100: about .4 to .6."""
    low, high = interval([0.0, 1.0] * 50)
    assert (low, high) == (pytest.approx(0.4, abs=0.03), pytest.approx(0.6, abs=0.03))


def test_means_and_percentiles_of_small_lists() -> None:
    """Nothing is 0, one value is itself."""
    assert (mean([]), percentile([], 0.5)) == (0.0, 0.0)
    assert (mean([3.0]), percentile([3.0], 0.95)) == (3.0, 3.0)
    assert percentile([5, 1, 4, 2, 3], 0.5) == 3
    assert percentile(list(range(100)), 0.95) == 95
