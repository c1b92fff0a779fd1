"""What commits and pull requests that went through say: the subject, and the line of the body that names a cause; and
which commits were reverted.
"""  # noqa: D205 - one sentence

from __future__ import annotations

import re

from howcome.domain import words
from howcome.domain.memories import REVERTED
from howcome.domain.stored import StoredEvent
from howcome.learn.shell import commands
from howcome.learn.sources.seen import Draft, Seen, lasting, named, one_line, quoted

MAX_SUBJECT_CHARS, MAX_LINE_CHARS = 90, 190

_REVERT = re.compile(r'^(?:\[[^\]\n]+\] )?Revert "(.+)"$', re.MULTILINE)
"""How git words a commit that reverts another, and its answer."""


def find(seen: Seen) -> list[Draft]:
    """The commits that an exchange reverts; else its first message whose body names a cause."""
    reverts = [Draft("decision", f"{REVERTED}{subject}”.", [event]) for subject, event in _reverted(seen).items()]
    if reverts:
        return reverts
    for said in seen.scene.agent_said():
        subject, _, body = said.text.strip().partition("\n") if said.is_published else ("", "", "")
        lines = [line for line in lasting(said) if words.has(line, "blames")] if body else []
        best = seen.best((float(named(line)), line, said) for line in lines if named(line))
        if best is not None and not seen.is_repeated(subject, said.event):
            text = f"Committed {quoted(one_line(subject, MAX_SUBJECT_CHARS))}: {one_line(best[0], MAX_LINE_CHARS)}"
            return [Draft("decision", text, [said.event])]
    return []


def _reverted(seen: Seen) -> dict[str, StoredEvent]:
    """The subjects of reverted commits, with the message that says so, or else git's answer to `git revert`."""
    told = [(said.text.strip(), said.event) for said in seen.scene.agent_said() if said.is_published]
    for action in seen.scene.actions:
        ran = commands(action.command) if action.has_succeeded and "git revert" in action.command else []
        if action.result is not None and any(one.name.startswith("git revert") for one in ran):
            told.append((action.output, action.result))
    return {one_line(match[1], MAX_SUBJECT_CHARS): event for text, event in told for match in _REVERT.finditer(text)}
