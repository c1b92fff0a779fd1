"""Words and identifiers of a text: what meets in the index, what is a name, which passage is shown."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain import text as words_of
from howcome.domain.text import (
    GENERIC_WORDS,
    STOP_WORDS,
    analyze,
    best_passage,
    cjk_bigrams,
    entities,
    extra_terms,
    trigram_containment,
    trigrams,
    with_extra_terms,
)

PART = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8)
ANYTHING = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400)


def lower_terms(text: str) -> set[str]:
    """What a plain tokenizer that splits at `_`, `-`, `.` and `/` finds in a text with its extra terms."""
    plain = with_extra_terms(text).lower()
    for mark in "_-./":
        plain = plain.replace(mark, " ")
    return set(plain.split())


@given(PART, PART)
def test_the_spellings_of_an_identifier_meet(first: str, second: str) -> None:
    """FooBar, foo_bar, foo-bar and fooBar hold the same terms: both parts and the joined word."""
    spellings = [
        first.title() + second.title(), first + second.title(), f"{first}_{second}", f"{first}-{second}",
        f"{first}_{second}".upper(),
    ]  # fmt: skip
    for spelling in spellings:
        assert {first, second, first + second} <= lower_terms(spelling), spelling


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("parseHTTPResponse", {"parse", "http", "response"}),
        ("sha256Sum", {"sha", "256", "sum"}),
        ("src/db/UserRepo.py", {"src", "db", "user", "repo", "py"}),
        ("get_user-profileById", {"get", "user", "profile", "by", "id"}),
        ("__init__", {"init"}),
    ],
)
def test_an_identifier_is_found_by_its_parts(text: str, expected: set[str]) -> None:
    """Acronyms, digits, paths and mixed spellings are all taken apart."""
    assert expected <= lower_terms(text)


def test_plain_words_have_no_extra_terms() -> None:
    """Prose costs the index nothing more than itself."""
    assert extra_terms("The gauges resend readings after an outage; NASA and 42 too.") == []


def test_each_token_counts_once() -> None:
    """An identifier that stands a hundred times in a text adds its parts once."""
    assert extra_terms("foo_bar " * 100) == extra_terms("foo_bar")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `make check-all` then `seen_set`", {"seen_set"}),
        ("look at src/index/lexical.py", {"src/index/lexical.py", "lexical.py"}),
        ("the UserRepo and its getById", {"userrepo", "getbyid"}),
        ("set BUSY_TIMEOUT and WAL", {"busy_timeout", "wal"}),
        ("HBR-02 resends", {"hbr-02"}),
        ("0003_quality_flag.sql dies", {"0003_quality_flag.sql", "0003_quality_flag"}),
    ],
)
def test_names_are_found(text: str, expected: set[str]) -> None:
    """Quoted terms, paths with their last part, CamelCase, snake_case, acronyms and numbered names are names."""
    assert expected <= set(entities(text))


@pytest.mark.parametrize(
    "text", ["a well-known problem", "It took 3.14 seconds and 1/2", "Nothing Here Is A Name", "`a b`", "ok", "e.g. it"]
)
def test_prose_holds_no_names(text: str) -> None:
    """Hyphenated English, numbers and capitalised words are no names."""
    assert [name for name in entities(text) if name not in ("e.g", "g")] == []


@given(ANYTHING)
def test_names_are_lower_case_unique_and_bounded(text: str) -> None:
    """Whatever the text: names are in lower case, each once, at most as many as asked for."""
    found = entities(text, limit=5)
    assert len(found) <= 5
    assert len(set(found)) == len(found)
    assert all(name == name.lower() and len(name) >= words_of.MIN_NAME_CHARS for name in found)


@given(ANYTHING)
def test_analysis_is_the_same_the_second_time(text: str) -> None:
    """The cache of tokens changes nothing."""
    assert analyze(text) == analyze(text)


def test_the_cache_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long import does not grow the cache for ever."""
    monkeypatch.setattr(words_of, "_CACHE_TOKENS", 100)
    words_of.analyze(" ".join(f"name_{number} plain{number}" for number in range(2000)))
    assert len(words_of._known) + len(words_of._plain) <= 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("数据库迁移", ["数据", "据库", "库迁", "迁移"]),
        ("用 Redis 吗", ["用", "吗"]),
        ("テスト", ["テス", "スト"]),
        ("마이그레이션", ["마이", "이그", "그레", "레이", "이션"]),
        ("no such script", []),
    ],
)
def test_cjk_text_is_cut_into_bigrams(text: str, expected: list[str]) -> None:
    """Scripts without blanks are searched by overlapping pairs; a single character stands alone."""
    assert cjk_bigrams(text) == expected


@given(st.text(alphabet="数据库迁移失败", min_size=2, max_size=20), st.integers(0, 18))
def test_any_two_neighbouring_cjk_characters_are_found(text: str, place: int) -> None:
    """Every pair of neighbours in a text is one of its extra terms."""
    place = min(place, len(text) - 2)
    assert text[place : place + 2] in extra_terms(f"so: {text}!")


def test_trigrams_are_padded_as_postgres_pads_them() -> None:
    """Two blanks before each word, one after: beginnings count more than ends."""
    assert trigrams("Cat") == {"  c", " ca", "cat", "at "}


