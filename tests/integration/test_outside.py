"""Who is asked beside the store, over real HTTP: kept for a day, redacted, checked, left alone when it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.batches import START_MS, Transcript
from tests.bolt import Neo4j, serving
from tests.endpoint import Answer, Embeddings, running
from tests.others import REVIEW, Chat, said

from howcome.domain.code import CodeFile, GraphChange
from howcome.domain.stored import Filter, Scope, Weights
from howcome.log.answers import MAX_PAUSE_MS, PAUSE_MS
from howcome.providers.schema import problem_with
from howcome.redact.redactor import Redactor
from howcome.retrieve.outside import KEPT_MS, SCHEMA, Outside
from howcome.retrieve.ranking import chosen_ranking
from howcome.retrieve.search import Searcher
from howcome.retrieve.situation import Situation
from howcome.retrieve.tiers.classifier import ClassifierTier
from howcome.retrieve.tiers.graph import GraphTier
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXT = "why did we take the table"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = START_MS

    def __call__(self) -> int:
        """Now."""
        return self.ms


class Desk:
    """A store, a clock, and whom the settings name."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.clock = store, Clock()

    def outside(self, **variables: str) -> Outside:
        """As another process would have it."""
        settings = read_settings({"HOWCOME_HOME": self.store.folder, **variables})
        key = self.store.meta("key")
        assert isinstance(key, bytes)
        return Outside(settings, self.store, Redactor(key).redact, self.clock)

    def classify(self, server: Chat, text: str = TEXT, **variables: str) -> Any:
        """What is said of a text."""
        return self.outside(**{**server.settings, **variables}).classify(text)


@pytest.fixture
def desk(store: SqliteStore) -> Desk:
    """An empty store."""
    return Desk(store)


@pytest.fixture
def chat() -> Iterator[Chat]:
    """A model that answers."""
    with running(Chat()) as server:
        yield server


def test_without_settings_nobody_is_asked(desk: Desk, chat: Chat) -> None:
    """Nor with settings that name an address and leave the model off."""
    off = desk.outside(HOWCOME_LLM_URL=chat.url("/v1"), HOWCOME_LLM_MODEL="small")
    assert off.classify(TEXT) == {}
    assert off.ask_graph(lambda _: 1) is None
    assert desk.outside(HOWCOME_LLM="http").classify(TEXT) == {}  # no address: `doctor` says so
    assert chat.asked == []
    assert chosen_ranking(read_settings({})).weights["classifier"] == 0
    chosen = chosen_ranking(read_settings({"HOWCOME_GRAPH_WEIGHT": "0.5"}))
    assert (chosen.has("graph"), chosen.has("classifier"), chosen.has("fulltext")) == (True, False, True)


def test_an_answer_is_kept_for_a_day(desk: Desk, chat: Chat) -> None:
    """One question is one call a day, whoever asks; another question or model is another."""
    for at_ms in (0, KEPT_MS, KEPT_MS + 1, KEPT_MS + 2):
        desk.clock.ms = START_MS + at_ms
        assert desk.classify(chat) == REVIEW
    assert len(chat.asked) == 2
    desk.classify(chat, TEXT + "s")
    desk.classify(chat, HOWCOME_LLM_MODEL="large")
    assert len(chat.asked) == 4
    desk.clock.ms = START_MS - KEPT_MS  # a clock that was put back
    desk.classify(chat)
    assert len(chat.asked) == 5


def test_what_is_asked_is_found_in_no_file(desk: Desk, chat: Chat) -> None:
    """The question is kept as a hash only, so that a purge leaves none of it behind."""
    desk.classify(chat, "a sentence that nobody else would ever say")
    desk.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in Path(desk.store.folder).rglob("*"):
        assert path.is_dir() or b"nobody else would" not in path.read_bytes()


