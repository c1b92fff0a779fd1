"""Observations from standard input to the store: redacted before they rest, once whatever is killed, none lost.

HOWCOME_TEST_KILLS (default 10) is the number of kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from tests.checks import assert_accounted, assert_indexed, timeline
from tests.hostile.scale import of
from tests.processes import COMMAND, ask, python, run
from tests.warm import eventually

from howcome.cli.observing import observe as observe_command
from howcome.clients import observed, spool
from howcome.domain import events
from howcome.domain.sources import Batch
from howcome.errors import StoreError
from howcome.ingest.exclusion import Places
from howcome.ingest.pipeline import Ingester
from howcome.ingest.spool import ingest_spool, take_in
from howcome.log.event_log import EventLog
from howcome.log.sqlite_batches import BatchWriter
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
KILLS = int(os.environ.get("HOWCOME_TEST_KILLS", "10"))
AWS_SECRET = "AKIA" + "Z7QJ4TRNBX2MW5KD"
ROOT = Path(__file__).parents[2]


def said(text: str, **fields: Any) -> dict[str, Any]:
    """An observation."""
    return {"agent": "cursor", "session_id": "7f3a", "cwd": "/gone/harbour", "text": text, **fields}


def observe(
    data: object, *arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command with this input: bytes as they are, anything else as JSON."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    surroundings = {**os.environ, "PYTHONWARNINGS": "error", **(environment or {})}
    done = run("observe", *arguments, data=raw, folder=cwd, environment=surroundings)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def answer(data: object, *arguments: str) -> dict[str, Any]:
    """What the command says as JSON; it must succeed."""
    done = observe(data, "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def texts(store: SqliteStore, session: str = "7f3a") -> list[str]:
    """What a session said, in its order."""
    return [text for _, text in timeline(store, session)]


def take(folder: Path, *values: object) -> None:
    """Observations into the spool, all of them good."""
    intake = take_in(read_settings({"HOWCOME_HOME": str(folder)}), list(enumerate(values)))
    assert (intake.kept, intake.problems) == (len(values), [])


def ingester_of(store: SqliteStore) -> Ingester:
    """An ingester with the real clock."""
    return Ingester(store, Places(), now_ms=lambda: time.time_ns() // 1_000_000)


def move(store: SqliteStore, folder: Path, **options: Any) -> tuple[int, int, int, bool]:
    """One pass: accepted, duplicate, refused, complete."""
    report = ingest_spool(ingester_of(store), store, str(folder), **options)
    return report.accepted, report.duplicate, report.refused, report.is_complete


def left(folder: Path) -> list[str]:
    """Every file of the spool that holds observations."""
    paths = folder.joinpath("spool").rglob("*.jsonl")
    return sorted(str(path.relative_to(folder / "spool")) for path in paths if path.stat().st_size)


# -- the door -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (said("one"), 1), ([said("one"), said("two")], 2), ([], 0),
        (json.dumps(said("one"), indent=2).encode(), 1),
        (b"\xef\xbb\xbf" + json.dumps(said("one")).encode(), 1),
        (json.dumps(said("one")).encode() + b"\r\n\r\n" + json.dumps(said("two")).encode() + b"\r\n", 2),
        (b'{"agent": "cursor", "session_id": "s", "text": "caf\xe9 \\ud800 \\u0000"}', 1),
    ],
)  # fmt: skip
def test_objects_arrays_and_lines_are_taken(data: object, kept: int, store_folder: Path) -> None:
    """However they come, and whatever bytes are in the text; the store is not touched."""
    assert answer(data) == {"kept": kept, "excluded": 0, "problems": []}
    assert not (store_folder / "howcome.db").exists()
    assert answer(said("last"), "--now")["stored"] == kept + 1
    assert left(store_folder) == []


def test_bad_ones_are_named_and_good_ones_kept(store_folder: Path) -> None:
    """Each by its number (of the line, or in the array) with its reason; exit code 1, and a right one beside it."""
    lines = [json.dumps(said("good")).encode(), b"{broken", b"", b"[1]", json.dumps({"agent": "cursor"}).encode()]
    done = observe(b"\n".join(lines))
    assert (done.returncode, done.stdout) == (1, "1 kept\n")
    assert [line.partition(": ")[2] for line in done.stderr.splitlines()[:3]] == [
        "observation 2: not-json", "observation 4: not-an-object",
        "observation 5: session_id: a text that is not empty",
    ]  # fmt: skip
    assert '{"agent": "cursor"' in done.stderr.splitlines()[3]
    done = observe([said("good"), 7, said("")], "--json")
    assert done.returncode == 1
    assert [problem["number"] for problem in json.loads(done.stdout)["problems"]] == [2, 3]
    assert spool.spool_counts(str(store_folder))["waiting"] == 2
    many = observe(b"\n".join([b"{"] * 100))
    assert "and 80 more" in many.stderr


@pytest.mark.parametrize("data", [b"", b" \n\n"])
def test_nothing_to_observe_is_wrong_usage(data: bytes) -> None:
    """It says what an observation looks like."""
    done = observe(data)
    assert done.returncode == 2
    assert "session_id" in done.stderr


def test_options_that_exclude_each_other_are_refused() -> None:
    """One thing at a time."""
    assert observe(b"", "--retry", "--discard").returncode == 2
    assert observe(b"", "--bogus").returncode == 2


def test_the_caller_may_say_whose_they_are(store_folder: Path, tmp_path: Path) -> None:
    """`--agent`, and the folder in which the command runs."""
    (tmp_path / "quay").mkdir()
    done = observe({"session_id": "s", "text": "t"}, "--agent", "aider", cwd=tmp_path / "quay")
    assert done.returncode == 0
    [line] = (store_folder / "spool" / spool.LIVE).read_text().splitlines()
    assert (json.loads(line)["agent"], json.loads(line)["cwd"]) == ("aider", str(tmp_path / "quay"))


def test_what_nobody_wants_remembered_does_not_rest_in_the_spool(store_folder: Path, tmp_path: Path) -> None:
    """Excluded folders, a repository that says no, hooks disabled, an agent that howcome itself started."""
    quay = tmp_path / "quay"
    quay.mkdir()
    (quay / ".howcome.toml").write_text("capture = false\n")
    for environment in (
        {"HOWCOME_EXCLUDE": "/gone/harbour"}, {"HOWCOME_DISABLE": "1"}, {"HOWCOME_ACTIVE": "1"},
    ):  # fmt: skip
        assert observe(said("secret plan"), environment=environment).returncode == 0
    assert json.loads(observe(said("plan", cwd=str(quay)), "--json").stdout)["excluded"] == 1
    assert left(store_folder) == []


def test_no_secret_rests_anywhere(store_folder: Path) -> None:
    """Not in the spool, not in dead letters, not in the store: redacted before the first byte is written."""
    values = {"command": f"export AWS_ACCESS_KEY_ID={AWS_SECRET}", "password": "correct-horse-staple"}
    answer([
        said(f"the key is {AWS_SECRET}"), said("<private>mother's name</private> and more"),
        said("", kind="tool_call", tool="shell", tool_input=values, file=f"/tmp/{AWS_SECRET}"),
    ])  # fmt: skip
    with (store_folder / "spool" / spool.LIVE).open("ab") as stream:  # what somebody else wrote there
        stream.write(json.dumps({"agent": "?", "text": f"the key is {AWS_SECRET}"}).encode() + b"\n")

    def holds() -> list[str]:
        words = (AWS_SECRET.encode(), b"correct-horse", b"mother's name")
        files = [path for path in store_folder.rglob("*") if path.is_file()]
        return [path.name for path in files for word in words if word in path.read_bytes()]

    assert set(holds()) == {spool.LIVE}, "only what was not written by howcome"
    done = observe(said("last"), "--now", "--json")
    assert (done.returncode, json.loads(done.stdout)["dead"]) == (1, 1)
    assert holds() == []
    store = SqliteStore(str(store_folder))
    assert texts(store)[0].startswith("the key is [redacted:")
    store.close()


def test_an_append_is_quick(store_folder: Path) -> None:
    """What an agent's hook waits for beside the process itself: well below 20 ms, but for a machine that is busy."""
    spool.append(str(store_folder), [said("first")])
    times = []
    for number in range(50):
        started = time.perf_counter()
        spool.append(str(store_folder), [said(f"number {number}")])
        times.append(time.perf_counter() - started)
    assert sorted(times)[5] < 0.02


