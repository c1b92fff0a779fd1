"""The arithmetic of scores: what is rare counts more, agreement never hurts."""

from hypothesis import example, given
from hypothesis import strategies as st

from howcome.domain.bm25 import SATURATION, full_score, idf, weight
from howcome.domain.fusion import LEAST_COSINE, LEAST_MEANING_SCALE, blend, fuse_weighted, meaning_scale

SHARE = st.floats(0, 1)
TIERS = ("fulltext", "trigram", "entity", "embedding")
SCORES = st.dictionaries(st.sampled_from(TIERS), SHARE)
WEIGHTS = st.fixed_dictionaries(dict.fromkeys(TIERS, SHARE))
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


@example([0.5], [5e-324])
@given(st.lists(SHARE), st.lists(SHARE))
def test_the_best_cosine_counts_what_the_best_words_do(words: list[float], cosines: list[float]) -> None:
    """Where the words find anything; where they find little it counts a part of itself, and no cosine nothing."""
    scale = meaning_scale(words, cosines)
    best = max(cosines, default=0.0)
    if best < LEAST_COSINE:
        assert scale == 0
    else:
        assert abs(scale * best - max(*words, LEAST_MEANING_SCALE * best, 0.0)) < 1e-12


def test_cosines_below_0_are_no_measure() -> None:
    """And a question of which no word is found is answered by what is meant."""
    assert meaning_scale([0.4], [-0.2, -0.1]) == 0.0
    assert meaning_scale([], [0.3]) == meaning_scale([0.0], [0.3]) == LEAST_MEANING_SCALE
    assert abs(meaning_scale([0.9, 0.2], [0.3, 0.1]) - 3.0) < 1e-12


@given(SHARE, SHARE, SHARE, SHARE)
def test_words_and_meaning_can_only_raise_a_blend(words: float, meaning: float, more: float, weight: float) -> None:
    """Either of them, and it stays between the two."""
    blended = blend(words, meaning, weight)
    assert blend(max(words, more), meaning, weight) >= blended
    assert blend(words, max(meaning, more), weight) >= blended
    assert min(words, meaning) - 1e-12 <= blended <= max(words, meaning) + 1e-12


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
