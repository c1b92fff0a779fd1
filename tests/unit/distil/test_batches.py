"""When a batch of a session's messages ends, and that it ends there however often one looks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.batches import START_MS, Transcript

from howcome.domain import events
from howcome.domain.stored import Scope
from howcome.learn.batches import IDLE_MS, MOST_MESSAGES, MOST_MS, close_batches

if TYPE_CHECKING:
    from howcome.store.sqlite import SqliteStore

EVERYTHING = Scope.everything()
LATER_MS = START_MS + 10 * MOST_MS
TIDES = "The tide poller reads the gauge at the quay and writes heights into the harbour table every minute"
BERTHS = "Customers who book a berth online receive an invoice with discount, currency and payment reference"


def close(store: SqliteStore, now_ms: int) -> None:
    """One look at everything."""
    for session in store.distil_batches.open_sessions(EVERYTHING):
        close_batches(store, session, now_ms)
    store.distil_batches.mark(store.log.last_position())


def found(store: SqliteStore) -> list[tuple[int, str]]:
    """How many messages each batch has, and why it ends, in order."""
    rows = store.connection.execute("SELECT turns, closed_by FROM distil_batches ORDER BY session_id, last_row")
    return list(rows)


def test_a_batch_is_full_at_fifteen_messages(store: SqliteStore) -> None:
    """Also in the middle of an exchange; what is left waits until nothing follows."""
    transcript = Transcript(store)
    transcript.say(TIDES)
    transcript.add(*(transcript.answer(f"{TIDES}, part {number}") for number in range(33)))
    close(store, START_MS + 40_000)
    assert found(store) == [(MOST_MESSAGES, "messages")] * 2
    close(store, LATER_MS)
    assert found(store)[2:] == [(4, "end")]
    close(store, LATER_MS)
    assert sum(turns for turns, _ in found(store)) == 34


def test_a_batch_ends_after_twenty_minutes(store: SqliteStore) -> None:
    """By the times of the messages, whoever looks when."""
    transcript = Transcript(store)
    transcript.say(TIDES, TIDES)
    transcript.add(transcript.prompt(TIDES, ts_ms=START_MS + MOST_MS + 5000), transcript.answer(TIDES))
    close(store, START_MS + MOST_MS + 6000)
    assert found(store) == [(2, "time")]


def test_a_batch_ends_where_another_topic_begins(store: SqliteStore) -> None:
    """When that exchange is over, by what it shares with the one before; "go on" is no topic."""
    transcript = Transcript(store)
    transcript.say(TIDES, TIDES, "go on", TIDES, BERTHS)
    close(store, START_MS + 9000)
    assert found(store) == []
    transcript.number += 1
    transcript.say(BERTHS, BERTHS)
    close(store, START_MS + 9000)
    assert found(store) == [(4, "topic")]


def test_a_batch_is_of_one_project(store: SqliteStore) -> None:
    """What is said in one stays there."""
    transcript = Transcript(store)
    transcript.say(TIDES, TIDES)
    transcript.say(TIDES, TIDES, cwd="/home/mara/pier")
    close(store, LATER_MS)
    assert found(store) == [(2, "project"), (2, "end")]
    ids = {batch.project_id for batch in store.distil_batches.pending(EVERYTHING)}
    assert len(ids) == 2


def test_only_what_the_main_agent_did_is_in_batches(store: SqliteStore) -> None:
    """A subagent's words come back to the main agent; a fork's are the first session's; tools alone are nothing."""
    transcript = Transcript(store)
    transcript.say(TIDES, TIDES)
    transcript.add(transcript.prompt("look there", agent_id="a1"), transcript.answer("looked", agent_id="a1"))
    fork = Transcript(store, "/t/fork.jsonl", session="session-fork", records="session-one")
    fork.say(TIDES, TIDES)
    tools = Transcript(store, "/t/tools.jsonl", session="session-tools")
    tools.add(tools.call("ls"), tools.result("a b"))
    close(store, LATER_MS)
    assert found(store) == [(2, "end")]


def test_a_session_that_may_go_on_is_looked_at_again(store: SqliteStore) -> None:
    """Although nothing came since; one that has ended is not."""
    Transcript(store).say(TIDES, TIDES)
    close(store, START_MS + 3000)
    assert len(store.distil_batches.open_sessions(EVERYTHING)) == 1
    close(store, START_MS + 2000 + IDLE_MS)
    assert found(store) == [(2, "end")]
    assert store.distil_batches.open_sessions(EVERYTHING) == []


def test_two_that_close_the_same_close_it_once(store: SqliteStore) -> None:
    """Whoever was slower keeps nothing."""
    Transcript(store).say(TIDES, TIDES)
    [session] = store.distil_batches.open_sessions(EVERYTHING)
    assert [close_batches(store, session, LATER_MS) for _ in range(2)] == [1, 0]
    assert found(store) == [(2, "end")]


@pytest.mark.parametrize("seed", range(4))
def test_the_same_messages_give_the_same_batches(store: SqliteStore, seed: int) -> None:
    """However many come at a time, and with every message in one batch."""
    chance = random.Random(seed)
    kinds = (events.USER_PROMPT, events.ASSISTANT_TEXT, events.TOOL_CALL)
    said = [(chance.choice(kinds), chance.choice((TIDES, BERTHS, "ok"))) for _ in range(90)]
    steps = [chance.choice((1000, 60_000, 400_000)) for _ in said]
    whole, parts = (Transcript(store, f"/t/{name}.jsonl", session=f"session-{name}") for name in ("whole", "parts"))
    for transcript in (whole, parts):
        clock_ms = START_MS
        for number, ((kind, text), step_ms) in enumerate(zip(said, steps, strict=True)):
            clock_ms += step_ms
            transcript.add(transcript.event(f"{text} {number}", kind, tool="Bash", ts_ms=clock_ms))
            if transcript is parts and chance.random() < 0.3:
                close(store, clock_ms)
    close(store, clock_ms + IDLE_MS)
    batches = found(store)
    assert batches[: len(batches) // 2] == batches[len(batches) // 2 :]
    assert sum(turns for turns, _ in batches) == 2 * sum(kind in events.TURN_KINDS for kind, _ in said)
