"""The ledger of commands is made: which commands of a session ran, how they failed, and what then worked.

Derived like an index, in pieces behind the log. What is mended by a change of a file is no affair of the ledger: the
command was right. So it is where another command made the same one work; that one is kept then.
"""

from __future__ import annotations

import re
import time

from howcome.domain.commands import (
    LOOKING,
    Run,
    failure_of,
    form_number,
    mended_by,
    numbers_of,
    parts_of,
    worked_number,
)
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

SIGNALS = range(128, 193)
"""These exit codes say that a program was ended, not that it failed."""

PIECE = 2_000

MAX_PREPARING = 2
"""Of more commands before the same one worked nobody knows which it was."""

_READING = LOOKING | frozenset(
    (
        "pwd", "ps", "env", "printenv", "printf", "date", "sleep", "awk", "jq", "sort", "uniq", "tree", "less", "more",
        "du", "df", "lsof", "id", "whoami", "hostname", "uname", "stat", "file", "diff", "cmp", "type", "command",
        "true", "false", "readlink", "realpath", "basename", "dirname", "read", "wait", "exit", "top", "man",
    )
)  # fmt: skip
_READS = frozenset((
    "audit", "blame", "cat", "check", "current", "describe", "diff", "doctor", "events", "grep", "help",
    "history", "images", "info", "inspect", "lint", "list", "log", "logs", "ls", "outdated", "ps", "search", "show",
    "status", "test", "tests", "tree", "typecheck", "version", "vet", "view", "which", "why", "get-contexts",
    "-V", "-l", "--check", "--dry-run", "--help", "--list", "--version",
))  # fmt: skip
_CHANGES = frozenset(("--fix", "--write", "-w"))
_INLINE = re.compile(r"(?:python[\d.]*|node|ruby|perl|php|bun|deno) (?:-[cep]|eval)")
_VERSIONED = ("git", "hg", "jj", "svn")
_WRITES = re.compile(
    r"<<|\b(?:patch|tee)\b|\b(?:sed|perl)\b[^|;&]*\s-\w*i|\b(?:cat|echo|printf)\b[^|;&]*>(?!\s*/dev/|&)"
)
"""Programs and words that look only. Where files are changed, by a shell or by going to another version, a change of
these may be what mended it."""


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
            by: tuple[int | None, int | None] = (None, None)
            if fix is not None:
                by = fix[0].call.row, form_number(fix[1])
            elif (ready := prepared(failed, later)) is not None:
                by = ready[0].call.row, -form_number(ready[1])
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
    return failure_of(action.command, action.output) if action.has_failed and code and code not in SIGNALS else None


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


def prepared(failed: Failure, later: Sequence[Action]) -> tuple[Action, Part, Action] | None:
    """The command that ran before the same one worked, with that call: one of two at most, and no file was changed.

    The last is meant, but for one whose success a pipe hides.
    """
    part = failed.part
    ran: dict[str, tuple[Action, Part]] = {}
    for action in later:
        parts = parts_of(action.command) if action.is_shell else ()
        again = next((at for at, now in enumerate(parts) if now.words == part.words and now.decides), None)
        if not action.has_succeeded:
            if again is not None:
                return None  # what comes after it counts for that failure
            continue
        before = [now for now in parts[:again] if not _only_looks(now)]
        if action.is_edit or _WRITES.search(action.command) or any(_is_versioned(now, part) for now in before):
            return None
        ran |= {now.form: (action, now) for now in before}
        if again is not None:
            sure = [one for one in ran.values() if one[1].decides] or [*ran.values()]
            return (*sure[-1], action) if 0 < len(ran) <= MAX_PREPARING else None
    return None


def _only_looks(part: Part) -> bool:
    head = part.words[1:2]
    is_reading = not _READS.isdisjoint((*part.name[1:], *head)) and _CHANGES.isdisjoint(part.words)
    return is_reading or part.program in _READING or _INLINE.fullmatch(" ".join((part.program, *head))) is not None


def _is_versioned(part: Part, failed: Part) -> bool:
    """Whether it may bring other files, where that is not what failed."""
    return part.program in _VERSIONED and failed.program not in _VERSIONED
