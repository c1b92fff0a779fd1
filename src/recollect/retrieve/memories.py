"""Memories as answers: one field, the events' own idea of which words are rare, the same scale as full text."""

from __future__ import annotations

from recollect.domain.bm25 import full_score
from recollect.domain.ranking import with_recency

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.domain.memories import Memory
    from recollect.retrieve.situation import Situation
    from recollect.store.base import Store

TIER = "memory"


class RankedMemory:
    """A memory with its score (0 to 1, for the order) and its strength (0 to 1: is it about the question at all)."""

    __slots__ = ("memory", "score", "strength")

    def __init__(self, memory: Memory, score: float, strength: float) -> None:
        self.memory, self.score, self.strength = memory, score, strength


def search_memories(
    store: Store, situation: Situation, *, limit: int, now_ms: int, required: Sequence[Sequence[str]] = ()
) -> list[RankedMemory]:
    """The live memories of the scope that answer a question, best first.

    Strength is the share of what a memory could score that holds every word: two common words of a long prompt are
    not enough to speak of it.
    """
    weights = {term: situation.weights.windows[term] for term in situation.terms}
    hits = store.search_memories(weights, situation.wanted, limit, required)
    if not hits:
        return []
    full = full_score(weights.values(), situation.weights.totals["events"])
    found = store.memories_by_row([hit.row for hit in hits])
    ranked = []
    for hit in hits:
        memory = found.get(hit.row)
        if memory is not None and memory.is_live:  # the index may be a moment behind the rows
            strength = min(1.0, hit.score / full)
            ranked.append(RankedMemory(memory, with_recency(strength, memory.created_ms, now_ms), strength))
    return sorted(ranked, key=lambda item: (-item.score, item.memory.row))
