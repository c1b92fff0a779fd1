"""Backups: a whole copy on demand, what no transcript holds every day; each is read back, and can be put back."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.processes import COMMAND, LIMIT_S, WITH_LIMIT, ask, assert_silent, failures, hook, payload, python, run

from howcome.memory.backup import KEPT, back_up_memories, newest_backup
from howcome.store.sqlite import SqliteStore
from howcome.store.sqlite_salvage import damage

pytestmark = pytest.mark.timeout(300)  # seconds, on a machine that is busy with something else
DAY_MS = 24 * 3600 * 1000
NOW_MS = 1_790_000_000_000
WORDS = "the berth counter is zero based"


@pytest.fixture(autouse=True)
def without_briefing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins a session says nothing here."""
    monkeypatch.setenv("HOWCOME_BRIEFING_TOKENS", "0")


def backups(store_folder: Path, kind: str) -> list[Path]:
    """The backups of a kind, oldest first."""
    return sorted((store_folder / "backups").glob(f"{kind}-*"))


def memories() -> dict[str, str]:
    """The texts of live memories, by id."""
    return {memory["id"]: memory["text"] for memory in ask("memories", "--all-projects")["memories"]}


@pytest.mark.usefixtures("past")
def test_a_whole_copy_can_be_put_back(tmp_path: Path, store_folder: Path) -> None:
    """As it was, with everything searchable; what was there before is kept, and later sessions are read again."""
    ask("remember", WORDS)
    file = tmp_path / "copy.db"
    report = ask("backup", str(file))
    assert report["size_bytes"] == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not damage(str(file))
    assert sorted(found.name for found in tmp_path.iterdir() if "copy" in found.name) == ["copy.db"]
    [first] = memories()
    later = write(tmp_path / "later.jsonl", *Claude("later").conversation(6, "crane"))
    ask("import", later)
    ask("forget", first)
    ask("remember", "the pier is closed on Mondays")
    done = ask("backup", "--restore", str(file), "--yes")
    assert memories() == {first: WORDS}
    assert "berth3" in run("search", "--all-projects", "why does berth3 fail").stdout
    assert "crane3" not in run("search", "--all-projects", "why does crane3 fail").stdout
    kept = SqliteStore(done["aside"])
    assert kept.accounts.counts()["events"] == 60
    kept.close()
    ask("import", later)
    assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout
    assert run("doctor").stdout.count("error    index") == 0
    assert store_folder.exists()


@pytest.mark.usefixtures("past")
def test_without_a_name_it_is_a_new_file_of_ours(store_folder: Path) -> None:
    """In the store's own folder, private, and taken away with it."""
    file = Path(ask("backup")["file"])
    assert file.parent == store_folder / "backups"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert run("uninstall", "--purge", "--yes").returncode == 0
    assert not store_folder.exists()


