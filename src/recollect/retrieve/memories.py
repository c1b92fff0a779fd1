"""Memories as answers: one field, the events' own idea of which words are rare, the same scale as full text."""

from __future__ import annotations

from recollect.domain.bm25 import full_score
from recollect.domain.memories import OPEN
from recollect.domain.query import spans_in
from recollect.domain.ranking import Facts, adjusted, for_memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.domain.memories import Memory
    from recollect.retrieve.situation import Situation
    from recollect.store.base import Store

TIER = "memory"


class RankedMemory:
    """A memory with its score (0 to 1, for the order) and its strength (0 to 1: is it about the question at all).

    `adjustments` are what the strength was multiplied with, by name.
    """

    __slots__ = ("adjustments", "memory", "score", "strength")

    def __init__(self, memory: Memory, score: float, strength: float, adjustments: Mapping[str, float]) -> None:
        self.memory, self.score, self.strength, self.adjustments = memory, score, strength, adjustments


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
    place = situation.wanted.scope.here
    here = next((root for project_id, root in store.projects() if project_id == place), None) if place else None
    adjustments = for_memories(
        spans_in(situation.text, now_ms, is_asked=situation.recent is None), is_placed=place is not None
    )
    found = store.memories_by_row([hit.row for hit in hits])
    ranked = []
    for hit in hits:
        memory = found.get(hit.row)
        if memory is not None and memory.is_live:  # the index may be a moment behind the rows
            strength = min(1.0, hit.score / full)
            score, factors = adjusted(strength, _facts(memory, here), adjustments, now_ms)
            ranked.append(RankedMemory(memory, score, strength, factors))
    return sorted(ranked, key=lambda item: (-item.score, item.memory.row))


def _facts(memory: Memory, here: str | None) -> Facts:
    is_open, is_here = memory.status == OPEN, memory.project is None or memory.project == here
    return Facts(memory.created_ms, type=memory.type, is_open=is_open, reads=memory.access_count, is_here=is_here)
