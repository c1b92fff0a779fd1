"""`app.memories`: keeping, reading, forgetting and moving memories."""

from __future__ import annotations

from howcome.app.clock import now_ms
from howcome.domain.memories import LLM, RULES
from howcome.errors import StoreError
from howcome.memory.remember import Memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from howcome.app.projects import Projects
    from howcome.domain.memories import Memory, MemoryFilter, NewMemory, Review
    from howcome.domain.reconciliation import Beside
    from howcome.domain.stored import Scope
    from howcome.learn.meaning import Meaning
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
        if self._store.is_read_only:
            return
        try:
            self._store.memories.record_access([memory.row for memory in memories], now_ms())
        except StoreError:
            return

    def counts(self) -> dict[str, dict[str, int]]:
        """How many there are, by state and by type."""
        return self._store.memories.counts()

    def select(self, scope: Scope, wanted: MemoryFilter, limit: int) -> list[Memory]:
        """Some of a scope, the newest first; also those that have faded."""
        return self._store.memories.select(scope, wanted, limit)

    def waiting(self, scope: Scope, limit: int) -> list[Review]:
        """The pairs that somebody should look at."""
        return self._store.reviews.waiting(scope, limit)

    def settle(self, number: int, keep: str) -> Review:
        """Settles a pair; see `memory.reviewing.Reviewing`."""
        from howcome.memory.reviewing import Reviewing

        return Reviewing(self._store, self, now_ms).settle(number, keep)

    def said(self, memory: Memory) -> list[tuple[int, str]]:
        """When a memory was said (UTC ms), and by which event."""
        return self._store.memories.said(memory.row)

    def wordings(self, memory: Memory) -> list[str]:
        """In which other words it was said."""
        return self._store.memories.wordings(memory.row)

    def sample(self, scope: Scope) -> list[Memory]:
        """Every distilled memory of a scope, in an order that does not depend on when it was made."""
        return [memory for source in (RULES, LLM) for memory in self._store.candidates.sample(scope, source)]

    def vanished(self) -> list[str]:
        """The ids of memories that were kept by hand and are not there any more."""
        return self._store.kept.vanished()

    def purge_again(self, keys: Iterable[bytes]) -> list[str]:
        """Purges what another copy of the store had purged and this one has not; the ids."""
        again = []
        for key in keys:
            found = self._store.memories.find(key.hex(), limit=1)
            if found and found[0].purged_ms is None:
                self.purge(key.hex())
                again.append(found[0].id)
        return again
