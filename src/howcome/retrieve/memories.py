"""Memories as answers: one field, the events' own idea of which words are rare, the same scale as full text."""

from __future__ import annotations

from howcome.domain.bm25 import full_score
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import HAND
from howcome.domain.query import spans_in
from howcome.domain.ranking import adjusted, facts_of, for_memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store

TIER = "memory"
DISTILLED_SHARE = 3
"""Of an answer at most a third is distilled, as long as there are events enough for the rest: what was said stays what
is found, and a distilled memory is a way to it. What somebody here keeps by hand is not counted."""


class RankedMemory:
    """A memory with its score (0 to 1, for the order) and its strength (0 to 1: is it about the question at all).

    `adjustments` are what the strength was multiplied with, by name.
    """

    __slots__ = ("adjustments", "memory", "score", "strength")

    def __init__(self, memory: Memory, score: float, strength: float, adjustments: Mapping[str, float]) -> None:
        self.memory, self.score, self.strength, self.adjustments = memory, score, strength, adjustments


def not_crowding(memories: Sequence[RankedMemory], events: int, limit: int) -> list[RankedMemory]:
    """The memories that leave room for events, of which there are so many: best first, as they are given."""
    room = max(1, limit // DISTILLED_SHARE, limit - events)
    kept = []
    for item in memories:
        if item.memory.source != HAND or item.memory.origin not in PUSHED_ORIGINS:
            room -= 1
            if room < 0:
                continue
        kept.append(item)
    return kept


def before_evidence(memory: Memory, score: float, events: Mapping[str, float]) -> float:
    """The score of a memory that stands before the events (by id, with their scores) which it cites."""
    return max([score, *(events[event] for event in memory.evidence if event in events)])


def put_likely_evidence_first(store: Store, memory: Memory, sessions: Mapping[str, int]) -> None:
    """Orders what a memory cites by the rank of its session (client's id) among those that answer the question.

    What many sessions taught cites all of them: who follows it wants the one that is meant. The others stay in order.
    """
    if len(memory.evidence) > 1 and sessions:
        told = store.sessions.of_memory(memory.row)
        memory.evidence.sort(key=lambda event: sessions.get(told.get(event, ""), len(sessions)))


def search_memories(
    store: Store, situation: Situation, *, limit: int, now_ms: int, required: Sequence[Sequence[str]] = ()
) -> list[RankedMemory]:
    """The live memories of the scope that answer a question, best first.

    Strength is the share of what a memory could score that holds every word: two common words of a long prompt are
    not enough to speak of it.
    """
    weights = {term: situation.weights.windows[term] for term in situation.terms}
    hits = store.memory_search.search(weights, situation.wanted, limit, required)
    if not hits:
        return []
    full = full_score(weights.values(), situation.weights.totals["events"])
    place = situation.wanted.scope.here
    here = dict(store.projects.roots()).get(place or 0)
    adjustments = for_memories(
        spans_in(situation.text, now_ms, is_asked=situation.recent is None), is_placed=place is not None
    )
    found = store.memories.by_row([hit.row for hit in hits])
    ranked = []
    for hit in hits:
        memory = found.get(hit.row)
        if memory is not None and memory.is_live:  # somebody may have forgotten it since
            strength = min(1.0, hit.score / full)
            facts = facts_of(memory, is_here=memory.project is None or memory.project == here)
            score, factors = adjusted(strength, facts, adjustments, now_ms)
            ranked.append(RankedMemory(memory, score, strength, factors))
    return sorted(ranked, key=lambda item: (-item.score, item.memory.row))
