"""Changes of dependencies that were only tried: taken out of the code again, or never committed."""

from __future__ import annotations

import re

from howcome.ingest.distil.rules.standing import record_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.ingest.distil.rules.scene import Action, Scene

_KEEPS = re.compile(r"\b(?:git|gt|jj|gh pr) (?:-\S+ \S+ )?(?:commit|push|create|merge)\b")
_WORKFLOW = re.compile(r"/\.github/(?:workflows|actions)/")
_NAME_OF_STEP = re.compile(r"^\s*(?:- )?name:\s*[\"']?(.{3,60}?)[\"']?\s*$")
MIN_LATER = 20
"""A session that goes on for so many actions without a commit, and without a word of a package, does not use it."""


def is_tried(name: str, action: Action, scene: Scene, *, is_bump: bool) -> bool:
    """Whether nothing shows that anybody kept a package that was added or removed, or the code did without it again.

    `is_bump`: it only moved a version.
    """
    if is_bump:
        return False
    later = [one for one in scene.actions if one.place > action.place]
    later += [one for after in scene.later for one in after.actions]
    is_kept = any(one.is_shell and one.has_succeeded and _KEEPS.search(one.command) for one in later)
    if not is_kept and _WORKFLOW.search((action.call.file or "").replace("\\", "/")):  # only a run on a server shows it
        return True
    if _is_left(name, scene):
        return True
    is_used = is_kept or any(name in (one.call.text or "") for one in later if one.is_edit or one.is_shell)
    return not is_used and len(later) >= MIN_LATER


def came_with(name: str, action: Action, tried: Mapping[str, Action], scene: Scene) -> bool:
    """Whether a package came by the same call as one that was only tried, and no edit ever names it."""
    is_with = any(one is action for one in tried.values())
    return is_with and not any(name in edit.new for edit in record_of(scene).edits)


def _is_left(name: str, scene: Scene) -> bool:
    """Whether code that named a package no longer does, in any file."""
    holds: dict[str, bool] = {}
    for edit in record_of(scene).edits:
        if name in edit.new:
            holds[edit.file] = True
        elif edit.file in holds and (name in edit.old or not edit.old):  # or the file was written anew without it
            holds[edit.file] = False
    return bool(holds) and not any(holds.values())


def step_of(name: str, text: str) -> str:
    """The name of the step of a workflow that uses an action, "" where it has none."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if f"uses: {name}" in line and not line.lstrip().startswith("- "):
            for before in reversed(lines[:at]):
                match = _NAME_OF_STEP.match(before)
                if match or before.lstrip().startswith("- "):
                    return match[1] if match else ""
    return ""