# -- into the store -------------------------------------------------------------------------------------------------
def test_observations_are_events_like_any_other(store: SqliteStore, store_folder: Path) -> None:
    """In their session's order, of their agent, in their project, searchable; the spool is empty afterwards."""
    take(
        store_folder, said("why does berth 7 fail?", kind="prompt", ts="2026-10-05T12:00:00Z"),
        said("it was a stale fixture", ts="2026-10-05T12:00:02Z"),
        said("no rule", kind="tool_result", tool="shell", tool_input={"command": "make"}, exit_code=2,
             ts="2026-10-05T12:00:01Z", branch="quay"),
    )  # fmt: skip
    assert move(store, store_folder) == (4, 0, 0, True)
    assert left(store_folder) == []
    assert timeline(store, "7f3a") == [
        ("user_prompt", "why does berth 7 fail?"), ("tool_call", '{"command":"make"}'), ("tool_result", "no rule"),
        ("assistant_text", "it was a stale fixture"),
    ]  # fmt: skip
    [row] = store.sessions.named("7f3a")
    found = store.log.session(row)
    assert {event.client for event in found} == {"cursor"}
    assert {event.project for event in found} == {"/gone/harbour"}
    assert (found[2].failed, found[2].exit_code, found[2].branch) == (True, 2, "quay")
    assert_accounted(store)
    assert_indexed(store)
    assert move(store, store_folder) == (0, 0, 0, True)


