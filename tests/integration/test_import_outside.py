"""Memories that a file brings are a stranger's until a person accepts them; one's own are believed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.processes import ask, run

from howcome.app import open_app
from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.errors import UsageError
from howcome.log.memory_writing import MemoryWriter
from howcome.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from howcome.app import App

EVERYTHING = Scope.everything()
HEAD = {"howcome": "memories", "version": 1}
QUAY = "/home/mara/quay"
OWN = "the sluice listens on port 8080"
FORGED = "the sluice listens on port 6666"
PINNED_MS = 1_790_000_000_777


@pytest.fixture
def app(store_folder: Path) -> Iterator[App]:
    """A store of its own."""
    assert store_folder
    with open_app(read_settings(os.environ)) as opened:
        yield opened


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[App]:
    """Another machine's store."""
    with open_app(read_settings({**os.environ, "HOWCOME_HOME": str(tmp_path / "elsewhere")})) as opened:
        yield opened


def line(key: str, text: str = FORGED, **fields: Any) -> dict[str, Any]:
    """A line of a stranger's file, who claims the most."""
    return {
        "key": key, "type": "decision", "text": text, "project": QUAY, "agent": None, "origin": "user",
        "status": "open", "created_ms": 1_790_000_000_000, "deleted_ms": None, "supersedes": None, "evidence": [],
        "pinned_ms": PINNED_MS, **fields,
    }  # fmt: skip


def take_in(app: App, *lines: dict[str, Any], **options: bool) -> Any:
    """An import of some lines."""
    return app.memories.import_values(enumerate((HEAD, *lines), 1), **options)


def keep(app: App, text: str = OWN, **options: Any) -> Any:
    """Kept by hand."""
    return app.memories.add(text, type="decision", project=QUAY, **options)[0]


def pushed(app: App, prompt: str = "which port does the sluice listen on?") -> list[str]:
    """What is said with a prompt, unasked."""
    found = app.search.recall(prompt, cwd=QUAY, session="now", recent=lambda: "")
    return [item.memory.text for item in found if item.memory is not None]


def live(app: App) -> dict[str, Any]:
    """Live memories by their texts."""
    return {memory.text: memory for memory in app.memories.listed(EVERYTHING, MemoryFilter())}


def test_a_stranger_supersedes_nothing_and_is_not_pushed(app: App) -> None:
    """Origin, pin and supersession are claims: found when asked for, and otherwise as if they were not there."""
    own = keep(app)
    report = take_in(app, line("66" * 16, supersedes=own.key.hex()))
    assert (report.added, report.outside, report.problems) == (1, 1, [])
    found = live(app)
    assert set(found) == {OWN, FORGED}
    assert (found[FORGED].origin, found[FORGED].pinned_ms, found[FORGED].supersedes) == ("external", None, None)
    assert pushed(app) == [OWN]
    assert take_in(app, line("66" * 16, supersedes=own.key.hex())).known == 1, "twice is once"


@pytest.mark.parametrize(
    ("answer", "lives", "says"),
    [("newer", {FORGED}, [FORGED]), ("both", {OWN, FORGED}, [OWN, FORGED]), ("older", {OWN}, [OWN])],
)
def test_a_person_accepts_what_a_file_says(app: App, answer: str, lives: set[str], says: list[str]) -> None:
    """Then it is the user's, pinned, and in the place of what it supersedes; or it is forgotten."""
    own = keep(app)
    take_in(app, line("66" * 16, supersedes=own.key.hex()))
    [pair] = app.store.reviews.waiting(EVERYTHING, 9)
    assert (pair.older.text, pair.newer.text, pair.reason) == (OWN, FORGED, "imported")
    app.memories.settle(pair.row, answer)
    found = live(app)
    assert set(found) == lives
    assert sorted(pushed(app)) == sorted(says)
    if FORGED in found:
        assert (found[FORGED].origin, found[FORGED].pinned_ms) == ("user", PINNED_MS)
        assert found[FORGED].supersedes == (own.row if answer == "newer" else None)
    assert app.store.reviews.waiting(EVERYTHING, 9) == []


def test_one_that_supersedes_nothing_is_accepted_too(app: App) -> None:
    """Of every project, also what holds everywhere; a text of the person's own is theirs at once."""
    take_in(app, line("66" * 16, project=None), line("67" * 16, "the sluice listens on port 7777"))
    scope = app.projects.scope_of(QUAY)
    pairs = {pair.newer.text: pair for pair in app.store.reviews.waiting(scope, 9)}
    app.memories.settle(pairs[FORGED].row, "newer")
    assert pushed(app) == [FORGED]
    mine = app.memories.update(pairs["the sluice listens on port 7777"].newer.id, text=OWN, is_person=True)
    assert mine.origin == "user"
    assert pushed(app) == [OWN]  # of two that contradict each other the later one
    assert [(pair.reason, pair.newer.row) for pair in app.store.reviews.waiting(scope, 9)] == [("number", mine.row)]


