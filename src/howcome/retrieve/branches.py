"""What was said on a branch that is not merged into what is checked out where somebody asks."""

from __future__ import annotations

from howcome.clients.git import Branches
from howcome.domain.answering import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.memories import Memory
    from howcome.domain.stored import Reminder, Scope, StoredEvent
    from howcome.retrieve.situation import Ranked
    from howcome.store.base import Store

MAX_NAME_CHARS = 40


class Unmerged:
    """Tells it of events and memories of a scope; in a scope without a folder, or of the past, of none."""

    def __init__(self, store: Store, scope: Scope, then_ms: int | None = None) -> None:
        self._store, self._scope = store, scope
        is_known = scope.folder and scope.project_id is not None and then_ms is None
        self._branches = Branches(store.folder, scope.folder if is_known else "")
        self._since_ms = self._branches.unmerged() if is_known else {}
        self._root = dict(store.projects.roots()).get(scope.project_id or 0) if self._since_ms else None

    def of(self, event: StoredEvent | None, memory: Memory | None = None) -> str:
        """The branch; '' where some of it was said elsewhere, or nobody knows."""
        if not self._since_ms:
            return ""
        said = [event] if event is not None else self._cited(memory) if memory is not None else ()
        branches = list(map(self._of, said))
        return branches[0] if branches and all(branches) else ""

    def mark(self, said: list[Reminder]) -> list[Reminder]:
        """Reminders, each with its branch where that is not merged, and those last."""
        for one in said if self._since_ms else ():
            one.unmerged = self.of(one.event, one.memory)
        return sorted(said, key=lambda one: bool(one.unmerged))

    def last(self, weighed: list[tuple[float, Ranked]]) -> list[tuple[float, Ranked]]:
        """Rows with their chances, those last that are of such a branch."""
        told = self._store.log.events([item.candidate.row for _, item in weighed]) if self._since_ms else {}
        return sorted(weighed, key=lambda pair: bool(self.of(told.get(pair[1].candidate.row))))

    def _cited(self, memory: Memory) -> list[StoredEvent]:
        return [event for ident in memory.evidence for event in self._store.log.find(ident, limit=1)]

    def _of(self, event: StoredEvent) -> str:
        branch = event.branch or ""
        is_of_it = event.project == self._root and event.order_ms >= self._since_ms.get(branch, event.order_ms + 1)
        return branch if is_of_it and self._branches.is_there(branch) else ""


def told(branch: str) -> str:
    """What is said of it; '' for none."""
    return f"on branch {cut(branch, MAX_NAME_CHARS)}, not merged" if branch else ""
