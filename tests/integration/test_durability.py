"""Killed, crowded, locked out, without a disk: nothing is lost, nothing is there twice, nobody is told off.

HOWCOME_TEST_KILLS (default 8) is the number of kills, HOWCOME_TEST_SECONDS (default 3) how long eight processes
share a store.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, assert_indexed, keys, memberships
from tests.hostile.scale import of
from tests.processes import (
    COMMAND,
    HOOK,
    WITH_SMALL_FILES,
    WITHOUT_OVERRIDE,
    ask,
    assert_silent,
    failures,
    hook,
    payload,
    python,
    run,
    started_hook,
)

from howcome.store.sqlite import SqliteStore

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
KILLS = int(os.environ.get("HOWCOME_TEST_KILLS", "8"))
SECONDS = float(os.environ.get("HOWCOME_TEST_SECONDS", "3"))
PROCESSES = 8
OPENERS = 20


def assert_equals_uninterrupted(folder: Path, transcripts: Path, aside: Path) -> None:
    """The store holds what one undisturbed import into a store with the same key holds."""
    store, other = SqliteStore(str(folder)), SqliteStore(str(aside))
    other.connection.execute("UPDATE meta SET value = ? WHERE name = 'key'", (store.meta("key"),))
    other.close()
    done = subprocess.run(
        [*COMMAND, "import", transcripts, "--json"], env={**os.environ, "HOWCOME_HOME": str(aside)},
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stderr == b""
    other = SqliteStore(str(aside))
    assert keys(store) == keys(other)
    assert memberships(store) == memberships(other)
    assert_accounted(store)
    assert_indexed(store)
    store.close()
    other.close()


def test_kills_at_any_instant_lose_and_double_nothing(tmp_path: Path, store_folder: Path) -> None:
    """Imports and Stop hooks over growing files, each killed at a random instant; then one clean pass."""
    transcripts, choice = tmp_path / "transcripts", random.Random(20261005)
    sessions = [Claude(f"session-{number}", f"/gone/harbour{number}") for number in range(3)]
    fork = Claude("session-fork")
    write(
        transcripts / "fork.jsonl", *[record | {"sessionId": fork.session} for record in sessions[0].conversation(50)]
    )
    sessions[0].number = 0
    for number in range(KILLS):
        claude = choice.choice(sessions)
        path = write(transcripts / f"{claude.session}.jsonl", *claude.conversation(250, f"kill{number}x"), append=True)
        is_hook = choice.random() < 0.4
        jobs = str(1 + number % 3)
        words = [*HOOK, "Stop"] if is_hook else [*COMMAND, "import", str(transcripts), "--json", "--jobs", jobs]
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            started.communicate(payload("Stop", path, claude.session), timeout=choice.uniform(0.05, 0.9))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    report = ask("import", transcripts)
    assert report["files"] == len(list(transcripts.iterdir()))
    assert_equals_uninterrupted(store_folder, transcripts, tmp_path / "aside")


WORKER = """
import os, sys, time
from howcome.app import open_app
from howcome.clients.discover import Found
from howcome.domain.stored import Scope
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from tests.builders import Claude, write
from pathlib import Path
number, folder, seconds = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
claude, shared, end = Claude(f"worker-{number}"), folder / "shared.jsonl", time.monotonic() + seconds
rounds = 0
with open_app(read_settings(os.environ)) as app:
    while not rounds or time.monotonic() < end:
        own = write(folder / f"{claude.session}.jsonl", *claude.exchange(f"crane{number}y{rounds}"), append=True)
        for path in (own, shared):
            app.ingest.file(Found(str(path), "claude-code", 0, 0))
        app.index.catch_up()
        app.store.index.release()
        app.search.find(Question("why does crane fail", Scope.everything(), limit=5))
        app.search.recall("why does crane fail?", cwd=claude.cwd, session="other", recent=lambda: "")
        app.store.injections.record("other", "UserPromptSubmit", 1, [(1, 0.5)])
        rounds += 1
"""


def test_eight_processes_share_a_store(tmp_path: Path, store_folder: Path) -> None:
    """Ingesting, indexing, searching and answering at once: no error reaches anybody, nothing is lost or doubled."""
    transcripts = tmp_path / "transcripts"
    shared = write(transcripts / "shared.jsonl", *Claude("shared").conversation(100))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    workers = [
        subprocess.Popen(
            python(WORKER, str(number), transcripts, str(SECONDS)), env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(PROCESSES - 2)
    ]  # fmt: skip
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert_silent(hook("Stop", payload("Stop", shared, "shared")))
        done = run("search", "--all-projects", "why does crane fail", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        hook("UserPromptSubmit", payload("UserPromptSubmit", shared, "shared", prompt="why does berth7 fail?"))
    for worker in workers:
        out, error = worker.communicate(timeout=60 + SECONDS)
        assert (worker.returncode, out, error) == (0, b"", b""), error.decode()[-3000:]
    assert not [line for line in failures(store_folder) if "Stop" in line]
    ask("import", transcripts)
    assert_equals_uninterrupted(store_folder, transcripts, tmp_path / "aside")


OPENER = """
import os, sys
from howcome.app import open_app
from howcome.clients.discover import Found
from howcome.settings import read_settings
settings = read_settings(os.environ)
print("ready", flush=True)
sys.stdin.read()
with open_app(settings) as app:
    app.ingest.file(Found(sys.argv[1], "claude-code", 0, 0))
    app.index.catch_up()
