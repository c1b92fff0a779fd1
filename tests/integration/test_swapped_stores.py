"""A database that is lost, emptied, put back or replaced while its indexes stay: nobody reads another project's words.

The same numbers mean other rows then. Two projects are read in one order into the first database and in the other order
into the second, so that an index of the first points at the wrong project's rows of the second.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.mcp_server import McpServer
from tests.processes import ask, assert_silent, hook, payload, run

from howcome.memory.remember import Memories
from howcome.present.own_files import own_paths
from howcome.present.patience import Patience
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp

HARBOUR, TOWER = "/home/mara/harbour", "/home/mara/tower"
SUBJECTS = {HARBOUR: "berth", TOWER: "lantern"}
ASKED = count()
FILES = ("howcome.db", "howcome.db-wal", "howcome.db-shm")


def history(folder: Path, cwd: str, session: str, exchanges: int = 6) -> Path:
    """A transcript of a project that speaks of its own subject only."""
    return write(folder / f"{session}.jsonl", *Claude(session, cwd=cwd).conversation(exchanges, SUBJECTS[cwd]))


def told(cwd: str, word: str) -> str:
    """What a prompt's hook says in a project."""
    session = f"asking-{next(ASKED)}"  # nobody is told the same twice
    data = payload("UserPromptSubmit", Path("/gone.jsonl"), session, cwd=cwd, prompt=f"why does {word} fail again?")
    done = hook("UserPromptSubmit", data)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr[-3000:]
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""


def settle(folder: Path) -> None:
    """The write-ahead log goes into the database: a copy of that alone is whole."""
    with closing(sqlite3.connect(folder / "howcome.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def take_away(folder: Path) -> None:
    """The database is gone, the indexes are not."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)


def lost(folder: Path, _: Path) -> None:
    """Somebody deleted it."""
    take_away(folder)


def emptied(folder: Path, _: Path) -> None:
    """A full disk, or a redirection into the wrong file."""
    settle(folder)
    for name in FILES[1:]:
        (folder / name).unlink(missing_ok=True)
    os.truncate(folder / "howcome.db", 0)


def put_back(folder: Path, backup: Path) -> None:
    """An older copy of the same database comes back by `cp`."""
    settle(folder)
    for name in FILES[1:]:
        (folder / name).unlink(missing_ok=True)
    (folder / "howcome.db").write_bytes(backup.read_bytes())


def moved_in(folder: Path, backup: Path) -> None:
    """An older copy comes back by `mv`."""
    take_away(folder)
    shutil.copy(backup, folder / "other.db")
    (folder / "other.db").rename(folder / "howcome.db")


SWAPS: dict[str, Callable[[Path, Path], None]] = {
    "lost": lost, "emptied": emptied, "put back": put_back, "moved in": moved_in
}  # fmt: skip


@pytest.fixture
def backup(tmp_path: Path, store_folder: Path) -> Path:
    """The first database with its indexes: both projects, the tower first; a copy of when it held little."""
    ask("import", history(tmp_path, HARBOUR, "h0", 1))
    settle(store_folder)
    copy = Path(shutil.copy(store_folder / "howcome.db", tmp_path / "backup.db"))
    ask("import", history(tmp_path, TOWER, "t1"), history(tmp_path, HARBOUR, "h1"))
    assert "lantern2" in told(TOWER, "lantern2")
    return copy


@pytest.mark.parametrize("swap", SWAPS)
def test_another_database_under_the_same_indexes_leaks_nothing(
    swap: str, backup: Path, tmp_path: Path, store_folder: Path
) -> None:
    """Right after the swap, once new rows have the old numbers, and after a pass: only what this project said."""
    SWAPS[swap](store_folder, backup)
    for cwd, other in ((HARBOUR, "lantern"), (TOWER, "berth")):
        assert other not in told(cwd, f"{other}2")
    with closing(SqliteStore(str(store_folder))) as store:  # rows come in, nobody has indexed them yet
        from tests.conftest import Ingest

        ingest = Ingest(store)
        for path in (history(tmp_path, HARBOUR, "h2"), history(tmp_path, TOWER, "t2")):
            ingest(path)
    for cwd, other in ((HARBOUR, "lantern"), (TOWER, "berth")):
        for number in range(6):
            assert other not in told(cwd, f"{other}{number}")
    assert ask("status")["index_lag_rows"] > 0
    path = history(tmp_path, HARBOUR, "h3")
    assert_silent(hook("Stop", payload("Stop", path, "h3", cwd=HARBOUR)))
    for cwd, word in SUBJECTS.items():
        assert f"{word}2" in told(cwd, f"{word}2")
    assert ask("status")["index_lag_rows"] == 0
    assert run("search", "berth2", "--project", TOWER).stdout.count("berth2") == 0


def test_copies_that_went_different_ways_are_told_apart(tmp_path: Path, store_folder: Path) -> None:
    """The same key, as many rows, the same last record: the marks of the batches differ, and so do the rows."""
    last = history(tmp_path, HARBOUR, "h9", 1)
    ask("import", history(tmp_path, HARBOUR, "h0", 1))
    settle(store_folder)
    shutil.copytree(store_folder, tmp_path / "copy")
    one, two = history(tmp_path, TOWER, "t1", 3), history(tmp_path, HARBOUR, "h1", 3)
    for path in (one, two, last):
        ask("import", path)
    settle(store_folder)
    with closing(SqliteStore(str(tmp_path / "copy"))) as store:
        from tests.conftest import Ingest

        ingest = Ingest(store)
        for path in (two, one, last):
            ingest(path)
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    moved_in(store_folder, tmp_path / "copy" / "howcome.db")
    assert "lantern" not in told(HARBOUR, "lantern2")
    with closing(SqliteStore(str(store_folder))) as store:
        assert store.index.lag() == store.log.last_position()
    ask("import")
    assert "lantern2" in told(TOWER, "lantern2")


def test_a_folder_that_is_copied_whole_keeps_its_indexes(
    backup: Path,  # noqa: ARG001 - makes a store
    tmp_path: Path,
    store_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another machine, the same rows: nothing is made anew."""
    settle(store_folder)
    shutil.copytree(store_folder, tmp_path / "moved")
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "moved"))
    assert "lantern2" in told(TOWER, "lantern2")
    with closing(SqliteStore(str(tmp_path / "moved"))) as store:
        assert store.index.lag() == 0


