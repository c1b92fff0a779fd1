"""Positions follow the order of commit: whatever is derived of a log may remember one number and go on behind it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.batches import Transcript
from tests.contract.toys import open_toys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from howcome.store.base import Store

WRITERS, BATCHES = 4, 12
WAIT_S = 20


def follow(store: Store, seen: list[int], is_over: threading.Event) -> None:
    """Reads on behind the last position that was seen, as every index and worker does."""
    while True:
        ends = is_over.is_set()
        new = store.log.after(seen[-1] if seen else 0, 5)
        seen += [row.row for row in new]
        if ends and not new:
            return


def test_who_has_seen_a_position_has_seen_all_before_it(open_store: Callable[[], Store]) -> None:
    """Writers commit at once, a reader goes on behind what it saw: it misses none and sees none twice."""
    open_store()
    stores = [open_store() for _ in range(WRITERS + 1)]
    seen: list[int] = []
    is_over = threading.Event()

    def write(number: int) -> int:
        transcript = Transcript(stores[number], f"/t/{number}.jsonl", session=f"s{number}")
        return sum(len(transcript.say(f"{number}-{step}", "yes")) for step in range(BATCHES))

    with ThreadPoolExecutor(WRITERS + 1) as threads:
        reader = threads.submit(follow, stores[-1], seen, is_over)
        written = sum(threads.map(write, range(WRITERS)))
        is_over.set()
        reader.result(WAIT_S)
    assert written == len(seen) == 2 * WRITERS * BATCHES
    assert seen == sorted(set(seen))
    assert stores[-1].log.last_position() == seen[-1]


def test_a_log_that_is_overtaken_gives_positions_when_it_commits(tmp_path: Path) -> None:
    """Of two writers the second commits first: who began first stands behind, and a reader misses neither."""
    began, may_commit = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        may_commit.wait(WAIT_S)

    slow, fast = open_toys(tmp_path, wait), open_toys(tmp_path)
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(Transcript(slow, "/t/slow.jsonl", session="slow").say, "begun first")
        assert began.wait(WAIT_S)
        Transcript(fast, "/t/fast.jsonl", session="fast").say("committed first")
        seen = [row.row for row in fast.log.after(0, 10)]
        may_commit.set()
        late.result(WAIT_S)
    seen += [row.row for row in fast.log.after(seen[-1], 10)]
    found = fast.log.events(seen, with_text=True)
    assert [found[row].text for row in seen] == ["committed first", "begun first"]
    for store in (slow, fast):
        store.close()
