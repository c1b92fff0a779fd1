"""The worker: one server on the machine does what no hook has the time for, in nobody's way, and ends when told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, assert_indexed, timeline
from tests.histories import OpenCode
from tests.processes import WITHOUT_OVERRIDE, assert_silent, failures, hook, payload, python
from tests.repositories import build, edges, git, write_tree
from tests.warm import LIMIT_S, end, eventually, holder, server, socket_of, wait_until_it_knows, works

from howcome.clients import spool
from howcome.hooks.warm_server import WarmServer
from howcome.present.patience import Patience
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp
from howcome.worker.thread import take_lock, worker_state

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else


@pytest.fixture
def transcripts(home: Path) -> Path:
    """The folder of one project's transcripts."""
    return home / ".claude" / "projects" / "-home-mara-harbour"


def events_in(folder: Path) -> int:
    """How many events a store holds; 0 as long as there is none."""
    if not (folder / "howcome.db").exists():
        return 0
    with closing(sqlite3.connect(f"file:{folder / 'howcome.db'}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])
        except sqlite3.OperationalError:  # it is just being made
            return 0


def lag_of(folder: Path) -> int:
    """How many rows are not searchable yet."""
    store = SqliteStore(str(folder))
    try:
        return store.index.lag()
    finally:
        store.close()


def test_it_reads_what_no_hook_saw_and_what_comes_later(transcripts: Path, store_folder: Path) -> None:
    """Unread transcripts are read, indexed and read on as they grow; one that cannot be read stops no other."""
    claude = Claude("one")
    path = write(transcripts / "one.jsonl", *claude.conversation(3))
    write(transcripts / "cut.jsonl.gz", b"").write_bytes(b"\x1f\x8b\x08\x00 cut")
    (transcripts / "loop.jsonl").symlink_to(path)
    with server() as process:
        eventually(lambda: events_in(store_folder) == 15)
        write(path, *claude.conversation(1, "tide"), append=True)
        write(transcripts / "two.jsonl", *Claude("two").conversation(1))
        eventually(lambda: events_in(store_folder) == 25 and lag_of(store_folder) == 0)
        assert end(process)
    store = SqliteStore(str(store_folder))
    assert len(timeline(store, "one")) == 20
    assert_indexed(store)
    assert_accounted(store)
    store.close()
    assert not (store_folder / "hook-errors.log").exists()


@pytest.mark.parametrize("is_new", [False, True])
def test_what_a_session_says_in_mid_turn_is_found_within_three_seconds(
    transcripts: Path, store_folder: Path, *, is_new: bool
) -> None:
    """By another session's prompt, long before the next scan; whether the session was known before or not."""
    claude = Claude("one")
    path = write(transcripts / "one.jsonl", *claude.conversation(2))
    with server(scan_every_s=600) as process:
        eventually(lambda: events_in(store_folder) == 10 and lag_of(store_folder) == 0)
        time.sleep(1.5)  # whatever follows its first scan
        speaker = Claude("two", start=500) if is_new else claude
        told = speaker.text("We chose NATS over Kafka to carry tide readings: it runs on the buoy itself.")
        write(transcripts / "two.jsonl" if is_new else path, speaker.user("pick a broker"), told, append=not is_new)
        started = time.monotonic()
        asked = "what did we decide about Kafka and NATS for tide readings?"
        fields = {"prompt": asked, "cwd": claude.cwd}

        def is_said() -> bool:
            done = hook("UserPromptSubmit", payload("UserPromptSubmit", transcripts / "b.jsonl", "b", **fields))
            return b"runs on the buoy" in done.stdout

        eventually(is_said, limit_s=10)
        assert time.monotonic() - started < 3
        assert end(process)


def test_what_is_written_as_its_server_ends_is_read(transcripts: Path, store_folder: Path) -> None:
    """An agent may write a short session's file after its last hook, just before it closes its servers."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    with server(scan_every_s=600) as process:
        eventually(lambda: events_in(store_folder) == 5 and lag_of(store_folder) == 0)
        time.sleep(1.5)  # it rests
        write(transcripts / "two.jsonl", *Claude("two").conversation(1))
        assert end(process)
    assert (events_in(store_folder), lag_of(store_folder)) == (10, 0)


def test_every_session_of_a_database_is_read(home: Path, store_folder: Path) -> None:
    """Not only the one that was spoken in last."""
    database = home / ".local" / "share" / "opencode" / "opencode.db"
    for number in range(5):
        chat = OpenCode(f"ses_{number}")
        chat.number = number
        chat.exchange(f"quay{number}")
        chat.save(database)
    with server() as process:
        eventually(lambda: events_in(store_folder) == 25)
        assert end(process)


def test_of_two_servers_one_works_and_the_other_takes_over(transcripts: Path, store_folder: Path) -> None:
    """Exactly one holds the lock; when it is killed the other works, and answers hooks, soon."""
    with server() as first:
        eventually(lambda: holder(store_folder) == first.pid)
        socket_of(store_folder)
        with server() as second:
            time.sleep(0.5)
            state = worker_state(str(store_folder))
            assert (state["working"], state["pid"], state["socket"]) == (True, first.pid, True)
            first.kill()
            first.wait()
            eventually(lambda: holder(store_folder) == second.pid, limit_s=30)
            write(transcripts / "one.jsonl", *Claude("one").conversation(1))
            eventually(lambda: events_in(store_folder) == 5)
            assert end(second)
    assert worker_state(str(store_folder)) == {"working": False, "pid": None, "started_ms": None, "socket": False}


def test_it_ends_in_the_middle_of_its_work(transcripts: Path, store_folder: Path) -> None:
    """At stdin's end a long backlog is left where it is: nothing lost, nothing twice, and the next one goes on."""
    for number in range(5):  # on a busy machine it may have read all of it before it is told
        write(transcripts / f"long{number}.jsonl", *Claude(f"long{number}").conversation(1500))
        before = events_in(store_folder)
        with server() as process:
            eventually(lambda before=before: events_in(store_folder) > before)
            assert end(process)
        if before < events_in(store_folder) < 7_500 * (number + 1):
            break
    else:
        pytest.fail("it always reads to the end")
    with server() as process:
        eventually(lambda: events_in(store_folder) == 7_500 * (number + 1))
        assert end(process)
    store = SqliteStore(str(store_folder))
    assert_accounted(store)
    store.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_server_that_is_killed_leaves_a_sound_store(number: int, transcripts: Path, store_folder: Path) -> None:
    """Whatever is half done is not done; the lock is free again; the socket that is left misleads nobody."""
    write(transcripts / "long.jsonl", *Claude("long").conversation(800))
    with server() as process:
        eventually(lambda: events_in(store_folder) > 0)
        process.send_signal(number)
        process.wait()
    assert (store_folder / "worker.sock").exists()
    assert worker_state(str(store_folder))["working"] is False
    store = SqliteStore(str(store_folder))
    assert_accounted(store)
    store.close()
    data = payload("UserPromptSubmit", transcripts / "x.jsonl", "running", prompt="why does berth1 fail again?")
    assert hook("UserPromptSubmit", data).returncode == 0


def test_hooks_write_while_it_works(transcripts: Path, store_folder: Path) -> None:
    """Turns that end while a backlog is read are captured at once, each once, whoever reads them."""
    write(transcripts / "long.jsonl", *Claude("long").conversation(800))
    claude, path = Claude("running"), transcripts / "running.jsonl"
    tries = 0

    def is_stored(events: int) -> bool:
        nonlocal tries
        tries += 1
        assert_silent(hook("Stop", payload("Stop", path, "running")))
        store = SqliteStore(str(store_folder))
        found = len(timeline(store, "running"))
        store.close()
        return found == events

    with server() as process:
        for number in range(10):
            write(path, *claude.exchange(f"quay{number}"), append=True)
            eventually(lambda number=number: is_stored(5 * (number + 1)))  # who met a stalled writer comes again
        assert tries <= 20
        eventually(lambda: events_in(store_folder) == 4_050)
        assert end(process)
    store = SqliteStore(str(store_folder))
    assert_accounted(store)
    assert_indexed(store)
    store.close()
    assert failures(store_folder) == []


def test_an_index_that_lags_is_caught_up(past: Path, store_folder: Path) -> None:  # noqa: ARG001 - makes a store
    """Rows that somebody else stored and nobody made searchable, here all of them, are made searchable."""
    subprocess.run(["rm", "-r", str(store_folder / "index")], check=True)
    assert lag_of(store_folder) > 0
    with server() as process:
        eventually(lambda: lag_of(store_folder) == 0)
        assert end(process)


def test_observations_are_taken_from_the_spool(store_folder: Path) -> None:
    """What agents without transcripts said is in the store soon after."""
    common = {"v": 1, "agent": "cursor", "session_id": "c1", "cwd": "/home/mara/harbour", "kind": "user_prompt"}
    spool.append(str(store_folder), [{**common, "text": f"why does berth{number} fail?"} for number in range(3)])
    with server() as process:
        eventually(lambda: events_in(store_folder) == 3)
        assert end(process)
    assert spool.is_empty(str(store_folder))


def test_a_damaged_store_is_said_once_and_the_server_lives(past: Path, store_folder: Path) -> None:  # noqa: ARG001
    """The thread goes on with growing pauses, logs a failure once, and leaves the file as it is."""
    for path in store_folder.glob("howcome.db*"):
        path.unlink()
    (store_folder / "howcome.db").write_bytes(b"no database at all" * 1000)
    with server(0.05) as process:
        log = store_folder / "hook-errors.log"
        eventually(lambda: log.exists() and log.read_text())
        time.sleep(0.5)
        assert log.read_text().count("\n") == 1
        assert "worker StoreDamagedError" in log.read_text()
        assert end(process)
    assert (store_folder / "howcome.db").read_bytes() == b"no database at all" * 1000


def test_a_store_that_is_locked_for_a_while_is_used_afterwards(
    past: Path,  # noqa: ARG001 - makes a store
    transcripts: Path,
    store_folder: Path,
) -> None:
    """Another process's long transaction costs a pause, nothing else."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    connection = sqlite3.connect(store_folder / "howcome.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with server() as process:
        time.sleep(1)
        assert events_in(store_folder) == 30
        connection.execute("ROLLBACK")
        connection.close()
        eventually(lambda: events_in(store_folder) == 35)
        assert end(process)


def test_a_home_that_cannot_be_written_has_no_worker(past: Path, store_folder: Path) -> None:  # noqa: ARG001
    """Nothing is done there, nothing is said, and the server ends as ever."""
    store_folder.chmod(0o500)
    try:
        with server(before=python(WITHOUT_OVERRIDE)) as process:
            time.sleep(0.3)
            assert end(process)
    finally:
        store_folder.chmod(0o700)
    assert not (store_folder / "worker.lock").exists()


def test_a_server_that_is_switched_off_reads_nothing(transcripts: Path, store_folder: Path) -> None:
    """HOWCOME_DISABLE holds for the worker too."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    with server(HOWCOME_DISABLE="1") as process:
        time.sleep(0.5)
        assert end(process)
    assert not store_folder.exists()


def test_a_lock_file_that_is_taken_away_does_not_make_two_workers(store_folder: Path) -> None:
    """Who finds its lock file gone stops working and takes the new one, if it can."""
    with server() as process:
        eventually(lambda: holder(store_folder) == process.pid and (store_folder / "howcome.db").exists())
        (store_folder / "worker.lock").unlink()
        lock = take_lock(str(store_folder))
        if lock is not None:
            assert holder(store_folder) == os.getpid()
            eventually(lambda: not (store_folder / "worker.sock").exists())
            os.close(lock)
        eventually(lambda: holder(store_folder) == process.pid)
        socket_of(store_folder)
        assert end(process)


def test_a_store_that_is_taken_away_does_not_come_back_by_itself(transcripts: Path, store_folder: Path) -> None:
    """Also when all else stays, the worker's lock too; one that a person makes anew is filled from the beginning."""
    path = write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    with server(0.2) as process:
        eventually(lambda: events_in(store_folder) == 5 and lag_of(store_folder) == 0)
        eventually(lambda: holder(store_folder) == process.pid)
        for name in store_folder.glob("howcome.db*"):
            name.unlink(missing_ok=True)
        eventually(lambda: not (store_folder / "worker.sock").exists())
        time.sleep(1)
        assert not (store_folder / "howcome.db").exists()
        assert worker_state(str(store_folder))["working"] is False
        SqliteStore(str(store_folder)).close()
        eventually(lambda: events_in(store_folder) == 5)
        write(path, *Claude("two").conversation(1), append=True)
        eventually(lambda: events_in(store_folder) == 10)
        assert end(process)
    assert not (store_folder / "hook-errors.log").exists()


def test_an_idle_worker_notices_within_a_moment_that_its_store_is_gone(transcripts: Path, store_folder: Path) -> None:
    """However long its pauses are: whoever deletes the memory waits for it to let go."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    with server(3600.0) as process:
        eventually(lambda: events_in(store_folder) == 5 and lag_of(store_folder) == 0)
        time.sleep(0.5)
        for name in store_folder.glob("howcome.db*"):
            name.unlink(missing_ok=True)
        eventually(lambda: worker_state(str(store_folder))["working"] is False, limit_s=30)
        assert end(process)


def test_a_store_that_is_taken_away_in_the_middle_of_a_scan_leaves_nothing(
    transcripts: Path, store_folder: Path
) -> None:
    """A backlog is not read on into a file that is gone, and no index of it is made again."""
    for number in range(4):
        write(transcripts / f"long{number}.jsonl", *Claude(f"long{number}").conversation(800))
    found = [came_back(store_folder) for _ in range(3)]
    assert found.count(0) > 1, found  # but for one time: the piece that was under way may be one of the index


def came_back(folder: Path) -> int:
    """How often a store that was taken away in the middle of a scan was there again; in the end it stays away.

    While files of it are being written, it may take more than once to take it away: that is no coming back.
    """
    times, is_gone = 0, False

    def has_let_go() -> bool:
        nonlocal times, is_gone
        times += is_gone and folder.exists()
        shutil.rmtree(folder, ignore_errors=True)
        is_gone = not folder.exists()
        return not works(process, folder)

    with server() as process:
        eventually(lambda: events_in(folder) > 0)
        time.sleep(0.3)
        eventually(has_let_go)
        has_let_go()
        time.sleep(2)
        assert not folder.exists()
        assert end(process)
    return times


@pytest.mark.parametrize("kept", [(), ("notes.txt",)], ids=["the folder goes", "the folder stays"])
def test_what_was_purged_stays_away(kept: tuple[str, ...], transcripts: Path, store_folder: Path) -> None:
    """Servers that are still running do not bring a memory back that somebody took away."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(1))
    with server(2) as first, server(2) as second:
        eventually(lambda: events_in(store_folder) == 5 and lag_of(store_folder) == 0)
        for each in (first, second):
            wait_until_it_knows(each)
        time.sleep(0.5)  # between two scans
        for name in kept:
            (store_folder / name).write_text("mine")

        def is_purged() -> bool:
            for path in list(store_folder.iterdir()) if store_folder.exists() else []:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name not in kept:
                    path.unlink(missing_ok=True)
            if not kept:
                with suppress(OSError):  # it holds something again, or is gone
                    store_folder.rmdir()
            return not any(works(each, store_folder) for each in (first, second))

        eventually(is_purged)  # a scan that was under way
        is_purged()
        time.sleep(3)
        assert [path.name for path in store_folder.glob("*")] == list(kept)
        assert store_folder.exists() == bool(kept)
        assert end(first)
        assert end(second)


def test_the_lock_says_who_works(store_folder: Path) -> None:
    """The file holds a process id and a time, for people; nobody else can read it."""
    with server() as process:
        eventually(lambda: holder(store_folder) == process.pid)
        path = store_folder / "worker.lock"
        found = json.loads(path.read_text())
        assert set(found) == {"pid", "started_ms"}
        assert abs(found["started_ms"] / 1000 - time.time()) < 60
        assert path.stat().st_mode & 0o777 == 0o600
        assert socket_of(store_folder).stat().st_mode & 0o777 == 0o600
        assert store_folder.stat().st_mode & 0o777 == 0o700


def catch_up_of(folder: Path, first_retry_s: float) -> CatchUp:
    """What a worker does, one scan at a time."""
    settings = read_settings({**os.environ, "HOWCOME_HOME": str(folder)})
    return CatchUp(settings, Patience(), first_retry_s=first_retry_s)


def test_a_transcript_that_could_not_be_read_is_tried_again(home: Path, store_folder: Path) -> None:
    """One that was locked for a moment stays as it is: it is not taken for read."""
    chat = OpenCode()
    chat.exchange("berth")
    database = chat.save(home / ".local" / "share" / "opencode" / "opencode.db")
    agent = sqlite3.connect(database, isolation_level=None)
    agent.execute("PRAGMA journal_mode = DELETE")
    agent.execute("BEGIN EXCLUSIVE")
    late, soon = catch_up_of(store_folder, 3600), catch_up_of(store_folder, 0.2)
    assert late.scan()
    assert soon.scan()
    agent.execute("ROLLBACK")
    agent.close()
    assert late.scan()
    assert events_in(store_folder) == 0  # the pause is not over
    eventually(lambda: soon.scan() and events_in(store_folder) == 5)


def test_a_transcript_that_always_fails_is_tried_less_and_less(transcripts: Path, store_folder: Path) -> None:
    """But at once when it has changed."""
    whole = write(transcripts / "cut.jsonl.gz", *Claude("one").conversation(1)).read_bytes()
    path = write(transcripts / "cut.jsonl.gz")
    path.write_bytes(whole[:-20])
    opened = []

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).endswith("cut.jsonl.gz"):
            opened.append(time.monotonic())

    sys.addaudithook(count)
    catch_up = catch_up_of(store_folder, 0.2)
    eventually(lambda: catch_up.scan() and len(opened) > 2)
    first, second, third = opened
    assert second - first >= 0.2
    assert third - second >= 0.4
    patient = catch_up_of(store_folder, 3600)
    assert patient.scan()
    assert len(opened) == 4
    assert patient.scan()
    assert len(opened) == 4
    path.write_bytes(whole)
    assert patient.scan()
    assert events_in(store_folder) == 5
    before = len(opened)
    assert patient.scan()
    assert len(opened) == before


def test_only_its_own_socket_is_taken_away(store_folder: Path) -> None:
    """A server that lost its lock's file must not silence the one that works now."""
    store_folder.mkdir(mode=0o700)
    first, second = (WarmServer(str(store_folder), Patience()) for _ in range(2))
    assert first.start()
    assert second.start()
    first.stop(LIMIT_S)
    assert socket_of(store_folder).exists()
    second.stop(LIMIT_S)
    assert not (store_folder / "worker.sock").exists()


@pytest.mark.parametrize(
    "content", ['{"pid": 0, "started_ms": -1}', '{"pid": -1}', '{"pid": true}', '{"pid": "7"}', "["]
)  # fmt: skip
def test_a_lock_file_that_somebody_wrote_into_names_no_process(content: str, store_folder: Path) -> None:
    """0 and less are whole groups of processes to the system: nobody may take them for one."""
    store_folder.mkdir()
    lock = take_lock(str(store_folder))
    assert lock is not None
    (store_folder / "worker.lock").write_text(content)
    state = worker_state(str(store_folder))
    assert (state["working"], state["pid"], state["started_ms"]) == (True, None, None)
    os.close(lock)


def test_it_keeps_import_graphs_up(store_folder: Path, tmp_path: Path) -> None:
    """Those that exist, when they are old; a new file's imports are known then."""
    root = write_tree(tmp_path / "yard", {"cart.py": "import price\n", "price.py": ""})
    git(root, "init")
    store = SqliteStore(str(store_folder))
    build(store, root)
    write_tree(root, {"desk.py": "import cart\n"})
    worker = CatchUp(read_settings({"HOWCOME_HOME": str(store_folder)}), Patience())
    assert worker.scan()
    assert edges(store, root) == [("cart.py", "price.py")]
    store.connection.execute("UPDATE code_graphs SET built_ms = built_ms - 600000")
    assert worker.scan()
    assert edges(store, root) == [("cart.py", "price.py"), ("desk.py", "cart.py")]
    store.close()
