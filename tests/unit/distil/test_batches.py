"""When a batch of a session's messages ends, and that it ends there however often one looks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.batches import START_MS, Transcript

from howcome.domain import events
from howcome.domain.stored import Scope
from howcome.learn.batches import FEW_MESSAGES, FEW_QUIET_MS, MOST_CHARS, QUIET_MS, close_batches

if TYPE_CHECKING:
    from howcome.store.sqlite import SqliteStore

EVERYTHING = Scope.everything()
LATER_MS = START_MS + 2 * FEW_QUIET_MS
TIDES = "The tide poller reads the gauge at the quay and writes heights into the harbour table every minute"


def close(store: SqliteStore, now_ms: int) -> None:
    """One look at everything."""
    for session in store.distil_batches.open_sessions(EVERYTHING):
        close_batches(store, session, now_ms)
    store.distil_batches.mark(store.log.last_position())


def found(store: SqliteStore) -> list[tuple[int, str]]:
    """How many messages each batch has, and why it ends, in order."""
    rows = store.connection.execute("SELECT turns, closed_by FROM distil_batches ORDER BY session_id, last_row")
    return list(rows)


def test_a_session_is_one_batch(store: SqliteStore) -> None:
    """Whatever it speaks of, and however long it paused: only its end shows what of it stood."""
    transcript = Transcript(store)
    transcript.say(TIDES, "Done.", "and the invoices of the berths?", "They have a discount now.")
    transcript.number += 30_000
    transcript.say("I meant another discount", "Now it is that.")
    close(store, START_MS + 40_000_000)
    assert found(store) == [(6, "end")]


def test_what_is_longer_than_a_question_is_cut_between_exchanges(store: SqliteStore) -> None:
    """Where it is full, at the next prompt; an exchange that is longer alone stays whole."""
    transcript = Transcript(store)
    long = TIDES * (MOST_CHARS // len(TIDES) // 3)
    for number in range(5):
        transcript.add(transcript.prompt(f"and {number}?"), transcript.answer(long), transcript.answer(long))
    close(store, START_MS + 20_000)
    assert found(store) == [(6, "size"), (6, "size")]
    close(store, LATER_MS)
    assert found(store)[2:] == [(3, "end")]
    transcript.add(*(transcript.answer(long) for _ in range(9)))
    close(store, 2 * LATER_MS)
    assert found(store)[3:] == [(9, "end")]


def test_a_session_that_pauses_is_asked_for_when_it_has_said_enough(store: SqliteStore) -> None:
    """After twenty quiet minutes; a few words are waited for longer; what follows is another batch."""
    transcript = Transcript(store)
    transcript.say(*[TIDES] * (FEW_MESSAGES - 1))
    close(store, START_MS + 1000 * FEW_MESSAGES + QUIET_MS)
    assert found(store) == []
    transcript.say(TIDES)
    close(store, START_MS + 1000 * FEW_MESSAGES + QUIET_MS - 1)
    assert found(store) == []
    close(store, START_MS + 1000 * FEW_MESSAGES + QUIET_MS)
    assert found(store) == [(FEW_MESSAGES, "end")]
    transcript.say(TIDES)
    close(store, LATER_MS)
    assert found(store)[1:] == [(1, "end")]


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
    close(store, START_MS + 2000 + FEW_QUIET_MS)
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
    """However many come at a time while the session goes on, and with every message in one batch."""
    chance = random.Random(seed)
    kinds = (events.USER_PROMPT, events.ASSISTANT_TEXT, events.TOOL_CALL)
    said = [(chance.choice(kinds), TIDES * chance.randrange(1, 60)) for _ in range(90)]
    whole, parts = (Transcript(store, f"/t/{name}.jsonl", session=f"session-{name}") for name in ("whole", "parts"))
    for transcript in (whole, parts):
        for kind, text in said:
            transcript.add(transcript.event(text, kind, tool="Bash"))
            if transcript is parts and chance.random() < 0.3:
                close(store, START_MS + 1000 * transcript.number)
    close(store, LATER_MS)
    batches = found(store)
    assert len(batches) > 2
    assert batches[: len(batches) // 2] == batches[len(batches) // 2 :]
    assert sum(turns for turns, _ in batches) == 2 * sum(kind in events.TURN_KINDS for kind, _ in said)
