"""A store on a real server: writers that interleave, clients that are killed, a server that goes away, moving."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.batches import RECORD_BYTES, START_MS, Transcript

from howcome.errors import StoreError, StoreLockedError, StoreMissingError, StoreNewerError
from howcome.log.postgres import shown, translated
from howcome.log.postgres_schema import APACHE, NONE, TIMESCALE, partitioning
from howcome.memory.remember import Memories
from howcome.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
WRITERS = 8
SECONDS = float(os.environ.get("HOWCOME_TEST_SECONDS", "2"))
WAIT_S = 30

WRITER = """
import sys, time
from tests.batches import Transcript
from howcome.memory.remember import Memories
from howcome.store.postgres import PostgresStore
folder, dsn, number, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
store, until, written = PostgresStore(folder, dsn, busy_ms=20_000), time.monotonic() + seconds, 0
transcript = Transcript(store, f"/t/{number}.jsonl", session=f"s{number}")
while time.monotonic() < until:
    transcript.say(*(f"{number} {written} {part}" for part in range(1 + written % 7)))
    written += 1 + written % 7
print(transcript.number)
"""

HALFWAY = """
import sys, time
from tests.batches import Transcript
from howcome.memory.remember import Memories
from howcome.store.postgres import PostgresStore
store = PostgresStore(sys.argv[1], sys.argv[2])
transcript = Transcript(store)
with store.transaction():
    store._writer.add(transcript.batch(transcript.prompt("never committed"), transcript.answer("nor this")))
    print("halfway", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def open_server(tmp_path: Path, postgres_dsn: str) -> Iterator[Callable[..., PostgresStore]]:
    """Opens one store as often as a test wants, each time as another client."""
    opened: list[PostgresStore] = []

    def open_it(**options: int) -> PostgresStore:
        opened.append(PostgresStore(str(tmp_path / f"client-{len(opened)}"), postgres_dsn, **options))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a client of its own: a script with arguments."""
    running: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", script, *arguments]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_of_interleaved_writers_no_position_is_missed_and_none_comes_twice(
    open_server: Callable[..., PostgresStore], started: Callable[..., Any], postgres_dsn: str, tmp_path: Path
) -> None:
    """Who goes on behind the last position that it has seen sees them all, one after the other, without a gap."""
    reader, seen = open_server(), list[int]()
    clients = [
        started(WRITER, str(tmp_path / f"writer-{number}"), postgres_dsn, str(number), str(SECONDS))
        for number in range(WRITERS)
    ]
    while any(client.poll() is None for client in clients):
        seen += [row.row for row in reader.log.after(seen[-1] if seen else 0, 500)]
    written = sum(int(client.communicate(timeout=WAIT_S)[0]) for client in clients)
    while new := [row.row for row in reader.log.after(seen[-1], 500)]:
        seen += new
    assert seen == list(range(1, written + 1))
    assert (reader.log.last_position(), reader.check_integrity()) == (written, [])


def test_what_a_killed_client_had_not_committed_was_never_there(
    open_server: Callable[..., PostgresStore], started: Callable[..., Any], postgres_dsn: str, tmp_path: Path
) -> None:
    """Its lock goes with it; the next one reads the same bytes, and gives the same positions."""
    store = open_server()
    client = started(HALFWAY, str(tmp_path / "killed"), postgres_dsn)
    assert client.stdout is not None
    assert client.stdout.readline() == "halfway\n"
    assert store.log.last_position() == 0
    client.kill()
    client.wait()
    assert list(Transcript(store).say("from the beginning")) == [1]
    assert store.check_integrity() == []


def test_clients_that_are_killed_anywhere_leave_whole_batches(
    open_server: Callable[..., PostgresStore], started: Callable[..., Any], postgres_dsn: str, tmp_path: Path
) -> None:
    """Every row that is there is accounted for by its cursor, and the other way round."""
    store = open_server()
    for number in range(6):
        client = started(WRITER, str(tmp_path / f"killed-{number}"), postgres_dsn, str(number % 2), "60")
        until = time.monotonic() + WAIT_S
        while store.log.source(f"/t/{number % 2}.jsonl") is None and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.05 * number)
        client.kill()
        client.wait()
    events = store.accounts.counts()["events"]
    assert events == store.log.last_position() == sum(int(str(row["accepted"])) for row in store.accounts.sources())
    assert all(row["offset"] == RECORD_BYTES * int(str(row["records"])) for row in store.accounts.sources())
    assert store.check_integrity() == []


def test_a_lost_connection_is_an_error_once(open_server: Callable[..., PostgresStore], postgres_dsn: str) -> None:
    """It says what became of the batch; the next one goes on, over a new connection."""
    store = open_server()
    transcript = Transcript(store)
    transcript.say("before")
    batch = transcript.batch(transcript.prompt("lost on the way"))
    with psycopg.connect(postgres_dsn, autocommit=True) as other:
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'howcome'"
        other.execute(sql)
    with pytest.raises(StoreError, match=r"went away .* not stored; try again"):
        store.log.append(batch)
    assert store.log.last_position() == 1
    assert list(store.log.append(batch)[1]) == [2]
    assert store.check_integrity() == []


END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'howcome'"
LIMITS = {
    "no connection is left": ("ALTER DATABASE {} ALLOW_CONNECTIONS false", "ALTER DATABASE {} ALLOW_CONNECTIONS true"),
    "it can only be read": ("ALTER DATABASE {} SET default_transaction_read_only = on",
                            "ALTER DATABASE {} RESET default_transaction_read_only"),
    "statements take too long": ("ALTER DATABASE {} SET statement_timeout = '1ms'",
                                 "ALTER DATABASE {} RESET statement_timeout"),
}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
def test_a_server_that_refuses_for_a_while_is_an_error_and_loses_nothing(
    open_server: Callable[..., PostgresStore], postgres_dsn: str, limit: str
) -> None:
    """Its connections are used up, a standby has taken its place, it is too slow: the batch is whole or not there."""
    store = open_server()
    transcript = Transcript(store)
    transcript.say("before")
    batch = transcript.batch(transcript.prompt("during " + "harbour " * 20_000))
    before, after = LIMITS[limit]
    name = str(conninfo_to_dict(postgres_dsn)["dbname"])
    with psycopg.connect(make_conninfo(postgres_dsn, dbname="postgres"), autocommit=True) as other:
        other.execute(before.format(name).encode())
        other.execute(END_OTHERS)
        try:
            for _ in range(2):
                with pytest.raises(StoreError):
                    store.log.append(batch)
        finally:
            other.execute(after.format(name).encode())
        other.execute(END_OTHERS)
    with contextlib.suppress(StoreError):  # the connection that was lost
        store.log.last_position()
    assert store.log.last_position() == 1
    assert list(store.log.append(batch)[1]) == [2]
    assert store.check_integrity() == []


def test_a_writer_that_hangs_is_waited_for_no_longer_than_said(open_server: Callable[..., PostgresStore]) -> None:
    """And reading goes on meanwhile."""
    slow, fast = open_server(), open_server(busy_ms=50)
    transcript = Transcript(fast)
    with slow.transaction():
        with pytest.raises(StoreLockedError):
            transcript.say("too early")
        assert fast.accounts.counts()["events"] == 0
    again = Transcript(fast)
    assert list(again.say("in time")) == [1]


def test_clients_that_open_an_empty_database_at_once_make_one_store(
    open_server: Callable[..., PostgresStore],
) -> None:
    """One of them makes the tables; a later one finds them, whoever is asked whether they may be made."""
    with pytest.raises(StoreMissingError):
        open_server(create=False)
    with ThreadPoolExecutor(WRITERS) as threads:
        stores = list(threads.map(lambda _: open_server(), range(WRITERS)))
    assert len({bytes(store.meta("key")) for store in stores}) == 1  # type: ignore[call-overload]
    assert len(open_server(create=False).meta("key")) == 32  # type: ignore[arg-type]


def test_a_newer_store_is_left_alone(open_server: Callable[..., PostgresStore]) -> None:
    """As it is: a newer howcome knows what is in it."""
    open_server().database.execute("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreNewerError, match="99"):
        open_server()


def test_events_lie_in_parts_by_month(open_server: Callable[..., PostgresStore]) -> None:
    """Clocks that are years off make no parts of their own; events are one timeline, and known over all parts."""
    store = open_server()
    transcript = Transcript(store)
    months = [START_MS, START_MS + 40 * 86_400_000]
    transcript.add(*(transcript.prompt(f"at {at_ms}", ts_ms=at_ms) for at_ms in (1, *months, 9_000_000_000_000_000)))
    parts = store.database.rows("SELECT tableoid::regclass::text, count(*) FROM events GROUP BY 1 ORDER BY 1")
    names = [f"events_{dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC):%Y_%m}" for at_ms in months]
    assert parts == [(name, 1) for name in (*names, "events_before", "events_later")]
    copy = Transcript(store, "/t/copy.jsonl")
    counts, _ = copy.add(*(copy.prompt(f"at {at_ms}", ts_ms=at_ms + 5) for at_ms in (1, *months)))
    assert counts["duplicate"] == 3


def test_characters_that_the_server_has_not_are_kept_in_events(open_server: Callable[..., PostgresStore]) -> None:
    """PostgreSQL's texts have no character 0: what was said is bytes; a memory gets a mark in its place."""
    store = open_server()
    transcript = Transcript(store)
    said = "a\0b ' % ? %s \\ \U0001f600 ", "x\0" * 5000
    rows = transcript.add(*map(transcript.prompt, said))[1]
    found = store.log.events(rows, with_text=True)
    assert [found[row].text for row in rows] == list(said)
    kept = Memories(store, lambda: START_MS).add("a\0b % ?", project="/home/mara/quay")[0]
    assert store.memories.by_row([kept.row])[kept.row].text == "a\u2400b % ?"


def test_what_says_where_the_server_is_has_no_password() -> None:
    """Nor has what is said of one that cannot be reached."""
    for dsn in ("postgresql://mara:zebra@h:5433/quay", "host=h port=5433 user=mara password=zebra dbname=quay"):
        assert shown(dsn) == "postgresql://mara@h:5433/quay"
    with pytest.raises(StoreError) as caught:
        PostgresStore("/tmp", "postgresql://mara@127.0.0.1:1/quay", password="zebra")
    assert "127.0.0.1" in str(caught.value)
    assert "zebra" not in f"{caught.value!r} {caught.value.__cause__!r}"


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT ? + ?, '%'", "SELECT %(1)s + %(2)s, '%%'"),
        ("SELECT ?2, ?1, ?", "SELECT %(2)s, %(1)s, %(2)s"),
        ("SELECT q.offset, offset FROM q", 'SELECT q."offset", "offset" FROM q'),
        ("x IN (SELECT value FROM json_each(?))", "x IN (SELECT value::bigint FROM json_each(%(1)s))"),
    ],
)
def test_statements_are_the_servers(sql: str, wanted: str) -> None:
    """Marks, a name that is a word there, and numbers in JSON."""
    assert translated(sql) == wanted


def test_one_path_asks_what_timescale_can() -> None:
    """Its Apache build refuses compression; without it months are made by howcome."""
    said = {name: " ".join(partitioning(name)) for name in (NONE, APACHE, TIMESCALE)}
    assert [("create_hypertable" in one, "add_compression_policy" in one) for one in said.values()] == [
        (False, False), (True, False), (True, True),
    ]  # fmt: skip
    assert "PARTITION OF events FOR VALUES" in said[NONE]