@pytest.mark.usefixtures("past")
def test_what_is_no_backup_changes_nothing(tmp_path: Path, store_folder: Path) -> None:
    """Rubbish, another program's database, a damaged copy, a newer version: refused with the reason."""
    before = (store_folder / "howcome.db").read_bytes()
    good = tmp_path / "good.db"
    ask("backup", str(good))
    (tmp_path / "rubbish.db").write_bytes(b"no database at all" * 1000)
    (tmp_path / "empty.db").write_bytes(b"")
    torn = bytearray(good.read_bytes())
    torn[8192:12288] = os.urandom(4096)
    (tmp_path / "torn.db").write_bytes(torn)
    for name in ("rubbish", "empty", "torn", "missing"):
        done = run("backup", "--restore", tmp_path / f"{name}.db", "--yes")
        assert done.returncode == 2, (name, done.stderr)
        assert "Traceback" not in done.stderr
        assert (store_folder / "howcome.db").read_bytes() == before
    words = [*COMMAND, "backup", "--restore", str(good)]
    said_no = subprocess.run(words, input="n\n", capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert said_no.returncode == 1
    assert (store_folder / "howcome.db").read_bytes() == before
    assert run("backup", good).returncode == 2
    assert "its folder is not there" in run("backup", tmp_path / "gone" / "x.db").stderr
    assert not (store_folder / "replaced").exists() or not list((store_folder / "replaced").iterdir())


@pytest.mark.usefixtures("past")
def test_what_was_purged_since_stays_purged(tmp_path: Path) -> None:
    """No backup brings back what somebody had erased."""
    ask("remember", WORDS)
    ask("backup", str(tmp_path / "copy.db"))
    [first] = memories()
    run("purge", first, "--yes")
    done = ask("backup", "--restore", str(tmp_path / "copy.db"), "--yes")
    assert done["purged_again"] == [first]
    assert memories() == {}


@pytest.mark.usefixtures("past")
def test_a_backup_that_finds_no_room_leaves_nothing(tmp_path: Path, store_folder: Path) -> None:
    """The reason is said; there is no half of a file, and the store goes on."""
    before = python(WITH_LIMIT, "RLIMIT_FSIZE", "40000")
    done = run("backup", tmp_path / "copy.db", before=before)
    assert done.returncode == 1
    assert "`ulimit -f`" in done.stderr
    assert not list(tmp_path.glob("copy*"))
    assert store_folder.exists()


def test_once_a_day_what_no_transcript_holds_is_written(past: Path, store_folder: Path) -> None:
    """By the hook that begins a session: memories with what became of them, stones, the settings; 0600; once."""
    (store_folder / "config.toml").write_text("recall_chars = 3000\n")
    for text in (WORDS, "the pier is closed on Mondays", "the crane needs two keys"):
        ask("remember", text)
    first, second, third = sorted(memories(), key=lambda key: memories()[key])
    ask("forget", first)
    ask("memories", "--pin", second)
    run("purge", third, "--yes")
    assert_silent(hook("SessionStart", payload("SessionStart", past, "new", source="startup")))
    [file], [config] = backups(store_folder, "memories"), backups(store_folder, "config")
    assert config.read_text() == "recall_chars = 3000\n"
    assert {stat.S_IMODE(found.stat().st_mode) for found in (file, config)} == {0o600}
    head, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert head["howcome"] == "memories"
    by_id = {line["id"]: line for line in lines}
    assert by_id[first]["deleted_ms"]
    assert by_id[second]["pinned_ms"]
    assert by_id[third]["purged_ms"]
    assert "text" not in by_id[third]
    written = file.stat().st_mtime_ns
    assert_silent(hook("SessionStart", payload("SessionStart", past, "new", source="startup")))
    assert file.stat().st_mtime_ns == written
    assert failures(store_folder) == []
    assert "config-" not in run("doctor").stdout


def test_a_lost_store_comes_back_from_the_last_one(past: Path, store_folder: Path, home: Path) -> None:
    """The database is rubbish: the doctor takes memories from the backup, forgotten ones too, and the rest is read."""
    write(home / ".claude" / "projects" / "-x" / "a.jsonl", *Claude("earlier").conversation(6))
    for text in (WORDS, "the pier is closed on Mondays"):
        ask("remember", text)
    first, second = sorted(memories(), key=lambda key: memories()[key])
    ask("forget", first)
    assert_silent(hook("SessionStart", payload("SessionStart", past, "new", source="startup")))
    (store_folder / "howcome.db").write_bytes(b"no database at all" * 1000)
    said = run("doctor", "--fix", "--yes").stdout
    assert "2 memories came from the last backup" in said
    assert list(memories()) == [second]
    ask("restore", first)
    assert "berth3" in run("search", "--all-projects", "why does berth3 fail").stdout


def test_only_the_last_states_are_kept(store: SqliteStore, store_folder: Path) -> None:
    """Seven different ones; a day on which nothing changed takes no new file, so an empty store ends no old one."""
    for day in range(KEPT + 3):
        store.connection.execute(
            "INSERT INTO memories (key, change, digest, type, text, origin, status, created_ms)"
            " VALUES (randomblob(16), ?1, randomblob(16), 'decision', 'words of day ' || ?1, 0, 'open', 1)", (day + 1,)
        )  # fmt: skip
        assert back_up_memories(store, str(store_folder), NOW_MS + day * DAY_MS)
        assert not back_up_memories(store, str(store_folder), NOW_MS + day * DAY_MS + 1)
    kept = backups(store_folder, "memories")
    assert len(kept) == KEPT
    for day in range(KEPT + 3, 3 * KEPT):
        back_up_memories(store, str(store_folder), NOW_MS + day * DAY_MS)
    assert backups(store_folder, "memories")[:-1] == kept[:-1]
    newest = newest_backup(str(store_folder))
    assert newest is not None
    assert time.strftime("%Y-%m-%d", time.gmtime((NOW_MS + (3 * KEPT - 1) * DAY_MS) / 1000)) in newest


@pytest.mark.usefixtures("past")
def test_the_doctor_says_when_no_backup_is_written(store_folder: Path) -> None:
    """For days, although something was kept: a folder that cannot be written, no session since."""
    ask("remember", WORDS)
    assert " backup " not in run("doctor").stdout
    store = SqliteStore(str(store_folder))
    store.connection.execute("UPDATE memories SET created_ms = created_ms - ?", (5 * DAY_MS,))
    store.close()
    assert "in no backup" in run("doctor").stdout
    assert "wrote today's backup" in run("doctor", "--fix").stdout
    assert " backup " not in run("doctor").stdout
    assert len(backups(store_folder, "memories")) == 1


def test_a_purge_reaches_the_backups(past: Path, store_folder: Path) -> None:
    """Of an erased memory a backup keeps a stone, as the rows do; the purge finds nothing left anywhere."""
    ask("remember", "the harbour master is called Ottoline")
    assert_silent(hook("SessionStart", payload("SessionStart", past, "new", source="startup")))
    [file] = backups(store_folder, "memories")
    assert "Ottoline" in file.read_text()
    [memory] = memories()
    done = run("purge", memory, "--yes")
    assert (done.returncode, "nowhere" in done.stdout) == (0, True), done.stdout
    assert "Ottoline" not in file.read_text()
    assert memory in file.read_text()
    assert ask("import-memories", str(file))["added"] == 0


WRITER = """
import sys, time
from howcome.errors import StoreLockedError
from howcome.store.sqlite import SqliteStore
end, opened = time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    try:
        store = SqliteStore(sys.argv[1], busy_ms=20_000, create=False)
    except StoreLockedError:
        continue
    store.injections.record(f"session {opened}", "Stop", 1, [(1, 0.5)])
    assert store.connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    store.close()
    opened += 1
print(opened)
"""


@pytest.mark.usefixtures("past")
def test_a_database_is_replaced_while_others_come_and_go(tmp_path: Path, store_folder: Path) -> None:
    """Four processes open, write and close it all the time: nobody meets half of one, and none is damaged."""
    file = str(tmp_path / "copy.db")
    ask("backup", file)
    writers = [
        subprocess.Popen(python(WRITER, store_folder, "6"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    restored = 0
    while any(writer.poll() is None for writer in writers):
        done = run("backup", "--restore", file, "--yes")
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        restored += done.returncode == 0
    for writer in writers:
        out, error = writer.communicate()
        assert writer.returncode == 0, error.decode()[-2000:]
        assert int(out) > 0
    assert restored
    kept = [found / "howcome.db" for found in (store_folder / "replaced").iterdir()]
    assert len(kept) == restored
    assert [damage(str(found)) for found in (store_folder / "howcome.db", *kept)] == [""] * (restored + 1)
