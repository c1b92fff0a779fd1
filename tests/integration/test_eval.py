"""`recollect eval` on data sets of the documented format: what counts, what is left out, what is asked of whom."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, moment, write

from recollect.errors import UsageError
from recollect.evaluate.datasets import clean_questions, find_sets, kind_of

DAY = 86_400
TOPICS = {
    "zebra": "zebra crossing counters lose ticks",
    "mango": "mango parser drops umlauts",
    "cedar": "cedar cache keeps stale rows",
}


def session(name: str) -> str:
    """A session id."""
    return f"{name}-0000-4000-8000-000000000000"


def rows(path: Path, *content: dict[str, Any]) -> None:
    """JSON Lines at a path, packed when its name says so."""
    data = "".join(json.dumps(row) + "\n" for row in content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """Three sessions a day apart, each with its own topic; the last one repeats the first one's."""
    folder = tmp_path / "data" / "one"
    for day, (name, words) in enumerate([*TOPICS.items(), ("again", TOPICS["zebra"])]):
        talk = Claude(session=session(name), cwd=f"/home/mara/{name}", start=day * DAY)
        write(
            folder / "transcripts" / f"{name}.jsonl", talk.user(f"why {words}?"),
            talk.text(f"We found out why {words}."),
            *talk.conversation(2, subject=f"{name}side"),
        )  # fmt: skip
    return folder


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """`recollect eval` with arguments."""
    return subprocess.run(
        [sys.executable, "-m", "recollect", "eval", *map(str, words)], capture_output=True, text=True, check=False
    )


def evaluate(*words: object) -> list[dict[str, Any]]:
    """The figures of `recollect eval --json`."""
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["sets"]
    return found


def sessions_of(figures: dict[str, Any]) -> dict[str, Any]:
    """The groups of a set's figures at the level of sessions."""
    groups: dict[str, Any] = figures["levels"]["session"]
    return groups


def test_every_question_that_is_no_leak_is_asked(data_set: Path) -> None:
    """Found questions count 1, wrong evidence counts 0, leaks of both kinds are left out; categories are told apart."""
    rows(
        data_set / "questions.jsonl.gz",
        {"question": "mango parser umlauts", "evidence_sessions": [session("mango")], "category": "commit"},
        {"question": "cedar cache stale", "evidence_sessions": [session("cedar")], "category": "pr"},
        {"question": "cedar cache stale rows", "evidence_sessions": ["no such session"], "category": "pr"},
        {"question": "mango", "evidence_sessions": ["x"], "leak": True},
        {"question": "mango", "evidence_sessions": ["x"], "leak_tools": True},
        {"question": "mango", "evidence_sessions": [session("mango")], "leak": False, "leak_tools": False},
    )  # fmt: skip
    [figures] = evaluate(data_set)
    assert (figures["set"], figures["questions"]) == ("one", 4)
    groups = sessions_of(figures)
    assert {name: group["n"] for name, group in groups.items()} == {"all": 4, "human-written": 3, "commit": 1, "pr": 2}
    assert groups["all"]["any@1"]["mean"] == 0.75
    assert groups["pr"]["any@5"]["mean"] == 0.5
    assert figures["latency_ms"]["p95"] >= figures["latency_ms"]["p50"] > 0
    assert figures["shown_tokens"]["p50"] > 0
    group = groups["all"]["MRR"]
    assert group["low"] <= group["mean"] <= group["high"]


def test_the_session_that_asks_is_no_answer(data_set: Path) -> None:
    """Without `self` the asking session may be found first; with it the older one is."""
    question = {"question": TOPICS["zebra"], "evidence_sessions": [session("zebra")]}
    rows(data_set / "questions.jsonl", {**question, "self": session("again"), "category": "with"})
    assert sessions_of(evaluate(data_set)[0])["with"]["any@1"]["mean"] == 1
    rows(data_set / "questions.jsonl", {**question, "self": session("zebra"), "category": "own"})
    assert sessions_of(evaluate(data_set)[0])["own"]["any@20"]["mean"] == 0


def test_only_what_is_older_answers_a_question_with_a_time(data_set: Path) -> None:
    """What was said after `before` does not count as found."""
    question = {"question": "cedar cache stale", "evidence_sessions": [session("cedar")]}
    rows(
        data_set / "questions.jsonl",
        {**question, "before": moment(2 * DAY - 60), "category": "too-early"},
        {**question, "before": moment(3 * DAY - 60), "category": "in-time"},
    )  # fmt: skip
    [figures] = evaluate(data_set)
    assert sessions_of(figures)["too-early"]["any@20"]["mean"] == 0
    assert sessions_of(figures)["in-time"]["any@1"]["mean"] == 1


