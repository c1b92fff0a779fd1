"""Consolidation: of live memories that say the same one stays, the user's last word holds, what nobody used sleeps.

Nothing is rewritten and nothing is deleted: what stays takes the other's place in a chain, with all that bears it out,
and `undo` gives that back. What consolidation did stays done when sessions are distilled again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from howcome.domain.events import ORIGIN_USER
from howcome.domain.memories import HAND, Memory, MemoryFilter
from howcome.domain.ranking import DAY_MS, facts_of, is_stale
from howcome.domain.reconciliation import ASLEEP, MERGED, RESOLVED, Step
from howcome.domain.stored import Filter, Scope
from howcome.learn.likeness import Statement, covers, is_same
from howcome.retrieve.memories import search_memories
from howcome.retrieve.search import Searcher
from howcome.store.base import Store

PAUSE, EVERY_MS = "consolidation", 6 * 3_600_000
"""The worker does it once in so many hours, as far as it gets."""

MAX_KNOWN = 1_000_000
TRIES = 3
FOUND_AMONG = 3
"""Asked for what is merged into it, the memory that stays has to be among the first three."""

_MEANT = ("number", "negation", "choice", "subject")
"""Reasons for which a pair waits for review although nobody proposed it."""


class Consolidation:
    """Plans and does it."""

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store, self._now_ms = store, now_ms

    def plan(self, rest: Callable[[], bool] = lambda: True) -> list[Step]:
        """What there is to do; less when `rest` ends it."""
        before = self._store.consolidated.pairs()
        found = self._store.memories.select(Scope.everything(), MemoryFilter(), MAX_KNOWN, oldest_first=True)
        found = [one for one in found if not one.is_outside]
        groups: dict[tuple[object, ...], list[Memory]] = {}
        for memory in found:
            groups.setdefault((memory.project, tuple(memory.also), memory.agent, memory.status), []).append(memory)
        steps, moved = [], set[int]()
        for step in self._wanted(list(groups.values()), rest):
            pair = step.memory.row, step.kept.row
            if pair not in before and moved.isdisjoint(pair) and step.memory.pinned_ms is None:
                steps.append(step)
                moved.update(pair)
        return [*steps, *self._faded([one for one in found if one.row not in moved], before)]

    def run(self, rest: Callable[[], bool] = lambda: True) -> list[Step]:
        """Does it, all at once; [] also when memories kept changing."""
        for _ in range(TRIES):
            stamp, steps = self._store.in_step.stamp(), self.plan(rest)
            if not steps or self._store.consolidated.apply(stamp, steps, self._now_ms()):
                return steps
        return []

    def run_if_due(self, rest: Callable[[], bool]) -> list[Step]:
        """The same, unless it was done in the last hours."""
        now_ms = self._now_ms()
        if self._store.model_answers.pause_of(PAUSE, now_ms) is not None:
            return []
        self._store.model_answers.pause(PAUSE, now_ms, now_ms + EVERY_MS, "")
        return self.run(rest)

    def undo(self) -> list[Step]:
        """Takes back the last run that did anything."""
        return self._store.consolidated.undo(self._now_ms())

    def _wanted(self, groups: Sequence[Sequence[Memory]], rest: Callable[[], bool]) -> Iterator[Step]:
        for review in self._store.reviews.waiting(Scope.everything(), MAX_KNOWN):
            if review.reason in _MEANT and (later := _users_last(review.older, review.newer)) is not None:
                yield Step(RESOLVED, review.newer if later is review.older else review.older, later)
        for group in groups:
            statements = [Statement(memory.text) for memory in group]
            for one, other in sorted(_near(statements)):
                if step := self._merged(group[one], group[other], statements[one], statements[other]):
                    yield step
            if not rest():
                return

    def _merged(self, one: Memory, other: Memory, said: Statement, also: Statement) -> Step | None:
        """One of two in the other's place; None where they are two, or it would not be found in the other's words.

        What was said in one breath are two things.
        """
        is_other = one.type != other.type and HAND not in (one.source, other.source)
        if is_other or set(one.evidence) & set(other.evidence):
            return None
        is_one = is_same(said, also)
        ways = [(other, one)] if is_one or covers(said, also) else []
        ways += [(one, other)] if is_one or covers(also, said) else []
        for memory, kept in sorted(ways, key=lambda way: _weight(way[1]), reverse=True):
            # nothing takes the place of a person's words but a person's
            may_stand = kept.supersedes is None and _weight(kept)[:2] >= _weight(memory)[:2]
            if may_stand and self._is_found(kept, memory):
                return Step(MERGED, memory, kept)
        return None

    def _is_found(self, kept: Memory, memory: Memory) -> bool:
        """Whether who asks for one memory in its own words finds another among the first, once that one is gone."""
        scope = Scope.project(None if kept.project is None else self._store.projects.of_root(kept.project))
        asked = Searcher(self._store).situation(memory.summary, Filter(scope))
        found = search_memories(self._store, asked, limit=FOUND_AMONG + 1, now_ms=self._now_ms())
        return kept.row in [item.memory.row for item in found if item.memory.row != memory.row][:FOUND_AMONG]

    def _faded(self, live: Sequence[Memory], before: set[tuple[int, int]]) -> Iterator[Step]:
        """What faded over the days on which its project was worked on, was never used, and is not standing.

        Days without work are none: who comes back after half a year finds what held when they left.
        """
        unused, days = self._store.consolidated.unused(), self._store.consolidated.days_of_use()
        told = self._store.candidates.told_of(one.key for one in live)
        for memory in live:
            is_free = memory.row in unused and (memory.row, memory.row) not in before and memory.project is not None
            is_standing = memory.key in told and told[memory.key].is_standing
            facts = facts_of(memory)
            age_days = sum(day > facts.ts_ms // DAY_MS for day in days.get(memory.project or "", ()))
            if is_free and not is_standing and is_stale(facts, facts.ts_ms + age_days * DAY_MS):
                yield Step(ASLEEP, memory, memory)


def _near(statements: Sequence[Statement]) -> set[tuple[int, int]]:
    """Places of statements one of which may cover the other: it has its rarest word."""
    by_word, found = defaultdict[str, list[int]](list), set()
    for place, statement in enumerate(statements):
        for word in statement.words:
            by_word[word].append(place)
    for place, statement in enumerate(statements):
        others = min((by_word[word] for word in sorted(statement.words)), key=len, default=[])
        found |= {(min(place, other), max(place, other)) for other in others if other != place}
    return found


def _weight(memory: Memory) -> tuple[bool, bool, int, int]:
    """What stays of two that say the same: what somebody keeps, then the user's, then what was said last."""
    return memory.source == HAND, memory.origin == ORIGIN_USER, memory.said_ms or memory.created_ms, memory.row


def _users_last(one: Memory, other: Memory) -> Memory | None:
    """Of two the one that a user said last, where that was later than the other."""
    former, later = sorted((one, other), key=lambda memory: (memory.said_ms or memory.created_ms, memory.row))
    is_users = later.origin == ORIGIN_USER and former.row != later.row
    return later if is_users and later.roots in (former.roots, []) and later.supersedes is None else None