@given(ANYTHING, ANYTHING)
def test_containment_is_a_share(question: str, text: str) -> None:
    """The share is 0 to 1, and 1 for a text that holds the whole question."""
    asked = trigrams(question)
    assert 0.0 <= trigram_containment(asked, text) <= 1.0
    if asked:
        assert trigram_containment(asked, f"{text} {question} {text}") == 1.0
    assert trigram_containment(set(), text) == 0.0


def test_a_typo_keeps_most_trigrams() -> None:
    """A misspelt word is nearer to the right one than to another."""
    asked = trigrams("migraton")
    assert trigram_containment(asked, "migration") > 0.6 > trigram_containment(asked, "mitigation") > 0.2


def test_stop_words_and_generic_words_are_apart() -> None:
    """A word is either left out or merely weak, in lower case."""
    assert not STOP_WORDS & GENERIC_WORDS
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS | GENERIC_WORDS)


@given(ANYTHING, st.sets(PART, max_size=4), st.integers(2, 120))
def test_a_passage_is_a_part_of_the_text_within_the_limit(text: str, words: set[str], limit: int) -> None:
    """Never longer than the limit; apart from ellipses at its ends, exactly what the text says."""
    passage = best_passage(text, words, limit)
    assert len(passage) <= limit
    assert passage == text or passage.removeprefix("…").removesuffix("…") in text or passage.removesuffix("…") in text


@given(
    st.integers(0, 300), st.integers(0, 300), st.sampled_from([" ", "\n", ". ", "-", "İ ", "é"]), st.integers(60, 600)
)
def test_the_passage_holds_the_wanted_word(before: int, after: int, filler: str, limit: int) -> None:
    """Wherever the word stands and whatever stands around it, it is in the passage, whole."""
    text = filler * before + " needle " + filler * after
    assert "needle" in best_passage(text, {"needle"}, limit)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_window_with_most_words_wins(before: int, after: int) -> None:
    """Three wanted words together beat one alone, on whichever side they are."""
    text = "alpha " + "x " * (before + 200) + "alpha beta gamma " + "y " * (after + 200) + "beta"
    assert "alpha beta gamma" in best_passage(text, {"alpha", "beta", "gamma"}, 200)


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("migrations", "migrat"), ("deduplication", "dedupl"), ("queries", "queri"), ("query", "queri"),
        ("Failing", "fail"), ("decided", "decid"),
    ],
)  # fmt: skip
def test_a_stem_finds_its_word(word: str, stem: str) -> None:
    """The index's terms are stems: they find the words they came from."""
    text = "nothing here. " * 100 + f"It was the {word} that failed." + " nothing there." * 100
    assert word in best_passage(text, {stem}, 120)


@pytest.mark.parametrize("gap", range(30))
def test_a_wanted_word_is_never_skipped_for_a_word_start(gap: int) -> None:
    """Where nothing but marks stands before the word, the passage does not begin behind it."""
    text = "x" * 300 + "-" * (300 + gap) + "needle next" + "-" * 600
    assert "needle" in best_passage(text, {"needle"}, 100)


def test_a_short_text_is_its_own_passage() -> None:
    """What fits is shown whole, without ellipses."""
    assert best_passage("two lines\nof text", {"text"}, 20) == "two lines\nof text"


@pytest.mark.parametrize("length", range(600, 1400, 7))
def test_a_passage_at_the_very_end_keeps_the_limit(length: int) -> None:
    """Where the window just reaches the end of the text, both ellipses are counted."""
    assert len(best_passage("x" * length + " needle" + "y" * 518, {"needle"}, 600)) <= 600


ADVERSARIAL = {
    "one long word": "a" * 1_000_000,
    "underscores": "_" * 1_000_000,
    "camel": "aB" * 500_000,
    "dashes and dots": "-./" * 333_333,
    "open backticks": "`" * 1_000_000,
    "backticks with words": "`a" * 500_000,
    "wanted words": "needle " * 150_000,
    "cjk": "数" * 1_000_000,
    "identifiers": " ".join(f"a{number}_b{number}" for number in range(80_000)),
    "blanks": " " * 1_000_000,
}


@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_a_megabyte_of_anything_is_analysed_in_linear_time(text: str) -> None:
    """Doubling the text about doubles the time: no pattern backtracks, no loop is nested."""

    def cost(part: str) -> float:
        started = time.process_time()
        analyze(part)
        best_passage(part, {"needle"}, 600)
        trigrams(part[:200_000])
        return time.process_time() - started

    half = min(cost(text[: len(text) // 2]) for _ in range(2))
    assert cost(text) < 8 * half + 0.5


def test_a_passage_of_a_huge_text_costs_what_one_of_a_long_text_does() -> None:
    """Only its beginning and its end are looked through: both are found, and nothing else costs anything."""
    words, filling = {"ostrich", "fenc"}, "migration of berth_1, path/to/file.py "
    long = filling * 3_500
    huge = filling * 130_000
    assert "fences of the ostrich" in best_passage(huge + "the fences of the ostrich", words, 600)
    assert "fences of the ostrich" in best_passage(filling * 50 + "the fences of the ostrich " + huge, words, 600)

    def cost_s(text: str) -> float:
        started = time.process_time()
        best_passage(text, words, 600)
        return time.process_time() - started

    assert min(cost_s(huge) for _ in range(3)) < 4 * min(cost_s(long) for _ in range(3))
