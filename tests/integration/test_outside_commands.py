"""A search that asks others, as real processes: the command and the MCP server do, a prompt's hook never does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bolt import Neo4j, serving
from tests.builders import Claude, write
from tests.endpoint import running
from tests.others import REVIEW, Chat
from tests.processes import answer_of, ask, hook, payload, run

WEIGHT = {"HOWCOME_CLASSIFIER_WEIGHT": "0.5"}
QUESTION = "readings and the table"
REASON = "We took the table, because the queue loses readings at a restart."


@pytest.fixture
def project(tmp_path: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """A project of which an earlier session talked."""
    root = tmp_path / "quay"
    root.mkdir()
    talk = Claude("earlier", cwd=str(root))
    said = [
        talk.user("queue or table for readings?"),
        talk.text(REASON),
        talk.user("and crane.py?"),
        talk.text("It lifts."),
    ]
    ask("import", write(tmp_path / "past.jsonl", *said))
    return root


@pytest.fixture
def chat() -> Iterator[Chat]:
    """A model that takes everything for a decision."""
    with running(Chat(usual={**REVIEW, "intent": "decide"})) as server:
        yield server


def search(folder: Path, *words: str, **variables: str) -> list[dict[str, object]]:
    """What the command finds, with the tiers of each."""
    done = run("search", "--json", "--explain", *words, folder=folder, environment={**os.environ, **variables})
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, object]] = json.loads(done.stdout)["results"]
    return found


def test_a_search_asks_the_model_only_when_it_is_configured_and_counts(project: Path, chat: Chat) -> None:
    """Once for the same question, also from another process."""
    search(project, QUESTION)
    search(project, QUESTION, **WEIGHT)
    search(project, QUESTION, **chat.settings)
    assert chat.asked == []
    for _ in range(2):
        found = search(project, QUESTION, **chat.settings, **WEIGHT)
        assert any('"classifier": {"score"' in json.dumps(one) for one in found)
    assert len(chat.asked) == 1
    assert QUESTION in chat.asked[0]["messages"][1]["content"]


def test_a_search_with_a_model_that_fails_is_one_without(project: Path) -> None:
    """And the next one does not ask it."""
    with running(Chat({"status": 500})) as server:
        without = search(project, QUESTION, **WEIGHT)
        assert search(project, QUESTION, **server.settings, **WEIGHT) == without
        assert search(project, QUESTION, **server.settings, **WEIGHT) == without
    assert len(server.asked) == 1


def test_a_graph_server_is_asked_only_when_the_graph_counts(project: Path) -> None:
    """Its neighbours are found as our own graph's are."""
    with serving(Neo4j("quay", [("berth.py", "crane.py")])) as server:
        assert '"graph": {"score"' not in json.dumps(search(project, "what about berth.py", **server.settings))
        assert server.asked == []
        found = search(project, "what about berth.py", **server.settings, HOWCOME_GRAPH_WEIGHT="0.5")
        assert '"graph": {"score"' in json.dumps(found)
    assert len(server.asked) == 2


def test_a_prompts_hook_asks_nobody(project: Path, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its prompt would wait."""
    for name, value in {**chat.settings, **WEIGHT}.items():
        monkeypatch.setenv(name, value)
    event = "UserPromptSubmit"
    data = payload(event, project / "now.jsonl", "now", prompt=QUESTION, cwd=str(project))
    answer_of(event, hook(event, data))
    assert chat.asked == []
