"""What happened each day, by project: from counts alone, without reading a session.

The counts have the names of `counting`, and `events` and `learnt` (memories). What asks for the order of things in a
session is not among them: reads before edits, retries, spins, rework. A failure counts on the day of its result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from howcome.domain.events import COMPACTION, KINDS, ORIGIN_USER, ORIGINS, TOOL_CALL, TOOL_RESULT, USER_PROMPT
from howcome.domain.stored import Scope
from howcome.domain.times import DAY_MS, iso_day
from howcome.history.telemetry.counting import TOOL
from howcome.log.daily import DayCount
from howcome.store.base import Store

ByDay: TypeAlias = Mapping[tuple[str, str], Counter[str]]
"""Counts by day (ISO 8601, UTC) and project's root, in this order."""

COUNTS = ("events", "prompts", "calls", "failed", "compactions", "learnt")
"""What is shown of each day."""

FAILED = "failed: "
"""What the count of a tool's failures begins with."""


def days(store: Store, scope: Scope, since_ms: int = 0) -> ByDay:
    """What happened in a scope from the day of a moment on."""
    found: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in store.daily.events(scope, since_ms):
        found[iso_day(one.day * DAY_MS), one.project].update(_named(one))
    for day, project, count in store.daily.learnt(scope, since_ms):
        found[iso_day(day * DAY_MS), project]["learnt"] += count
    return dict(sorted(found.items()))


def _named(one: DayCount) -> dict[str, int]:
    kind, counts = KINDS[one.kind], {"events": one.events}
    if kind == USER_PROMPT and ORIGINS[one.origin] == ORIGIN_USER:
        counts["prompts"] = one.events
    elif kind == COMPACTION:
        counts["compactions"] = one.events
    elif kind == TOOL_CALL:
        counts |= {"calls": one.events, TOOL + one.tool: one.events}
    elif kind == TOOL_RESULT:
        counts |= {"failed": one.failures, FAILED + one.tool: one.failures}
        counts |= {TOOL + one.tool: 0} if one.failures else {}
    return counts
