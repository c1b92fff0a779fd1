"""Warm searches of a large invented store, by words and by meaning, and how fast turns get their vectors.

A round asks all questions once; of several rounds the best figure counts. Targets are for the processor's time, because
the machine does other things, too; on one that does not, the clock says the same.
The vectors of the large store are invented (`growing`); questions are embedded by the real model each time.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

from growing import add_vectors, grow
from howcome.app import now_ms, open_app
from howcome.domain import events
from howcome.domain.stored import Filter, Scope
from howcome.providers.embed import embedding_status, open_embedder
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.wiring.commands import server_words
from searching import misspell
from serving import Served
from timing import base_command, middle, pinned, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench
    from howcome.app import App
    from howcome.index.vector_index import VectorIndex
    from howcome.providers.base import Embedder
    from howcome.store.base import Store

QUESTIONS = 300
ROUNDS = 3
LIMIT = 10
WARMING = 30
MOST_MS = {"words": ((200_000, 5), (2_000_000, 10)), "meaning": ((200_000, 20), (2_000_000, 60))}
"""Up to how many events, and within how many milliseconds 95 of 100 searches must end."""

EMBEDDING_S = 20
NEAREST = 200
_WORD = re.compile(r"[\w./-]{2,40}")
_FILLERS = ("how did we", "why does", "what was the problem with", "where is", "did we ever fix", "what about", "the")
_FORMS = ("said", "said", "said", "said", "said", "few", "few", "name", "name", "typo")


class _Measured(NamedTuple):
    """One round's questions, in milliseconds by the clock and of the processor, and how many found nothing."""

    clock: list[float]
    busy: list[float]
    empty: int


def questions(store: Store, count: int, seed: int) -> list[str]:
    """Questions of 3 to 15 words about what was said: in a row or a few of them, with a name, misspelt."""
    source, last = random.Random(f"{seed} asked"), store.log.last_position()
    found: list[str] = []
    while len(found) < count:
        drawn = store.log.events((source.randrange(1, last + 1) for _ in range(50)), with_text=True)
        for event in drawn.values():
            words = _WORD.findall(event.text or "")
            if event.kind in events.TURN_KINDS and len(words) >= 12 and len(found) < count:
                found.append(_question(_FORMS[len(found) % len(_FORMS)], words, source))
    return found


def _question(form: str, words: list[str], source: random.Random) -> str:
    few = source.sample(words, source.randint(3, 6))
    if form == "said":
        start, length = source.randrange(len(words) - 10), source.randint(3, 10)
        return f"{source.choice(_FILLERS)} {' '.join(words[start : start + length])}?"
    if form == "typo":
        return " ".join(few[:1] + [misspell(word, source) for word in few[1:3]] + few[3:])
    return f"{source.choice(_FILLERS)} {max(words, key=len)} {' '.join(few[:2])}" if form == "name" else " ".join(few)


def run(bench: Bench) -> None:
    """Section `scale`."""
    home = bench.options.store or os.path.join(bench.root, "scale")
    by_words = read_settings({"HOWCOME_HOME": home, "HOWCOME_EMBEDDING": "off"})
    by_meaning = read_settings({"HOWCOME_HOME": home, "HOWCOME_EMBEDDING": "auto"})
    with open_app(by_words) as app:
        if not app.store.log.last_position():
            grow_store(bench, app)
        asked = questions(app.store, QUESTIONS, bench.options.seed)
        scopes = {"everything": Scope.everything(), "the largest project": largest(app.store)}
        _searches(bench, app, "words", scopes, asked)
    if embedding_status(by_meaning).state != "ready":
        bench.say("no model is here: nothing is searched by meaning")
        return
    embedder = open_embedder(by_meaning)
    assert embedder is not None
    with open_app(by_meaning, embedder=embedder) as app:
        index = _index_of(app, embedder)
        _add_vectors(bench, app, index)
        _parts(bench, index, embedder, scopes, asked)
        _searches(bench, app, "meaning", scopes, asked)
    _memory(bench, home, asked)
    _backfill(bench)


def grow_store(bench: Bench, app: App) -> None:
    count, started = bench.options.events, time.perf_counter()
    bench.say(f"inventing {count:,} events")
    grow(app.store, count, bench.options.seed, now_ms(), bench.say)
    seconds = time.perf_counter() - started
    bench.report.figure("events written and indexed", app.store.accounts.counts()["events"] / seconds, "/s")


def largest(store: Store) -> Scope:
    """The project that most of some events are of."""
    drawn = [event.project for event in store.log.events(range(1, store.log.last_position(), 997)).values()]
    return Scope.project(store.projects.of_root(max(set(drawn), key=drawn.count)))


def _index_of(app: App, embedder: Embedder) -> VectorIndex:
    from howcome.index.vector_index import VectorIndex

    folder = os.path.join(app.settings.home, "index")
    return VectorIndex(folder, embedder.name, embedder.dimensions, app.store.log.mark_at)


def _add_vectors(bench: Bench, app: App, index: VectorIndex) -> None:
    from vectors import Source

    started = time.perf_counter()
    added = add_vectors(app.store, index, Source(bench.options.seed))
    if added:
        bench.say(f"{added:,} vectors in {time.perf_counter() - started:.0f} s")


