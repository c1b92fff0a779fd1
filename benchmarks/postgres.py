"""Search on a PostgreSQL server beside the index in the store's folder: the same store, the same questions, in turn."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

import scaling
from howcome.app import open_app
from howcome.domain.stored import Scope
from howcome.domain.times import DAY_MS, day_of
from howcome.evaluate.datasets import DataSet, find_sets, read_set
from howcome.evaluate.harness import Pool
from howcome.evaluate.metrics import mean
from howcome.index.postgres_search import PostgresSearchIndex
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.store.postgres import PostgresStore
from timing import middle, share

sys.path.append(str(Path(__file__).parents[1]))

from tests import postgres_servers
from tests.batches import Transcript

if TYPE_CHECKING:
    from bench import Bench
    from howcome.app import App
    from howcome.index.search_index import SearchIndex

QUESTIONS = 200
LIMIT = 10
WARMING = 10
LEAST_SHARED = 0.8
MOST_POINTS = 2
CLIENTS, APPEND_S, BATCH = (1, 8, 20), 5.0, 50
VECTOR_SIZES, PIECE, LEAST_RECALL = (20_000, 100_000), 500, 0.97
_APPENDING = """
import sys, time
from tests.batches import Transcript
from howcome.store.postgres import PostgresStore
from howcome.store.sqlite import SqliteStore
folder, dsn, seconds, batch, number = *sys.argv[1:3], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
store = PostgresStore(f"{folder}/{number}", dsn, busy_ms=60_000) if dsn else SqliteStore(folder, busy_ms=60_000)
transcript, words = Transcript(store, f"/t/{number}.jsonl", session=f"s{number}"), "the tide gauge of the harbour " * 20
until = time.monotonic() + seconds
while time.monotonic() < until:
    transcript.say(*(f"{number} {transcript.number} {part} {words}" for part in range(batch)))