def test_the_same_id_is_stored_once(store: SqliteStore, store_folder: Path) -> None:
    """An agent that sends again after a doubtful answer; without an id the same words twice are two events."""
    take(store_folder, said("a", id="m1"), said("a", id="m1"))
    assert move(store, store_folder) == (1, 1, 0, True)
    take(store_folder, said("a", id="m1", ts="2026-10-05T12:00:00Z"), said("a"), said("a"))
    assert move(store, store_folder) == (2, 1, 0, True)
    take(store_folder, said("a", id="m1", session_id="other"), said("a", id="m1", agent="aider"))
    assert move(store, store_folder) == (2, 0, 0, True)
    assert (texts(store, "7f3a"), texts(store, "other")) == (["a"] * 4, ["a"])
    assert_accounted(store)


def test_agents_with_the_same_session_id_are_kept_apart(store: SqliteStore, store_folder: Path) -> None:
    """`main` is a popular name."""
    take(store_folder, said("mine", session_id="main"), said("yours", session_id="main", agent="aider"))
    move(store, store_folder)
    sessions = [store.log.session(row, with_text=True) for row in store.sessions.named("main")]
    assert sorted((event.client, event.text) for found in sessions for event in found) == [
        ("aider", "yours"), ("cursor", "mine"),
    ]  # fmt: skip


def test_what_was_excluded_since_is_not_stored(store: SqliteStore, store_folder: Path) -> None:
    """The user's last word counts."""
    take(store_folder, said("a"))
    ingester = Ingester(store, Places(("/gone",)), now_ms=lambda: 1)
    report = ingest_spool(ingester, store, str(store_folder))
    assert (report.accepted, store.accounts.counts()["events"], left(store_folder)) == (0, 0, [])
    assert_accounted(store)


def test_a_pass_ends_in_time_and_the_next_goes_on(store: SqliteStore, store_folder: Path) -> None:
    """A deadline long past: one slice a pass, what is left stays in its place; nothing twice, nothing out of order."""
    take(store_folder, *(said(f"number {number}") for number in range(2500)))
    path = store_folder / "spool" / spool.LIVE
    path.write_bytes(path.read_bytes() + b"{torn\n")
    assert spool.claim(str(store_folder))
    take(store_folder, said("a later batch"))
    passes = [move(store, store_folder, deadline=0.0)]
    while not passes[-1][3]:
        passes.append(move(store, store_folder, deadline=time.monotonic() + 0.02))
    assert sum(accepted for accepted, *_ in passes) == 2501
    assert sum(duplicate for _, duplicate, *_ in passes) == 0
    assert sum(refused for _, _, refused, _ in passes) == 1
    assert passes[0] == (0, 0, 0, False)
    assert sum(accepted > 0 for accepted, *_ in passes) >= 3, "a slice is at most a thousand"
    assert texts(store) == [*(f"number {number}" for number in range(2500)), "a later batch"]


