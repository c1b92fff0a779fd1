"""Rerankers: what they are asked, what they answer, what is said when they cannot be had, and the order they give."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.batches import START_MS
from tests.endpoint import Answer, running
from tests.others import Chat, said
from tests.rerankers import MODEL, Judge, SharedWords, installed

from howcome.domain.stored import Found
from howcome.errors import MissingError, ProviderError
from howcome.providers.rerank import open_reranker
from howcome.providers.rerank_fastembed import CrossEncoder
from howcome.redact.redactor import Redactor
from howcome.retrieve.outside import PAUSE_MS
from howcome.retrieve.rerank import TIER, Reranking, reorder
from howcome.settings import RERANKED, Settings, read_settings
from howcome.store.sqlite import SqliteStore

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSAGES = ["the crane lifts", "a queue\nholds [2] readings", "the table keeps them"]


def chosen(home: Path, **variables: str) -> Settings:
    """The settings of a home with these variables (without their prefix)."""
    named = {f"HOWCOME_{name.upper()}".replace("HOWCOME_HOWCOME_", "HOWCOME_"): text for name, text in
             variables.items()}  # fmt: skip
    return read_settings({"HOWCOME_HOME": str(home), **named})


def answers(*scores: float) -> list[Found]:
    """Answers of a search, best first, each with its place as its passage."""
    return [Found(score, {"fulltext": score}, str(place), adjustments={"recency": 1.0})
            for place, score in enumerate(scores)]  # fmt: skip


# -- a language model --------------------------------------------------------------------------------------------------
def test_a_language_model_is_asked_once_for_one_number_a_passage(store: SqliteStore, tmp_path: Path) -> None:
    """Each passage in one line of 400 characters at most, so that none can pass for another."""
    with running(Judge("table")) as server:
        reranker = open_reranker(chosen(tmp_path, **server.settings), store.spending)
        assert reranker is not None
        assert reranker.scores("which one\nkeeps them?", [*PASSAGES, "x" * 5000]) == [0, 0, 1, 0]
        assert reranker.scores("which?", []) == []
    (asked,) = server.asked
    words = asked["messages"][1]["content"]
    assert "which one keeps them?" in words
    assert "\n[2] a queue holds [2] readings\n" in words
    assert "x" * 400 in words
    assert "x" * 401 not in words
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["scores"]["maxItems"] == 4
    assert reranker.name == "http:small"


FAILURES: dict[str, tuple[list[Answer], str]] = {
    "an error": ([{"status": 500}], "fails with 500"),
    "too few": ([{"value": said({"scores": [0.5]})}], "gives 1 numbers for 3 passages"),
    "too many": ([{"value": said({"scores": [0, 0, 0, 0]})}] * 2, "another shape"),
    "words": ([{"value": said({"scores": ["high", "low", "low"]})}] * 2, "another shape"),
    "above 1": ([{"value": said({"scores": [7, 8, 9]})}] * 2, "another shape"),
    "no number": ([{"value": said('{"scores": [NaN, 0, 0]}')}] * 2, "another shape"),
}


@pytest.mark.parametrize(("script", "what"), FAILURES.values(), ids=FAILURES.keys())
def test_another_answer_than_one_number_a_passage_is_an_error(
    script: list[Answer], what: str, store: SqliteStore, tmp_path: Path
) -> None:
    """Half an order is none."""
    with running(Judge("table", *script)) as server:
        reranker = open_reranker(chosen(tmp_path, **server.settings), store.spending)
        assert reranker is not None
        with pytest.raises(ProviderError, match=what):
            reranker.scores("which?", PASSAGES)


def test_a_language_model_that_takes_too_long_is_an_error(store: SqliteStore, tmp_path: Path) -> None:
    """The deadline is the setting's."""
    with running(Judge("table", {"hang_s": 60})) as server:
        reranker = open_reranker(chosen(tmp_path, **server.settings, rerank_deadline_ms="200"), store.spending)
        assert reranker is not None
        with pytest.raises(ProviderError, match="does not answer"):
            reranker.scores("which?", PASSAGES)


def test_a_language_model_that_is_off_cannot_rerank(tmp_path: Path) -> None:
    """What is missing is named; and by default there is no reranker at all."""
    assert open_reranker(chosen(tmp_path)) is None
    with pytest.raises(ProviderError, match='set llm = "http"'):
        open_reranker(chosen(tmp_path, rerank="llm"))
    with pytest.raises(ProviderError, match="llm_model"):
        open_reranker(chosen(tmp_path, rerank="llm", llm="http"))


# -- a cross-encoder ---------------------------------------------------------------------------------------------------
@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A package in fastembed's shape."""
    with installed(tmp_path) as folder:
        yield folder


