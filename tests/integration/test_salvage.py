"""A damaged database: what can be read of it, transcripts and the last backup make a whole one; the old one stays."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, assert_indexed, keys, memberships
from tests.histories import OpenCode
from tests.hostile.scale import of
from tests.processes import COMMAND, LIMIT_S, ask, python, run

from howcome.errors import StoreLockedError
from howcome.store.sqlite import SqliteStore, create_database
from howcome.store.sqlite_salvage import damage, salvage

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(300)  # seconds, on a machine that is busy with something else
PAGE_BYTES = 4096
KEPT_WORDS = "the berth counter is zero based"


@pytest.fixture
def transcripts(tmp_path: Path, home: Path) -> Path:
    """Two sessions and a fork of one, where the agent keeps them: any command finds them."""
    folder = home / ".claude" / "projects" / "-home-mara-harbour"
    first, second = Claude("session-first"), Claude("session-second", "/gone/pier")
    told = first.conversation(60)
    write(folder / "first.jsonl", *told)
    write(folder / "second.jsonl", *second.conversation(60, "crane"))
    write(folder / "fork.jsonl", *[record | {"sessionId": "session-fork"} for record in told])
    assert tmp_path.exists()
    return folder


@pytest.fixture
def database(transcripts: Path, store_folder: Path) -> Path:
    """The database of a store that has read the transcripts and holds memories; its log is empty."""
    ask("import", transcripts)
    ask("remember", KEPT_WORDS)
    ask("remember", "the pier is closed on Mondays")
    return store_folder / "howcome.db"


def scratch(database: Path, pages: list[int], choice: random.Random) -> None:
    """Rubbish over the beginning of some pages, as a bad disk leaves it."""
    with database.open("r+b") as stream:
        for page in pages:
            stream.seek(page * PAGE_BYTES)
            stream.write(choice.randbytes(300))


def leaf_pages(database: Path, table: str) -> list[int]:
    """The pages (from 0 on) that hold a table's rows."""
    connection = apsw.Connection(str(database), apsw.SQLITE_OPEN_READONLY)
    sql = "SELECT pageno - 1 FROM dbstat WHERE name = ? AND pagetype = 'leaf' AND ncell > 0"
    found = [row[0] for row in connection.execute(sql, (table,))]
    connection.close()
    return found


def contents(folder: Path) -> tuple[list[bytes], set[tuple[str, bytes]]]:
    """What a store holds, checked: every byte accounted for, nothing in the air, everything indexed."""
    store = SqliteStore(str(folder))
    try:
        assert_accounted(store)
        assert_indexed(store)
        return keys(store), memberships(store)
    finally:
        store.close()


