"""What is about files is not said when these are gone, and marked where it is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import Claude, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.memories import Memory, MemoryFilter
from howcome.present.screen import memory_brief
from howcome.present.views import memory_view
from howcome.recall.standing import CHANGED, GONE, SAME, UNKNOWN
from howcome.settings import read_settings

FIX = "never buffer tides in src/tides.py: `drain_tides` has to run before the poller"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a file that a session was about."""
    folder = tmp_path / "quay"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "tides.py").write_text("def drain_tides(): ...\n")
    return folder


@pytest.fixture
def app(root: Path, tmp_path: Path) -> Iterator[App]:
    """A store that learnt from it."""
    talk = Claude("said", cwd=str(root))
    edit = talk.call("Edit", "t1", file_path=str(root / "src" / "tides.py"), old_string="a", new_string="b")
    turns = [talk.user("buffer the tides"), talk.text("I will buffer them."), talk.user(FIX), edit]
    noise = [turn for at in range(20) for turn in talk.exchange(f"pier{at}")]
    write(tmp_path / "t" / "1.jsonl", *turns, talk.result("t1", "ok"), talk.text("Done."), *noise)
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as opened:
        for found in named_transcripts([str(tmp_path / "t")]):
            opened.ingest.file(found)
        opened.index.catch_up()
        assert opened.learn.distillation is not None
        opened.learn.distillation.run()
        yield opened


def kept(app: App, root: Path) -> list[Memory]:
    """What was learnt, the one about the file first."""
    found = app.memories.listed(app.projects.scope_of(str(root)), MemoryFilter(), 50)
    return sorted(found, key=lambda one: "drain_tides" not in one.text)


def look(app: App, root: Path) -> tuple[str, bool, bool]:
    """How the memory stands, and whether a prompt and a new session are told of it."""
    memory = kept(app, root)[0]
    app.search.look([memory])
    told = app.search.recall("why do we drain tides before the poller?", cwd=str(root), session="new", recent=str)
    briefed = app.search.briefing(str(root)).lines("main", 600)
    return (
        memory.standing,
        any(one.memory is not None and one.memory.id == memory.id for one in told),
        any(memory.id in line for line, _ in briefed),
    )


def test_what_is_as_it_was_is_said(app: App, root: Path) -> None:
    """The file is there, with the name."""
    assert look(app, root) == (SAME, True, True)


def test_what_is_gone_is_not_said_and_marked(app: App, root: Path) -> None:
    """Neither with a prompt nor as a session begins; a search says so."""
    (root / "src" / "tides.py").unlink()
    assert look(app, root) == (GONE, False, False)
    told = app.search.recall("why do we drain tides before the poller?", cwd=str(root), session="new", recent=str)
    assert not any("drain_tides" in text for one in told for _, text in one.passages)  # nor by its exchange
    memory = kept(app, root)[0]
    app.search.look([memory])
    assert "its file is gone" in memory_brief(memory_view(memory))


def test_what_no_longer_holds_the_name_has_changed(app: App, root: Path) -> None:
    """It is still said."""
    (root / "src" / "tides.py").write_text("def empty(): ...\n")
    assert look(app, root) == (CHANGED, True, True)


def test_nothing_is_known_where_the_project_is_not(app: App, root: Path) -> None:
    """A project of another machine, or one that was moved: nobody can tell."""
    root.rename(root.with_name("away"))
    assert look(app, root) == (UNKNOWN, True, True)


def test_a_file_that_nobody_ever_touched_is_not_gone(app: App, root: Path) -> None:
    """It may be yet to come, or somewhere else."""
    memory = kept(app, root)[0]
    memory.text = "Put it into src/harbour/never_seen.py."
    app.search.look([memory])
    assert memory.standing == UNKNOWN


def test_a_file_of_another_worktree_is_found_by_its_last_parts(app: App, root: Path) -> None:
    """A memory that names an absolute path below a worktree that is gone."""
    memory = kept(app, root)[0]
    memory.text = f"See {root}/.worktrees/4/src/tides.py."
    app.search.look([memory])
    assert memory.standing == SAME