@pytest.mark.usefixtures("package")
def test_a_cross_encoder_that_is_here_scores_each_passage(tmp_path: Path) -> None:
    """Its logits as shares, also far below 0; in the folder of the settings, or in that of the home."""
    (tmp_path / "models" / "fastembed" / MODEL).mkdir(parents=True)
    reranker = open_reranker(chosen(tmp_path, rerank=MODEL))
    assert reranker is not None
    found = reranker.scores("what of the queue", [*PASSAGES, ""])
    assert found == pytest.approx([0, 1 / (1 + 2.718281828**-4), 0, 0])
    assert reranker.scores("queue", []) == []
    assert reranker.name == f"fastembed:{MODEL}"
    (tmp_path / "elsewhere" / MODEL).mkdir(parents=True)
    assert open_reranker(chosen(tmp_path / "new", rerank=MODEL, rerank_folder=str(tmp_path / "elsewhere")))
    with pytest.raises(ProviderError, match="rerank_folder has to begin with / or ~"):
        open_reranker(chosen(tmp_path, rerank=MODEL, rerank_folder="models"))


def test_a_model_that_is_not_here_is_not_downloaded_and_the_remedy_fetches_it(package: Path, tmp_path: Path) -> None:
    """A search never downloads; the command that does is typed here as it stands."""
    settings = chosen(tmp_path, rerank=MODEL)
    with pytest.raises(MissingError, match=rf"{MODEL} cannot be loaded from .*\(Could not load model from") as raised:
        open_reranker(settings)
    assert not (tmp_path / "models").exists()
    environment = {"PYTHONPATH": str(package), "PATH": ""}
    subprocess.run(shlex.split(raised.value.remedy), env=environment, check=True, timeout=60)
    assert open_reranker(settings) is not None


@pytest.mark.usefixtures("package")
def test_a_name_that_fastembed_does_not_have_is_said_with_those_that_it_has(tmp_path: Path) -> None:
    """`on` is no model, either."""
    with pytest.raises(ProviderError, match=f"no cross-encoder 'on'; set rerank to one of {MODEL}, some/Broken"):
        open_reranker(chosen(tmp_path, rerank="on"))


def test_without_the_package_the_remedy_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to know its name."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingError) as raised:
        open_reranker(chosen(tmp_path, rerank=MODEL))
    assert raised.value.remedy == "pip install -U fastembed"


@pytest.mark.usefixtures("package")
def test_a_cross_encoder_that_fails_or_is_slow_is_an_error(tmp_path: Path) -> None:
    """Its own words in a sentence; what it said so far does not count."""
    for model in (MODEL, "some/Broken"):
        (tmp_path / model).mkdir(parents=True)
    with pytest.raises(ProviderError, match="fails: the graph is damaged"):
        CrossEncoder("some/Broken", str(tmp_path), 5.0).scores("which?", PASSAGES)
    with pytest.raises(ProviderError, match="no number"):
        CrossEncoder(MODEL, str(tmp_path), 5.0).scores("queue", ["no number"])
    seconds = iter(range(100))
    with pytest.raises(ProviderError, match="takes more than 2 s"):
        CrossEncoder(MODEL, str(tmp_path), 2.0, lambda: float(next(seconds))).scores("queue", PASSAGES)


# -- the order ---------------------------------------------------------------------------------------------------------
SCORES = st.lists(st.floats(0.01, 1), min_size=1, max_size=RERANKED)


@example([0.5, 0.4], [0.0, 5e-324], 0.5)
@given(SCORES, st.lists(st.floats(0, 1), min_size=RERANKED, max_size=RERANKED), st.floats(0, 1))
def test_reordering_loses_nothing_and_stays_on_the_searchs_scale(
    scores: list[float], said_of: list[float], weight: float
) -> None:
    """At 0 the order stays, at 1 it is the reranker's; the adjustment accounts for the change."""
    given_scores = sorted(scores, reverse=True)
    words = said_of[: len(scores)]
    assume(any(words))
    floor = given_scores[-1] * weight
    found = reorder(answers(*given_scores), words, weight, floor)
    assert sorted(item.passage for item in found) == sorted(str(place) for place in range(len(scores)))
    shown = [item.score for item in found]
    assert shown == sorted(shown, reverse=True)
    assert all(floor <= score <= given_scores[0] + 1e-9 for score in shown)
    for item in found:
        place = int(item.passage)
        assert item.tiers[TIER] == words[place]
        assert given_scores[place] * item.adjustments[TIER] == pytest.approx(item.score)
    if weight == 0:
        assert [item.passage for item in found] == [str(place) for place in range(len(scores))]


def test_a_passage_that_answers_better_comes_first() -> None:
    """Both words count: what the reranker likes little less, and the search much more, stays before it."""
    assert [item.passage for item in reorder(answers(0.4, 0.35, 0.1), [0.1, 0.8, 0.9], 0.5, 0.0)] == ["1", "2", "0"]
    assert [item.passage for item in reorder(answers(0.4, 0.35, 0.1), [0.8, 0.1, 0.9], 0.5, 0.0)] == ["0", "2", "1"]
    assert [item.passage for item in reorder(answers(0.4, 0.35, 0.1), [0.1, 0.2, 0.9], 1.0, 0.0)] == ["2", "1", "0"]


