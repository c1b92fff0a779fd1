"""`howcome consolidate` and what sleeps: real commands, a real kill, prompts and searches of a real store."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.batches import START_MS, Transcript
from tests.noting import NotingDistiller
from tests.processes import COMMAND, ask, run

from howcome.app import App, open_app
from howcome.domain.memories import MemoryFilter
from howcome.domain.ranking import DAY_MS
from howcome.domain.stored import Scope
from howcome.learn.run import Distillation
from howcome.present.patience import Patience
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp

FOLDER = "/home/mara/quay"
SHORT = "The quay tests run with the harbour fixture before every release."
FULL = "The quay tests run with the harbour fixture before every release, and with the tide mocked."
OLD = "The north gauge `gauge_north` answers in decimetres."
SAID = {"short": f"KEEP pattern: {SHORT}", "full": f"KEEP pattern: {FULL}", "old": f"KEEP decision: {OLD}"}


@pytest.fixture
def home(store_folder: Path) -> Path:
    """A store of three sessions, each of which taught one thing, and of 31 days on which work went on after them."""
    store = SqliteStore(str(store_folder))
    later = [(f"day {day}", "On we go.") for day in range(31)]
    for number, (name, said) in enumerate([*SAID.items(), *later]):
        talk = Transcript(store, f"/t/{name}.jsonl", session=name, cwd=FOLDER)
        at_ms = START_MS + (number * DAY_MS if name.startswith("day") else 1000 * number)
        talk.add(talk.prompt("which one?", ts_ms=at_ms), talk.answer(said, ts_ms=at_ms))
        for row in range(12):  # words that are no memory's: what is rare among these is telling
            talk.add(talk.prompt(f"berth{number} pier{row}?", ts_ms=at_ms), talk.answer(f"bollard{row}", ts_ms=at_ms))
    Distillation(store, NotingDistiller(), lambda: START_MS).run()
    store.close()
    run("status")
    with open_app(read_settings({"HOWCOME_HOME": str(store_folder), "HOWCOME_DISTILLER": "off"})) as app:
        app.index.catch_up()
    return store_folder


@pytest.fixture
def app(home: Path) -> Iterator[App]:
    """The same store, open."""
    with open_app(read_settings({"HOWCOME_HOME": str(home), "HOWCOME_DISTILLER": "off"})) as opened:
        yield opened


def states(home: Path) -> list[tuple[object, ...]]:
    """What became of each memory."""
    store = SqliteStore(str(home))
    try:
        return store.database.rows(
            "SELECT m.text, superseded_by IS NULL, (SELECT count(*) FROM memory_evidence e WHERE e.memory_id = m.id),"
            " EXISTS (SELECT 1 FROM consolidated c WHERE m.id = c.memory_id AND undone_ms IS NULL) FROM memories m"
        )
    finally:
        store.close()


def test_a_dry_run_shows_it_and_changes_nothing_and_undo_takes_it_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A diff, the same as JSON; then it is done, then taken back, then there is nothing to do or to take back."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "off")
    before = states(home)
    shown = run("consolidate", "--dry-run").stdout.splitlines()
    assert [line[:12] for line in shown] == [
        f"- {SHORT}"[:12],
        f"+ {FULL}"[:12],
        f"z {OLD}"[:12],
        "(z: falls as",
        "Would be: 1 ",
    ]
    assert states(home) == before
    report = ask("consolidate")
    assert [step["what"] for step in report["steps"]] == ["merged", "asleep"]
    assert states(home) == [(SHORT, 0, 1, 1), (FULL, 1, 2, 0), (OLD, 1, 1, 1)]
    assert run("consolidate").stdout == "Nothing to tidy up.\n"
    undone = run("consolidate", "undo").stdout.splitlines()
    assert (undone[0][:9], undone[-1]) == (f"+ {SHORT}"[:9], "Taken back: 1 merged into another, 1 asleep")
    assert (states(home), run("consolidate", "undo").stdout) == (before, "Nothing to take back.\n")
    assert run("consolidate", "--dry-run", "undo").returncode == 2


def test_what_sleeps_is_found_and_said_only_to_who_asks_about_the_past(app: App) -> None:
    """No prompt and no briefing is told it; a search finds it, and so does a question about what was."""

    def told(prompt: str) -> bool:
        found = app.search.recall(prompt, cwd=FOLDER, session="other", recent=str)
        return any(one.memory is not None and one.memory.text == OLD for one in found)

    asked = "make `gauge_north` answer decimetres in the north view"
    assert told(asked)
    app.learn.consolidation.run()
    assert not told(asked)
    assert told("what did we decide about the decimetres of `gauge_north`?")
    found = app.search.find(Question("gauge_north decimetres", scope=Scope.everything()))
    [memory] = [one for one in app.memories.listed(Scope.everything(), MemoryFilter()) if one.text == OLD]
    assert (memory.is_asleep, found[0].memories) == (True, [memory.id])
    app.memories.count_access([memory])
    assert told(asked)


def test_a_kill_at_any_instant_leaves_one_state_or_the_other(home: Path) -> None:
    """Nothing is half merged; the next run does what is left."""
    before, seen = states(home), set[bool]()
    environment = {**os.environ, "HOWCOME_DISTILLER": "off"}
    chance = random.Random(7)
    for _ in range(int(os.environ.get("HOWCOME_TEST_KILLS", "8"))):
        with subprocess.Popen([*COMMAND, "consolidate"], env=environment, stdout=subprocess.DEVNULL) as started:
            time.sleep(chance.uniform(0.1, 0.5))
            started.send_signal(signal.SIGKILL)
        now = states(home)
        assert now in (before, [(SHORT, 0, 1, 1), (FULL, 1, 2, 0), (OLD, 1, 1, 1)])
        seen.add(now == before)
    ask("consolidate")
    assert states(home) == [(SHORT, 0, 1, 1), (FULL, 1, 2, 0), (OLD, 1, 1, 1)]
    assert seen


def test_the_worker_does_it_once_in_hours(store_folder: Path, tmp_path: Path) -> None:
    """What is new after that waits for the next time."""
    settings = read_settings({"HOWCOME_HOME": str(store_folder), "HOME": str(tmp_path), "HOWCOME_EMBEDDING": "off"})
    with open_app(settings) as app:
        for text in (SHORT, FULL):
            app.memories.add(text, type="pattern", project=FOLDER)
    CatchUp(settings, Patience()).scan()
    assert [kept for _, kept, _, _ in states(store_folder)] == [0, 1]
    with open_app(settings) as app:
        app.learn.consolidation.undo()
        app.memories.add(f"{SHORT} So it is.", type="pattern", project=FOLDER)
        assert app.learn.consolidation.run_if_due(lambda: True) == []
        assert app.learn.consolidation.run() != []


def test_memories_can_be_read_by_what_they_are_about(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups named by their own words, the largest first, then the others."""
    for thing in ("the north pier", "the south pier", "every berth", "a crane"):
        app.memories.add(f"The tide table is read for {thing} at six in the morning.", project=FOLDER)
    report = ask("memories", "--by", "topic", "--all-projects")
    groups = [(group["topic"], len(group["memories"])) for group in report["topics"]]
    assert groups[0] == ("tide table", 4)
    assert groups[-1][0] == "other"
    monkeypatch.setenv("COLUMNS", "200")
    assert run("memories", "--by", "topic", "--all-projects").stdout.startswith("tide table (4)\n")
