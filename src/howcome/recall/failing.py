"""The ledger of commands as people read it: what failed, how often, and what then worked. Read-only."""

from __future__ import annotations

from howcome.domain.advice import is_risky
from howcome.recall.acting import part_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.stored import Scope, StoredEvent
    from howcome.store.base import Store


class Failing:
    """A command that failed: how often, in how many sessions, and the last call; what then worked, and that call."""

    __slots__ = ("call", "command", "fix", "fixed_by", "how", "sessions", "times")

    def __init__(self, command: str, times: int, sessions: int, call: StoredEvent) -> None:
        self.command, self.times, self.sessions, self.call = command, times, sessions, call
        self.fix, self.how, self.fixed_by = "", "then worked", call


def failing(store: Store, scope: Scope, limit: int) -> list[Failing]:
    """The commands that failed in a scope, the one that failed last first."""
    rows = store.commands.newest_failed(scope, limit)
    told = store.log.events([row for *_, call, by, _ in rows for row in (call, by) if row], with_text=True)
    found = []
    for form, times, sessions, call, by, fix in rows:
        if part := part_in(told.get(call), form):
            found.append(one := Failing(str(part), times, sessions, told[call]))
            others = (part,) if (fix or 0) > 0 else ()
            if by in told and (mended := part_in(told[by], fix or 0)) and not is_risky(mended, *others):
                one.fix, one.fixed_by = str(mended), told[by]
                one.how = "it worked after" if (fix or 0) < 0 else one.how
    return found
