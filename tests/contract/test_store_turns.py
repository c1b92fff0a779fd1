"""What every store promises about turns as vectors need them: what stands before each, its exchange, its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.batches import START_MS, Transcript

from howcome.domain.sources import SourceState

if TYPE_CHECKING:
    from howcome.domain.stored import Turn
    from howcome.store.base import Store


def turns(store: Store) -> dict[str, Turn]:
    """Every turn by its text."""
    return {turn.text: turn for turn in store.log.turns_after(0, 1000)}


def places(store: Store) -> dict[str, tuple[str | None, int]]:
    """What stands before each turn, and its place in its exchange."""
    return {text: (turn.before, turn.place) for text, turn in turns(store).items()}


def test_a_place_counts_the_turns_of_an_exchange(store: Store) -> None:
    """From the prompt that opened it; what tools said is none."""
    talk = Transcript(store)
    talk.add(
        talk.prompt("first"), talk.call("make"), talk.answer("one"), talk.result("done"), talk.answer("two"),
        talk.prompt("second"), talk.prompt("third"), talk.answer("three"),
    )  # fmt: skip
    assert places(store) == {
        "first": (None, 1), "one": ("first", 2), "two": ("one", 3), "second": ("two", 1), "third": ("second", 1),
        "three": ("third", 2),
    }  # fmt: skip
    found = turns(store)
    assert {text: turn.exchange for text, turn in found.items()} == {
        "first": found["first"].row, "one": found["first"].row, "two": found["first"].row,
        "second": found["second"].row, "third": found["third"].row, "three": found["third"].row,
    }  # fmt: skip


def test_a_session_may_begin_with_an_answer(store: Store) -> None:
    """What comes before the first prompt is an exchange of its own, counted from its first turn."""
    talk = Transcript(store)
    talk.add(talk.answer("hello"), talk.answer("again"), talk.prompt("first"), talk.answer("one"))
    assert places(store) == {
        "hello": (None, 1), "again": ("hello", 2), "first": ("again", 1), "one": ("first", 2),
    }  # fmt: skip


def test_a_session_may_begin_with_what_a_tool_said(store: Store) -> None:
    """That is not counted there either."""
    talk = Transcript(store)
    talk.add(talk.call("make"), talk.result("done"), talk.answer("hello"), talk.answer("again"))
    assert places(store) == {"hello": (None, 1), "again": ("hello", 2)}


def test_sessions_that_are_read_in_turn_are_counted_apart(store: Store) -> None:
    """By session, whatever came between their rows, in one batch or several."""
    first, second = Transcript(store, "/t/1.jsonl", session="a"), Transcript(store, "/t/2.jsonl", session="b")
    for number in range(3):
        first.add(first.answer(f"a{number}") if number else first.prompt("a0"))
        second.add(second.answer(f"b{number}"))
    both = Transcript(store, "/t/3.jsonl", session="c", records="mixed")
    both.add(*(both.event(f"{'cd'[number % 2]}{number}", session_id="cd"[number % 2]) for number in range(4)))
    assert {text: place for text, (_, place) in places(store).items()} == {
        "a0": 1, "a1": 2, "a2": 3, "b0": 1, "b1": 2, "b2": 3, "c0": 1, "d1": 1, "c2": 1, "d3": 1,
    }  # fmt: skip


def test_turns_of_one_moment_are_counted_in_the_order_of_their_rows(store: Store) -> None:
    """And one that is read late by when it was said."""
    talk = Transcript(store)
    talk.add(talk.prompt("first", ts_ms=START_MS), *(talk.answer(word, ts_ms=START_MS) for word in ("one", "two")))
    assert [turn.place for turn in turns(store).values()] == [1, 2, 3]
    late = Transcript(store, "/t/late.jsonl", records="late")
    late.state = SourceState("/t/late.jsonl", "claude-code")
    late.add(late.answer("early", ts_ms=START_MS - 1))
    assert (turns(store)["early"].place, turns(store)["early"].before) == (1, None)
    assert [turns(store)[text].place for text in ("first", "one", "two")] == [1, 2, 3]
