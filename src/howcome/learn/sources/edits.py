"""Edits that failed and then worked with nothing changed but white space: how a project's files are indented."""

from __future__ import annotations

import re

from howcome.learn.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.actions import Action
    from howcome.learn.sources.seen import Seen

MAX_LATER = 12
"""Calls after a failed edit among which the one that worked is looked for."""

TEXT = "{} are indented with {}: edits that did not copy it exactly failed, and worked with nothing else changed."
_INDENTED_WITH_TAB = re.compile(r"(?m)^ *\t")
_REPLACED = ("old_string", "old_str", "oldString")


def find(seen: Seen) -> list[Draft]:
    """What such an edit of an exchange teaches: the same of all files of a kind, so that one sees how often."""
    actions = seen.scene.actions
    for place, failed in enumerate(actions):
        if failed.is_edit and failed.has_failed and failed.call.file:
            later = (one for one in actions[place + 1 : place + 1 + MAX_LATER] if one.is_edit and one.has_succeeded)
            worked = next((one for one in later if one.call.file == failed.call.file), None)
            if worked is not None and _differ_in_blanks(_replaced(failed), _replaced(worked)):
                with_ = "tabs" if _INDENTED_WITH_TAB.search(_replaced(worked)) else "spaces"
                text = TEXT.format(_kind(failed.call.file), with_)
                return [Draft("failure", text, [failed.call], witnesses=[worked.call])]
    return []


def _kind(file: str) -> str:
    """The files of a kind: by the ending of the name, where it has one."""
    _, dot, ending = file.replace("\\", "/").rpartition("/")[2].rpartition(".")
    return f"`*.{ending}` files" if dot and ending.isalnum() else "Files"


def _replaced(action: Action) -> str:
    return next((text for name in _REPLACED if isinstance(text := action.input.get(name), str)), "")


def _differ_in_blanks(one: str, other: str) -> bool:
    return one != other and bool(one.strip()) and one.split() == other.split()