def test_secrets_are_counted_by_source_and_clean_texts_as_touched(tmp_path: Path) -> None:
    """The share of secrets found, the share of clean texts wrongly touched, what was missed."""
    key = "AKIA" + "Q3RT7ZX2LKM6WB4N"
    rows(
        tmp_path / "secrets.jsonl",
        {"text": f"aws_access_key_id = {key}", "source": "cloud", "rule": "aws"},
        {"text": "nothing secret about this one", "source": "hard"},
    )  # fmt: skip
    rows(tmp_path / "clean.jsonl", {"text": "a plain sentence"}, {"text": "commit 5f0c8a52 in tidepool/store.py"})
    [figures] = evaluate(tmp_path)
    assert (figures["secrets"], figures["clean"]) == (2, 2)
    assert (figures["recall"], figures["clean_touched"], figures["missed"]) == (0.5, 0.0, {"hard": 1})


def test_sets_are_found_below_a_folder_and_told_apart(data_set: Path, tmp_path: Path) -> None:
    """By what is in a folder, never by its name; each once."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")]})
    other = tmp_path / "data" / "two"
    other.mkdir()
    rows(other / "secrets.jsonl", {"text": "x"})
    assert kind_of(other) is None
    rows(other / "clean.jsonl.gz", {"text": "x"})
    assert [kind_of(folder) for folder in find_sets(tmp_path)] == ["sessions", "secrets"]
    assert [figures["set"] for figures in evaluate(tmp_path, data_set)] == ["one", "two"]
    with pytest.raises(UsageError, match=r"questions\.jsonl"):
        find_sets(data_set / "transcripts")


def test_figures_for_people_are_a_table(data_set: Path) -> None:
    """One line a group, with the interval of each figure."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")], "category": "pr"})
    head, titles, *groups = run(data_set).stdout.splitlines()
    assert head.startswith("one: 1 questions without leaks")
    assert titles.split() == ["session", "n", "any@1", "any@5", "any@20", "R@10", "MRR", "nDCG@10"]
    assert [line.split()[0] for line in groups] == ["all", "pr"]


def test_an_evaluation_leaves_nothing_behind(data_set: Path, home: Path, store_folder: Path) -> None:
    """Its store is thrown away; the user's is not touched."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")]})
    evaluate(data_set)
    assert not store_folder.exists()
    assert list(home.iterdir()) == []
    assert len(clean_questions(data_set)) == 1


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Two corpora of talks between people, one of them with a picture; questions ask for sessions and turns."""
    folder = tmp_path / "talks"
    folder.mkdir()

    def talk(corpus: str, name: str, *texts: str) -> dict[str, Any]:
        turns = [
            {"id": f"{corpus}/{name}:{at}", "role": ("Ida", "Jon")[at % 2], "text": text}
            for at, text in enumerate(texts)
        ]  # fmt: skip
        return {"corpus": corpus, "session": f"{corpus}/{name}", "ts": "2024-05-08T13:56:00", "turns": turns}

    pictured = talk("a", "one", "Look what I have drawn!", "The lighthouse keeps its lamp.")
    pictured["turns"][0]["image"] = "a crimson heron"
    rows(
        folder / "sessions.jsonl.gz", pictured, talk("a", "two", "My allotment has radishes.", "Radishes again?"),
        talk("b", "one", "The ferry sold its crimson paint.", "A heron on the ferry."),
    )  # fmt: skip
    rows(
        folder / "questions.jsonl",
        {"corpus": "a", "question": "Who drew a crimson heron?", "evidence_sessions": ["a/one"],
         "evidence_turns": ["a/one:0"], "category": "seen"},
        {"corpus": "b", "question": "Which crimson paint did the ferry sell?", "evidence_sessions": ["b/one"],
         "evidence_turns": ["b/one:0"], "category": "said"},
        {"corpus": "b", "question": "What is never said?", "evidence_sessions": [], "evidence_turns": []},
    )  # fmt: skip
    return folder


def test_conversations_are_asked_for_sessions_and_for_turns(conversations: Path) -> None:
    """Each corpus is a project; what a picture shows was said; a question without evidence counts nowhere."""
    [figures] = evaluate(conversations)
    for level in ("session", "turn"):
        groups = figures["levels"][level]
        assert {name: group["n"] for name, group in groups.items()} == {"all": 2, "said": 1, "seen": 1}
        assert groups["all"]["any@1"]["mean"] == 1
    assert "answer" not in figures["levels"]


