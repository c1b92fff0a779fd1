"""Commands that failed, and what then worked: the same command in other words, or as it was after another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howcome.domain.advice import is_risky
from howcome.domain.commands import HOOKED, LOOKING, MASK, NOT_RUN, Part, is_unchecked, parts_of
from howcome.domain.complaints import complaint
from howcome.learn.actions import Action
from howcome.learn.command_runs import MAX_LATER, failed_in, prepared
from howcome.learn.shell import Command, commands
from howcome.learn.sources.seen import Draft, Seen, one_line

MAX_COMMAND_CHARS, MAX_COMPLAINT_CHARS = 80, 110
_ONE_OF_ITS_KIND = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{7,40}\b|\d{3,}")
"""A commit's name or a number of three digits: nobody types such a command again. A strict reader found none of six of
use, and one of three others; the ledger speaks of both."""

_SOURCE = re.compile(r"\W*\d[\d\s]*[|│]")
"""A line of source code that a report quotes: it says nothing of what is wrong."""


def find(seen: Seen) -> list[Draft]:
    """Failures of an exchange that were mended in it."""
    found = []
    actions = seen.scene.actions
    for place, failed in enumerate(actions):
        if not failed.is_shell or not failed.has_failed or failed.result is None or failed.output.startswith(NOT_RUN):
            continue
        ran = [command for command in commands(failed.command) if command.program not in LOOKING]
        is_hooked = bool(ran) and " ".join(ran[-1].name.split()[:2]) in HOOKED
        line = complaint(failed.output, is_hooked=is_hooked)
        later = actions[place + 1 : place + 1 + MAX_LATER]
        is_general = bool(ran) and _ONE_OF_ITS_KIND.search(str(ran[-1])) is None
        mended = (
            _after(failed, ran[-1], line, later) or _otherwise(failed, ran[-1], later) if is_general and line else None
        )
        if mended is not None:
            text, action = mended
            said = one_line(line, MAX_COMPLAINT_CHARS).rstrip(".")
            shown = f"`{one_line(str(ran[-1]), MAX_COMMAND_CHARS)}` failed"
            subject = f"{shown}. {text}"  # mended in the same way it is the same failure, whatever it said
            witnesses = [failed.call, action.call]
            text = f"{shown}: {said}. {text}"
            found.append(Draft("failure", text, [failed.result], witnesses=witnesses, subject=subject))
    return found


def _otherwise(failed: Action, was: Command, later: Sequence[Action]) -> tuple[str, Action] | None:
    """The same command in other words, before any file was changed, where one sees what is different."""
    shown = one_line(str(was), MAX_COMMAND_CHARS)
    part = _part(failed, was)
    for action in later:
        if action.is_edit:
            return None
        for now in commands(action.command) if action.is_shell and action.has_succeeded else ():
            if now.words == was.words:
                return None  # it worked as it was: what comes after it mended nothing
            is_wrapped = now.words == was.words[1:] or now.words[1:] == was.words  # another program runs it, or none
            is_other = is_wrapped or now.name == was.name
            worked = _whole(str(now))
            if is_other and worked not in {"", shown} and not is_unchecked(now.words):
                return None if is_risky(_part(action, now), part) else (f"`{worked}` worked.", action)
    return None


def _part(action: Action, command: Command) -> Part:
    """A command with what it ran under."""
    found = (part for part in reversed(parts_of(action.command)) if part.words == command.words)
    return next(found, Part(command.words, (), decides=True))


def _after(failed: Action, was: Command, line: str, later: Sequence[Action]) -> tuple[str, Action] | None:
    """What ran before the same command worked."""
    failure = failed_in(failed)
    is_it = failure is not None and failure.part.words == was.words and not _SOURCE.match(line)
    ready = prepared(failure, later) if failure is not None and is_it else None
    shown = _whole(ready[1].command) if ready is not None and not is_risky(ready[1]) else ""
    is_itself = shown == one_line(str(was), MAX_COMMAND_CHARS)
    if ready is None or not shown or is_itself or _ONE_OF_ITS_KIND.search(shown):
        return None
    return f"It worked after `{shown}`.", ready[0]


def _whole(command: str) -> str:
    """A command on one line; "" where nobody could run it: it would be cut, or a secret was taken out of it."""
    return "" if len(command) > MAX_COMMAND_CHARS or MASK in command else one_line(command, MAX_COMMAND_CHARS)
