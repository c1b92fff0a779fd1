"""Reranking as people and agents meet it: a search, its explanation, the MCP tool, evaluation, doctor; never a hook."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.endpoint import running
from tests.labelled import rows, sessions_of
from tests.processes import answer_of, ask, hook, payload, run
from tests.rerankers import MODEL, Judge, write_package

from howcome.mcp.session import Session

WEIGHT = "HOWCOME_RERANK_WEIGHT"
QUESTION = "which crane lifts the container"
BEST, OTHER = "The crane lifts the container.", "The container waits for a crane, for the tide."


@pytest.fixture
def project(tmp_path: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """A project of which earlier sessions talked; words alone find BEST first."""
    root = tmp_path / "quay"
    (root / ".git").mkdir(parents=True)
    for number, said in enumerate((BEST, OTHER)):
        talk = Claude(f"earlier-{number}", cwd=str(root))
        ask("import", write(tmp_path / f"past-{number}.jsonl", talk.user(f"go on {number}"), talk.text(said)))
    return root


@pytest.fixture
def judge() -> Iterator[Judge]:
    """A model that wants to hear of the tide."""
    with running(Judge("tide")) as server:
        yield server


def search(folder: Path, *words: str, **variables: str) -> dict[str, Any]:
    """What the command answers with."""
    done = run("search", "--json", *words, folder=folder, environment={**os.environ, **variables})
    assert (done.returncode, done.stderr) == (0, "")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def excerpts(report: dict[str, Any]) -> list[str]:
    """What was found, in its order, without the prompts that the others stand behind."""
    return [hit["excerpt"] for hit in report["results"] if hit["type"] == "assistant_text"]


def test_a_search_is_read_again_when_it_is_configured(project: Path, judge: Judge) -> None:
    """Also what a search for fewer answers would have left out."""
    assert excerpts(search(project, QUESTION)) == [BEST, OTHER]
    assert judge.asked == []
    found = search(project, QUESTION, **judge.settings)
    assert excerpts(found) == [OTHER, BEST]
    assert "not_reranked" not in found
    assert excerpts(search(project, "-n", "1", QUESTION, **judge.settings)) == [OTHER]
    assert excerpts(search(project, "--by", "session", QUESTION, **judge.settings))[0] == OTHER
    assert excerpts(search(project, QUESTION, **{**judge.settings, WEIGHT: "0"})) == [BEST, OTHER]
    assert len(judge.asked) == 3


def test_the_explanation_accounts_for_what_the_reranker_changed(project: Path, judge: Judge) -> None:
    """Its score, what its word counts, and what it did to the score of the search."""
    for hit in search(project, "--explain", QUESTION, **{**judge.settings, WEIGHT: "0.6"})["results"]:
        why = hit["explain"]
        assert why["tiers"]["rerank"] == {"score": float("tide" in hit["excerpt"]), "weight": 0.6}
        changed = why["fused"] * prod(why["adjustments"].values())
        assert changed == pytest.approx(hit["score"], abs=0.0005)
    done = run("search", "--explain", QUESTION, folder=project, environment={**os.environ, **judge.settings})
    assert done.returncode == 0, done.stderr
    assert "read again: 1.00 by the reranker, whose word counts 1" in done.stdout
    assert "rerank 1.00 *" not in done.stdout


def test_a_reranker_that_fails_leaves_the_order_and_is_said_once(project: Path) -> None:
    """The next search does not ask it, and says nothing."""
    with running(Judge("tide", {"status": 500})) as server:
        first, second = (search(project, QUESTION, **server.settings) for _ in range(2))
    assert "fails with 500" in first.pop("not_reranked")
    assert "not_reranked" not in second
    assert excerpts(first) == excerpts(second) == [BEST, OTHER]
    assert len(server.asked) == 1
    with running(Judge("tide", {"hang_s": 60})) as server:
        late = search(project, QUESTION, **server.settings, HOWCOME_RERANK_DEADLINE_MS="150")
        assert late["ms"] < 30_000
        assert excerpts(late) == [BEST, OTHER]
    done = run("search", QUESTION, folder=project, environment={**os.environ, "HOWCOME_RERANK": "llm"})
    assert done.returncode == 0, done.stderr
    assert 'Not reranked: rerank = "llm" needs a language model' in done.stdout


def test_the_tool_reads_again_and_says_once_that_it_could_not(project: Path, judge: Judge, store_folder: Path) -> None:
    """An agent pays for no sentence twice."""
    environment = {**os.environ, **judge.settings, "HOWCOME_HOME": str(store_folder)}
    with Session(environment, str(project)) as session:
        assert asked(session).index(OTHER) < asked(session).index(BEST)
        judge.script.append({"status": 500})
        failed = asked(session)
        assert "Not reranked: http://" in failed
        assert failed.index(BEST) < failed.index(OTHER)
        assert "Not reranked" not in asked(session)
    assert len(judge.asked) == 3


def asked(session: Session) -> str:
    """What the search tool answers."""
    [content] = session.call("search_memory", {"query": QUESTION})["content"]  # type: ignore[misc]
    return str(content["text"])


def test_a_prompts_hook_asks_no_reranker(project: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its prompt would wait."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    for name, value in judge.settings.items():
        monkeypatch.setenv(name, value)
    event = "UserPromptSubmit"
    data = payload(event, project / "now.jsonl", "now", prompt=QUESTION, cwd=str(project))
    answer = answer_of(event, hook(event, data))
    assert answer is not None
    assert judge.asked == []


def test_an_evaluation_measures_the_reranker_of_the_environment(tmp_path: Path, judge: Judge) -> None:
    """A cross-encoder from the user's own folder; one that fails ends it: its figures would be of nothing."""
    folder = tmp_path / "data" / "one"
    for number, said in enumerate((BEST, OTHER)):
        talk = Claude(f"talk-{number}", cwd="/home/mara/quay")
        write(folder / "transcripts" / f"{number}.jsonl", talk.user(f"go on {number}"), talk.text(said))
    question = f"{QUESTION} rane,"  # the encoder looks for its last word, which only one passage holds
    rows(folder / "questions.jsonl", {"question": question, "evidence_sessions": ["talk-1"], "category": "pr"})
    assert sessions_of(evaluated(folder))["all"]["any@1"]["mean"] == 0
    assert sessions_of(evaluated(folder, **judge.settings))["all"]["any@1"]["mean"] == 1
    assert ask("spending")["today"]["calls"]["spent"] == 2  # of the user's budget: the evaluation's store is gone
    write_package(tmp_path / "package")
    (tmp_path / "home" / "models" / "fastembed" / MODEL).mkdir(parents=True)
    encoder = {
        "HOWCOME_RERANK": MODEL, "HOWCOME_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "package"),
        WEIGHT: "1",
    }  # fmt: skip
    assert sessions_of(evaluated(folder, **encoder))["all"]["any@1"]["mean"] == 1
    judge.script.append({"status": 500})
    done = run_eval(folder, **judge.settings)
    assert done.returncode == 1
    assert "not reranked: http://" in done.stderr


def run_eval(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`howcome eval` under these variables."""
    return run("eval", folder, "--json", environment={**os.environ, **variables})


def evaluated(folder: Path, **variables: str) -> dict[str, Any]:
    """The figures of the one set."""
    done = run_eval(folder, **variables)
    assert done.returncode == 0, done.stderr
    [figures] = json.loads(done.stdout)["sets"]
    return dict(figures)


def test_doctor_says_what_a_reranker_needs(project: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the whole report, without asking the model."""
    assert project.is_dir()
    for name, value in judge.settings.items():
        monkeypatch.setenv(name, value)
    found = json.loads(run("doctor", "--json").stdout)["findings"]
    assert [each["what"] for each in found if each["check"] == "reranker"] == [
        "http:small reads the first 20 answers of a search again"
    ]
    assert judge.asked == []
