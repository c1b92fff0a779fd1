"""What took the place of what: the chains of memories, and how one gets its place back.

And pairs of memories that somebody should look at, and what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable

from howcome.domain import memories
from howcome.domain.memories import Memory, Review
from howcome.errors import NotFoundError, UsageError
from howcome.store.base import Store

Forget = Callable[..., Memory]
_ANSWERS = {"accept": "newer", "refuse": "older"}


def walked(store: Store, memory: Memory, way: str) -> list[Memory]:
    """What a memory superseded, or what superseded it (`way` is the attribute's name), the nearest first."""
    found: list[Memory] = []
    row = getattr(memory, way)
    while row is not None and row not in {memory.row, *(one.row for one in found)}:
        found += store.memories.by_row([row]).values()
        row = getattr(found[-1], way)
    return found


def latest(store: Store, memory: Memory) -> Memory:
    """What has taken a memory's place in the end; itself, where nothing has."""
    return [memory, *walked(store, memory, "superseded_by")][-1]


def give_back(store: Store, older: Memory) -> bool:
    """Makes a memory live again where nothing lives that took its place or says the same; whether it did."""
    later = walked(store, older, "superseded_by")
    if not later or any(one.is_live for one in later) or store.memories.live_twin(older.row) is not None:
        return False
    store.reviews.part(older.row, later[0].row)
    return True


def instead(store: Store, memory: Memory) -> str:
    """What can be done in place of what a memory that is not live does not allow."""
    later = walked(store, memory, "superseded_by")
    if memory.state == "forgotten" or (later and not any(one.is_live for one in later)):
        return f"`howcome restore {memory.id}` brings it back"
    return "its text is gone" if memory.state == "purged" else f"update {later[-1].id} instead"


def settle(store: Store, forget: Forget, now_ms: Callable[[], int], number: int, keep: str) -> Review:
    """Settles two memories that may contradict each other: `both` stay, or the `older` or the `newer` one only.

    What came from outside can be answered by `accept` or `refuse`, too.
    The other one is forgotten; it can be restored. What is to stay must be live: else both would be gone.
    """
    review = store.reviews.get(number)
    if review is None:
        raise NotFoundError(f"no pair {number}; `howcome memories --review` lists them")
    if review.settled_ms is not None:
        raise UsageError(f"pair {number} is settled already")
    if review.reason == memories.IMPORTED:
        return _settle_import(store, forget, now_ms, review, _ANSWERS.get(keep, keep))
    if keep in _ANSWERS:
        raise UsageError(f"pair {number} is not from outside: `--keep both|older|newer` settles it")
    for one in {"older": [review.older], "newer": [review.newer]}.get(keep, [review.older, review.newer]):
        if not one.is_live:
            raise UsageError(f"{one.id} is {one.state}, it cannot stay: {instead(store, one)}")
    is_one = review.older.row == review.newer.row  # does it still hold? Then it is forgotten for `newer` only
    if keep == "newer" or (keep == "older" and not is_one):
        other = review.newer if keep == "older" else review.older
        forget(other.key.hex(), is_person=True)
    store.reviews.settle(number, now_ms())
    return store.reviews.get(number) or review


def _settle_import(store: Store, forget: Forget, now_ms: Callable[[], int], review: Review, keep: str) -> Review:
    """Accepts what a file brought (`newer`: in the place of the older one), or forgets it until it is restored."""
    new = review.newer
    if not new.is_live:
        raise UsageError(f"{new.id} is {new.state}, it cannot stay: {instead(store, new)}")
    if keep == "older":
        forget(new.key.hex(), is_person=True)
    elif (twin := store.memories.live_twin(new.row)) is not None:
        raise UsageError(f"{twin.id} says the same and is live: `--refuse` (`--keep older`) leaves it at that")
    else:
        store.reviews.accept(review, now_ms(), supersedes=keep == "newer")
    return store.reviews.get(review.row) or review
