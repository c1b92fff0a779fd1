"""What took the place of what: the chains of memories, and how one gets its place back."""

from __future__ import annotations

from howcome.domain import memories
from howcome.domain.memories import Memory
from howcome.store.base import Store


def walked(store: Store, memory: Memory, way: str) -> list[Memory]:
    """What a memory superseded, or what superseded it (`way` is the attribute's name), the nearest first."""
    found: list[Memory] = []
    row = getattr(memory, way)
    while row is not None and row not in {memory.row, *(one.row for one in found)}:
        found += store.memories.by_row([row]).values()
        row = getattr(found[-1], way)
    return found


def give_back(store: Store, older: Memory) -> bool:
    """Makes a memory live again where nothing lives that took its place or says the same; whether it did."""
    later = walked(store, older, "superseded_by")
    if not later or any(one.is_live for one in later) or store.memories.live_twin(older.row) is not None:
        return False
    store.reviews.part(older.row, later[0].row)
    return True


def give_back_by_hand(store: Store, gone: Memory) -> None:
    """What was distilled and is forgotten gives back the place of what somebody had kept."""
    for older in store.memories.by_row([gone.supersedes or 0]).values():
        if gone.source != memories.HAND and older.source == memories.HAND:
            give_back(store, older)


def instead(store: Store, memory: Memory) -> str:
    """What can be done in place of what a memory that is not live does not allow."""
    later = walked(store, memory, "superseded_by")
    if memory.state == "forgotten" or (later and not any(one.is_live for one in later)):
        return f"`howcome restore {memory.id}` brings it back"
    return "its text is gone" if memory.state == "purged" else f"update {later[-1].id} instead"