print(transcript.number)
"""
PROJECTS = 12
_INVENTED = (
    'INSERT INTO events (id, ts, key, session_id, project_id, source_id, "offset", kind, origin, failed, order_ms,'
    " tool, text_chars, excerpt, payload) SELECT n, to_timestamp(s), int8send(n), n / 200, 1 + mod(n, {projects}), 1,"
    " 0, mod(n, 5), mod(n, 3), (mod(n, 50) = 4)::int, s * 1000, CASE WHEN mod(n, 5) > 2 THEN 'tool' || mod(n, 11) END,"
    " 2000, repeat(md5(n::text), 14), decode(repeat(md5(n::text), 30), 'hex')"
    " FROM (SELECT n, 1767225600 + n * 31535999::bigint / {events} AS s FROM generate_series(1, {events}) n) one"
)
"""Events of 2026, whose payloads are 480 bytes."""

_SIZE = (
    "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace"
)


def run(bench: Bench) -> None:
    """Section `postgres`: with `--data`, questions of the evaluation sets in that folder; without, invented ones."""
    sets = [read_set(folder) for folder in find_sets(Path(bench.options.data))] if bench.options.data else []
    for name in postgres_servers.NAMES:
        try:
            postgres_servers.server(name)
        except postgres_servers.NotHereError as error:
            bench.say(f"NOT RUN on '{name}': {error}")
            continue
        if sets:
            _quality(bench, name, sets)
        else:
            _vectors(bench, name)
            _appends(bench, name)
            _days(bench, name)
            _speed(bench, name)


def _vectors(bench: Bench, name: str) -> None:
    """The vectors of turns there: what writing costs, how long a search takes, and how many of the nearest it finds."""
    import numpy as np

    from vectors import ASKED, DIMENSIONS, EVERYTHING, QUESTIONS, Source, turns_of

    figure, source, dsn, rows = (
        bench.report.figure,
        Source(bench.options.seed),
        postgres_servers.fresh_database(name),
        0,
    )
    queries, kept = source.vectors(QUESTIONS), np.empty((0, DIMENSIONS), np.float32)
    store = PostgresStore(os.path.join(bench.root, f"vectors-{name}"), dsn)
    transcript = Transcript(store)
    for size in VECTOR_SIZES:
        new = source.vectors(size - rows)
        transcript.say(*(str(number) for number in range(size - rows)))
        title, started = f"{name}, {size:,} vectors", time.perf_counter()
        with store.turn_vectors.writer("invented", DIMENSIONS) as writer:
            for first in range(rows, size, PIECE):
                writer.append(turns_of(first, first + PIECE), new[first - rows : first - rows + PIECE])
                writer.commit(first + PIECE)
            written_s = time.perf_counter() - started
        whole_s = time.perf_counter() - started
        figure(
            f"{title}: written",
            (size - rows) / written_s,
            "/s",
            note=f"(index made in {whole_s - written_s:.1f} s, {_load()})",
        )
        kept, rows = np.concatenate([kept, new.astype(np.float16).astype(np.float32)]), size
        [held] = store.turn_vectors.held()
        figure(f"{title}: size", held.size_bytes / 1e6, "MB")
        index, near = store.turn_vectors.open("invented", DIMENSIONS), queries @ kept.T
        for limit in (10, 200):
            best = np.argpartition(-near, limit, axis=1)[:, :limit] + 1
            for asked, wanted in ASKED.items():
                wall, busy, found = [], [], []
                for query in queries:
                    started, before = time.perf_counter(), _busy_s(store.index.server())
                    found.append({hit.row for hit in index.search(query, wanted, limit)})
                    wall.append((time.perf_counter() - started) * 1000)
                    busy.append((_busy_s(store.index.server()) - before) * 1000)
                assert all(len(one) == limit for one in found)
                note = (
                    f"(p95 {share(wall, 0.95):.1f}; processors {middle(busy):.1f}, {share(busy, 0.95):.1f}; {_load()})"
                )
                figure(f"{title}: {limit} of {asked}, median", middle(wall), "ms", note=note)
                if wanted is EVERYTHING:
                    right = sum(len(one & set(nearest.tolist())) for one, nearest in zip(found, best, strict=True))
                    least = LEAST_RECALL if limit == 10 else None
                    figure(f"{title}: recall@{limit} against exact", right / limit / len(queries), least=least)
    store.close()
    postgres_servers.drop_database(dsn)


def _appends(bench: Bench, name: str) -> None:
    """How many events a second one, eight and twenty clients store at once, in batches of BATCH: server and file."""
    for clients in CLIENTS:
        rates = {}
        for way in ("server", "embedded"):
            dsn = postgres_servers.fresh_database(name) if way == "server" else ""
            with tempfile.TemporaryDirectory() as folder:
                words = [sys.executable, "-c", _APPENDING, folder, dsn, str(APPEND_S), str(BATCH)]
                started = [
                    subprocess.Popen(
                        [*words, str(number)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
                    )
                    for number in range(clients)
                ]
                rates[way] = sum(int(one.communicate()[0]) for one in started) / APPEND_S
            if dsn:
                postgres_servers.drop_database(dsn)
        note = f"(embedded {rates['embedded']:,.0f}, {_load()})"
        bench.report.figure(f"{name}, appended by {clients} clients at once", rates["server"], "/s", note=note)


def _days(bench: Bench, name: str) -> None:
    """Counts of each day: of so many events of a year, of its last 30 and 7 days, and of a project."""
    dsn, events = postgres_servers.fresh_database(name), bench.options.events
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(PostgresStore(folder, dsn)) as store:
        server = store.database.server
        for number in range(PROJECTS):
            server.execute("INSERT INTO projects (root, created_ms) VALUES (%s, 0)", (f"/{number}",))
            server.execute("SELECT add_events_of(make_date(2026, %s, 1))", (number + 1,))
        server.execute(_INVENTED.format(events=events, projects=PROJECTS))
        server.execute("ANALYZE")
        newest_ms = day_of(2026, 12, 31) or 0
        ways = {
            "all": (Scope.everything(), 0), "30 days": (Scope.everything(), newest_ms - 29 * DAY_MS),
            "7 days": (Scope.everything(), newest_ms - 6 * DAY_MS), "a project": (Scope.project(1), 0),
        }  # fmt: skip
        for way, asked in ways.items():
            took = []
            for _ in range(5):
                started, before = time.perf_counter(), _busy_s(server)
                rows = store.daily.events(*asked)
                took.append(((time.perf_counter() - started) * 1000, (_busy_s(server) - before) * 1000))
            wall, busy = (middle(column) for column in zip(*took, strict=True))
            note = f"({len(rows):,} counts; processors {busy:.0f}, {_load()})"
            bench.report.figure(f"{name}, {events:,} events by day: {way}", wall, "ms", note=note)
    postgres_servers.drop_database(dsn)


def _speed(bench: Bench, name: str) -> None:
    home = bench.options.store or os.path.join(bench.root, "scale")
    settings = read_settings({"HOWCOME_HOME": home, "HOWCOME_EMBEDDING": "off"})
    with open_app(settings) as app:
        if not app.store.log.last_position():
            scaling.grow_store(bench, app)
        count = app.store.accounts.counts()["events"]
        server = _Server(app, name)
        bench.say(f"filling '{name}'")
        title, started, before = f"{name}, {count:,} events", time.perf_counter(), server.busy_s()
        server.index.catch_up()
        seconds, busy = time.perf_counter() - started, server.busy_s() - before
        note = f"({count / busy:,.0f} a second of the processors, {_load()})"
        bench.report.figure(f"{title}: indexed", count / seconds, "/s", note=note)
        (size,) = server.connection.execute(_SIZE).fetchone() or (0,)
        bench.report.figure(f"{title}: size", size / 1e6, "MB")
        asked = scaling.questions(app.store, QUESTIONS, bench.options.seed)
        scopes = {"everything": Scope.everything(), "the largest project": scaling.largest(app.store)}
        for where, scope in scopes.items():
            questions = [Question(text, scope, limit=LIMIT) for text in asked]
            _beside(bench, f"{title}, {where}", app, server, questions)
        server.end()


class _Server:
    """A database with an index of a store's events."""

    def __init__(self, app: App, name: str) -> None:
        self.dsn = postgres_servers.fresh_database(name)
        self.connection = psycopg.connect(self.dsn, autocommit=True)
        self.index = PostgresSearchIndex(lambda: self.connection, app.store.log)

    def busy_s(self) -> float:
        """What this thread and the server's process have worked."""
        return _busy_s(self.connection)

    def end(self) -> None:
        """Takes the database away."""
        self.index.close()
        postgres_servers.drop_database(self.dsn)


