"""Instruction files that were edited: what was added to them holds from then on."""

from __future__ import annotations

import re

from howcome.domain.sentences import sentences
from howcome.learn.actions import Action
from howcome.learn.sources.seen import MIN_LASTING_CHARS, Draft, Seen, base_names, named, one_line

MAX_FROM_ONE, MAX_TEXT_CHARS = 2, 260
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS|GEMINI|copilot-instructions)\.md$|\.cursorrules$"
    r"|(?:^|/)\.(?:claude|cursor)/rules/"
)


def find(seen: Seen) -> list[Draft]:
    """Sentences that an exchange added to instruction files."""
    return [
        Draft("pattern", f"{base_names([action.call.file])[0]} says: {one_line(line, MAX_TEXT_CHARS)}", [action.call])
        for action in seen.scene.actions
        if action.is_edit and action.has_succeeded and _INSTRUCTIONS.search(action.call.file or "")
        for line in _added(action)
        if not seen.is_repeated(line, action.call)
    ]


def _added(action: Action) -> list[str]:
    before = {one.text for one in sentences(str(action.input.get("old_string") or ""))}
    after = str(action.input.get("new_string") or action.input.get("content") or "")
    lines = [one.text for one in sentences(after) if one.text not in before and len(one.text) >= MIN_LASTING_CHARS]
    return sorted(lines, key=lambda line: -named(line))[:MAX_FROM_ONE]
