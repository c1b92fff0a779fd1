"""`app.telemetry`: what sessions did, what it cost, and what goes wrong again and again. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howcome.learn.telemetry.counting import counts
from howcome.learn.telemetry.spending import spent

if TYPE_CHECKING:
    from howcome.domain.stored import Scope
    from howcome.learn.telemetry.counting import Counts
    from howcome.learn.telemetry.spending import Spending
    from howcome.store.base import Store


class Telemetry:
    """Counted when it is asked for: nothing is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def counts(self, scope: Scope, since_ms: int = 0, by: str | None = None) -> Counts:
        """What the sessions of a scope did; see `learn.telemetry.counting`."""
        return counts(self._store, scope, since_ms, by)

    def spent(self, scope: Scope, since_ms: int = 0, by: str | None = None) -> Spending:
        """What their transcripts say of tokens and cost; see `learn.telemetry.spending`."""
        return spent(self._store, scope, since_ms, by)
