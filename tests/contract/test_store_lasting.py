"""What every store promises of what is asked for rarely: by a briefing, a sync, a tidying, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.batches import START_MS, Transcript
from tests.contract.test_store_distilled import EVERYTHING, distil, one

from howcome.domain.commands import Run
from howcome.domain.stored import Scope
from howcome.memory.remember import Memories

if TYPE_CHECKING:
    from howcome.store.base import Store

EARLY = "KEEP decision: The quay tests run with the harbour fixture."
LATE = "KEEP decision: The quay tests run with the crane fixture, no longer with the harbour's."


@pytest.fixture
def taught(store: Store) -> Store:
    """Two sessions decided, the later one against the earlier."""
    for name, text, at_ms in (("one", EARLY, START_MS), ("two", LATE, START_MS + 10_000)):
        session = Transcript(store, f"/t/{name}.jsonl", session=name)
        session.add(session.prompt("how?", ts_ms=at_ms))
        session.add(session.answer(text, ts_ms=at_ms + 1000))
    distil(store)
    return store


def test_an_exchange_whose_lesson_no_longer_holds_is_known(taught: Store) -> None:
    """By the memory that took the place of what it taught, at a moment when that was said."""
    older, newer = one(taught, "harbour fixture"), one(taught, "crane")
    taught.reviews.relate([(older.row, newer.row)], [], START_MS)
    [prompt] = [row for (row,) in taught.database.rows("SELECT min(id) FROM events")]
    assert {row: found.row for row, found in taught.reviews.overruled([prompt, 99]).items()} == {prompt: newer.row}
    assert taught.reviews.overruled([prompt], then_ms=START_MS) == {}


def test_an_exchange_whose_memory_was_called_wrong_is_known(taught: Store) -> None:
    """By what it taught, and by a correction that names it as evidence; not by one that was only forgotten."""
    kept = Memories(taught, lambda: START_MS)
    first, second = (row for (row,) in taught.database.rows("SELECT id FROM events WHERE kind = 0 ORDER BY id"))
    assert taught.memory_search.refuted() == set()
    harbour = kept.forget(one(taught, "harbour fixture").id, is_wrong=True)
    crane = kept.update(one(taught, "crane").id, text="The quay tests run with the pier fixture.", is_person=True)
    kept.forget(crane.id)
    assert taught.memory_search.refuted() == {first}
    assert taught.memory_search.refuted(then_ms=START_MS) == set()
    kept.forget(crane.id, is_wrong=True)
    kept.restore(harbour.id)
    assert taught.memory_search.refuted() == {second}


def test_a_change_is_set_back_unless_somebody_changed_it_since(store: Store) -> None:
    """To what was there before it."""
    kept = Memories(store, lambda: START_MS)
    older, newer = (kept.add(text, project=None)[0] for text in ("Tides come from a file.", "Cranes are blue."))
    rows = [older.row, newer.row]
    before = store.reviews.states(rows)
    store.reviews.relate([(older.row, newer.row)], [], START_MS)
    after = store.reviews.states(rows)
    assert after != before
    assert store.reviews.set_back(before, after, START_MS)
    assert store.memories.by_row([older.row])[older.row].superseded_by is None
    kept.forget(older.id)
    assert not store.reviews.set_back(before, after, START_MS)


def test_what_failed_last_is_told_with_what_mended_it(store: Store) -> None:
    """Of every project, or of one."""
    session = Transcript(store, "/t/s.jsonl")
    session.add(session.call("npm tests"), session.call("npm test"), session.call("make"))
    calls = [row for (row,) in store.database.rows("SELECT id FROM events ORDER BY id")]
    runs = [Run(calls[0], 7, 70, 71, calls[1], 8), Run(calls[1], 8), Run(calls[2], 9, 90, 91)]
    store.commands.record(runs, calls[-1])
    found = [(9, 1, 1, calls[2], None, None), (7, 1, 1, calls[0], calls[1], 8)]
    assert store.commands.newest_failed(EVERYTHING, 5) == found
    assert store.commands.newest_failed(Scope.project(99), 5) == []
    assert store.commands.newest_failed(EVERYTHING, 1) == found[:1]


def test_old_tool_texts_are_shortened(store: Store) -> None:
    """Once; what people said stays as it is."""
    session = Transcript(store, "/t/s.jsonl")
    session.add(session.prompt("word " * 5000), session.result("\n".join(map(str, range(20_000)))))
    count, saved, damaged = store.retention.shorten(START_MS * 2, is_trial=True)
    assert (count, saved > 0, damaged) == (1, True, 0)
    assert store.retention.shorten(START_MS * 2) == (count, saved, 0)
    assert store.retention.shorten(START_MS * 2) == (0, 0, 0)


def test_what_cannot_be_unpacked_keeps_no_other_text_from_being_shortened(store: Store) -> None:
    """It is counted, and stays as it is."""
    session = Transcript(store, "/t/s.jsonl")
    session.add(*(session.result(f"{number} " + "\n".join(map(str, range(20_000)))) for number in range(3)))
    sql = "SELECT payload FROM events WHERE id = 2"
    [(payload,)] = store.database.rows(sql)
    with store.transaction():
        store.database.execute("UPDATE events SET payload = ? WHERE id = 2", (payload[:20],))
    count, _, damaged = store.retention.shorten(START_MS * 2)
    assert (count, damaged) == (2, 1)
    assert store.database.rows(sql) == [(payload[:20],)]
