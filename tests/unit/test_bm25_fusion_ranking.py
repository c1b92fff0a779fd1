"""The arithmetic of scores: what is rare counts more, agreement never hurts, newer never counts less."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.bm25 import SATURATION, full_score, idf, weight
from recollect.domain.fusion import fuse_weighted
from recollect.domain.ranking import RECENCY_HALF_LIFE_MS, RECENCY_WEIGHT, with_recency

SHARE = st.floats(0, 1)
TIERS = ("fulltext", "trigram", "entity", "embedding")
SCORES = st.dictionaries(st.sampled_from(TIERS), SHARE)
WEIGHTS = st.fixed_dictionaries(dict.fromkeys(TIERS, SHARE))
MOMENT = st.integers(0, 4_000_000_000_000)
COUNT = st.integers(0, 5_000_000)


@given(SCORES, WEIGHTS, st.sampled_from(TIERS), SHARE)
def test_agreement_never_lowers_a_score(
    scores: dict[str, float], weights: dict[str, float], tier: str, score: float
) -> None:
    """One more tier that finds a row leaves its score the same or higher, however little it believes."""
    without = {name: value for name, value in scores.items() if name != tier}
    assert fuse_weighted({**without, tier: score}, weights) >= fuse_weighted(without, weights) - 1e-12


@given(SCORES, WEIGHTS, st.sampled_from(TIERS), SHARE, SHARE)
def test_a_surer_tier_never_lowers_a_score(
    scores: dict[str, float], weights: dict[str, float], tier: str, first: float, second: float
) -> None:
    """The fused score rises with each tier's score."""
    low, high = sorted((first, second))
    assert fuse_weighted({**scores, tier: low}, weights) <= fuse_weighted({**scores, tier: high}, weights) + 1e-12


@given(st.dictionaries(st.sampled_from(TIERS), st.floats(-10, 10)), WEIGHTS)
def test_a_fused_score_stays_between_0_and_1(scores: dict[str, float], weights: dict[str, float]) -> None:
    """Even a tier that breaks its promise cannot push the fused score out of range."""
    assert 0.0 <= fuse_weighted(scores, weights) <= 1.0


@given(SCORES, WEIGHTS)
def test_the_order_of_the_tiers_does_not_matter(scores: dict[str, float], weights: dict[str, float]) -> None:
    """The same answers fuse to the same score, whichever tier answered first."""
    turned = dict(reversed(scores.items()))
    assert abs(fuse_weighted(scores, weights) - fuse_weighted(turned, weights)) < 1e-12


def test_fusion_by_hand() -> None:
    """1 - (1 - .8)(1 - .5 x .4) = .84; an unknown tier counts nothing; no tier is no score."""
    assert abs(fuse_weighted({"fulltext": 0.8, "trigram": 0.4}, {"fulltext": 1.0, "trigram": 0.5}) - 0.84) < 1e-12
    assert fuse_weighted({"unknown": 1.0}, {"fulltext": 1.0}) == 0.0
    assert fuse_weighted({}, {"fulltext": 1.0}) == 0.0


@given(SHARE, MOMENT, MOMENT, MOMENT)
def test_newer_never_counts_less(score: float, first: int, second: int, now: int) -> None:
    """Of two rows with the same score, the newer one ranks at least as high."""
    older, newer = sorted((first, second))
    assert with_recency(score, older, now) <= with_recency(score, newer, now)


@given(SHARE, SHARE, MOMENT, MOMENT)
def test_recency_keeps_the_order_of_rows_of_one_age(first: float, second: float, moment: int, now: int) -> None:
    """Among rows of one moment the fused score decides."""
    low, high = sorted((first, second))
    assert with_recency(low, moment, now) <= with_recency(high, moment, now)


@given(SHARE, st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_recency_keeps_scores_between_0_and_1(score: float, moment: int, now: int) -> None:
    """Whatever the clocks say: a score from 0 to 1 stays one, and age alone never takes it to nothing."""
    adjusted = with_recency(score, moment, now)
    assert score / (1 + RECENCY_WEIGHT) - 1e-12 <= adjusted <= score + 1e-12


def test_half_of_the_bonus_is_gone_after_its_half_life() -> None:
    """1 now, (1 + .15) / 1.3 after a week, 1 / 1.3 in the end; a row from the future is new."""
    now = 10 * RECENCY_HALF_LIFE_MS
    assert with_recency(1.0, now, now) == 1.0
    assert abs(with_recency(1.0, now - RECENCY_HALF_LIFE_MS, now) - 1.15 / 1.3) < 1e-12
    assert abs(with_recency(1.0, 0, 100 * now) - 1 / 1.3) < 1e-6
    assert with_recency(1.0, now + 5, now) == 1.0


@given(COUNT, COUNT, COUNT)
def test_rarer_terms_are_worth_more(first: int, second: int, more: int) -> None:
    """Idf falls with frequency and is never negative."""
    rare, common = sorted((first, second))
    total = common + more
    assert idf(rare, total) >= idf(common, total) > 0


@given(COUNT, COUNT, COUNT)
def test_a_term_of_the_same_frequency_is_worth_more_in_a_larger_store(frequency: int, more: int, still: int) -> None:
    """Idf rises with the number of documents."""
    assert idf(frequency, frequency + more + still) >= idf(frequency, frequency + more)


@given(COUNT, COUNT, COUNT)
def test_weights_fall_with_frequency_for_every_word(first: int, second: int, more: int) -> None:
    """The imagined documents change the size of weights, never their order."""
    rare, common = sorted((first, second))
    total = common + more
    for is_generic in (False, True):
        assert weight(rare, total, is_generic=is_generic) >= weight(common, total, is_generic=is_generic) > 0


@given(COUNT, COUNT)
def test_a_generic_word_is_worth_less(frequency: int, more: int) -> None:
    """Between two words of the same frequency the everyday one tells less."""
    total = frequency + more
    assert weight(frequency, total, is_generic=True) < weight(frequency, total, is_generic=False)


def test_a_small_store_does_not_make_words_rare() -> None:
    """In a store of ten documents an everyday word is worth under half of a telling one."""
    assert weight(1, 10, is_generic=True) < 0.5 * weight(1, 10, is_generic=False)


def test_more_documents_than_the_index_counts_are_no_error() -> None:
    """Deleted documents are still counted as holding a term for a while."""
    assert weight(7, 5, is_generic=False) == weight(5, 5, is_generic=False)


@given(st.lists(st.floats(0.01, 10), max_size=10), st.integers(0, 1_000_000))
def test_no_document_reaches_the_full_score(weights: list[float], total: int) -> None:
    """A document that holds every term for ever still scores less than what is possible: never certain."""
    assert SATURATION * sum(weights) < full_score(weights, total)
