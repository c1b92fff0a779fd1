"""What hooks of git run before a commit, as the commit prints it."""

from __future__ import annotations

import re

from howcome.ingest.distil.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Distilled
    from howcome.ingest.distil.rules.scene import Action, Scene

_ECHO = re.compile(r"^[$>] (\S.*)$", re.MULTILINE)
_NPM_HEAD = re.compile(r"@\S+ [\w:.-]+$|^\S+@\d")
_PRIVATE = re.compile(r"(?:^|[\s=\"'])[~/]|…|\$[({\w]|[<>`]|\\|&&\s*$")
_COMMITTED = re.compile(r"^\[\S+(?: \([\w-]+\))? [0-9a-f]{7,40}\] ", re.MULTILINE)
_HOOK_LINE = re.compile(r"^(\S[^\n]{1,60}?)\.{3,}(?:\([^)\n]*\))?(?:Passed|Failed|Skipped)$", re.MULTILINE)
_ONLY_GIT = re.compile(r"\s*(?:cd \S+\s*$|(?:\w+ )?git (?!commit|push))")
_COMMITS = re.compile(r"\s*(?:\w+ )?git (commit|push)\b")
_TOOL_LIKE = re.compile(r"[a-z][\w./:@-]*(?: [^\s|;&]+){0,9}")
MAX_RUNS_CHARS = 90
MAX_STEPS = 5


def find(scene: Scene, _found: Distilled) -> list[Draft]:
    """What ran before the commits of an exchange."""
    drafts: dict[str, Draft] = {}
    for action in scene.actions:
        if not action.is_shell or not action.has_succeeded or action.result is None:
            continue
        text = _committing(action) if is_plain(action.command) else ""
        if text and text not in drafts:
            drafts[text] = Draft(
                "discovery", text, [action.result], witnesses=[action.call], said=text, is_known_whole=True,
                subject=text.partition(" runs ")[0],
            )  # fmt: skip
    return list(drafts.values())


def is_plain(command: str, what: str = "commit") -> bool:
    """Whether nothing but git runs before a commit in its command: what that prints is of git and its hooks."""
    for part in re.split(r"&&|;", command):
        found = _COMMITS.match(part)
        if found:
            return found[1] == what
        if not _ONLY_GIT.match(part) or "|" in part:
            return False
    return False


def echoed(output: str) -> list[str]:
    """The commands that a runner of scripts printed before it ran them; none where one is of this machine only."""
    found = [runs.strip() for runs in _ECHO.findall(output) if not _NPM_HEAD.search(runs)]
    is_shown = all(
        len(runs) <= MAX_RUNS_CHARS and not _PRIVATE.search(runs) and _TOOL_LIKE.match(runs) for runs in found
    )
    return list(dict.fromkeys(found)) if is_shown else []


def _committing(action: Action) -> str:
    """What hooks of git ran before a commit was made: what stands above git's own line about it."""
    made = _COMMITTED.search(action.output)
    if made is None:
        return ""
    before = action.output[: made.start()]
    hooks = list(dict.fromkeys(_HOOK_LINE.findall(before)))
    if hooks:
        return f"`git commit` runs the pre-commit hooks {_listed(hooks)}." if len(hooks) <= 2 * MAX_STEPS else ""
    steps = [step for step in echoed(before) if " " in step and "commitlint" not in step]
    is_hook = 0 < len(steps) <= MAX_STEPS
    return f"`git commit` runs {_listed([f'`{step}`' for step in steps])} in its pre-commit hook." if is_hook else ""


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
