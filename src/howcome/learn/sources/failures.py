"""Commands that failed, and what then worked: the same command in other words, or what let a refused commit through."""

from __future__ import annotations

from howcome.domain.commands import HOOKED, LOOKING, complaint
from howcome.learn.draft import Draft
from howcome.learn.shell import commands
from howcome.learn.sources.seen import base_names, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.learn.actions import Action
    from howcome.learn.shell import Command
    from howcome.learn.sources.seen import Seen

MAX_LATER = 12
"""Calls after a failure among which its mending is looked for."""

MAX_COMMAND_CHARS, MAX_COMPLAINT_CHARS = 80, 110


def find(seen: Seen) -> list[Draft]:
    """Failures of an exchange that were mended in it."""
    found = []
    actions = seen.scene.actions
    for place, failed in enumerate(actions):
        if not failed.is_shell or not failed.has_failed or failed.result is None:
            continue
        ran = [command for command in commands(failed.command) if command.program not in LOOKING]
        line = complaint(failed.output, is_hooked=bool(ran) and _subcommand(ran[-1]) in HOOKED)
        later = actions[place + 1 : place + 1 + MAX_LATER]
        mended = (_through(_subcommand(ran[-1]), later) or _otherwise(ran, later)) if ran and line else None
        if mended is not None:
            text, action = mended
            said = one_line(line, MAX_COMPLAINT_CHARS).rstrip(".")
            text = f"`{one_line(str(ran[-1]), MAX_COMMAND_CHARS)}` failed: {said}. {text}"
            found.append(Draft("failure", text, [failed.result], witnesses=[failed.call, action.call]))
    return found


def _subcommand(command: Command) -> str:
    return " ".join(command.name.split()[:2])


def _otherwise(ran: Sequence[Command], later: Sequence[Action]) -> tuple[str, Action] | None:
    """The same command in other words, before any file was changed."""
    was = ran[-1]
    for action in later:
        if action.is_edit:
            return None
        for now in commands(action.command) if action.is_shell and action.has_succeeded else ():
            is_wrapped = now.words == was.words[1:] or now.words[1:] == was.words  # another program runs it, or none
            if is_wrapped or (now.name == was.name and now.words != was.words):
                return f"`{one_line(str(now), MAX_COMMAND_CHARS)}` worked.", action
    return None


def _through(name: str, later: Sequence[Action]) -> tuple[str, Action] | None:
    """What was done before a commit or a push that a hook had refused went through."""
    done: list[Action] = []
    for action in later if name in HOOKED else ():
        ran = commands(action.command) if action.is_shell else ()
        if action.has_succeeded and any(_subcommand(command) == name for command in ran):
            files = base_names(one.call.file for one in done if one.is_edit)
            runs = [command for one in done if one.is_shell for command in commands(one.command)]
            fixer = next((str(one) for one in reversed(runs) if one.program not in (*LOOKING, "git")), "")
            how = f"a change of {', '.join(files[:2])}" if files else f"`{one_line(fixer, MAX_COMMAND_CHARS)}`"
            return (f"It went through after {how}.", action) if files or fixer else None
        if action.has_succeeded:
            done.append(action)
    return None