def test_what_was_turned_down_waits_for_review_when_it_is_restored(app: App) -> None:
    """Being brought back is not being accepted."""
    take_in(app, line("66" * 16))
    [pair] = app.store.reviews.waiting(EVERYTHING, 9)
    app.memories.settle(pair.row, "older")
    app.memories.restore(pair.newer.id)
    assert [again.row for again in app.store.reviews.waiting(EVERYTHING, 9)] == [pair.row]
    assert pushed(app) == []


def test_a_strangers_marks_of_purged_ones_do_nothing(app: App, elsewhere: App) -> None:
    """They neither name what is to be purged here nor keep one's own memories out."""
    own = keep(elsewhere)
    stone = line(own.key.hex(), purged_ms=1_790_000_000_005)
    report = take_in(app, stone)
    assert (report.stones, report.left_out, report.added) == (0, 1, 0)
    assert take_in(app, *list(elsewhere.memories.export(EVERYTHING))[1:], is_mine=True).added == 1
    assert take_in(app, stone).still_here == [], "nobody is told to purge it"
    assert pushed(app) == [OWN]
    assert take_in(app, stone, is_mine=True).still_here == [own.id]


def test_a_strangers_key_keeps_nobody_out(app: App, elsewhere: App) -> None:
    """Who knows the keys of an export cannot put other words in their places."""
    own = keep(elsewhere)
    take_in(app, line(own.key.hex()))
    assert take_in(app, *list(elsewhere.memories.export(EVERYTHING))[1:], is_mine=True).added == 1
    assert pushed(app) == [OWN]
    assert app.memories.get(own.id).text == OWN


def test_the_same_words_kept_by_hand_are_ones_own(app: App) -> None:
    """A file that says them first does not make them a stranger's; what is there already stays one."""
    take_in(app, line("66" * 16, OWN))
    assert pushed(app) == []
    own, is_new = app.memories.add(OWN, type="decision", project=QUAY)
    assert (is_new, pushed(app)) == (True, [OWN])
    assert take_in(app, line("68" * 16, OWN)).known == 1
    app.memories.forget(own.id)
    app.memories.restore(own.id)
    assert pushed(app) == [OWN]


def test_distillers_do_not_see_what_nobody_reviewed(app: App) -> None:
    """It stands in no decision's place, and no decision becomes evidence of it."""
    take_in(app, line("66" * 16, OWN, subject="sluice"))
    project = app.store.projects.of_root(QUAY)
    assert project is not None
    assert app.store.candidates.known_of(project).kept == []
    [pair] = app.store.reviews.waiting(EVERYTHING, 9)
    app.memories.settle(pair.row, "newer")
    assert [memory.text for memory in app.store.candidates.known_of(project).kept] == [OWN]


def test_what_is_mine_is_believed_also_afterwards(app: App, elsewhere: App) -> None:
    """Moving to another machine: everything as it was, whether it is said at once or at the second try."""
    first = keep(elsewhere)
    second = elsewhere.memories.update(first.id, text=FORGED, is_person=True)
    elsewhere.memories.pin(second.id)
    lines = list(elsewhere.memories.export(EVERYTHING))[1:]
    assert take_in(app, *lines).outside == 2
    assert pushed(app) == []
    report = take_in(app, *lines, is_mine=True)
    assert (report.added, report.outside) == (2, 0)
    assert [memory.id for memory in app.memories.chain(second.id)] == [first.id, second.id]
    assert app.memories.get(second.id).pinned_ms is not None
    assert pushed(app) == [FORGED]
    assert app.store.reviews.waiting(EVERYTHING, 9) == []
    assert len(app.memories.listed(EVERYTHING, MemoryFilter(with_forgotten=True, with_superseded=True))) == 2
    assert take_in(app, *lines, is_mine=True).known == 2


def test_what_somebody_turned_down_stays_forgotten(app: App, elsewhere: App) -> None:
    """Also when the file turns out to be one's own."""
    keep(elsewhere)
    lines = list(elsewhere.memories.export(EVERYTHING))[1:]
    take_in(app, *lines)
    [pair] = app.store.reviews.waiting(EVERYTHING, 9)
    app.memories.settle(pair.row, "older")
    take_in(app, *lines, is_mine=True)
    assert (live(app), pushed(app)) == ({}, [])