class RefusingWriter(BatchWriter):
    """Refuses batches with certain words in them, as a full disk or a broken row would."""

    refused = "poison"

    def add(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds a batch, or does not."""
        if any(self.refused in event.search_text for record in batch.records for event in record.events):
            raise StoreError("no space left")
        return super().add(batch)


def test_a_batch_that_the_store_refuses_is_kept_and_tried_again(store_folder: Path) -> None:
    """Others go on; it rests with its reason, is tried again when its time has come, or when somebody asks."""
    store = SqliteStore(str(store_folder))
    writer = RefusingWriter(store.database)
    store.log = EventLog(store.database, lambda: writer)
    take(store_folder, said("poison", id="1"), said("good", id="2"))
    spool.claim(str(store_folder))
    take(store_folder, said("another"))
    assert move(store, store_folder) == (1, 0, 0, False)
    [dead] = left(store_folder)
    assert dead.startswith("dead/batch-")
    assert dead.endswith(".failed-1-StoreError.jsonl")
    counts = spool.spool_counts(str(store_folder))
    assert (counts["waiting"], counts["dead"], counts["reasons"]) == (0, 2, {"StoreError": 2})
    empty = store_folder / "spool" / dead.replace("-1-StoreError", "-1-StoreFullError")
    empty.touch()
    assert spool.spool_counts(str(store_folder))["reasons"] == {"StoreError": 2, "StoreFullError": 0}
    empty.unlink()
    assert move(store, store_folder) == (0, 0, 0, True), "too early to try again"
    path = store_folder / "spool" / dead
    os.utime(path, (time.time() - 601, time.time() - 601))
    assert move(store, store_folder) == (0, 0, 0, False)
    [dead] = left(store_folder)
    assert dead.endswith(".failed-2-StoreError.jsonl")
    os.utime(store_folder / "spool" / dead, (time.time() - 601, time.time() - 601))
    assert move(store, store_folder) == (0, 0, 0, True), "each time it waits longer"
    writer.refused = "nothing"
    assert move(store, store_folder, retry_all=True) == (2, 0, 0, True)
    assert left(store_folder) == []
    assert sorted(texts(store)) == ["another", "good", "poison"]
    assert_accounted(store)
    store.close()


def test_dead_records_are_kept_retried_and_discarded(store_folder: Path) -> None:
    """A torn line, one of a newer version, no UTF-8: kept with the reason; a retry takes what can be read by now."""
    take(store_folder, said("good"))
    bad = [b'{"agent": "cur', b"\xff\xfe", json.dumps(said("newer", v=2)).encode(), b"[]"]
    with (store_folder / "spool" / spool.LIVE).open("ab") as stream:
        stream.write(b"\n".join(bad) + b"\n")
    done = observe(said("more"), "--now", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["stored"], found["waiting"], found["dead"]) == (1, 2, 0, 4)
    assert found["reasons"] == {"not-json": 2, "not-an-object": 1, "v": 1}
    assert answer(said("a third"), "--now")["dead"] == 4, "old dead letters are no failure of new observations"
    done = observe(b"", "--retry")
    assert done.returncode == 1
    assert "dead: 2 (not-json)" in done.stdout
    [name] = left(store_folder)
    path = store_folder / "spool" / name
    path.write_bytes(path.read_bytes().replace(b'\\"v\\": 2', b'\\"v\\": 1'))
    assert json.loads(observe(b"", "--retry", "--json").stdout)["stored"] == 1
    assert spool.spool_counts(str(store_folder))["dead"] == 3
    refused = observe(b"n\n", "--discard")
    assert refused.returncode == 1
    assert left(store_folder) == [name]
    assert json.loads(observe(b"", "--discard", "--yes", "--json").stdout) == {"discarded": 3}
    assert left(store_folder) == []
    assert observe(b"", "--retry").returncode == 0


@pytest.mark.parametrize("what", ["link", "folder", "huge"])
def test_what_is_no_batch_is_put_aside(what: str, store: SqliteStore, store_folder: Path, tmp_path: Path) -> None:
    """A link, a folder, a file of absurd size among the batches: the others are moved all the same."""
    take(store_folder, said("good"))
    path, target = store_folder / "spool" / "batch-0000000000001-aa.jsonl", tmp_path / "target"
    if what == "link":
        target.write_text(json.dumps(said("from outside", v=1)) + "\n")
        path.symlink_to(target)
    elif what == "folder":
        path.mkdir()
    else:
        with path.open("wb") as stream:
            stream.truncate(spool.MAX_BATCH_BYTES + 1)
    assert move(store, store_folder)[0] == 1
    assert texts(store) == ["good"]
    assert os.listdir(store_folder / "spool" / "dead") == ["batch-0000000000001-aa.failed-1-TranscriptError.jsonl"]
    assert spool.spool_counts(str(store_folder))["dead_files"] == 1


def test_a_locked_store_leaves_the_spool_as_it_is(store_folder: Path) -> None:
    """Nothing is dead, nothing is lost: the next pass has it."""
    holder, store = SqliteStore(str(store_folder)), SqliteStore(str(store_folder), busy_ms=50)
    take(store_folder, said("good"))
    holder.connection.execute("BEGIN IMMEDIATE")
    assert move(store, store_folder) == (0, 0, 0, False)
    assert spool.spool_counts(str(store_folder))["waiting"] == 1
    holder.connection.execute("ROLLBACK")
    assert move(store, store_folder) == (1, 0, 0, True)
    store.close()
    holder.close()


def test_one_process_at_a_time_moves_the_spool(store: SqliteStore, store_folder: Path) -> None:
    """Who finds another one at it goes on with something else."""
    take(store_folder, said("good"))
    with spool.claiming(str(store_folder)):
        assert move(store, store_folder) == (0, 0, 0, False)
        assert observe(said("appended meanwhile")).returncode == 0
    assert move(store, store_folder) == (2, 0, 0, True)


# -- killed ---------------------------------------------------------------------------------------------------------
CRASHES = """
import json, os, sys
from pathlib import Path
from tests.integration.test_observe import ingester_of, left, move, said, take
from howcome.clients import spool
from howcome.store.sqlite import SqliteStore
from howcome.log.sqlite_batches import BatchWriter
from howcome.log.event_log import EventLog

def in_child(what):
    child = os.fork()
    if not child:
        try:
            what()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def crash_at(number):
    seen = 0
    def count(event, arguments):
        nonlocal seen
        if event.split(".")[0] in ("open", "os", "fcntl", "apsw") and arguments:
            seen += 1
            if seen == number:
                os._exit(9)
    sys.addaudithook(count)

def work(folder, number):
    take(folder, *(said(f"before {n}", id=f"b{n}") for n in range(3)))
    with (folder / "spool" / spool.LIVE).open("ab") as stream:
        stream.write(b"{torn")
    dead = folder / "spool" / "dead" / "batch-0000000000001-aa.failed-1-X.jsonl"
    dead.parent.mkdir()
    dead.write_bytes(spool.encode(said("from the dead", id="d", v=1)))
    store = SqliteStore(str(folder))
    crash_at(number)
    take(folder, said("during", id="x"))
    move(store, folder, retry_all=True)
    store.close()

def check(folder):
    take(folder, said("after", id="y"))
    store = SqliteStore(str(folder))
    move(store, folder, retry_all=True)
    rows = [row for row in store.sessions.named("7f3a")]
    texts = sorted(event.text for row in rows for event in store.log.session(row, with_text=True))
    names = ["after", "before 0", "before 1", "before 2", "during", "from the dead"]
    assert texts in (names, [name for name in names if name != "during"]), texts
    [records] = left(folder)
    assert records.endswith(".records.jsonl"), records
    [line] = (folder / "spool" / records).read_text().splitlines()
    assert json.loads(line)["line"] == "{torn", line
    store.close()

number = 0
while True:
    number += int(sys.argv[2])
    folder = Path(sys.argv[1]) / str(number)
    ended = in_child(lambda: work(folder, number))
    assert in_child(lambda: check(folder)) == 0, f"killed at {number}"
    if ended != 9:
        assert ended == 0
        break
print(number)
"""


def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """An append and a pass over batches, torn lines and dead letters, ended before its system calls in turn."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        python(CRASHES, tmp_path, str(of(3, 1))), env=environment, capture_output=True, text=True, check=False,
        timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    assert int(done.stdout) > 20, "there were steps to be ended at"


APPENDER = """
import os, sys
from howcome.ingest.spool import take_in
from howcome.settings import read_settings
settings, number = read_settings(os.environ), 0
while True:
    names = [f"{sys.argv[1]}.{number}.{part}" for part in range(3)]
    take_in(settings, [(0, {"agent": "cursor", "session_id": "7f3a", "text": name}) for name in names])
    os.write(1, "".join(name + "\\n" for name in names).encode())
    number += 1
"""
MOVER = """
import os
from howcome.app import open_app
from howcome.ingest.spool import ingest_spool
from howcome.settings import read_settings
settings = read_settings(os.environ)
while True:
    with open_app(settings) as app:
        ingest_spool(app.ingest.ingester(), app.store, settings.home)
"""


def test_kills_at_any_instant_lose_and_double_nothing(store_folder: Path, tmp_path: Path) -> None:
    """Three writers and two movers, one after the other killed and started again: what was accepted is there once."""
    choice, running = random.Random(20261121), list[subprocess.Popen[bytes]]()
    SqliteStore(str(store_folder)).close()

    def start(number: int) -> subprocess.Popen[bytes]:
        script = python(APPENDER, str(number)) if number % 5 < 3 else python(MOVER)
        with (tmp_path / f"{number}.log").open("wb") as log:
            return subprocess.Popen(script, stdout=log, stderr=subprocess.PIPE)

    for number in range(5 + KILLS):
        if number >= 5:
            time.sleep(choice.uniform(0.02, 0.25))
            end(running[number - 5])
        running.append(start(number))

    def accepted() -> list[str]:
        logs = [log.read_text() for log in tmp_path.glob("*.log")]
        return [line for log in logs for line in log.splitlines() if line.count(".") == 2]

    time.sleep(0.5)
    store = SqliteStore(str(store_folder))
    eventually(lambda: accepted() and store.accounts.counts()["events"])  # before the last of them are killed
    for process in running[-5:]:
        end(process)
    moved_before = store.accounts.counts()["events"]
    for _ in range(3):
        move(store, store_folder, retry_all=True)
    found = texts(store)
    assert len(found) == len(set(found)), "something is there twice"
    assert set(accepted()) <= set(found), "something is lost"
    assert moved_before
    assert [name for name in left(store_folder) if not name.endswith(".records.jsonl")] == []
    assert_accounted(store)
    assert_indexed(store)
    store.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a process; it must not have ended by itself."""
    assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_writers_and_movers_at_once(store_folder: Path) -> None:
    """Commands with and without --now, side by side: each succeeds, all is there once."""
    SqliteStore(str(store_folder)).close()
    words: list[Sequence[str]] = [[*COMMAND, "observe", *(["--now"] if number % 2 else [])] for number in range(8)]
    running = [subprocess.Popen(word, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
               for word in words]  # fmt: skip
    for number, process in enumerate(running):
        values = [said(f"{number}.{part}") for part in range(40)]
        _, error = process.communicate(json.dumps(values).encode(), timeout=60)
        assert (process.returncode, error) == (0, b""), error.decode()
    store = SqliteStore(str(store_folder))
    move(store, store_folder)
    assert sorted(texts(store)) == sorted(f"{number}.{part}" for number in range(8) for part in range(40))
    assert_accounted(store)
    store.close()


def test_every_word_for_a_kind_is_in_the_help() -> None:
    """What is understood is written down."""
    told = observe_command.get_help(click.Context(observe_command, info_name="observe"))
    words = {word.strip("(),;.") for word in told.split()}
    assert {*events.KINDS, *observed._SYNONYMS} <= words


def test_an_import_takes_what_was_observed(store_folder: Path) -> None:
    """Also where no agent has left a transcript."""
    assert "1 kept" in observe(said("The crane is greased with tallow.")).stdout
    done = run("import")
    assert "1 observed event added" in done.stdout
    assert "Nothing" not in done.stdout
    assert "No transcripts" not in done.stdout
    assert "tallow" in run("search", "--all-projects", "crane tallow").stdout
    assert spool.is_empty(str(store_folder))
    assert "No transcripts on this machine yet" in run("import").stdout
    assert ask("import")["observed"] == 0
    observe(said("The gate is greased with lard."))
    assert ask("import")["observed"] == 1