@pytest.mark.parametrize("swap", SWAPS)
def test_a_running_server_sees_that_its_database_is_another(
    swap: str, backup: Path, tmp_path: Path, store_folder: Path
) -> None:
    """Its tools hold the store open, and its indexes: after the swap they answer from what is there now."""
    (tmp_path / "cwd").mkdir()
    with McpServer(cwd=tmp_path / "cwd", environment={"HOWCOME_DISTILLER": "off"}) as server:
        assert "lantern2" in server.call("search_memory", query="lantern2", project=TOWER).text
        SWAPS[swap](store_folder, backup)
        assert_silent(hook("Stop", payload("Stop", history(tmp_path, HARBOUR, "h2"), "h2", cwd=HARBOUR)))
        path = history(tmp_path, TOWER, "t2")
        assert_silent(hook("Stop", payload("Stop", path, "t2", cwd=TOWER)))
        for cwd, other in ((HARBOUR, "lantern"), (TOWER, "berth")):
            answer = server.call("search_memory", query=f"{other}2", project=cwd)
            assert f"{other}2" not in answer.text.split("\n", 1)[-1]
        if swap == "emptied":  # nobody can make it a database again while the server has the old one open
            assert_silent(hook("Stop", payload("Stop", path, "t2", cwd=TOWER)))
        assert "lantern2" in server.call("search_memory", query="lantern2", project=TOWER).text


def test_memories_of_another_database_are_its_own(tmp_path: Path, store_folder: Path) -> None:
    """As many memories, as many changes, other projects: found is what is in the database now."""
    texts = {HARBOUR: "berth four is closed in May", TOWER: "lantern oil is kept in the shed"}
    for folder, order in ((tmp_path / "other", (HARBOUR, TOWER)), (store_folder, (TOWER, HARBOUR))):
        with closing(SqliteStore(str(folder))) as store:
            memories = Memories(store, lambda: 1_790_000_000_000)
            for cwd in order:
                memories.add(texts[cwd], project=cwd)
        settle(folder)
    assert "lantern oil" in run("search", "lantern oil", "--project", TOWER).stdout
    moved_in(store_folder, tmp_path / "other" / "howcome.db")
    for cwd, other in ((HARBOUR, "lantern oil"), (TOWER, "berth four")):
        assert other not in run("search", other, "--project", cwd).stdout.replace(f'"{other}"', "")
    for cwd, own in ((HARBOUR, "berth four"), (TOWER, "lantern oil")):
        assert ask("search", own, "--project", cwd)["results"]


