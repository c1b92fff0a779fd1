"""Memories as answers: one field, the events' own idea of which words are rare, and a scale of their own.

A memory is one sentence and an exchange holds hundreds: it shares two or three words with a question in other words, so
that its share of what it could score is no measure beside events. That share is stretched to what an event scores that
answers as well; where there is a model, half of its value is what it means.
"""

from __future__ import annotations

from howcome.domain.bm25 import full_score
from howcome.domain.events import ORIGIN_USER, PUSHED_ORIGINS
from howcome.domain.fusion import blend
from howcome.domain.memories import HAND
from howcome.domain.query import spans_in
from howcome.domain.ranking import adjusted, facts_of, for_memories
from howcome.retrieve.situation import MAX_EMBEDDED_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store, Vectors

TIER = "memory"
WORDS_SCALE = 2.5
"""What a memory's share of its full score counts beside an event's. 50 questions in other words, each for one of 275
memories of two projects: it is among the first three for .79 and .50 of them by words (at 1: .21 and .19), and the
projects' own questions lose .025 and .021 of any@5 to memories that stand before events. Each project chooses this
value where it may cost no more than that (docs/evaluation.md, "Reach")."""

MEANING_SHARE = 0.5
LEAST_COSINE = 0.2
"""Where a memory has a vector, half of its value is its cosine above what unrelated sentences have: the first three
hold it for .83 and .73 of the same questions."""

CROWDING = 0.9
"""Each further memory counts so much of itself: at 1 the projects' own questions lose .065 and .067, and no question in
other words is answered better."""

SPEAK_SHARE = 0.6
"""How sure a memory's value is, on the scale of `recall_threshold`: prompts of another project are told a memory for
.037 and .005 of them by words, .017 and .005 with MiniLM (docs/evaluation.md, "Silence")."""

BREADTH = 200
OVERREAD = 3
MAX_LOOKED_AT = 200
"""Of a part of a project the best so many are looked at: what bears them out says whether they are about it."""
DISTILLED_SHARE = 3
"""Of an answer at most a third is distilled, as long as there are events enough for the rest: what was said stays what
is found, and a distilled memory is a way to it. What somebody here keeps by hand is not counted."""


DISTILLED_WORTH = 0.3
"""What was learnt from an exchange that is no answer itself counts so much of itself beside events: WORDS_SCALE is for
one sentence that somebody chose to keep (docs/evaluation.md, "Rows")."""


class RankedMemory:
    """A memory with its score (0 to 1, for the order) and its strength (0 to 1: is it about the question at all).

    `value` is what its words and its meaning say, `adjustments` what that was multiplied with, by name.
    """

    __slots__ = ("adjustments", "memory", "score", "strength", "value")

    def __init__(self, memory: Memory, value: float, score: float, adjustments: Mapping[str, float]) -> None:
        self.memory, self.value, self.score, self.adjustments = memory, value, score, adjustments
        self.strength = 0.0


def is_distilled(memory: Memory) -> bool:
    """Whether nobody here kept it by hand."""
    return memory.source != HAND or memory.origin not in PUSHED_ORIGINS


def not_crowding(memories: Sequence[RankedMemory], events: int, limit: int) -> list[RankedMemory]:
    """The memories that leave room for events, of which there are so many: best first, as they are given."""
    room = max(1, limit // DISTILLED_SHARE, limit - events)
    kept = []
    for item in memories:
        if is_distilled(item.memory):
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
    store: Store,
    situation: Situation,
    *,
    limit: int,
    now_ms: int,
    required: Sequence[Sequence[str]] = (),
    vectors: Vectors | None = None,
) -> list[RankedMemory]:
    """The live memories of the scope that answer a question, best first, at most `limit`.

    Strength is a part of the value, and nothing where no word is shared: how near is no reason to speak.

    Raises:
        ProviderError: the question cannot be embedded.
    """
    weights = {term: situation.weights.windows[term] for term in situation.terms}
    hits = store.memory_search.search(weights, situation.wanted, BREADTH, required)
    full = full_score(weights.values(), situation.weights.totals["events"])
    shares = {hit.row: min(1.0, hit.score / full) for hit in hits}
    near = vectors.memories(situation.asked[:MAX_EMBEDDED_CHARS], situation.wanted) if vectors is not None else {}
    if required:
        near = {row: cosine for row, cosine in near.items() if row in shares}
    values = {row: memory_value(shares.get(row, 0.0), near.get(row)) for row in {*shares, *near}}
    part = situation.wanted.subsystem
    most = OVERREAD * limit if part is None else MAX_LOOKED_AT
    best = sorted((row for row in values if values[row] > 0), key=lambda row: (-values[row], row))[:most]
    ranked = _ranked(store, situation, {row: values[row] for row in best}, now_ms)
    if part is not None:
        from howcome.retrieve.subsystem import is_about

        ranked = [item for item in ranked if is_about(store, item.memory, part)]
    for place, item in enumerate(ranked):
        item.strength = SPEAK_SHARE * item.value if item.memory.row in shares else 0.0
        if place:
            factor = CROWDING**place
            item.score, item.adjustments = item.score * factor, {**item.adjustments, "crowding": factor}
    return ranked[:limit]


def memory_value(share: float, cosine: float | None) -> float:
    """What a memory's share of its full score and its cosine (None: it has no vector) say of it, from 0 to 1."""
    words = min(1.0, WORDS_SCALE * share)
    return words if cosine is None else blend(words, max(0.0, cosine - LEAST_COSINE), MEANING_SHARE)


def _ranked(store: Store, situation: Situation, values: Mapping[int, float], now_ms: int) -> list[RankedMemory]:
    """Memories by what they are worth after all adjustments, best first."""
    if not values:
        return []
    place = situation.wanted.scope.here
    here = dict(store.projects.roots()).get(place or 0)
    adjustments = for_memories(
        spans_in(situation.text, now_ms, is_asked=situation.recent is None), is_placed=place is not None
    )
    ranked = []
    for row, memory in store.memories.by_row(values, situation.wanted.then_ms).items():
        if memory.is_live:  # somebody may have forgotten it since
            facts = facts_of(memory, is_here=memory.project is None or here in memory.roots)
            score, factors = adjusted(values[row], facts, adjustments, now_ms)
            ranked.append(RankedMemory(memory, values[row], score, factors))
    return sorted(ranked, key=lambda item: (-item.score, item.memory.row))


def latest(kept: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Memories without those that a later one of them contradicts, which is no less trusted."""
    found = {item.memory.id: item.memory for item in kept}

    def is_overruled(memory: Memory) -> bool:
        others = [found[ident] for ident in memory.contradicts if ident in found]
        trusted = [one for one in others if one.origin in (memory.origin, ORIGIN_USER)]
        return any(_said_at(one) > _said_at(memory) for one in trusted)

    return [item for item in kept if not is_overruled(item.memory)]


def _said_at(memory: Memory) -> tuple[int, int]:
    return memory.said_ms or memory.created_ms, memory.row
