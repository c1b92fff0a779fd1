"""Pairs of memories that somebody should look at, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable

from howcome.domain import memories
from howcome.domain.memories import Review
from howcome.errors import NotFoundError, UsageError
from howcome.memory.chains import instead
from howcome.memory.remember import Memories
from howcome.store.base import Store


class Reviewing:
    """Settles what may contradict, and what came from outside."""

    def __init__(self, store: Store, kept: Memories, now_ms: Callable[[], int]) -> None:
        self._store, self._kept, self._now_ms = store, kept, now_ms

    def settle(self, number: int, keep: str) -> Review:
        """Settles two memories that may contradict each other: `both` stay, or the `older` or the `newer` one only.

        The other one is forgotten; it can be restored.

        Raises:
            NotFoundError: there is no such pair.
            UsageError: it is settled already, or what is to stay is not live: then both would be gone.
        """
        review = self._store.reviews.get(number)
        if review is None:
            raise NotFoundError(f"no pair {number}; `howcome memories --review` lists them")
        if review.settled_ms is not None:
            raise UsageError(f"pair {number} is settled already")
        if review.reason == memories.IMPORTED:
            return self._settle_import(review, keep)
        for kept in {"older": [review.older], "newer": [review.newer]}.get(keep, [review.older, review.newer]):
            if not kept.is_live:
                raise UsageError(f"{kept.id} is {kept.state}, it cannot stay: {instead(self._store, kept)}")
        is_one = review.older.row == review.newer.row  # does it still hold? Then it is forgotten for `newer` only
        if keep == "newer" or (keep == "older" and not is_one):
            other = review.newer if keep == "older" else review.older
            self._kept.forget(other.key.hex(), is_person=True)
        self._store.reviews.settle(number, self._now_ms())
        return self._store.reviews.get(number) or review

    def _settle_import(self, review: Review, keep: str) -> Review:
        """Accepts what a file brought (`newer`: in the place of the older one), or forgets it until it is restored."""
        new = review.newer
        if not new.is_live:
            raise UsageError(f"{new.id} is {new.state}, it cannot stay: {instead(self._store, new)}")
        if keep == "older":
            self._kept.forget(new.key.hex(), is_person=True)
        elif (twin := self._store.memories.live_twin(new.row)) is not None:
            raise UsageError(f"{twin.id} says the same and is live: `--keep older` leaves it at that")
        else:
            self._store.reviews.accept(review, self._now_ms(), supersedes=keep == "newer")
        return self._store.reviews.get(review.row) or review