def test_pooled_sets_share_one_store(conversations: Path, data_set: Path) -> None:
    """Every question is asked of everything: what another corpus says of it competes."""
    rows(conversations / "questions.jsonl", {"corpus": "a", "question": "ferry", "evidence_sessions": ["b/one"]})
    rows(data_set / "questions.jsonl", {"question": "mango umlauts", "evidence_sessions": [session("mango")]})
    apart = evaluate(conversations, data_set)
    together = evaluate("--pooled", conversations, data_set)
    assert [sessions_of(figures)["all"]["any@1"]["mean"] for figures in apart] == [0, 1]
    assert [sessions_of(figures)["all"]["any@1"]["mean"] for figures in together] == [1, 1]
    assert [figures["pooled"] for figures in together] == [True, True]


def test_an_answer_in_words_is_looked_for_in_the_first_passages(tmp_path: Path) -> None:
    """Where no question of a set names its evidence, the share of the answer's telling words that are shown counts."""
    turns = [{"id": "s/0", "role": "turn", "text": "User: which cache?\nAssistant: We took cedar because it is small."}]
    rows(tmp_path / "sessions.jsonl", {"session": "s", "ts": "2025-11-01 10:00", "turns": turns})
    rows(tmp_path / "questions.jsonl", {"question": "Which cache did we take?", "answer": "The cedar, being speedy"})
    [figures] = evaluate(tmp_path)
    assert figures["levels"] == {
        "answer": {"all": {"n": 1, "coverage@5": {"mean": 0.5, "low": 0.5, "high": 0.5}}}
    }


def test_passages_are_ranked_one_by_one(tmp_path: Path) -> None:
    """A row of docs.jsonl is a session of its own."""
    texts = ("def heron(): return 1", "def ferry(port): return port", "tar -xzf radish.tgz")
    rows(tmp_path / "docs.jsonl.gz", *({"id": f"d{at}", "text": text} for at, text in enumerate(texts)))
    rows(tmp_path / "questions.jsonl", {"question": "ferry to a port", "evidence": ["d1"]})
    [figures] = evaluate(tmp_path)
    assert sessions_of(figures)["all"]["MRR"]["mean"] == 1


def test_longmemeval_is_read_as_it_is_published(tmp_path: Path) -> None:
    """Every question has a haystack of its own."""

    def said(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]

    row = {
        "question_id": "q1", "question_type": "single-session-user", "question": "Which bird did I paint?",
        "answer": "a heron", "question_date": "2023/12/18 (Mon) 04:17", "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2"], "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/07/13 (Thu) 10:14"],
        "haystack_sessions": [said("I bought radishes."), said("I painted a heron, my favourite bird.")],
    }  # fmt: skip
    other = {**row, "question_id": "q2", "haystack_sessions": [said("A heron, a bird to paint."), said("Nothing.")]}
    (tmp_path / "longmemeval_s.json").write_text(json.dumps([row, other]))
    [figures] = evaluate(tmp_path)
    assert sessions_of(figures)["all"]["any@1"]["mean"] == 0.5
    assert set(sessions_of(figures)) == {"all", "single-session-user"}


def test_the_baseline_and_other_weights_are_compared_question_by_question(conversations: Path) -> None:
    """Figures of FTS5 on the same questions, and paired differences with intervals."""
    [figures] = evaluate("--baseline", "--against", "trigram=0", "--ablation", conversations)
    assert figures["baseline"]["levels"]["session"]["all"]["n"] == 2
    names = set(figures["differences"])
    assert {"difference from the baseline", "only fulltext", "without fulltext"} <= names
    assert any(name.startswith("against fulltext=1,trigram=0") for name in names)
    without = figures["differences"]["without fulltext"]["session"]["nDCG@10"]
    assert 0 < without["low"] <= without["mean"] <= without["high"]


@pytest.mark.parametrize("words", ["fulltext", "fulltext=", "nose=1", "fulltext=much", "strategy=best"])
def test_weights_that_are_none_are_refused(conversations: Path, words: str) -> None:
    """With the tiers that there are, or the form."""
    done = run("--ranking", words, conversations)
    assert done.returncode == 2
    assert "is no tier; there are fulltext" in done.stderr or any(
        words in done.stderr for words in ("is not TIER=NUMBER", "is no strategy; there are weighted")
    )