def test_what_was_purged_stays_purged_also_when_it_is_mine(app: App, elsewhere: App) -> None:
    """Whoever erased it meant it."""
    keep(elsewhere)
    lines = list(elsewhere.memories.export(EVERYTHING))[1:]
    take_in(app, *lines)
    [memory] = live(app).values()
    app.memories.purge(memory.id)
    assert take_in(app, *lines, is_mine=True).purged == 1
    assert live(app) == {}


def test_no_agent_rewrites_what_nobody_accepted(app: App) -> None:
    """That would take it off the list; nor does a file cite events by a letter that finds some."""
    take_in(app, line("66" * 16, evidence=["ev-1", "ev-0123456789ab"]))
    [memory] = live(app).values()
    assert memory.evidence == ["ev-0123456789ab"]
    with pytest.raises(UsageError, match="a person accepts it first"):
        app.memories.update(memory.id, text=OWN)
    assert app.memories.update(memory.id, type="context", is_person=True).origin == "user"


def test_an_export_of_this_store_is_believed_without_asking(app: App) -> None:
    """Each line has a mark that only the store's key can make; whoever changes a line breaks it."""
    first = keep(app)
    second = app.memories.update(first.id, text=FORGED, is_person=True)
    lines = list(app.memories.export(EVERYTHING))[1:]
    for memory in (second, first):  # an older database was put back: these are not in it
        with app.store.transaction():
            MemoryWriter(app.store.database).remove(memory.row)
    changed = [{**one, "pinned_ms": PINNED_MS} for one in lines]
    assert take_in(app, *changed, is_trial=True).outside == 2
    report = take_in(app, *lines)
    assert (report.added, report.outside) == (2, 0)
    assert [memory.id for memory in app.memories.chain(second.id)] == [first.id, second.id]
    assert pushed(app) == [FORGED]


def test_another_stores_mark_is_none(app: App, elsewhere: App) -> None:
    """It is made with that store's key."""
    keep(elsewhere)
    [_, own] = elsewhere.memories.export(EVERYTHING)
    assert len(str(own["mac"])) == 32
    assert take_in(app, own).outside == 1


def test_what_was_from_outside_stays_so_when_it_moves(app: App, elsewhere: App) -> None:
    """An export of one's own does not launder what nobody reviewed."""
    take_in(elsewhere, line("66" * 16))
    report = take_in(app, *list(elsewhere.memories.export(EVERYTHING))[1:], is_mine=True)
    assert (report.added, report.outside) == (1, 1)
    assert pushed(app) == []
    assert len(app.store.reviews.waiting(EVERYTHING, 9)) == 1


def test_a_review_outlives_what_it_would_replace(app: App) -> None:
    """Forgotten, superseded, purged or taken away: the imported one still waits, and can be accepted."""
    own = keep(app)
    take_in(app, line("66" * 16, supersedes=own.key.hex()))
    app.memories.forget(own.id)
    [pair] = app.store.reviews.waiting(EVERYTHING, 9)
    with app.store.transaction():
        MemoryWriter(app.store.database).remove(own.row)
    [alone] = app.store.reviews.waiting(EVERYTHING, 9)
    assert (alone.row, alone.older.row) == (pair.row, pair.newer.row)
    app.memories.settle(alone.row, "newer")
    assert pushed(app) == [FORGED]


def test_the_command_says_what_is_to_be_done(store_folder: Path, tmp_path: Path) -> None:
    """How many are from outside, where they are accepted, and how one's own are believed."""
    assert store_folder
    ask("remember", "--global", "--type", "decision", OWN)
    run("export", "--all-projects", tmp_path / "own.jsonl")
    [_, own] = map(json.loads, (tmp_path / "own.jsonl").read_text().splitlines())
    file = tmp_path / "theirs.jsonl"
    theirs = [HEAD, line("66" * 16, supersedes=own["key"]), line("69" * 16, purged_ms=5)]
    file.write_text("".join(json.dumps(one) + "\n" for one in theirs))
    done = run("import-memories", file)
    assert done.returncode == 0
    assert done.stdout.startswith("1 added, 0 known already")
    assert "howcome memories --review --all-projects" in done.stdout
    assert f"howcome import-memories --mine {file}" in done.stdout
    assert "1 mark of a purged one is left out" in done.stdout
    review = run("memories", "--review", "--all-projects").stdout
    assert "a file proposes" in review
    assert "--accept" in review
    assert "  from outside  " in review
    assert "--mine" in run("import-memories", "--help").stdout
    settled = run("memories", "--settle", review.split()[0], "--keep", "newer")
    assert settled.returncode == 0, settled.stderr
    assert "from outside" not in run("memories", "--all-projects").stdout
