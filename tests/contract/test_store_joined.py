"""Projects that are joined while others write, on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.batches import START_MS, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.store.base import Store

HARBOUR = "/home/mara/harbour"


def test_who_wrote_before_another_joined_a_project_goes_on_in_the_one_that_is_left(
    open_store: Callable[[], Store],
) -> None:
    """A worker keeps what it knows of sessions and folders; `howcome projects join` is another process."""
    store, other = open_store(), open_store()
    quay, harbour = Transcript(store), Transcript(store, "/t/other.jsonl", session="other", cwd=HARBOUR)
    quay.say("one", "two")
    harbour.say("three")
    kept, joined = (store.projects.of_root(root) for root in (quay.cwd, HARBOUR))
    assert kept is not None
    assert joined is not None
    other.projects.join(kept, joined, START_MS)
    harbour.say("four")
    quay.add(quay.prompt("five", cwd=HARBOUR))
    Transcript(store, "/t/new.jsonl", session="new", cwd=HARBOUR).say("six")
    rows = [row.row for row in store.log.after(0, 100)]
    assert [event.project for event in store.log.events(rows).values()] == [quay.cwd] * 6