def torn_events(database: Path, choice: random.Random) -> None:
    """Pages of events, a quarter of them."""
    pages = leaf_pages(database, "events")
    scratch(database, choice.sample(pages, len(pages) // 4), choice)


def torn_anywhere(database: Path, choice: random.Random) -> None:
    """Three pages of whatever there is, but the first."""
    scratch(database, choice.sample(range(1, database.stat().st_size // PAGE_BYTES), 3), choice)


def torn_sessions(database: Path, choice: random.Random) -> None:
    """The sessions' only page: no event can be shown without its session."""
    scratch(database, leaf_pages(database, "sessions"), choice)


def torn_sources(database: Path, choice: random.Random) -> None:
    """All cursors."""
    scratch(database, leaf_pages(database, "sources"), choice)


def no_head(database: Path, choice: random.Random) -> None:
    """The bytes by which SQLite knows its files."""
    with database.open("r+b") as stream:
        stream.write(choice.randbytes(64))


def no_key(database: Path, choice: random.Random) -> None:
    """What every event is known by."""
    scratch(database, leaf_pages(database, "meta"), choice)


def cut(database: Path, choice: random.Random) -> None:
    """The end of the file is gone."""
    os.truncate(database, database.stat().st_size * 2 // 3 // PAGE_BYTES * PAGE_BYTES)
    assert choice


def rubbish(database: Path, choice: random.Random) -> None:
    """Nothing of it is left."""
    database.write_bytes(choice.randbytes(50_000))


@pytest.mark.parametrize(
    "break_it", [torn_events, torn_sessions, torn_sources, no_head, no_key, cut, rubbish, torn_anywhere]
)
def test_a_damaged_database_becomes_whole(
    break_it: Callable[[Path, random.Random], None], database: Path, store_folder: Path
) -> None:
    """The same events as before, each once, with what forks share; the damaged file is kept as it was."""
    before = contents(store_folder)
    break_it(database, random.Random(20261122))
    damaged = database.read_bytes()
    assert damage(str(database))
    assert "saved" in run("doctor", "--fix", "--yes", "--deep").stdout
    after = contents(store_folder)
    is_keyed_anew = break_it in (no_key, rubbish)
    assert len(after[0]) == len(before[0])
    assert len(after[1]) == len(before[1])
    assert is_keyed_anew or after == before
    [aside] = (store_folder / "damaged").iterdir()
    assert (aside / "howcome.db").read_bytes() == damaged
    assert not damage(str(database))
    assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout
    if break_it not in (cut, rubbish, torn_anywhere):
        assert KEPT_WORDS in run("memories", "--all-projects").stdout
    assert ask("import")["accepted"] == 0


def test_any_three_pages(database: Path, store_folder: Path) -> None:
    """Wherever the disk was bad: nothing that a transcript holds is lost, nothing is there twice."""
    before, copy = contents(store_folder), store_folder.with_name("copy")
    shutil.copytree(store_folder, copy)
    for seed in range(of(5, 12)):
        shutil.rmtree(store_folder)
        shutil.copytree(copy, store_folder)
        torn_anywhere(database, random.Random(seed))
        if not damage(str(database)):
            continue
        assert salvage(str(store_folder)) is not None
        ask("import")
        after = contents(store_folder)
        assert (len(after[0]), len(after[1])) == (len(before[0]), len(before[1])), seed


def test_nothing_is_done_without_being_asked(database: Path, store_folder: Path) -> None:
    """Said no, or with nobody to ask: the file stays where and as it is, whatever else runs meanwhile."""
    torn_events(database, random.Random(1))
    damaged = database.read_bytes()
    words = [*COMMAND, "doctor", "--fix", "--deep"]
    for answer in ("", "n\n"):
        subprocess.run(words, input=answer, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert database.read_bytes() == damaged
        assert not (store_folder / "damaged").exists()
    done = subprocess.run(words, input="y\n", capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert "saved" in done.stdout
    assert not damage(str(database))


def test_a_whole_database_is_left_as_it_is(database: Path, store_folder: Path) -> None:
    """A suspicion is no damage."""
    before = database.read_bytes()
    assert salvage(str(store_folder)) is None
    assert database.read_bytes() == before
    assert not list((store_folder / "damaged").iterdir())


HOLDER = """
import sys
from howcome.store.sqlite import SqliteStore, create_database
store = SqliteStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


def test_locked_is_not_damaged(database: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has the store open: nothing is changed, and the message says so; then it goes."""
    torn_events(database, random.Random(1))
    damaged = database.read_bytes()
    monkeypatch.setattr("howcome.store.sqlite_backup.WAIT_S", 0.2)
    with subprocess.Popen(
        python(HOLDER, store_folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(StoreLockedError, match="end the agents' sessions"):
            salvage(str(store_folder))
        assert database.read_bytes() == damaged
        holder.stdin.close()
    assert salvage(str(store_folder)) is not None


def test_what_was_forgotten_and_pinned_stays_so(database: Path, store_folder: Path) -> None:
    """Memories come with all that people did to them; a lost project is not "everywhere"."""
    [first, second] = [memory["id"] for memory in ask("memories")["memories"]]
    ask("forget", first)
    ask("memories", "--pin", second)
    scratch(database, leaf_pages(database, "projects"), random.Random(2))
    assert run("doctor", "--fix", "--yes", "--deep").returncode in (0, 1)
    store = SqliteStore(str(store_folder))
    rows = store.connection.execute(
        "SELECT deleted_ms IS NOT NULL, pinned_ms IS NOT NULL, project_id IS NULL FROM memories ORDER BY 1"
    ).fetchall()
    store.close()
    assert rows == [(0, 1, 0), (1, 0, 0)]


def test_a_memory_that_holds_everywhere_still_does(database: Path) -> None:
    """Also where no project can be read: it has none, and needs none."""
    ask("remember", "--global", "quay walls are measured in metres")
    scratch(database, leaf_pages(database, "projects"), random.Random(2))
    fixed = ask_damaged()
    assert "saved 0 events and 3 memories, 600 events" in fixed, fixed
    rows = {memory["text"]: memory["project"] for memory in ask("memories", "--all-projects")["memories"]}
    assert rows["quay walls are measured in metres"] is None
    assert len(rows) == 3


def ask_damaged() -> str:
    """What `doctor` says that it repaired."""
    done = run("doctor", "--fix", "--yes", "--deep", "--json")
    assert done.returncode in (0, 1), done.stderr
    return "; ".join(json.loads(done.stdout)["fixed"])


@pytest.mark.parametrize("lost", ["sources", "sessions", "projects"])
def test_sessions_of_a_database_are_looked_for_again(lost: str, home: Path, store_folder: Path) -> None:
    """Where their cursors are gone, the agent's database itself did not change: it is opened all the same."""
    told = OpenCode("ses_crane")
    told.exchange("crane")
    told.save(home / ".local" / "share" / "opencode" / "opencode.db")
    ask("import")
    before = contents(store_folder)
    scratch(store_folder / "howcome.db", leaf_pages(store_folder / "howcome.db", lost), random.Random(2))
    assert "from transcripts" in ask_damaged()
    assert contents(store_folder) == before


def named(folder: Path) -> dict[bytes, tuple[str, str, str]]:
    """Each event's session, and the projects of both, by its key."""
    store = SqliteStore(str(folder))
    sql = (
        "SELECT e.key, s.name, p.root, o.root FROM events e JOIN sessions s ON s.id = e.session_id"
        " JOIN projects p ON p.id = e.project_id JOIN projects o ON o.id = s.project_id"
    )
    rows = store.connection.execute(sql).fetchall()
    store.close()
    return {key: tuple(names) for key, *names in rows}


@pytest.fixture
def three(home: Path, store_folder: Path) -> Path:
    """Three sessions of three projects; the folder of their transcripts."""
    folder = home / ".claude" / "projects" / "-harbour"
    for name in ("berth", "crane", "quay"):
        write(folder / f"{name}.jsonl", *Claude(f"session-{name}", f"/gone/{name}").conversation(40, name))
    ask("import")
    assert len(set(named(store_folder).values())) == 3
    return folder


LOST = [["sources"], ["sessions"], ["projects"], ["sessions", "projects"]]


@pytest.mark.parametrize("lost", LOST)
def test_transcripts_that_are_there_come_back_under_their_own_names(
    lost: list[str], three: Path, store_folder: Path
) -> None:
    """Also where another one is deleted, and its session is lost: nothing of it gets into a project of theirs."""
    before = named(store_folder)
    (three / "crane.jsonl").unlink()
    for table in lost:
        scratch(store_folder / "howcome.db", leaf_pages(store_folder / "howcome.db", table), random.Random(2))
    ask_damaged()
    assert named(store_folder) == {key: names for key, names in before.items() if names[0] != "session-crane"}


@pytest.mark.parametrize("lost", LOST)
def test_transcripts_that_were_away_come_back_under_their_own_names(
    lost: list[str], three: Path, store_folder: Path
) -> None:
    """A folder that is not mounted while the database is repaired: the next import reads it."""
    before = contents(store_folder), named(store_folder)
    three.rename(three.with_name("away"))
    for table in lost:
        scratch(store_folder / "howcome.db", leaf_pages(store_folder / "howcome.db", table), random.Random(2))
    ask_damaged()
    three.with_name("away").rename(three)
    ask("import")
    assert (contents(store_folder), named(store_folder)) == before


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("lost", [["events"], *LOST])
def test_observations_after_a_salvage_are_stored_as_before(lost: list[str], store_folder: Path) -> None:
    """Those from before may be lost with a page, because no transcript tells them again."""
    spoken = {"agent": "cursor", "session_id": "7f3a", "cwd": "/gone/dock", "text": "the quay wall is dry"}
    run("observe", "--now", data=json.dumps(spoken).encode())
    before = named(store_folder)
    for table in lost:
        scratch(store_folder / "howcome.db", leaf_pages(store_folder / "howcome.db", table), random.Random(2))
    ask_damaged()
    kept = len(named(store_folder))
    assert kept in (len(before) - 1, len(before))
    run("observe", "--now", data=json.dumps(spoken | {"text": "the quay wall is wet"}).encode())
    assert len(contents(store_folder)[0]) == kept + 1
    assert ("7f3a", "/gone/dock", "/gone/dock") in named(store_folder).values()


@pytest.mark.parametrize("table", ["events", "meta"])
def test_what_holds_in_several_projects_still_does(
    table: str, database: Path, store_folder: Path, tmp_path: Path
) -> None:
    """Also where the store's key is lost: somebody said so, and no transcript does."""
    (tmp_path / "other" / ".git").mkdir(parents=True)
    ident = ask("memories")["memories"][0]["id"]
    ask("update", ident, "--also", tmp_path / "other")
    scratch(database, leaf_pages(database, table), random.Random(2))
    assert run("doctor", "--fix", "--yes", "--deep").returncode in (0, 1)
    assert store_folder.is_dir()
    assert ask("show", ident)["also"] == [str(tmp_path / "other")]


@pytest.mark.parametrize("version", [1, 5])
def test_an_older_schema_is_salvaged_as_it_is_and_migrated(version: int, store_folder: Path) -> None:
    """By the next who opens it, as any older store."""
    store_folder.mkdir(mode=0o700)
    path = store_folder / "howcome.db"
    create_database(str(path), version)
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO projects VALUES (7, '/home/mara/harbour', 1)")
    [(page,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'injections'")
    connection.close()
    scratch(path, [page - 1], random.Random(4))
    assert salvage(str(store_folder)) is not None
    store = SqliteStore(str(store_folder))
    assert store.projects.roots() == [(7, "/home/mara/harbour")]
    assert store.check_integrity() == []
    store.close()


@pytest.mark.parametrize("tables", [["events"], ["memories"], ["candidates", "sessions"]])
def test_what_sessions_taught_is_derived_again(tables: list[str], home: Path, store_folder: Path) -> None:
    """Memories that were distilled are the same afterwards, whichever rows of them or of their events were lost."""
    samples = Path(__file__).parents[2] / "samples" / "claude-code"
    shutil.copytree(samples, home / ".claude")
    ask("import")
    run("distil")
    before = sorted(memory["text"] for memory in ask("memories", "--all-projects")["memories"])
    assert before
    for table in tables:
        scratch(store_folder / "howcome.db", leaf_pages(store_folder / "howcome.db", table), random.Random(3))
    assert "saved" in run("doctor", "--fix", "--yes", "--deep").stdout
    run("distil")
    assert sorted(memory["text"] for memory in ask("memories", "--all-projects")["memories"]) == before