def test_an_index_that_lies_about_projects_is_not_believed(backup: Path, store_folder: Path) -> None:  # noqa: ARG001
    """Its stamp is right and its rows are another project's: what leaves the store is asked of the rows once more."""
    with closing(sqlite3.connect(store_folder / "howcome.db")) as database:
        (harbour, tower) = (
            database.execute("SELECT id FROM projects WHERE root = ?", (root,)).fetchone()[0]
            for root in (HARBOUR, TOWER)
        )
        database.execute("UPDATE events SET project_id = ? - project_id", (harbour + tower,))
        database.commit()
    assert "berth" not in told(HARBOUR, "berth2")
    assert ask("search", "berth2", "--project", HARBOUR)["results"] == []


def test_a_worker_reads_again_what_an_older_copy_does_not_hold(home: Path, store_folder: Path, tmp_path: Path) -> None:
    """It remembers which files it has read to their end: of the database that it read them into."""
    root = home / ".claude" / "projects" / "-home-mara-harbour"
    history(root, HARBOUR, "h1", 1)
    settings = read_settings(os.environ)
    catch_up = CatchUp(settings, Patience())
    assert catch_up.scan()
    settle(store_folder)
    copy = Path(shutil.copy(store_folder / "howcome.db", tmp_path / "backup.db"))
    history(root, TOWER, "t1", 1)
    assert catch_up.scan()
    put_back(store_folder, copy)
    assert catch_up.scan()
    with closing(SqliteStore(str(store_folder))) as store:
        assert (store.accounts.counts()["sessions"], store.index.lag()) == (2, 0)


def test_whoever_changes_rows_renews_their_marks(backup: Path, store_folder: Path) -> None:  # noqa: ARG001
    """Everything derived is worth nothing then, and made anew; so it is where rows came without any mark."""
    with closing(SqliteStore(str(store_folder))) as store:
        store.log.renew_marks()
        assert store.index.lag() == store.log.last_position()
    assert told(TOWER, "lantern2") == ""
    ask("import")
    assert "lantern2" in told(TOWER, "lantern2")
    with closing(sqlite3.connect(store_folder / "howcome.db")) as database:
        database.execute("DELETE FROM marks")
        database.commit()
    assert told(TOWER, "lantern2") == ""
    ask("import")
    assert "lantern2" in told(TOWER, "lantern2")


@pytest.mark.parametrize("swap", SWAPS)
def test_memories_that_vanish_are_said(swap: str, backup: Path, tmp_path: Path, store_folder: Path) -> None:
    """No transcript holds them; they are found missing until they are there again, or nobody wants to know any more."""
    said = ("pilots call at six or at nine", "berths are dredged in May", "sluices are greased in June")
    ids = [ask("remember", text)["id"] for text in said]
    assert run("purge", ids[2], "--yes").returncode == 0  # its row stays
    assert run("export", "--all-projects", tmp_path / "kept.jsonl").returncode == 0
    assert ask("status")["vanished_memories"] == []
    SWAPS[swap](store_folder, backup)
    if swap == "lost":
        assert {ids[0], ids[1]} <= set(re.findall("mem-[0-9a-f]{12}", run("doctor").stdout))
    assert_silent(hook("Stop", payload("Stop", history(tmp_path, HARBOUR, "h2"), "h2", cwd=HARBOUR)))
    assert run("remember", "the crane is out of order").returncode == 0
    assert ask("status")["vanished_memories"] == ids
    assert "3 memories kept by hand, with an earlier database" in run("status").stdout
    [found] = [one for one in json.loads(run("doctor", "--json").stdout)["findings"] if one["check"] == "memories"]
    assert found["level"] == "warning"
    assert "kept by hand and gone: 3 memories" in found["what"]
    assert run("import-memories", "--mine", tmp_path / "kept.jsonl").returncode == 0
    assert ask("status")["vanished_memories"] == []
    assert own_paths(str(store_folder)).count(str(store_folder / "kept-memories")) == 1
