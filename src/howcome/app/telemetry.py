"""`app.telemetry`: what sessions did, what it cost, and what goes wrong again and again. Reads only."""

from __future__ import annotations

from collections import Counter

from howcome.app.clock import now_ms
from howcome.domain.candidates import users_words
from howcome.domain.events import ORIGIN_USER
from howcome.domain.memories import Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.domain.times import DAY_MS, iso_day
from howcome.history.telemetry.counting import WEEK_MS, Counts, counts
from howcome.history.telemetry.days import ByDay, days
from howcome.history.telemetry.patterns import Pattern, patterns
from howcome.history.telemetry.spending import Spending, spent
from howcome.store.base import Store

NEWEST = 1000
"""So many memories, the newest, are looked at."""


class Telemetry:
    """Counted when it is asked for: nothing is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def counts(self, scope: Scope, since_ms: int = 0, by: str | None = None) -> Counts:
        """What the sessions of a scope did; see `history.telemetry.counting`."""
        return counts(self._store, scope, since_ms, by)

    def days(self, scope: Scope, since_ms: int = 0) -> ByDay:
        """What happened each day in a scope, from the day of a moment (UTC ms) on; see `history.telemetry.days`."""
        return days(self._store, scope, since_ms)

    def last_week(self) -> Counter[str]:
        """The counts of seven days, today among them, of every project; see `history.telemetry.days`."""
        today, found = iso_day(now_ms()), self.days(Scope.everything(), now_ms() - WEEK_MS + DAY_MS)
        return sum((counts for (day, _), counts in found.items() if day <= today), Counter())  # clocks may be wrong

    def spent(self, scope: Scope, since_ms: int = 0, by: str | None = None) -> Spending:
        """What their transcripts say of tokens and cost; see `history.telemetry.spending`."""
        return spent(self._store, scope, since_ms, by)

    def patterns(self, scope: Scope, since_ms: int = 0, least: int = 2) -> list[Pattern]:
        """What failed in so many sessions or more, in classes; see `history.telemetry.patterns`."""
        return patterns(self._store, scope, since_ms, least)

    def corrections(self, scope: Scope) -> list[tuple[Memory, int]]:
        """What the user said in so many sessions that it is standing, with how many, most first."""
        found = self._store.memories.select(scope, MemoryFilter(), NEWEST)
        own = [one for one in found if one.origin == ORIGIN_USER and users_words(one.text)]
        told = self._store.candidates.told_of([one.key for one in own])
        counted = [(one, told[one.key].sessions) for one in own if one.key in told and told[one.key].is_standing]
        return sorted(counted, key=lambda pair: (-pair[1], pair[0].key))