def _searches(bench: Bench, app: App, way: str, scopes: dict[str, Scope], asked: list[str]) -> None:
    """Every scope, by passage and by session."""
    count = app.store.accounts.counts()["events"]
    most = next((most for limit, most in MOST_MS[way] if count <= limit), None)
    base = _base_ms(bench)
    for name, scope in scopes.items():
        for by_session in (False, True):

            def ask(text: str, scope: Scope = scope, by_session: bool = by_session) -> int:
                return len(app.search.find(Question(text, scope, limit=LIMIT, by_session=by_session)))

            title = f"{count:,} events, {way}, {name}, {'sessions' if by_session else 'passages'}"
            rounds = _rounds(bench, ask, asked)
            _figures(bench, title, rounds, base, most)


def _rounds(bench: Bench, ask: Callable[[str], int], asked: Sequence[str]) -> list[_Measured]:
    with pinned(bench.core):
        for text in asked[:WARMING]:
            ask(text)
        return [_round(ask, asked) for _ in range(ROUNDS)]


def _round(ask: Callable[[str], int], asked: Sequence[str]) -> _Measured:
    clock, busy, empty = [], [], 0
    for text in asked:
        started, before = time.perf_counter(), time.thread_time()
        found = ask(text)
        busy.append((time.thread_time() - before) * 1000)
        clock.append((time.perf_counter() - started) * 1000)
        empty += not found
    return _Measured(clock, busy, empty)


def _figures(bench: Bench, title: str, rounds: list[_Measured], base: float, most: float | None) -> None:
    def best(of: Callable[[list[float]], float]) -> tuple[float, float]:
        return min(of(one.busy) for one in rounds), min(of(one.clock) for one in rounds)

    figure, load = bench.report.figure, os.getloadavg()[0]
    busy, clock = best(middle)
    figure(f"{title}: median", busy, "ms", note=f"(clock {clock:.1f}, {busy / base:.2f} x base, load {load:.1f})")
    slowest, by_clock = best(max)
    busy, clock = best(lambda times: share(times, 0.95))
    note = f"(clock {clock:.1f}; slowest {slowest:.1f}, clock {by_clock:.1f}; {rounds[0].empty} empty)"
    figure(f"{title}: p95", busy, "ms", most=most, note=note)


def _base_ms(bench: Bench) -> float:
    """What ratios are against: an interpreter that does nothing, at its best."""
    env = bench.env(os.path.join(bench.root, "base"))
    return min(bench.watch.run(base_command(), env)[0] for _ in range(20))


def _parts(bench: Bench, index: VectorIndex, embedder: Embedder, scopes: dict[str, Scope], asked: list[str]) -> None:
    """What embedding a question takes, and what searching the vectors does."""
    vectors = {text: embedder.embed([text])[0] for text in asked}
    ways: dict[str, Callable[[str], int]] = {"embedding a question": lambda text: len(embedder.embed([text]))}
    for name, scope in scopes.items():
        wanted = Filter(scope, kinds=events.TURN_KINDS)
        ways[f"{index.count:,} vectors, {name}"] = lambda text, wanted=wanted: len(  # type: ignore[misc]
            index.search(vectors[text], wanted, NEAREST)
        )
    for name, way in ways.items():
        _figures(bench, name, _rounds(bench, way, asked), _base_ms(bench), None)


def _memory(bench: Bench, home: str, asked: list[str]) -> None:
    """A real server that has searched by meaning: resident, and what of it is its own."""
    if not os.path.exists("/proc/self/status"):
        return
    server = Served(server_words(), bench.env(home) | {"HOWCOME_EMBEDDING": "auto"})
    server.hello()
    for text in asked[:100]:
        server.call("search_memory", query=text, project="all")
    resident, own = server.memory()
    bench.report.figure("a server with model and vectors: memory", resident, "MB", note=f"({own:.0f} MB of its own)")
    server.end()


def _backfill(bench: Bench) -> None:
    """How fast turns as people and agents write them get their vectors, by the real model."""
    settings = read_settings({"HOWCOME_HOME": bench.store, "HOWCOME_EMBEDDING": "auto"})
    for threads in (1, 2):
        embedder = open_embedder(settings, threads=threads)
        assert embedder is not None
        with open_app(settings, embedder=embedder) as app:
            index = _index_of(app, embedder)
            shutil.rmtree(index.folder, ignore_errors=True)
            _embed(bench, app, index, threads)


def _embed(bench: Bench, app: App, index: VectorIndex, threads: int) -> None:
    """Embeds turns for a while, behind those that have vectors already."""
    app.index.embed(time.monotonic(), threads=threads)  # the first piece warms
    first = index.last_row
    started, before = time.perf_counter(), time.process_time()
    added = app.index.embed(time.monotonic() + EMBEDDING_S, threads=threads) or 0
    seconds, busy = time.perf_counter() - started, time.process_time() - before
    size = sum(len(turn.text) for turn in app.store.log.turns_after(first, added))
    note = f"({size / 1e6 / seconds:.2f} MB/s, {busy / seconds:.1f} cores, load {os.getloadavg()[0]:.1f})"
    bench.report.figure(f"turns that get vectors, {threads} at a time", added / seconds, "/s", note=note)
