"""What two statements are to each other: the same, about the same, contradictory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.learn.likeness import RELATED, Statement, WordPairs, difference, is_same, overlap

WORDS = st.lists(st.sampled_from("quay gauge tide berth crane rope lamp bell oar mast hull keel".split()), min_size=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gauge reader retries twice in tide.py.", "In tide.py the gauge reader retries twice"),
        ("Use `ruff` for linting of gauges", "use ruff for the linting of gauges."),
    ],
)
def test_the_same_words_in_any_order_say_the_same(one: str, other: str) -> None:
    """Case, marks, stop words and order do not count."""
    assert Statement(one).signature == Statement(other).signature


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("The tide poller waits 30s between reads.", "The tide poller waits 60s between reads.", "number"),
        ("gauge-core is pinned to 1.21 in tide.toml", "gauge-core is pinned to 1.22 in tide.toml", "number"),
        ("The tide cache is enabled in staging.", "The tide cache is not enabled in staging.", "negation"),
        ("Retries are enabled for berth uploads", "Retries are disabled for berth uploads", "negation"),
        ("The tide poller waits 30s between reads.", "Reads of the tide poller wait 30s.", ""),
        ("Berth 4 uses the old crane", "The old crane has 2 motors", ""),
        ("Celery chosen over RQ for the queue.", "Celery chosen over Dramatiq for the queue.", ""),
        ("The cache is not cleared at noon", "The cache is not cleared at noon by cron", ""),
    ],
)
def test_what_differs_is_named(one: str, other: str, reason: str) -> None:
    """A number of the same thing, a "not", what was chosen: in whichever order the two are looked at."""
    assert difference(Statement(one), Statement(other)) == reason
    assert difference(Statement(other), Statement(one)) == reason


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Tides: `openBerth` doesn't receive the gauge", "Tides: `openBerth` wasn\u2019t receiving a gauge", True),
        ("The task is to convert `berthToTide`", "The task is to convert `berthFromTide`", False),
        ("The poller sleeps 30s", "The poller sleeps 45s", False),
    ],
)
def test_names_and_numbers_are_what_no_other_words_change(one: str, other: str, is_same: bool) -> None:
    """What vectors call the same must have the same of them."""
    assert (Statement(one).signature[1:] == Statement(other).signature[1:]) is is_same


def test_words_without_blanks_are_told_by_their_pairs_of_letters() -> None:
    """Two statements that share most of them are about the same."""
    one, other = Statement("本番ではキャッシュを使わない"), Statement("本番ではキャッシュは使わない")
    assert 0 < overlap(one.words, other.words) < 1
    assert not is_same(one, other, 0.99)


def test_a_choice_the_other_way_round_is_not_the_same() -> None:
    """All their words are the same, and they say the opposite."""
    one, other = Statement("Celery chosen over RQ for queues"), Statement("RQ chosen over Celery for queues")
    assert one.words == other.words
    assert not is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The response cache is on in staging", "The response cache is off in staging"),
        ("Convert tabs to spaces in the makefile recipes", "Convert spaces to tabs in the makefile recipes"),
        ("Staging depends on production credentials", "Production depends on staging credentials"),
        ("Timeouts go up from 5 to 30 seconds at night", "Timeouts go down from 30 to 5 seconds at night"),
        ("The worker can write more than the server", "The server can write more than the worker"),
        ("Lint runs before the tests in CI", "Lint runs after the tests in CI"),
        ("Lint runs before the tests in CI", "The tests run before lint in CI"),
        ("The cache is stale so the deploy fails", "The deploy fails so the cache is stale"),
        ("Run the tests. Then push the branch.", "Push the branch. Then run the tests."),
        ("Run the tests, push the branch", "Push the branch, run the tests"),
        ("Run the tests and push the branch", "Push the branch and run the tests"),
        ("The limit must stay > 5 for the crane", "The limit must stay < 5 for the crane"),
        ("The gauge's offset is -1 here", "The gauge's offset is 1 here"),
        ("Pass --verify to the deploy script", "Pass --no-verify to the deploy script"),
        ("dev -> main", "main -> dev"),
        ("Use the C++ client", "Use the C client"),
        ("Retries are enabled for berth uploads", "Retries are disabled for berth uploads"),
        ("Der Cache ist an in Staging", "Der Cache ist aus in Staging"),
        ("Der Cache ist in Staging aktiv", "Der Cache ist in Staging nicht aktiv"),
        ("El worker llama al servidor", "El servidor llama al worker"),
        ("Le cache est actif en production", "Le cache n'est pas actif en production"),
        ("\u041a\u044d\u0448 \u0432\u043a\u043b", "\u041a\u044d\u0448 \u0432\u044b\u043a\u043b"),
        ("\u751f\u4ea7\u73af\u5883\u542f\u7528\u7f13\u5b58", "\u751f\u4ea7\u73af\u5883\u7981\u7528\u7f13\u5b58"),
        ("\u0915\u0948\u0936 \u0915\u093e \u092a\u0924\u093e", "\u0915\u0948\u0936 \u0915\u0940 \u092a\u0924\u093e"),
    ],
)  # fmt: skip
def test_what_turns_the_sense_round_is_never_the_same(one: str, other: str) -> None:
    """Directions, order, signs and denials, in any language; however near vectors find the two."""
    for likeness in (0.0, 0.99):
        assert not is_same(Statement(one), Statement(other), likeness)
        assert not is_same(Statement(other), Statement(one), likeness)
        assert is_same(Statement(one), Statement(one), likeness)


@pytest.mark.parametrize(
    ("one", "other", "likeness"),
    [
        ("The gauge reader retries twice in tide.py.", "In tide.py the gauge reader retries twice", 0.0),
        ("Because the gauge is slow, the poller waits", "The poller waits because the gauge is slow.", 0.0),
        ("The poller waits, because the gauge is slow", "The poller waits because the gauge is slow.", 0.0),
        ("The importer drops the last row of a chunk", "The importer loses the last row of each chunk", 0.96),
        ("The tide poller waits 30s between two reads", "Gauge reads pause 30s", 0.96),
    ],
)
def test_other_words_for_the_same_are_the_same(one: str, other: str, likeness: float) -> None:
    """The end of a sentence may come first, and where most words are others their order tells nothing."""
    assert is_same(Statement(one), Statement(other), likeness)


@given(st.lists(WORDS, min_size=1, max_size=12))
def test_every_pair_that_shares_enough_words_is_found(texts: list[list[str]]) -> None:
    """Looking up the rare words only leaves none out."""
    statements = [Statement(" ".join(words)) for words in texts]
    pairs = WordPairs(statements)
    found = {(other, number) for number in range(len(statements)) for other, _ in pairs.near(number, statements)}
    expected = {
        (one, other)
        for other in range(len(statements))
        for one in range(other)
        if overlap(statements[one].words, statements[other].words) >= RELATED
    }
    assert found == expected


@given(st.text(max_size=200))
def test_any_text_is_a_statement(text: str) -> None:
    """Whatever a transcript holds."""
    assert difference(Statement(text), Statement(text)) == ""
