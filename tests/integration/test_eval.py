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


def evaluate(*paths: Path) -> list[dict[str, Any]]:
    """The figures of `recollect eval --json`."""
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "eval", "--json", *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["sets"]
    return found


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
    assert figures["all"]["n"] == 4
    assert figures["all"]["any@1"]["mean"] == 0.75
    assert figures["human-written"]["n"] == 3
    assert {name: group["n"] for name, group in figures["categories"].items()} == {"commit": 1, "pr": 2, "all": 1}
    assert figures["categories"]["pr"]["any@5"]["mean"] == 0.5
    assert figures["latency_ms"]["p95"] >= figures["latency_ms"]["p50"] > 0
    group = figures["all"]["MRR"]
    assert group["low"] <= group["mean"] <= group["high"]


def test_the_session_that_asks_is_no_answer(data_set: Path) -> None:
    """Without `self` the asking session may be found first; with it the older one is."""
    question = {"question": TOPICS["zebra"], "evidence_sessions": [session("zebra")]}
    rows(data_set / "questions.jsonl", {**question, "self": session("again"), "category": "with"})
    assert evaluate(data_set)[0]["categories"]["with"]["any@1"]["mean"] == 1
    rows(data_set / "questions.jsonl", {**question, "self": session("zebra"), "category": "own"})
    assert evaluate(data_set)[0]["categories"]["own"]["any@20"]["mean"] == 0


def test_only_what_is_older_answers_a_question_with_a_time(data_set: Path) -> None:
    """What was said after `before` does not count as found."""
    question = {"question": "cedar cache stale", "evidence_sessions": [session("cedar")]}
    rows(
        data_set / "questions.jsonl",
        {**question, "before": moment(2 * DAY - 60), "category": "too-early"},
        {**question, "before": moment(3 * DAY - 60), "category": "in-time"},
    )  # fmt: skip
    [figures] = evaluate(data_set)
    assert figures["categories"]["too-early"]["any@20"]["mean"] == 0
    assert figures["categories"]["in-time"]["any@1"]["mean"] == 1


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
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "eval", str(data_set)], capture_output=True, text=True, check=True
    )
    head, titles, *groups = done.stdout.splitlines()
    assert head.startswith("one: 1 questions without leaks")
    assert titles.split() == ["n", "any@5", "any@10", "MRR", "nDCG@10"]
    assert [line.split()[0] for line in groups] == ["all", "human-written", "pr"]


def test_an_evaluation_leaves_nothing_behind(data_set: Path, home: Path, store_folder: Path) -> None:
    """Its store is thrown away; the user's is not touched."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")]})
    evaluate(data_set)
    assert not store_folder.exists()
    assert list(home.iterdir()) == []
    assert len(clean_questions(data_set)) == 1
