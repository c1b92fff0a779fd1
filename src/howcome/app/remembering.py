"""`app.memories`: keeping, reading, forgetting and moving memories."""

from __future__ import annotations

from contextlib import suppress

from howcome.app.clock import now_ms
from howcome.domain.memories import LLM, RULES, MemoryFilter
from howcome.domain.stored import Scope
from howcome.errors import StoreError, UsageError
from howcome.memory.chains import settle
from howcome.memory.remember import MAX_COMPARED, Memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from howcome.app.projects import Projects
    from howcome.domain.candidates import Told
    from howcome.domain.memories import Memory, NewMemory, Review
    from howcome.domain.reconciliation import Beside
    from howcome.learn.meaning import Meaning
    from howcome.log.reviews import States
    from howcome.store.base import Store


class Remembering(Memories):
    """What `Memories` does, and what is read beside a memory."""

    def __init__(self, store: Store, projects: Projects, meaning: Callable[[], Meaning | None]) -> None:
        super().__init__(store, now_ms, projects.root_of, self._weighed)
        self._meaning = meaning

    def _weighed(self, new: NewMemory, others: Sequence[Memory]) -> Beside:
        from howcome.learn.beside import beside

        return beside(new, others, self._meaning())

    def count_access(self, memories: Sequence[Memory]) -> None:
        """Memories were read; losing the count must not lose the answer."""
        with suppress(StoreError):
            if not self.store.is_read_only:
                self.store.memories.record_access([memory.row for memory in memories], now_ms())

    def topics(self, memories: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
        """Memories by what they are about, the largest topic first; "" names those of none."""
        from howcome.learn.topics import topics

        return [(name, [memories[at] for at in places]) for name, places in topics([one.text for one in memories])]

    def waiting(self, scope: Scope, limit: int) -> list[Review]:
        """The pairs that somebody should look at."""
        return self.store.reviews.waiting(scope, limit)

    def settle(self, number: int, keep: str) -> Review:
        """Settles a pair; see `memory.chains.settle`."""
        return settle(self.store, self.forget, now_ms, number, keep)

    def states(self, memories: Iterable[Memory], before: States | None = None) -> States:
        """What `set_back` needs to know of memories, and of what stands in their chains, before and after a change."""
        rows = {row for table, row in before or () if table == "memories"}  # a change may have parted a chain
        rows |= {one.row for memory in memories for one in self.chain(memory.key.hex())}
        return self.store.reviews.states(rows)

    def set_back(self, before: States, after: States) -> None:
        """Takes a change back: all is as it was before, and a memory that the change added is forgotten."""
        if not self.store.reviews.set_back(before, after, now_ms()):
            raise UsageError("somebody has changed it since; nothing was taken back")

    def told_of(self, memories: Sequence[Memory]) -> dict[bytes, Told]:
        """Which source found memories (by key), and in how many sessions they were said; by hand: none."""
        return self.store.candidates.told_of(memory.key for memory in memories)

    def said(self, memory: Memory) -> list[tuple[int, str]]:
        """When a memory was said (UTC ms), and by which event."""
        return self.store.memories.said(memory.row)

    def wordings(self, memory: Memory) -> list[str]:
        """In which other words it was said."""
        return self.store.candidates.wordings(memory.row)

    def learnt_in(self, session: int) -> list[tuple[Memory, bool]]:
        """What a session (by its row) taught, the newest first, and whether it did so first: else it said it again."""
        told = {event.id for event in self.store.log.session(session, with_text=False)}
        found = [memory for memory in self._distilled(Scope.everything()) if told & set(memory.evidence)]
        return [(memory, memory.evidence[0] in told) for memory in found]

    def learnt_since(self, scope: Scope, since_ms: int) -> list[tuple[Memory, bool]]:
        """What was learnt, or said again, since then."""
        found = [one for one in self._distilled(scope) if (one.said_ms or one.created_ms) >= since_ms]
        return [(memory, memory.created_ms >= since_ms) for memory in found]

    def learnt_last(self, scope: Scope) -> list[tuple[Memory, bool]]:
        """What the last session taught that taught anything."""
        for memory in self._distilled(scope):
            last = max(self.said(memory), default=(0, ""))[1]  # when it was said last; its evidence is any witness
            for event in self.store.log.find(last, limit=1) if last else ():
                return self.learnt_in(self.store.sessions.of_event(event.row) or 0)
        return []

    def _distilled(self, scope: Scope) -> list[Memory]:
        """Live memories from sessions, what was said last first."""
        sources = (self.store.memories.select(scope, MemoryFilter(source=one), MAX_COMPARED) for one in (RULES, LLM))
        every = [memory for found in sources for memory in found]
        return sorted(every, key=lambda memory: (memory.said_ms or memory.created_ms, memory.row), reverse=True)

    def sample(self, scope: Scope) -> list[Memory]:
        """Every distilled memory of a scope, in an order that does not depend on when it was made."""
        return [memory for source in (RULES, LLM) for memory in self.store.candidates.sample(scope, source)]

    def purge_again(self, keys: Iterable[bytes]) -> list[str]:
        """Purges what another copy of the store had purged and this one has not; the ids."""
        known = (one for key in keys for one in self.store.memories.find(key.hex(), limit=1))
        return [self.purge(one.key.hex()).id for one in known if one.purged_ms is None]