def test_secrets_reach_neither_the_model_nor_the_store(desk: Desk) -> None:
    """In the question, and in what a model makes up; the failure that repeats one, too."""
    with running(Chat(usual={**REVIEW, "entities": [SECRET]})) as server:
        found = desk.classify(server, f"review {SECRET} for me " + "x" * 10_000)
        server.script.append({"status": 400, "body": SECRET.encode()})
        server.script.append({"status": 400, "body": SECRET.encode()})
        assert desk.classify(server, "another") == {}
    assert SECRET not in json.dumps(server.asked) + json.dumps(found)
    assert "[redacted:" in server.asked[0]["messages"][1]["content"]
    assert len(server.asked[0]["messages"][1]["content"]) < 6000
    desk.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() not in Path(desk.store.path).read_bytes()


FAILURES: dict[str, Answer] = {
    "an error": {"status": 500}, "a refusal": {"value": said(None, refusal="no")}, "silence": {"close": True},
    "a wrong key": {"status": 401}, "a page": {"body": b"<html>"},
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_one_that_fails_is_left_alone_for_a_while(desk: Desk, chat: Chat, failure: Answer) -> None:
    """In every process; what it said before is still known, and another address is asked."""
    assert desk.classify(chat, "known") == REVIEW
    chat.script.append(failure)
    assert desk.classify(chat) == {}
    desk.clock.ms += PAUSE_MS - 1
    assert desk.classify(chat) == {}
    assert desk.classify(chat, "known") == REVIEW
    assert len(chat.asked) == 2
    with running(Chat()) as other:
        assert desk.classify(other) == REVIEW
    desk.clock.ms += 2
    assert desk.classify(chat, "after it") == REVIEW


def test_a_wrong_shape_is_a_failure_after_the_second_attempt(desk: Desk, chat: Chat) -> None:
    """A bad answer is never kept."""
    chat.script += [{"value": said({"intent": "sing"})}, {"value": said("no JSON")}]
    assert desk.classify(chat) == {}
    assert len(chat.asked) == 2
    desk.clock.ms += PAUSE_MS + 1
    assert desk.classify(chat) == REVIEW


def test_a_pause_is_as_long_as_it_is_asked_for_within_an_hour(desk: Desk, chat: Chat) -> None:
    """A pause that would end later is of a clock that was wrong."""
    chat.script.append({"status": 429, "headers": {"Retry-After": "900"}})
    assert desk.classify(chat) == {}
    desk.clock.ms += 899_000
    assert desk.classify(chat) == {}
    desk.clock.ms += 2_000
    chat.script.append({"status": 429, "headers": {"Retry-After": "999999"}})
    assert desk.classify(chat) == {}
    desk.clock.ms += MAX_PAUSE_MS + 1
    assert desk.classify(chat) == REVIEW
    chat.script.append({"status": 500})
    desk.classify(chat, "once more")
    desk.clock.ms -= 10 * MAX_PAUSE_MS
    assert desk.classify(chat, "yesterday") == REVIEW


def test_our_own_answer_has_the_shape_that_we_ask_for() -> None:
    """What the tests' model says is what a real one may say."""
    assert problem_with(REVIEW, SCHEMA) == ""


# -- the tiers ---------------------------------------------------------------------------------------------------------
REASON = "We took the table, because the queue loses readings at a restart."
PLAIN = "The table and the queue are both there for readings."


@pytest.fixture
def told(desk: Desk, tmp_path: Path) -> Desk:
    """A store with a reason, a plain statement, and talk of two files; the project is on this machine."""
    root = tmp_path / "quay"
    (root / "src").mkdir(parents=True)
    for name in ("berth.py", "crane.py"):
        (root / "src" / name).write_text("")
    talk = Transcript(desk.store, cwd=str(root))
    talk.say("queue or table for readings?", REASON, "what holds readings?", PLAIN, "and crane.py?", "It lifts.")
    desk.store.index.catch_up()
    desk.store.index.release()
    return desk


def found_by_classifier(desk: Desk, text: str, server: Embeddings) -> list[str]:
    """The words that the tier offers, in the project."""
    project = desk.store.projects.roots()[0][0]
    settings = server.settings if isinstance(server, Chat) else {}
    tier = ClassifierTier(desk.store, desk.outside(**settings).classify)
    found = tier.candidates(Searcher(desk.store).situation(text, Filter(Scope.project(project))))
    rows = desk.store.log.events([one.row for one in found], with_text=True)
    return [rows[one.row].text or "" for one in found]


def test_the_classifier_does_what_the_model_says(told: Desk) -> None:
    """An intent that no word of the question tells; files that are there, and none that is not."""
    question = "readings in the table"
    with running(Chat(usual={**REVIEW, "intent": "decide"})) as server:
        assert REASON in found_by_classifier(told, question, server)
    with running(Chat({"status": 500})) as server:
        assert REASON not in found_by_classifier(told, question + ", in short", server)  # not what is known already
    named = {**REVIEW, "intent": "other", "files": ["crane.py", "invented.py"]}
    with running(Chat(usual=named)) as server:
        assert any("crane.py" in text for text in found_by_classifier(told, "the lifting arm", server))
    (Path(told.store.projects.roots()[0][1]) / "src" / "crane.py").unlink()
    with running(Chat(usual=named)) as server:
        assert found_by_classifier(told, "the lifting arm again", server) == []


def test_a_chore_by_the_models_word_asks_for_nothing(told: Desk) -> None:
    """And a question without terms does not ask the model."""
    with running(Chat(usual={**REVIEW, "intent": "chore"})) as server:
        assert found_by_classifier(told, "why readings in the table", server) == []
        assert found_by_classifier(told, "the of and", server) == []
    assert len(server.asked) == 1


EDGES = (("src/berth.py", "src/crane.py"), ("src/berth.py", "src/gate.py"))


def found_by_graph(desk: Desk, text: str, server: Neo4j) -> list[str]:
    """The words that the graph tier offers, in the project."""
    project = desk.store.projects.roots()[0][0]
    situation = Situation(text, [], Filter(Scope.project(project)), weights=Weights())
    found = GraphTier(desk.store, desk.outside(**server.settings)).candidates(situation)
    rows = desk.store.log.events([one.row for one in found], with_text=True)
    return [rows[one.row].text or "" for one in found]


def test_a_graph_server_goes_first_and_our_own_graph_is_there_without_it(told: Desk) -> None:
    """When it does not answer, is left alone, or does not know the file."""
    with serving(Neo4j("quay", EDGES)) as server:
        assert found_by_graph(told, "what uses src/berth.py", server) == ["and crane.py?"]
        server.is_closed = True
        assert found_by_graph(told, "what uses src/berth.py", server) == []
        root = told.store.projects.roots()[0][1]
        files = {path: CodeFile(b"d", 1, 1, [], CodeFile.READ) for edge in EDGES for path in edge}
        told.store.code_graph.write(root, GraphChange(1, files, files, EDGES, []), START_MS)
        asked = len(server.asked)
        assert found_by_graph(told, "what uses src/berth.py", server) == ["and crane.py?"]
        assert len(server.asked) == asked
    told.clock.ms += PAUSE_MS + 1
    with serving(Neo4j("elsewhere", EDGES)) as server:
        assert found_by_graph(told, "what uses src/berth.py", server) == ["and crane.py?"]
    assert len(server.asked) == 1


def test_a_graph_server_sees_no_secrets(told: Desk) -> None:
    """Names are taken from the redacted question."""
    with serving(Neo4j("quay", EDGES)) as server:
        found_by_graph(told, f"what does src/berth.py do with token = '{SECRET}'", server)
    assert len(server.asked) == 2
    assert b"berth.py" in b"".join(server.asked)
    assert SECRET.lower().encode() not in b"".join(server.asked).lower()
