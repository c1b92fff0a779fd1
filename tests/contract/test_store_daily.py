"""What is counted of each day is what the raw events say, on every engine, whatever happened to them."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.batches import START_MS, Transcript

from howcome.domain import events
from howcome.domain.stored import Scope
from howcome.domain.times import DAY_MS
from howcome.log.daily import LAST_DAY

if TYPE_CHECKING:
    from howcome.domain.stored import StoredEvent
    from howcome.store.base import Store

HARBOUR = "/home/mara/harbour"
MIDNIGHT = START_MS - START_MS % DAY_MS + DAY_MS


def told(store: Store) -> list[StoredEvent]:
    """Every event, one by one."""
    return [*store.log.events([row.row for row in store.log.after(0, 10_000)]).values()]


def recounted(store: Store, project: str | None = None, since_ms: int = 0) -> Counter[tuple[object, ...]]:
    """The events as they are stored, and which of them failed, counted one by one from the day of a moment on."""
    found: Counter[tuple[object, ...]] = Counter()
    for event in told(store):
        if project in (None, event.project) and event.order_ms // DAY_MS >= since_ms // DAY_MS:
            what = event.order_ms // DAY_MS, event.project, event.kind, event.origin, event.tool or ""
            found[what] += 1
            found["failed", *what] += bool(event.failed or event.exit_code)
    return +found


def counted(store: Store, scope: Scope | None = None, since_ms: int = 0) -> Counter[tuple[object, ...]]:
    """The same of what a store says."""
    found: Counter[tuple[object, ...]] = Counter()
    for day, root, kind, origin, tool, count, failures in store.daily.events(scope or Scope.everything(), since_ms):
        what = day, root, events.KINDS[kind], events.ORIGINS[origin], tool
        assert what not in found
        found[what], found["failed", *what] = count, failures
    return +found


def fill(store: Store) -> Transcript:
    """Two projects, three days: prompts, calls that fail in either way, a fork that repeats, midnight's both sides."""
    quay = Transcript(store)
    quay.say("one", "two", "three")
    quay.add(
        quay.call("make"), quay.result("broken", failed=True),
        quay.call("make", ts_ms=MIDNIGHT - 1), quay.result("broken", exit_code=2, ts_ms=MIDNIGHT),
        quay.call("make", ts_ms=MIDNIGHT + DAY_MS),
        quay.result("fine", failed=False, exit_code=0, ts_ms=MIDNIGHT + DAY_MS),
    )  # fmt: skip
    Transcript(store, "/t/fork.jsonl", session="fork", records="session-one").say("one", "two", "three")
    Transcript(store, "/t/other.jsonl", session="other", cwd=HARBOUR).say("four", "five")
    Transcript(store, "/t/undated.jsonl", session="undated", cwd=HARBOUR).say("six", ts_ms=None)
    return quay


def test_the_counts_are_what_the_raw_events_say(store: Store) -> None:
    """Of everything, of a project, and from a day on; an event without a time is of 1970."""
    fill(store)
    assert counted(store) == recounted(store)
    assert {one.day - MIDNIGHT // DAY_MS for one in store.daily.events(Scope.everything(), DAY_MS)} == {-1, 0, 1}
    assert sum(one.failures for one in store.daily.events(Scope.everything())) == 2
    for since_ms in (0, 1, MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1, MIDNIGHT + DAY_MS, MIDNIGHT + 2 * DAY_MS):
        assert counted(store, since_ms=since_ms) == recounted(store, since_ms=since_ms)
    assert counted(store, Scope.project(store.projects.of_root(HARBOUR))) == recounted(store, HARBOUR)
    assert store.daily.events(Scope.project(None)) == []


def test_what_is_dated_beyond_the_calendar_counts_on_its_last_day(store: Store) -> None:
    """A transcript may say any time; a day of the year 10000 has no name."""
    Transcript(store).say("one", ts_ms=(LAST_DAY + 2) * DAY_MS)
    assert [one.day for one in store.daily.events(Scope.everything())] == [LAST_DAY]


def test_a_project_that_is_joined_to_another_takes_its_counts_along(store: Store) -> None:
    """At once, and counts are never under a number that no project has."""
    quay = fill(store)
    kept, joined = (store.projects.of_root(root) for root in (quay.cwd, HARBOUR))
    assert kept is not None
    assert joined is not None
    store.projects.join(kept, joined, START_MS)
    assert counted(store) == counted(store, Scope.project(kept)) == recounted(store, quay.cwd)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_counts_are_those_of_the_events(store: Store, seed: int) -> None:
    """Random batches of random days, joined projects, shortened texts, transactions that are rolled back."""
    chance = random.Random(seed)
    roots = [f"/home/mara/{number}" for number in range(5)]
    for step in range(25):
        what = chance.random()
        if what < 0.15 and len(known := store.projects.roots()) > 1:
            (kept, _), (joined, _) = chance.sample(known, 2)
            store.projects.join(kept, joined, START_MS)
        elif what < 0.25:
            store.retention.shorten(START_MS + chance.randrange(40) * DAY_MS)
        elif what < 0.35:
            with suppress(KeyboardInterrupt), store.transaction():
                store.database.execute("UPDATE events SET failed = 1")
                raise KeyboardInterrupt
        else:
            of = Transcript(store, f"/t/{step}.jsonl", session=f"s{chance.randrange(9)}", cwd=chance.choice(roots))
            of.number, at = 1000 * chance.randrange(4), START_MS + chance.randrange(40 * DAY_MS)
            calls = [(of.call("make", ts_ms=at), of.result("broken " * 400, ts_ms=at + chance.randrange(DAY_MS),
                      failed=chance.choice((None, False, True)), exit_code=chance.choice((None, 0, 2))))
                     for _ in range(chance.randrange(4))]  # fmt: skip
            of.add(of.prompt("go", ts_ms=at), *(event for pair in calls for event in pair))
        since_ms = chance.randrange(START_MS, START_MS + 40 * DAY_MS)
        assert counted(store) == recounted(store)
        assert counted(store, since_ms=since_ms) == recounted(store, since_ms=since_ms)
    assert len(told(store)) > 30


def test_only_what_was_learnt_counts_as_learnt(store: Store) -> None:
    """By the day on which it was said; a forgotten one still is, a purged one is gone, what is kept by hand is not."""
    Transcript(store).say("one")
    sql = (
        "INSERT INTO memories (key, change, digest, type, text, project_id, origin, status, created_ms, source,"
        " purged_ms) VALUES (?, ?, ?, 'context', 'gauge', ?, 0, 'open', ?, ?, ?)"
    )
    rows = [
        (1, START_MS, "rules", None), (1, START_MS, "llm", None), (None, START_MS + DAY_MS, "rules", None),
        (1, START_MS, "hand", None), (1, START_MS, "client", None), (1, START_MS, "rules", START_MS),
    ]  # fmt: skip
    with store.transaction():
        for number, (project, *more) in enumerate(rows):
            key = number.to_bytes(16, "big")
            store.database.execute(sql, (key, number, key, project, *more))
        store.database.execute("UPDATE memories SET deleted_ms = ? WHERE change = 1", (START_MS,))
    day, root = START_MS // DAY_MS, "/home/mara/quay"
    assert store.daily.learnt(Scope.everything()) == [(day, root, 2), (day + 1, "", 1)]
    assert store.daily.learnt(Scope.project(1)) == [(day, root, 2)]
    assert store.daily.learnt(Scope.everything(), START_MS + DAY_MS) == [(day + 1, "", 1)]
