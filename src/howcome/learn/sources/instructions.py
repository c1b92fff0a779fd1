"""Instruction files that were edited: what was added to them holds from then on, until it is taken out."""

from __future__ import annotations

import re

from howcome.domain.candidates import NO_LONGER
from howcome.domain.sentences import sentences
from howcome.learn.actions import Action
from howcome.learn.sources.seen import MIN_LASTING_CHARS, Draft, Seen, base_names, named, one_line

MAX_FROM_ONE, MAX_TEXT_CHARS = 2, 260
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS|GEMINI|copilot-instructions)\.md$|\.cursorrules$"
    r"|(?:^|/)\.(?:claude|cursor)/rules/"
)


def find(seen: Seen) -> list[Draft]:
    """Sentences that an exchange added to instruction files, and those that it took out."""
    found = []
    for action in seen.scene.actions:
        if action.is_edit and action.has_succeeded and _INSTRUCTIONS.search(action.call.file or ""):
            old, new = (_lines("\n\n".join(change[side] for change in action.changes)) for side in (0, 1))
            added = sorted((line for line in new if line not in old), key=lambda line: -named(line))[:MAX_FROM_ONE]
            found += [_draft(line, action) for line in added if not seen.is_repeated(line, action.call)]
            found += [_draft(line, action, NO_LONGER) for line in old if line not in new]
    return found


def _lines(text: str) -> list[str]:
    return [one.text for one in sentences(text) if len(one.text) >= MIN_LASTING_CHARS]


def _draft(line: str, action: Action, subject: str = "") -> Draft:
    text = f"{base_names([action.call.file])[0]} says: {one_line(line, MAX_TEXT_CHARS)}"
    return Draft("pattern", text, [action.call], subject=subject)
