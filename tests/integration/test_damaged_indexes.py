"""Damaged files of what is derived: everybody survives them, says which they are, and the next pass makes them anew.

`HOWCOME_TEST_FLIPS=500` tries so many bytes instead of a sample.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.builders import Claude, write
from tests.hashing import HashingEmbedder
from tests.processes import LIMIT_S, answer_of, ask, assert_silent, failures, hook, payload, run

from howcome.app import open_app
from howcome.cli.group import cli
from howcome.clients import spool
from howcome.doctor import storage
from howcome.doctor.base import Machine
from howcome.doctor.report import examine
from howcome.domain.stored import Scope
from howcome.memory.remember import Memories
from howcome.present.patience import Patience
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp

FLIPS = int(os.environ.get("HOWCOME_TEST_FLIPS", "24"))
PARTS = 4
CHECKS = (storage.check_store, storage.check_integrity, storage.check_index)
WORDS = ("berth1", "why does lantern2 fail?", "pilots call")

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with several segments and replaced documents in each index, memories, and vectors."""
    folder, claude = tmp_path_factory.mktemp("whole") / "store", Claude("one")
    settings = read_settings({"HOWCOME_HOME": str(folder), "HOWCOME_EMBEDDING": "off"})
    path = folder.parent / "one.jsonl"
    for subject in ("berth", "lantern", "quay", "mole"):
        write(path, *claude.conversation(3, subject), append=True)
        with open_app(settings, embedder=HashingEmbedder()) as app:
            app.ingest.ingester().ingest_file(str(path), "claude-code")
            app.index.catch_up()
            app.index.embed()
    with open_app(settings) as app:
        memories = Memories(app.store, lambda: 1_790_000_000_000)
        first = memories.add("pilots call at six", project=None)[0]
        memories.add("berths are dredged in May", project=None)
        memories.forget(first.id)
        memories.restore(first.id)
    with closing(sqlite3.connect(folder / "howcome.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
def copied(whole: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That store as the test's own."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "off")  # new memories would be answers, too
    return Path(shutil.copytree(whole, store_folder))


def answers() -> list[set[str]]:
    """What a search finds, with every part of the indexes: words and meaning.

    An index that grew counts what it replaced until it is merged: scores differ a little from one that was made anew.
    """
    with open_app(read_settings(os.environ), embedder=HashingEmbedder()) as app:
        app.index.embed()
        found = [app.search.find(Question(words, Scope.everything(), limit=20)) for words in WORDS]
        assert app.store.index.lag() == 0
        return [{item.id for item in each} for each in found]


def hear(number: int) -> None:
    """A prompt's hook: valid JSON or nothing, and no other word."""
    data = payload("UserPromptSubmit", Path("/gone.jsonl"), f"asking-{number}", prompt="why does berth1 fail again?")
    answer_of("UserPromptSubmit", hook("UserPromptSubmit", data))


def look() -> None:
    """Commands: an answer, or one line that says what is wrong."""
    for words in (["search", "--all-projects", "why does lantern2 fail?"], ["status", "--json"]):
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0 or type(done.exception).__name__ == "IndexDamagedError", (words, done.exc_info)
    machine = Machine(os.environ)
    try:
        assert all("could not run" not in finding.what for finding in examine(machine, CHECKS))
    finally:
        machine.close()


def heal(number: int) -> None:
    """The next pass: an import, or the worker's."""
    if number % 2:
        assert CliRunner().invoke(cli, ["import", "--json"]).exit_code == 0
    else:
        CatchUp(read_settings(os.environ), Patience()).scan()


@pytest.mark.parametrize("part", range(PARTS))
def test_any_flipped_byte_is_survived_and_healed(part: int, whole: Path, copied: Path) -> None:
    """Every file of the indexes and the vectors, a byte of it anywhere."""
    expected = answers()
    assert all(expected)
    files = sorted(path.relative_to(whole) for path in (whole / "index").rglob("*") if path.is_file())
    files = [path for path in files if (whole / path).stat().st_size]
    chance = random.Random(part)
    for number in range(FLIPS // PARTS):
        copied.rename(copied.with_name(f"past-{number}"))  # a watcher of the binding's may still write there
        shutil.copytree(whole, copied)
        path = copied / chance.choice(files)
        data = bytearray(path.read_bytes())
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        data[place] ^= 1 << bit
        path.write_bytes(data)
        told = (path.name, place, bit)
        hear(number)
        if chance.random() < 0.5:  # else the pass is the first to see it
            look()
        heal(number)
        assert answers() == expected, told


@pytest.mark.parametrize("how", ["cut", "emptied", "gone"])
@pytest.mark.parametrize("pattern", ["lexical-*/*/*/events/*.store", "lexical-*/*/*/exchanges/*.idx", "vectors-*/*s-*"])
def test_files_that_are_cut_or_gone_are_made_anew(how: str, pattern: str, whole: Path, copied: Path) -> None:
    """A full disk, a copy that was interrupted, somebody who tidied up."""
    expected = answers()
    copied.rename(copied.with_name("past"))  # the binding may have its files mapped: cutting ends us
    shutil.copytree(whole, copied)
    path = max((copied / "index").glob(pattern), key=lambda path: path.stat().st_size)
    if how == "gone":
        path.unlink()
    else:
        os.truncate(path, 0 if how == "emptied" else path.stat().st_size // 2)
    hear(1)
    look()
    heal(len(how))
    assert answers() == expected


def test_what_a_killed_writer_left_is_in_nobodys_way(copied: Path, tmp_path: Path) -> None:
    """A file of deletions with the number of the commit that never was, parts of files, an index put aside."""
    expected = answers()
    index = copied / "index"
    left = []
    for folder in index.glob("lexical-*/*/*/e*"):
        meta = json.loads((folder / "meta.json").read_text())
        for segment in meta["segments"]:
            name = segment["segment_id"].replace("-", "")
            left += [folder / f"{name}.{number}.del" for number in range(meta["opstamp"] + 1, meta["opstamp"] + 60)]
        left += [folder / ".tmpAbC123", folder / f"{'ab' * 16}.store"]
    aside = index / "lexical-2-damaged-1"
    aside.mkdir()
    left = [path for path in left if not path.exists()]
    for path in left:
        path.write_bytes(b"half")
        os.utime(path, (0, 0))  # a new one may be another process's
    path = write(tmp_path / "two.jsonl", *Claude("two", start=5000).conversation(1, "sluice"))
    for _ in range(2):
        done = run("import", path)
        assert (done.returncode, done.stderr) == (0, "")
    assert not [path for path in left if path.exists()]
    assert ask("search", "--all-projects", "sluice0")["results"]
    assert len(answers()[0]) >= len(expected[0])


def test_the_worker_goes_on(copied: Path) -> None:
    """Its pass makes the index anew, whatever the binding does with it."""
    expected = answers()
    for path in (copied / "index").glob("lexical-*/**/*.fast"):
        path.write_bytes(path.read_bytes()[::-1])
    catch_up = CatchUp(read_settings(os.environ), Patience())
    catch_up.scan()
    assert answers() == expected


TEXT = b"\xff\xfe not \xc3 text"


def test_texts_that_are_no_utf8_hide_nothing_else(past: Path, store_folder: Path) -> None:
    """A row whose bytes do not decode comes with marks in their place; the rows beside it are as they were."""
    with closing(sqlite3.connect(store_folder / "howcome.db")) as database:
        first = database.execute("SELECT id FROM events WHERE kind < 2 ORDER BY id LIMIT 2").fetchall()
        changed = [(TEXT, row) for (row,) in first]
        database.executemany("UPDATE events SET excerpt = CAST(? AS TEXT) WHERE id = ?", changed)
        database.commit()
    data = payload("UserPromptSubmit", past, "x", prompt="berth0 or berth1?")
    answer_of("UserPromptSubmit", hook("UserPromptSubmit", data))
    for words in (["search", "berth0"], ["search", "berth2"], ["timeline", "earlier"], ["status"], ["import"]):
        done = run(*words, *(["--all-projects"] if words[0] == "search" else []))
        assert (done.returncode, done.stderr) == (0, ""), words
    assert "\ufffd" in run("timeline", "earlier").stdout
    with closing(SqliteStore(str(store_folder))) as store:
        store.index.rebuild()
        store.index.release()
        assert store.index.lag() == 0
    assert not failures(store_folder)


def test_a_spool_with_garbage_gives_what_is_whole(store_folder: Path) -> None:
    """Lines that are nothing, a batch of a killed mover, half a file: the observations between them are stored."""
    said = {"agent": "cursor", "session_id": "s", "cwd": "/x", "text": "the harbour plan"}
    done = subprocess.run(
        [sys.executable, "-m", "howcome", "observe"], input=json.dumps(said).encode(), capture_output=True,
        check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = store_folder / "spool"
    live = folder / "observations.jsonl"
    live.write_bytes(b"\x00\xff\n{\n[]\n" + live.read_bytes() + b'{"agent": "cur')
    batch = folder / "batch-1772442000000-0badcafe.jsonl"
    batch.write_text(json.dumps({**said, "text": "the second plan", "id": "2", "ts_ms": 1}) + "\nnull\n")
    part = folder / "batch-1772442000000-0badcafe.jsonl.part"
    part.write_bytes(b"half")
    assert_silent(hook("SessionStart", payload("SessionStart", Path("/gone.jsonl"), "s", source="startup")))
    assert not part.exists()
    assert (spool.spool_counts(str(store_folder))["waiting"], spool.spool_counts(str(store_folder))["dead"]) == (0, 5)
    with closing(SqliteStore(str(store_folder))) as store:
        assert store.accounts.counts()["events"] == 2
    assert run("status").returncode == 0


@pytest.mark.parametrize("kept", range(-24, 0, 6))
def test_no_store_of_a_segment_ends_the_process(kept: int, copied: Path) -> None:
    """The binding allocates what a damaged length says, and aborts: nobody can catch that, so it is told before."""
    for path in (copied / "index").rglob("*.store"):
        data = path.read_bytes()
        path.write_bytes(data[:kept] + bytes(-kept))
    hear(1)
    done = run("search", "--all-projects", "why does lantern2 fail?")
    assert done.returncode in (0, 1), done.stderr
    assert run("import", "--json").returncode == 0
    assert "lantern2" in run("search", "--all-projects", "why does lantern2 fail?").stdout
