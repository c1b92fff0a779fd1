"""Edits that failed and then worked with nothing changed but white space: how a project's files are indented."""

from __future__ import annotations

from howcome.learn.actions import Action
from howcome.learn.command_runs import MAX_LATER
from howcome.learn.sources.seen import Draft, Seen

INDENTED = "{} are indented with {}: edits that did not copy it exactly failed, and worked with nothing else changed."
BLANKS = "Edits in which white space was not copied exactly failed; with nothing else changed they worked."
_REPLACED = ("old_string", "old_str", "oldString")


def find(seen: Seen) -> list[Draft]:
    """What such an edit of an exchange teaches: the same of all files of a kind, so that one sees how often."""
    actions = seen.scene.actions
    for place, failed in enumerate(actions):
        if failed.is_edit and failed.has_failed and failed.call.file:
            later = (one for one in actions[place + 1 : place + 1 + MAX_LATER] if one.is_edit and one.has_succeeded)
            worked = next((one for one in later if one.call.file == failed.call.file), None)
            wrong, right = _replaced(failed), _replaced(worked) if worked is not None else ""
            if worked is not None and wrong != right and wrong.split() == right.split() != []:
                text = _told(failed.call.file, wrong, right)
                return [Draft("failure", text, [failed.call], witnesses=[worked.call])]
    return []


def _told(file: str, failed: str, worked: str) -> str:
    """How files of a kind are indented, where only that was wrong; else that white space was."""
    wrong, right = failed.splitlines(), worked.splitlines()
    kinds = {_indent(line) for line, other in zip(right, wrong, strict=False) if line != other}
    name, dot, ending = file.replace("\\", "/").rpartition("/")[2].rpartition(".")
    is_indent = [line.lstrip() for line in wrong] == [line.lstrip() for line in right] and len(kinds) == 1
    if is_indent and "" not in kinds and dot and name and ending.isalnum():
        return INDENTED.format(f"`*.{ending}` files", *kinds)
    return BLANKS


def _indent(line: str) -> str:
    return "tabs" if line.lstrip(" ").startswith("\t") else "spaces" if line.startswith(" ") else ""


def _replaced(action: Action) -> str:
    return next((text for name in _REPLACED if isinstance(text := action.input.get(name), str)), "")