# -- asking ------------------------------------------------------------------------------------------------------------
class Desk:
    """A store, a clock, and whoever reranks."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.ms = store, START_MS
        key = store.meta("key")
        assert isinstance(key, bytes)
        self._redact = Redactor(key).redact

    def reranking(self, reranker: SharedWords | None = None, **variables: str) -> Reranking:
        """As another process would have it."""
        settings = chosen(Path(self.store.folder), **variables)
        return Reranking(settings, self.store, self._redact, lambda: self.ms, reranker)


@pytest.fixture
def desk(store: SqliteStore) -> Desk:
    """An empty store."""
    return Desk(store)


def order(found: list[Found]) -> str:
    """The answers' places, as they stand now."""
    return " ".join(item.passage for item in found)


def test_only_the_first_twenty_are_read(desk: Desk) -> None:
    """The others follow in their order, and none of them has a better score."""
    words = SharedWords()
    many = answers(*(1 - place / 100 for place in range(RERANKED + 5)))
    found = desk.reranking(words, rerank="any", rerank_weight="1").reordered("19 and 24", many)
    assert order(found).startswith("19 0 1 2")
    assert order(found).endswith("18 20 21 22 23 24")
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert [len(passages) for _, passages in words.asked] == [RERANKED]


@pytest.mark.parametrize("weight", ["0", "0.5"])
def test_nobody_is_asked_about_what_cannot_change(desk: Desk, weight: str) -> None:
    """No answer, one answer, a word that counts nothing; and one who finds nothing good changes nothing."""
    words = SharedWords()
    reranking = desk.reranking(words, rerank="any", rerank_weight=weight)
    assert reranking.reordered("0", []) == []
    assert order(reranking.reordered("0", answers(0.5))) == "0"
    assert words.asked == []
    assert order(reranking.reordered("nothing of it", answers(0.5, 0.4))) == "0 1"
    assert order(reranking.reordered("1", answers(0.5, 0.4))) == ("0 1" if weight == "0" else "1 0")


def test_one_that_fails_is_said_once_and_left_alone(desk: Desk) -> None:
    """In every process, for five minutes; the order is that of the search."""
    with running(Judge("1", {"status": 500}, {"status": 429, "headers": {"Retry-After": "900"}})) as server:
        reranking = desk.reranking(**server.settings)
        assert order(reranking.reordered("q", answers(0.5, 0.4))) == "0 1"
        assert "fails with 500" in reranking.take_problem()
        assert reranking.take_problem() == ""
        other = desk.reranking(**server.settings)
        assert order(other.reordered("q", answers(0.5, 0.4))) == "0 1"
        assert (other.take_problem(), len(server.asked)) == ("", 1)
        desk.ms += PAUSE_MS + 1
        assert order(reranking.reordered("q", answers(0.5, 0.4))) == "0 1"
        desk.ms += 899_000
        assert order(reranking.reordered("q", answers(0.5, 0.4))) == "0 1"
        assert len(server.asked) == 2
        desk.ms += 2_000
        assert order(reranking.reordered("q", answers(0.5, 0.4))) == "1 0"


@pytest.mark.usefixtures("package")
def test_what_is_missing_is_said_once_and_used_as_soon_as_it_is_here(desk: Desk, tmp_path: Path) -> None:
    """It is no reason to wait: nobody was asked."""
    reranking = desk.reranking(rerank=MODEL, rerank_folder=str(tmp_path), rerank_weight="1")
    assert order(reranking.reordered("the 1", answers(0.5, 0.4))) == "0 1"
    assert "`howcome doctor` has the remedy" in reranking.take_problem()
    assert order(reranking.reordered("the 1", answers(0.5, 0.4))) == "0 1"
    assert reranking.take_problem() == ""
    (tmp_path / MODEL).mkdir(parents=True)
    assert order(reranking.reordered("the 1", answers(0.5, 0.4))) == "1 0"


def test_secrets_of_a_question_leave_for_no_endpoint(desk: Desk) -> None:
    """Nor do they stay in what is said of a failure; a model on this machine reads what was asked."""
    with running(Judge("1", {}, {"status": 400, "body": SECRET.encode()}, {"status": 400, "body": SECRET.encode()})) \
            as server:  # fmt: skip
        reranking = desk.reranking(**server.settings)
        reranking.reordered(f"who has {SECRET}", answers(0.5, 0.4))
        reranking.reordered(f"who has {SECRET}", answers(0.5, 0.4))
        assert SECRET not in json.dumps(server.asked) + reranking.take_problem()
    assert "[redacted:" in server.asked[0]["messages"][1]["content"]
    words = SharedWords()
    desk.reranking(words, rerank="any").reordered(f"who has {SECRET}", answers(0.5, 0.4))
    assert SECRET in words.asked[0][0]
    desk.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() not in Path(desk.store.path).read_bytes()


def test_a_classifying_model_is_not_left_alone_for_a_reranker(desk: Desk) -> None:
    """Who takes too long for twenty passages may well answer a short question."""
    with running(Chat({"status": 500})) as server:
        reranking = desk.reranking(**server.settings, rerank="llm")
        reranking.reordered("q", answers(0.5, 0.4))
        now_ms = desk.ms
        paused = desk.store.connection.execute("SELECT name FROM pauses WHERE until_ms > ?", (now_ms,)).fetchall()
    assert [name.split()[0] for (name,) in paused] == ["rerank"]
