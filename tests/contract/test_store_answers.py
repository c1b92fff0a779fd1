"""What a store promises about what others said: found for a while, never in the way, and no more than that."""

from __future__ import annotations

import threading
from collections.abc import Callable

from howcome.store.base import Store

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
SAID: dict[str, object] = {"intent": "fix", "confidence": 0.5, "files": ["ä.py"]}


def test_an_answer_is_found_between_two_times(store: Store) -> None:
    """Not when it is older, nor when it is dated later than now: then a clock was wrong."""
    store.model_answers.keep(b"k", SAID, NOW_MS - DAY_MS, NOW_MS)
    assert store.model_answers.said(b"k", NOW_MS, NOW_MS) == SAID
    assert store.model_answers.said(b"other", NOW_MS, NOW_MS) is None
    assert store.model_answers.said(b"k", NOW_MS + 1, NOW_MS + DAY_MS) is None
    assert store.model_answers.said(b"k", NOW_MS - DAY_MS, NOW_MS - 1) is None
    store.model_answers.keep(b"k", {}, NOW_MS - DAY_MS, NOW_MS + 1)
    assert store.model_answers.said(b"k", NOW_MS, NOW_MS + 1) == {}


def test_old_answers_go_when_a_new_one_comes(store: Store) -> None:
    """And those of a clock that was wrong."""
    for key, at_ms in ((b"old", NOW_MS), (b"late", NOW_MS + 9 * DAY_MS), (b"new", NOW_MS + 2 * DAY_MS)):
        store.model_answers.keep(key, SAID, at_ms - DAY_MS, at_ms)
    found = [store.model_answers.said(key, 0, NOW_MS + 10 * DAY_MS) for key in (b"old", b"late", b"new")]
    assert found == [None, None, SAID]


def test_a_pause_ends_by_itself(store: Store) -> None:
    """The last one counts; what is over goes."""
    assert store.model_answers.pause_of("llm", NOW_MS) is None
    store.model_answers.pause("llm", NOW_MS, NOW_MS + 10, "x" * 10_000)
    store.model_answers.pause("graph", NOW_MS, NOW_MS + 99, "no answer")
    until_ms, reason = store.model_answers.pause_of("llm", NOW_MS + 9) or (0, "")
    assert (until_ms, len(reason)) == (NOW_MS + 10, 500)
    assert store.model_answers.pause_of("llm", NOW_MS + 10) is None
    store.model_answers.pause("graph", NOW_MS, NOW_MS + 5, "again")
    assert store.model_answers.pause_of("graph", NOW_MS) == (NOW_MS + 5, "again")


def test_several_processes_may_note_at_once(open_store: Callable[[], Store]) -> None:
    """Nobody fails, and everybody finds one of the answers."""
    stores = [open_store(), open_store()]

    def note(store: Store) -> None:
        for number in range(30):
            store.model_answers.keep(b"k", {"n": number}, NOW_MS - 1, NOW_MS)
            store.model_answers.pause("llm", NOW_MS, NOW_MS + 1, "")

    threads = [threading.Thread(target=note, args=[store]) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].model_answers.said(b"k", NOW_MS, NOW_MS) == {"n": 29}


def test_what_cannot_be_written_is_not_kept_and_nothing_is_raised(open_store: Callable[..., Store]) -> None:
    """Another process holds the write lock, or the folder is nobody's to write."""
    with_lock, other = open_store(), open_store(busy_ms=20)
    with with_lock.transaction():
        other.model_answers.keep(b"k", SAID, 0, NOW_MS)
        other.model_answers.pause("llm", NOW_MS, NOW_MS + 1, "")
    assert other.model_answers.said(b"k", 0, NOW_MS) is None
    other.database.is_read_only = True
    other.model_answers.pause("llm", NOW_MS, NOW_MS + 1, "")
    assert other.model_answers.pause_of("llm", NOW_MS) is None
