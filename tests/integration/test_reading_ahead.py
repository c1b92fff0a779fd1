"""Several processes read, one commits: the store is the same as after reading alone, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.checks import account, assert_accounted, assert_indexed, assert_whole, keys
from tests.processes import COMMAND, ask

from howcome.app import open_app
from howcome.clients.discover import Found, entries
from howcome.domain.sources import SET_ASIDE
from howcome.errors import TranscriptError
from howcome.ingest import ahead
from howcome.ingest.ahead import ReadAhead
from howcome.ingest.pipeline import COSTLY_BYTES
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

COSTLY = "word " * (COSTLY_BYTES // 5)
CLOCKS = {"meta": {"created_ms"}, "projects": {"created_ms"}, "sources": {"read_ms"}, "marks": {"mark"},
          "quarantine": {"seen_ms"}}  # fmt: skip
"""What is another in every store: columns by their tables (of `meta` a row)."""

DYING = """
import os, pathlib, signal
from howcome.ingest.ahead import SendingIngester
from howcome.ingest.writer import Preparer
kept = Preparer.prepare
def prepare(self, event, order_ms):
    pathlib.Path(os.environ["BEGUN"]).touch()
    if "deadly" in event.text:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept(self, event, order_ms)
Preparer.prepare = prepare
from howcome.app.reader import main
main()
"""


def transcripts(folder: Path, count: int = 12, *, costly: int = 1) -> list[Path]:
    """Sessions of some size in several folders; a fork, so many times three costly records, broken lines."""
    found = []
    for number in range(count):
        claude = Claude(f"session-{number}", f"/gone/harbour{number % 3}")
        records = claude.conversation(40 + 7 * number, f"berth{number}x")
        if number % 4 == 1:
            records += [claude.user(f"{subject} {COSTLY}") for subject in ("ebb", "flow", "tide") * costly]
        found.append(write(folder / f"{number}.jsonl", *records, b"{broken\n", b'{"type":"user"'))
        os.utime(found[-1], (1_790_000_000 + number,) * 2)
    first = Claude("session-0", "/gone/harbour0")
    fork = [record | {"sessionId": "fork"} for record in first.conversation(40, "berth0x")]
    found.append(write(folder / "fork.jsonl", *fork, Claude("fork", start=900).user("and on from here")))
    return found


def all_rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything in the database of a store, but for clocks and what is drawn by lot."""
    store = SqliteStore(str(folder))
    tables = [name for (name,) in store.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = {}
    for table in tables:
        names = [row[1] for row in store.connection.execute(f"PRAGMA table_info({table})")]
        kept = ", ".join(f'"{name}"' for name in names if name not in CLOCKS.get(table, ()))
        rows[table] = list(store.connection.execute(f"SELECT {kept} FROM {table}"))  # noqa: S608 - names of the schema
    store.close()
    rows["meta"] = [row for row in rows["meta"] if row[0] not in CLOCKS["meta"]]
    return rows


def store_with_key(folder: Path) -> Path:
    """A new store, with the same key as every other one."""
    store = SqliteStore(str(folder))
    store.connection.execute("UPDATE meta SET value = ? WHERE name = 'key'", (b"k" * 32,))
    store.close()
    return folder


def import_into(folder: Path, *words: str | Path) -> dict[str, Any]:
    """What `howcome import` reports, and what it says beside it."""
    done = subprocess.run(
        [*COMMAND, "import", "--json", *map(str, words)], env={**os.environ, "HOWCOME_HOME": str(folder)},
        capture_output=True, check=False,
    )  # fmt: skip
    return {**json.loads(done.stdout), "stderr": done.stderr.decode(), "code": done.returncode}


def imported(folder: Path, *words: str | Path) -> dict[str, Any]:
    """What `howcome import` reports, but how long it took; it must succeed and say nothing beside it."""
    report = import_into(folder, *words)
    assert (report.pop("code"), report.pop("stderr")) == (0, "")
    del report["seconds"]
    return report


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Transcripts, and what one process makes of them: its report, and the rows of its store."""
    folder = tmp_path_factory.mktemp("alone")
    transcripts(folder / "transcripts")
    report = imported(store_with_key(folder / "one"), "--jobs", "1", folder / "transcripts")
    return folder / "transcripts", report, all_rows(folder / "one")


@pytest.mark.parametrize("jobs", ["2", "4"])
def test_the_store_is_the_same_as_of_one_process(
    jobs: str, alone: tuple[Path, dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    """Every row with its number, in every table; a second import finds nothing new; nobody is left."""
    folder, report, rows = alone
    many = store_with_key(tmp_path / "many")
    assert imported(many, "--jobs", jobs, folder) == report
    assert report["duplicate"] > 0
    assert report["quarantined"] > 0
    assert len(rows["events"]) == report["accepted"]
    assert all_rows(many) == rows
    assert import_into(many, "--jobs", jobs, folder)["bytes"] == 0
    again = import_into(many, "--jobs", jobs, "--again", folder)
    assert (again["accepted"], again["duplicate"]) == (0, report["accepted"] + report["duplicate"])
    store = SqliteStore(str(many))
    assert_accounted(store)
    assert_indexed(store)
    store.close()


def test_a_long_file_is_left_to_a_reader(tmp_path: Path, store: SqliteStore) -> None:
    """Whoever commits waits until one is ready; without any it reads the file itself."""
    assert not store.is_read_only
    claude = Claude()
    long = write(
        tmp_path / "long.jsonl", *(claude.user(f"{number} {COSTLY[: COSTLY_BYTES // 2]}") for number in range(70))
    )
    [found] = entries(str(long), "claude-code")
    for script, is_read in (("import howcome.app.reader as it; it.main()", True), ("raise SystemExit", False)):
        with ReadAhead([found], [sys.executable, "-c", script], 1, starts_over=False) as ahead:
            batches = ahead.batches(found.path)
            assert (batches is not None) == is_read
            assert sum(len(batch.records) for batch, _ in batches or ()) == (70 if is_read else 0)


def read_ahead(home: Path, found: list[Path], script: str, meanwhile: Callable[[], object] = dict) -> list[str]:
    """Reads files with readers that run a script; the problems."""
    problems = []
    with open_app(read_settings({"HOWCOME_HOME": str(home)})) as app:
        ingester, listed = app.ingest.ingester(), [one for path in found for one in entries(str(path), "claude-code")]
        with ReadAhead(listed, [sys.executable, "-c", script], 1, starts_over=False) as ahead, ingester.in_bulk():
            while not os.path.exists(os.environ["BEGUN"]):  # who has not begun is not waited for
                time.sleep(0.01)
            meanwhile()
            ingester.ahead = ahead.batches
            for one in listed:
                try:
                    app.ingest.file(one)
                except TranscriptError as error:
                    problems.append(str(error))
        ingester.ahead = None
        app.index.finish()
    return problems


@pytest.mark.parametrize("costly", [True, False])
def test_a_reader_that_dies_takes_one_file_with_it(
    costly: bool, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and its first part is there; the others are read; the next import reads on, but not in it again."""
    monkeypatch.setenv("HOWCOME_HOME", str(store_folder))
    monkeypatch.setenv("BEGUN", str(tmp_path / "begun"))
    folder = tmp_path / "transcripts"
    found = transcripts(folder, 5, costly=0)
    claude = Claude("deadly")
    before = claude.conversation(1500)
    deadly = write(tmp_path / "deadly.jsonl", *before, claude.user("deadly " + (COSTLY if costly else "")))
    problems = read_ahead(store_folder, [*found[:2], deadly, *found[2:]], DYING)
    assert len(problems) == 1
    assert str(deadly) in problems[0]
    report = ask("import", "--jobs", "1", folder)
    assert report["bytes"] == 0
    report = ask("import", "--jobs", "1", deadly)
    assert (0 < report["accepted"] < len(before), report["quarantined"]) == (not costly, costly)
    store = SqliteStore(str(store_folder))
    assert store.quarantine.reasons() == {"not-json": 5, "torn": 5, **({SET_ASIDE: 1} if costly else {})}
    assert_accounted(store)
    store.close()


def test_what_another_process_read_meanwhile_is_read_once(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a reader made of it before comes too late; the files behind it are read as ever."""
    monkeypatch.setenv("HOWCOME_HOME", str(store_folder))
    monkeypatch.setenv("BEGUN", str(tmp_path / "begun"))
    long = write(tmp_path / "long.jsonl", *Claude("long").conversation(1500))
    found = [long, *transcripts(tmp_path / "others", 3, costly=0)]
    assert read_ahead(store_folder, found, DYING, lambda: ask("import", "--jobs", "1", long)) == []
    store = SqliteStore(str(store_folder))
    for path in found:
        assert_whole(store, path)
    assert account(store, long)["duplicate"] == 0
    assert_indexed(store)
    store.close()


def readers() -> list[int]:
    """The readers that are there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"howcome.app.reader" in words:
            found.append(int(pid))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_who_ends_the_import_leaves_no_reader(number: int, tmp_path: Path, store_folder: Path) -> None:
    """An interrupt, or a kill of the one process that commits: the readers end, and the next import misses nothing."""
    folder = tmp_path / "transcripts"
    transcripts(folder, costly=2)
    others = set(readers())
    words = [*COMMAND, "import", "--json", "--jobs", "3", str(folder)]
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not (set(readers()) - others) and time.monotonic() < end and started.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    started.send_signal(number)
    assert started.wait(30) != 0
    while (left := set(readers()) - others) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left
    ask("import", "--retry-set-aside", folder)  # who was killed may have been at a costly record itself
    fresh = tmp_path / "fresh"
    store = SqliteStore(str(store_folder))
    other = SqliteStore(str(fresh))
    other.connection.execute("UPDATE meta SET value = ? WHERE name = 'key'", (store.meta("key"),))
    other.close()
    import_into(fresh, "--jobs", "1", folder)
    other = SqliteStore(str(fresh))
    assert keys(store) == keys(other)
    assert_accounted(store)
    store.close()
    other.close()


def test_a_reader_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be at a call that no signal ends; nobody waits for it much longer than its time to end."""
    monkeypatch.setattr(ahead, "END_WAIT_S", 0.5)
    [path] = transcripts(tmp_path / "transcripts", 1)[:1]
    deaf = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    found = [Found(str(path), "claude-code", path.stat().st_size, path.stat().st_mtime_ns)]
    began = time.monotonic()
    with ahead.ReadAhead(found, [sys.executable, "-c", deaf], 1, starts_over=False):
        time.sleep(1)
    assert time.monotonic() - began < 10
