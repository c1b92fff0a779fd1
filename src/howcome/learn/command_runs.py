"""The ledger of commands is made: which commands of a session ran, how they failed, and what then worked.

Derived like an index, in pieces behind the log. What is mended by a change of a file is no affair of the ledger: the
command was right.
"""

from __future__ import annotations

import time

from howcome.domain.commands import Run, failure_of, form_number, mended_by, numbers_of, parts_of, worked_number
from howcome.learn.actions import actions_by_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from howcome.domain.commands import Failure, Part
    from howcome.domain.stored import StoredEvent
    from howcome.learn.actions import Action
    from howcome.store.base import Store

MAX_LATER = 12
"""Calls after a failure among which its mending is looked for."""

SIGNALS = 128
"""Exit codes from here on say that a program was ended, not that it failed."""

PIECE = 2_000


def catch_up(store: Store, deadline: float | None = None) -> None:
    """Looks through the events that are new, a piece at a time, until the deadline."""
    while (found := store.commands.unread(PIECE)) is not None:
        last, sessions = found
        told = (store.log.events(rows, with_text=True).values() for rows in sessions.values())
        store.commands.record([run for one in told for run in runs_of(one)], last)
        if deadline is not None and time.monotonic() >= deadline:
            break


def runs_of(told: Iterable[StoredEvent]) -> Iterator[Run]:
    """The commands that some events of a session ran."""
    for action, later in commands_of(sorted(told, key=lambda event: (event.order_ms, event.row))):
        if action.has_succeeded:
            worked = (worked_number(part) for part in parts_of(action.command) if part.decides)
            yield from (Run(action.call.row, form) for form in dict.fromkeys(worked))
        elif (failed := failed_in(action)) is not None:
            fix = mending(failed, later)
            exact, alike = numbers_of(failed)
            by = (fix[0].call.row, form_number(fix[1])) if fix is not None else (None, None)
            yield Run(action.call.row, form_number(failed.part), exact, alike, *by)


def commands_of(told: Sequence[StoredEvent]) -> Iterator[tuple[Action, Sequence[Action]]]:
    """Each command with a result among some events of a session (in their order), with the calls after it."""
    for actions in actions_by_agent(told):
        for place, action in enumerate(actions):
            if action.is_shell and action.result is not None:
                yield action, actions[place + 1 : place + 1 + MAX_LATER]


def failed_in(action: Action) -> Failure | None:
    """What of a call's command failed by itself: neither refused nor ended by a signal; None where nothing did."""
    code = action.result.exit_code if action.result is not None else None
    return failure_of(action.command, action.output) if action.has_failed and code and code < SIGNALS else None


def mending(failed: Failure, later: Sequence[Action]) -> tuple[Action, Part] | None:
    """The call that did the same in other words, before any file was changed or the same words worked."""
    for action in later:
        if action.is_edit and action.has_succeeded:
            return None
        ran = parts_of(action.command) if action.is_shell and action.has_succeeded else ()
        fix = mended_by(failed.part, failed.suspects, ran)
        if fix is not None:
            return action, fix
        if any(part.words == failed.part.words for part in ran):
            return None
    return None
