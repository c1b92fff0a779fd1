"""The search index on a server, of an SQLite log: as good as the one beside the rows, whole whatever is killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests import postgres_servers
from tests.batches import EVERYTHING, Transcript, scored
from tests.hostile.scale import of

from howcome.domain import events
from howcome.domain.stored import Filter, Scope
from howcome.index.postgres_search import PostgresSearchIndex
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = [f"{stem}{number}" for stem in ("gauge", "median", "buffer", "sluice", "Harbour_plan") for number in range(40)]
CATCHING_UP = """
import sys, psycopg
from howcome.index.postgres_search import PostgresSearchIndex
from howcome.store.sqlite import SqliteStore
folder, dsn = sys.argv[1:]
store = SqliteStore(folder)
index = PostgresSearchIndex(lambda: psycopg.connect(dsn, autocommit=True), store.log)
while index.lag():
    index.catch_up(deadline=0.0)
    print(index.lag(), flush=True)
"""


@pytest.fixture(params=postgres_servers.NAMES)
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database on each server of the tests."""
    try:
        found = postgres_servers.fresh_database(request.param)
    except postgres_servers.NotHereError as error:
        pytest.skip(str(error))
    yield found
    postgres_servers.drop_database(found)


@pytest.fixture
def index(dsn: str, store: SqliteStore) -> Iterator[PostgresSearchIndex]:
    """An index of the store's events on a server."""
    with closing(PostgresSearchIndex(lambda: psycopg.connect(dsn, autocommit=True), store.log)) as opened:
        yield opened