def _beside(bench: Bench, title: str, app: App, server: _Server, questions: list[Question]) -> None:
    """Each question to both, in turn: time, and how many of the first ten answers are the same."""
    figure, shared = bench.report.figure, []
    ways: dict[str, tuple[SearchIndex, list[float], list[float]]] = {
        "embedded": (app.store.index, [], []), "server": (server.index, [], [])
    }  # fmt: skip
    for question in [*questions[:WARMING], *questions]:
        found = []
        for where, clock, busy in ways.values():
            app.store.index = where
            started, before = time.perf_counter(), server.busy_s()
            found.append({item.event.row for item in app.search.find(question) if item.event is not None})
            clock.append((time.perf_counter() - started) * 1000)
            busy.append((server.busy_s() - before) * 1000)
        if found[0]:
            shared.append(len(found[0] & found[1]) / len(found[0]))
    app.store.index = ways["embedded"][0]
    for way, (_, *times) in ways.items():
        clock, busy = (one[WARMING:] for one in times)
        figure(f"{title}, {way}: median", middle(clock), "ms", note=f"(processors {middle(busy):.1f}, {_load()})")
        figure(f"{title}, {way}: p95", share(clock, 0.95), "ms", note=f"(processors {share(busy, 0.95):.1f})")
    figure(f"{title}: overlap@{LIMIT}", mean(shared), least=LEAST_SHARED, note=f"({len(shared)} questions)")


def _busy_s(connection: psycopg.Connection) -> float:
    """What this thread and a connection's process have worked: a machine that does other things changes it little."""
    try:
        with open(f"/proc/{connection.info.backend_pid}/schedstat", encoding="ascii") as stream:
            return time.thread_time() + int(stream.read().split()[0]) / 1e9
    except OSError:
        return time.thread_time()


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


@dataclasses.dataclass(frozen=True)
class _OnServer(Pool):
    """The same store, searched on a server."""

    dsn: str = ""

    def open(self, root=None, ranking=None):  # noqa: ANN001, ANN202 - as its base
        app = super().open(root, ranking)
        connection = psycopg.connect(self.dsn, autocommit=True)
        app.store.index = PostgresSearchIndex(lambda: connection, app.store.log)
        return app


def _quality(bench: Bench, name: str, sets: list[DataSet]) -> None:
    """The questions of evaluation sets, by words alone: the same answers, and as good ones."""
    home = bench.options.store or os.path.join(bench.root, "sets")
    os.environ["HOWCOME_EMBEDDING"] = "off"
    pool = Pool(home, bench.say)
    if not os.path.exists(home):
        os.makedirs(home)
        pool.load(sets)
    with pool.open() as app:
        server = _Server(app, name)
        server.index.catch_up()
        server.index.release()
        for data in map(_some, sets):
            title = f"{name}, {data.name}"
            questions = [
                Question(asked.text, Scope.project(app.projects.of_root(f"/{data.name}/{corpus.name}")), limit=LIMIT,
                         before_ms=asked.before_ms, by_row=True)
                for corpus in data.corpora for asked in corpus.questions
            ]  # fmt: skip
            _beside(bench, title, app, server, questions)
            asked = [one.ask(data, bench.say) for one in (pool, _OnServer(home, server.dsn))]
            for metric in ("any@5", "nDCG@10"):
                ours, theirs = (
                    100 * mean([one.scores["session"][metric] for one in measured if "session" in one.scores])
                    for measured in asked
                )
                note = f"(embedded {ours:.1f}, server {theirs:.1f})"
                bench.report.figure(f"{title}: {metric}, lost", ours - theirs, "points", most=MOST_POINTS, note=note)
        server.end()


def _some(data: DataSet) -> DataSet:
    """At most QUESTIONS of a set's questions, evenly."""
    step = -(-sum(len(corpus.questions) for corpus in data.corpora) // QUESTIONS)
    return dataclasses.replace(
        data, corpora=[dataclasses.replace(one, questions=one.questions[::step]) for one in data.corpora]
    )
