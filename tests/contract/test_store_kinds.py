"""What every store promises about kinds and origins: what is narrowed is the best of what was asked, however rare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.batches import EVERYTHING, Transcript

from howcome.domain import events
from howcome.domain.stored import Filter, Scope

if TYPE_CHECKING:
    from howcome.store.base import Store

TURNS, RESULTS = 30, 1500
"""More results that say the word, and oftener, than any search looks at: the turns are never among the best."""

WEIGHTS = {"median": 1.0}
PROMPTS = (events.USER_PROMPT,)
TOOLS = (events.TOOL_CALL, events.TOOL_RESULT)


@pytest.fixture(scope="module")
def filled(shared_store: Store) -> Store:
    """Of many turns a few say a word, once; a great many results say it again and again."""
    transcript = Transcript(shared_store)
    noise = " ".join(f"tide{number}" for number in range(40))
    transcript.add(*(transcript.prompt(f"{noise} median {number} {noise}") for number in range(TURNS)))
    transcript.add(*(transcript.prompt(f"{noise} {number}") for number in range(RESULTS)))
    transcript.add(*(transcript.result(f"median median median {number}") for number in range(RESULTS)))
    shared_store.index.catch_up()
    shared_store.index.release()
    return shared_store


def test_what_is_rare_is_found_among_much_that_is_better(filled: Store) -> None:
    """Asked first or after all kinds, by the same words: every prompt, up to the limit."""
    for _ in range(2):
        hits = filled.index.search("events", WEIGHTS, EVERYTHING.narrowed(PROMPTS), TURNS)
        assert {event.kind for event in filled.log.events(hit.row for hit in hits).values()} == set(PROMPTS)
        assert len(hits) == TURNS
        assert len(filled.index.search("events", WEIGHTS, EVERYTHING, 50)) == 50


@pytest.mark.parametrize("kinds", [PROMPTS, TOOLS, (*PROMPTS, events.TOOL_RESULT)])
@pytest.mark.parametrize("limit", [1, 20, 200, 1600])
def test_one_kind_after_another_gives_what_each_gives_alone(filled: Store, kinds: tuple[str, ...], limit: int) -> None:
    """In the order of all of them: rows and scores."""
    everything = filled.index.search("events", WEIGHTS, EVERYTHING, 2 * RESULTS)
    stored = filled.log.events(hit.row for hit in everything)
    best = [(hit.row, hit.score) for hit in everything if stored[hit.row].kind in kinds][:limit]
    found = filled.index.search("events", WEIGHTS, EVERYTHING.narrowed(kinds), limit)
    assert [(hit.row, hit.score) for hit in found] == best


def test_another_scope_or_time_is_another_search(filled: Store) -> None:
    """What was found for everything answers nothing else, though the words are the same."""
    assert filled.index.search("events", WEIGHTS, EVERYTHING.narrowed(TOOLS), 50)
    assert filled.index.search("events", WEIGHTS, Filter(Scope.project(10**6), kinds=TOOLS), 50) == []
    assert filled.index.search("events", WEIGHTS, Filter(Scope.everything(), before_ms=5, kinds=TOOLS), 50) == []
    assert filled.index.search("events", WEIGHTS, Filter(Scope.everything(), kinds=()), 50) == []


def test_what_is_new_is_found_by_the_same_words(filled: Store) -> None:
    """A search that was just answered is not answered from memory after more was indexed."""
    found = filled.index.search("events", WEIGHTS, EVERYTHING.narrowed(TOOLS), RESULTS + 50)
    transcript = Transcript(filled, "/t/other.jsonl", session="session-two")
    transcript.add(transcript.result("median"))
    filled.index.catch_up()
    filled.index.release()
    again = filled.index.search("events", WEIGHTS, EVERYTHING.narrowed(TOOLS), RESULTS + 50)
    assert len(again) == len(found) + 1