def fill(store: SqliteStore, count: int, seed: int = 1) -> None:
    """Adds turns of some words each, the first of them the most frequent, in two projects."""
    chance = random.Random(seed)
    shares = [1 / rank for rank in range(1, len(WORDS) + 1)]
    for project in ("quay", "dike"):
        transcript = Transcript(store, f"/t/{project}{seed}.jsonl", session=f"{project}{seed}", cwd=f"/home/{project}")
        texts = (" ".join(chance.choices(WORDS, shares, k=chance.randint(2, 30))) for _ in range(count // 2))
        transcript.say(next(texts))  # without an answer, so that every thousandth row is in the middle of an exchange
        transcript.say(*texts)


def test_answers_are_those_of_the_index_beside_the_rows(store: SqliteStore, index: PostgresSearchIndex) -> None:
    """The same weights, and of ten answers at least nine the same, in one project and everywhere."""
    fill(store, 1500)
    store.index.catch_up()
    index.catch_up()
    chance, shared, asked = random.Random(2), 0, 0
    project = store.projects.of_path("/home/quay")
    for scope in (Scope.project(project), Scope.everything()):
        for _ in range(20):
            terms = store.index.analyze(" ".join(chance.sample(WORDS, 4)))
            known, found = store.index.weigh(terms, scope), index.weigh(terms, scope)
            assert (found.windows, found.exchanges, found.known) == (known.windows, known.exchanges, known.known)
            for what, weights in (("events", known.windows), ("exchanges", known.exchanges)):
                best = [hit.row for hit in store.index.search(what, weights, Filter(scope), 10)]  # type: ignore[arg-type]
                same = {hit.row for hit in index.search(what, weights, Filter(scope), 10)}  # type: ignore[arg-type]
                shared, asked = shared + len(same.intersection(best)), asked + len(best)
    assert asked > 500
    assert shared >= 0.9 * asked


def test_spellings_count_a_term_once_as_beside_the_rows(store: SqliteStore, index: PostgresSearchIndex) -> None:
    """Also where two terms have a spelling in common, and in whichever order they are asked for."""
    transcript = Transcript(store)
    transcript.say("only tent", "tent and test", "a text alone", "nothing of it", "the tents")
    store.index.catch_up()
    index.catch_up()
    for weights in ({"tent": 1.0}, {"tent": 1.0, "test": 2.0}, {"test": 2.0, "tent": 1.0}, {"text": 1.0, "test": 0.5}):
        for what in ("fuzzy", "holding"):
            ours, theirs = (
                {hit.row: hit.score for hit in each.search(what, weights, EVERYTHING, 10)}  # type: ignore[arg-type]
                for each in (store.index, index)
            )
            assert theirs == pytest.approx(ours), (what, weights)


def test_a_filter_that_lets_nothing_through_ends_the_search(index: PostgresSearchIndex, store: SqliteStore) -> None:
    """However many rows the first terms find."""
    fill(store, 3000)
    index.catch_up()
    weights = index.weigh(index.analyze(" ".join(WORDS[:3]))).windows
    for what in ("events", "exchanges", "holding", "fuzzy"):
        assert index.search(what, weights, Filter(Scope.everything(), since_ms=2**50), 10) == []  # type: ignore[arg-type]


def test_a_few_are_as_good_as_the_first_of_many(store: SqliteStore, index: PostgresSearchIndex) -> None:
    """Frequent words are not looked for once rare ones have found enough: the best rows stay the best.

    Where a word counts once, no better row can be among the others.
    """
    fill(store, 3000)
    index.catch_up()
    same = 0
    for rare in range(100, 140, 2):
        weighed = index.weigh(index.analyze(f"{WORDS[0]} {WORDS[1]} {WORDS[rare]}"))
        if rare % 8 == 0:
            few, many = (index.search("holding", weighed.exchanges, EVERYTHING, limit) for limit in (10, 10_000))
            assert [hit.score for hit in few] == pytest.approx([hit.score for hit in many[:10]])
        weights = weighed.windows
        every = [hit.row for hit in index.search("events", weights, EVERYTHING, 10_000)]
        same += len({hit.row for hit in index.search("events", weights, EVERYTHING, 10)}.intersection(every[:10]))
    assert same >= 0.95 * 200


def test_a_killed_process_leaves_each_event_there_once(
    store: SqliteStore, index: PostgresSearchIndex, dsn: str, store_folder: Path
) -> None:
    """Killed at any moment: what it committed is there, the next one adds the rest, and the counts are of both."""
    fill(store, of(2500, 8000))
    chance = random.Random(3)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", CATCHING_UP, str(store_folder), dsn], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    deadline = time.monotonic() + 20
    while index.catch_up() is None and time.monotonic() < deadline:  # until the server knows that it is gone
        time.sleep(0.05)
    assert index.lag() == 0
    grown = {word: scored(all_hits_of(index, word)) for word in WORDS[::20]}
    weights = index.weigh(index.analyze(" ".join(WORDS)))
    assert index.rebuild() == store.log.last_position()
    assert {word: scored(all_hits_of(index, word)) for word in WORDS[::20]} == grown
    assert index.weigh(index.analyze(" ".join(WORDS))).exchanges == weights.exchanges


def all_hits_of(index: PostgresSearchIndex, word: str) -> dict[str, list]:
    """What every kind of search finds for a word."""
    return {
        what: index.search(what, dict.fromkeys(index.analyze(word), 1.0), EVERYTHING, 10_000)  # type: ignore[misc]
        for what in ("events", "exchanges", "fuzzy", "holding")
    }


def test_a_connection_that_is_lost_is_made_anew(store: SqliteStore, index: PostgresSearchIndex, dsn: str) -> None:
    """What was asked then fails; the next question is answered, and the next pass goes on with the lock."""
    fill(store, 100)
    index.catch_up()
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                      " AND pid <> pg_backend_pid()")  # fmt: skip
    weights = dict.fromkeys(index.analyze(WORDS[0]), 1.0)
    with pytest.raises(psycopg.OperationalError):
        index.search("events", weights, EVERYTHING, 10)
    assert index.search("events", weights, EVERYTHING, 10)
    fill(store, 100, seed=2)
    assert index.catch_up() == 100


def test_an_index_of_another_log_finds_nothing(
    store: SqliteStore, index: PostgresSearchIndex, tmp_path: Path, dsn: str
) -> None:
    """Not even the same positions; whoever writes next makes it anew."""
    fill(store, 100)
    index.catch_up()
    index.release()
    other = SqliteStore(str(tmp_path / "other"))
    fill(other, 100, seed=2)
    with closing(PostgresSearchIndex(lambda: psycopg.connect(dsn, autocommit=True), other.log)) as theirs:
        weights = dict.fromkeys(theirs.analyze(WORDS[0]), 1.0)
        assert (theirs.search("events", weights, EVERYTHING, 10), theirs.lag()) == ([], 100)
        assert theirs.catch_up() == 100
        assert {hit.row for hit in theirs.search("events", weights, EVERYTHING, 1000)}
    index.refresh()
    assert index.search("events", weights, EVERYTHING, 10) == []
    other.close()


def test_a_very_long_exchange_is_found_by_its_frequent_words(store: SqliteStore, index: PostgresSearchIndex) -> None:
    """More different words than a vector may hold: the most frequent are kept, and no pass fails."""
    transcript = Transcript(store)
    for number in range(600):
        words = " ".join(f"{number:04d}{step:03d}unheardof" * 3 for step in range(60))
        transcript.add(transcript.answer(f"median {words}") if number else transcript.prompt(words))
    assert index.catch_up() == 600
    weights = dict.fromkeys(index.analyze("median"), 1.0)
    assert len(index.search("exchanges", weights, EVERYTHING, 10)) == 1
    assert len(index.search("events", weights, Filter(Scope.everything(), kinds=events.TURN_KINDS), 1000)) == 599
