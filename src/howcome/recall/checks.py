"""The commands that a project's sessions check their work with: run in many, and they do find something."""

from __future__ import annotations

from howcome.domain.commands import MASK
from howcome.domain.stored import Reminder
from howcome.recall.acting import part_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.domain.stored import Scope
    from howcome.store.base import Store

CHECKS, SHARE, LEAST_SESSIONS = 3, 0.3, 3
"""So many commands are said, each of which worked in such a share of the sessions that ran any. Of 95 sessions of one
project 90 then ran half of them, of 266 of another 207 (docs/evaluation.md, "The briefing, line by line")."""

FOUND_SESSIONS = 2
"""What failed in so many sessions checks something; what never fails only looks."""

MAX_CHARS = 50
HEAD = "Checks that sessions run here:"


def checks_of(store: Store, scope: Scope, sessions: Iterable[int], before_ms: int | None) -> Reminder | None:
    """What some sessions (rows) of a project check their work with; None where nothing is usual."""
    by_form: dict[int, dict[int, int]] = {}
    for form, session, call in store.commands.worked_in(scope, [*sessions], before_ms):
        by_form.setdefault(form, {})[session] = call
    least = max(LEAST_SESSIONS, SHARE * len({session for calls in by_form.values() for session in calls}))
    usual = {form: calls for form, calls in by_form.items() if len(calls) >= least}
    found = store.commands.failed_in(scope, usual, before_ms) if usual else {}
    kept = sorted(((len(calls), max(calls.values()), form) for form, calls in usual.items()), reverse=True)
    last = {form: call for _, call, form in kept if found.get(form, 0) >= FOUND_SESSIONS}
    told = store.log.events(last.values(), with_text=True) if last else {}
    ran = [(told[call], str(part)) for form, call in last.items() if (part := part_in(told.get(call), form))]
    shown = [(event, command) for event, command in ran if _is_short(command)][:CHECKS]
    if not shown:
        return None
    text = ", ".join(f"`{command}`" for _, command in shown)
    first = shown[0][0]
    return Reminder(first, 1.0, [(first.origin, text)], [event.row for event, _ in shown])


def _is_short(command: str) -> bool:
    return len(command) <= MAX_CHARS and command.isprintable() and MASK not in command
