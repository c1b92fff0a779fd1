"""The classifier tier over a real store: reasons of a decision, what followed a failure, files; no chores."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batches import EVERYTHING, Transcript

from howcome.domain import events
from howcome.domain.stored import Filter, Scope
from howcome.retrieve.search import Searcher
from howcome.retrieve.situation import Candidate
from howcome.retrieve.tiers.classifier import ClassifierTier
from howcome.store.sqlite import SqliteStore

CHOICE = "Shall readings go through the queue or straight into the table?"
REASON = "We decided on the table for readings, because the queue loses them at a restart."
PLAIN = "The queue and the table both hold readings with a time and a level."
CAUSE = "The culprit was the comma in readings of the north gauge."
HARMLESS = "Nothing was wrong with the readings of the south gauge."


@pytest.fixture
def told(store: SqliteStore, tmp_path: Path) -> SqliteStore:
    """A store with a decision, a plain statement, and a failure with its cause."""
    root = tmp_path / "quay"
    (root / "ingest").mkdir(parents=True)
    (root / "ingest" / "gauge.py").write_text("")
    script = Transcript(store, cwd=str(root))
    script.say(CHOICE, REASON, "What do they hold?", PLAIN)
    script.add(
        script.prompt("Run the import of readings."),
        script.call("make import"),
        script.result("ValueError: readings of gauge north: 3,2", failed=True, exit_code=1),
        script.answer(CAUSE),
        script.prompt("And the others?"),
        script.call("make import GAUGE=south"),
        script.result("ValueError of gauge north: no more readings", failed=False, exit_code=0),
        script.answer(HARMLESS),
        script.prompt("Anything about ingest/gauge.py?"),
        script.answer("gauge.py only opens the port."),
    )
    store.index.catch_up()
    store.index.release()
    return store


def offered(store: SqliteStore, text: str, wanted: Filter = EVERYTHING, **options: bool) -> dict[str, Candidate]:
    """What the tier offers, by the words of the rows."""
    found = ClassifierTier(store).candidates(Searcher(store).situation(text, wanted, **options))
    assert len({one.row for one in found}) == len(found)
    rows = store.log.events([one.row for one in found], with_text=True)
    return {rows[one.row].text or "": one for one in found}


def test_a_decision_asks_for_reasons(told: SqliteStore) -> None:
    """Turns that say because, not those that only share its words."""
    found = offered(told, "should we use the queue or the table for readings, which is better")
    assert REASON in found
    assert PLAIN not in found
    assert CHOICE not in found


def test_a_fix_asks_for_what_followed_a_failure(told: SqliteStore) -> None:
    """The agent's last words in that exchange; the failed result itself where tools may answer."""
    question = "fix the ValueError of gauge north readings"
    assert CAUSE in offered(told, question)
    assert HARMLESS not in offered(told, question)
    with_tools = offered(told, question, with_tools=True)
    assert any(text.startswith("ValueError") for text in with_tools)
    assert not any(text.startswith("ValueError") for text in offered(told, question))


def test_a_file_of_the_project_is_found_by_name(told: SqliteStore, tmp_path: Path) -> None:
    """Only one that is there."""
    project = Filter(Scope.project(told.projects.of_root(str(tmp_path / "quay"))))
    assert any("gauge.py" in text for text in offered(told, "add a retry to gauge.py", project))
    (tmp_path / "quay" / "ingest" / "gauge.py").unlink()
    assert offered(told, "add a retry to gauge.py", project) == {}


def test_a_chore_and_nothing_ask_for_nothing(told: SqliteStore) -> None:
    """Nobody needs history to commit."""
    assert offered(told, "commit and push the readings") == {}
    assert offered(told, "the of and") == {}


def test_scores_are_shares_and_never_make_howcome_speak(told: SqliteStore) -> None:
    """0 to 1, no strength, and only what the filter lets through."""
    for text in ("fix the ValueError of readings", "should we use the table for readings", "review gauge.py"):
        for candidate in offered(told, text, with_tools=True).values():
            assert 0 <= candidate.score <= 1
            assert candidate.strength == 0
    assert offered(told, "fix the ValueError of readings", Filter(Scope.project(None))) == {}
    only_asked = Filter(Scope.everything(), kinds=[events.USER_PROMPT])
    assert offered(told, "should we use the table for readings", only_asked) == {}