"""


def test_twenty_processes_make_a_store_at_once(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them open a store that is not there at the same moment: each succeeds, and it is one store."""
    path = write(tmp_path / "a.jsonl", *Claude().conversation(20))
    for number in range(of(1, 2)):
        folder = store_folder / str(number)
        monkeypatch.setenv("HOWCOME_HOME", str(folder))
        openers = [
            subprocess.Popen(
                python(OPENER, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for _ in range(OPENERS)
        ]
        for opener in openers:
            assert opener.stdout is not None
            assert opener.stdout.readline() == b"ready\n"
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.close()
            opener.stdin = None
        for opener in openers:
            _, error = opener.communicate(timeout=60)
            assert (opener.returncode, error) == (0, b""), error.decode()[-3000:]
        store = SqliteStore(str(folder))
        assert store.accounts.counts()["events"] == 100
        assert_accounted(store)
        assert_indexed(store)
        store.close()


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_store_is_waited_for_within_the_deadline(
    lock: str, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the store for longer than a hook may take: silence, and the next pass reads it all."""
    for name in ("INGEST", "PROMPT"):
        monkeypatch.setenv(f"HOWCOME_{name}_DEADLINE_MS", "700")
    path = write(tmp_path / "a.jsonl", *Claude().conversation(5))
    SqliteStore(str(store_folder)).close()
    with contextlib.closing(sqlite3.connect(store_folder / "howcome.db", isolation_level=None)) as holder:
        if lock == "EXCLUSIVE":
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN IMMEDIATE")
        holder.execute("INSERT INTO meta VALUES ('held', 1)")
        assert_silent(hook("Stop", payload("Stop", path, Claude().session)))  # the lock is held all the while
        prompt = payload("UserPromptSubmit", path, Claude().session, prompt="why does berth1 fail?")
        assert_silent(hook("UserPromptSubmit", prompt))
        holder.execute("ROLLBACK")
    monkeypatch.setenv("HOWCOME_INGEST_DEADLINE_MS", "20000")
    assert_silent(hook("Stop", payload("Stop", path, Claude().session)))
    store = SqliteStore(str(store_folder))
    assert store.accounts.counts()["events"] == 25
    assert_accounted(store)
    store.close()


@pytest.mark.parametrize("has_log", [False, True], ids=["clean", "with an orphaned log"])
def test_a_store_that_cannot_be_written_is_still_searched(has_log: bool, tmp_path: Path, store_folder: Path) -> None:
    """No right to write: search and prompts answer from what is there, capture is silent, import says why."""
    path = write(tmp_path / "a.jsonl", *Claude().conversation(5))
    ask("import", path)
    if has_log:  # as a crash leaves it: a log, but no shared memory to read it with
        store = SqliteStore(str(store_folder))
        store.connection.execute("INSERT INTO meta VALUES ('late', 1)")
        shutil.copytree(store_folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm"))
        store.close()
        shutil.rmtree(store_folder)
        (tmp_path / "copy").rename(store_folder)
    folders = [store_folder, *(found for found in store_folder.rglob("*") if found.is_dir())]
    for found in store_folder.rglob("*"):
        if found.is_file():
            found.chmod(0o400)
    for folder in folders:
        folder.chmod(0o500)
    before = python(WITHOUT_OVERRIDE)
    try:
        done = run("search", "--all-projects", "why does berth3 fail", "--json", before=before)
        assert (done.returncode, done.stderr) == (0, "")
        assert "berth3" in done.stdout
        prompt = payload("UserPromptSubmit", path, "another", prompt="why does berth3 fail again?")
        answer = started_hook("UserPromptSubmit", prompt, before=before)
        assert (answer.returncode, answer.stderr) == (0, b"")
        assert b"berth3" in answer.stdout
        write(path, *Claude(start=400).conversation(1), append=True)
        assert_silent(started_hook("Stop", payload("Stop", path, Claude().session), before=before))
        refused = run("import", path, before=before)
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
        assert refused.stderr.startswith("howcome: ")
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_a_full_disk_loses_nothing(tmp_path: Path, store_folder: Path) -> None:
    """No file can grow beyond a limit, at many limits: no traceback, hooks silent; with room again all is there."""
    transcripts = tmp_path / "transcripts"
    path = write(transcripts / "a.jsonl", *Claude().conversation(400))
    data = payload("Stop", path, Claude().session)
    for limit in (0, 2000, 40_000, 150_000, 300_000, 600_000, 900_000):
        before = python(WITH_SMALL_FILES, str(limit))
        done = run("import", transcripts, before=before)
        assert "Traceback" not in done.stderr, (limit, done.stderr[-3000:])
        assert done.returncode in (0, 1), (limit, done.stderr)
        assert_silent(started_hook("Stop", data, before=before))
        write(path, *Claude(start=10_000 + limit).conversation(20, f"full{limit}x"), append=True)
    ask("import", transcripts)
    assert_equals_uninterrupted(store_folder, transcripts, tmp_path / "aside")


def test_a_failed_commit_leaves_the_store_fit_for_the_next(tmp_path: Path, store_folder: Path) -> None:
    """When the commit itself fails, nothing of the batch stays behind, and the same open store takes it again."""
    script = """
import resource, sys
from pathlib import Path
from howcome.errors import StoreError
from howcome.store.sqlite import SqliteStore
from tests.checks import assert_accounted
from tests.conftest import Ingest
store = SqliteStore(sys.argv[1])
ingest, failures = Ingest(store), 0
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for limit in range(4096, 1 << 20, 60_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        ingest(Path(sys.argv[2]))
    except StoreError:
        failures += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
ingest(Path(sys.argv[2]))
assert failures, "the limit was never felt"
assert store.accounts.counts()["events"] == 1500, store.accounts.counts()
assert_accounted(store)
"""
    path = write(tmp_path / "a.jsonl", *Claude().conversation(300))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        python(script, store_folder, path), env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
