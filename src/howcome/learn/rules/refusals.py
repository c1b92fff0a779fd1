"""Commits that a hook of git refused: which check, what it found where, and what let the commit through."""

from __future__ import annotations

import re

from howcome.learn.rules.checks import (
    FORMATTING,
    base_of,
    by_fixer,
    goes_round,
    is_told,
    later_than,
    one_line_changed,
    switches_off,
)
from howcome.learn.rules.draft import Draft
from howcome.learn.rules.linters import findings, would_format
from howcome.learn.rules.runs import failed_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Action, Scene

_COMMITS = re.compile(r"\bgit (?:-C \S+ )?(commit|push)\b")
_HOOK = re.compile(
    r"\bhusky - (?P<husky>[\w-]+) (?:script|hook)|\blefthook\b.{0,80}?\bhook: (?P<left>[\w-]+)"
    r"|^(?P<own>(?:pre|post|commit|prepare)-[\w-]+)(?: hook)?(?: script)?:? (?:failed|rejected|declined|exited)",
    re.MULTILINE,
)
_OF_PRE_COMMIT = re.compile(r"^(\S[^\n]{1,60}?)\.{3,}(?:\([^)\n]*\))?Failed$", re.MULTILINE)
_MODIFIED = re.compile(r"^- files were modified by this hook", re.MULTILINE)
_HEADED = re.compile(
    r"^([\w.@-]+/[\w./@-]+\.\w+):\n+# Unhandled error between tests\n-+\nerror: Cannot find (?:module|package) ",
    re.MULTILINE,
)
_ADDS = re.compile(r"\bgit add ((?:[^\s;&|]+ ?)+)")
_ALL = re.compile(r"(?:^|\s)(?:-A|--all|-u|\.|:/|\*)(?:\s|$)|git commit [^\n]*-\w*a|\bgit commit [^\n]*--all\b")
_STEP = re.compile(r"(?:Exit code \d+\n)?(?:ok .*\n)?\$ \w")
"""A commit that prints a command first runs a hook."""

_REMOVES = re.compile(r"\brm -\w*r\w* (\S+)$|\bgit clean\b")
_ECHO = re.compile(r"^[$>] (\S.*)$", re.MULTILINE)
_NPM_HEAD = re.compile(r"@\S+ [\w:.-]+$|^\S+@\d")
_PRIVATE = re.compile(r"(?:^|[\s=\"'])[~/]|…|\$[({\w]|[<>`]|\\|&&\s*$")
_TOOL_LIKE = re.compile(r"[a-z][\w./:@-]*(?: [^\s|;&]+){0,9}")
_ONLY_GIT = re.compile(r"\s*(?:cd \S+\s*$|(?:\w+ )?git (?!commit|push))")
_FIRST = re.compile(r"\s*(?:\w+ )?git (commit|push)\b")
MAX_SAID_CHARS = 130
MAX_RUNS_CHARS = 90


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Commits and pushes of an exchange that a hook refused."""
    drafts: dict[str, Draft] = {}
    for place, action in enumerate(scene.actions):
        command = _COMMITS.search(action.command) if action.is_shell and action.has_failed else None
        hook = _hook(action.output, command[1]) if command and is_plain(action.command, command[1]) else ""
        if not command or not hook or action.result is None or is_told(action, found):
            continue
        what, file = _what(action.output)
        how, proof = _how(scene, place, command[1], file) if what else ("", [])
        if what and how:
            outside = (
                ", a file outside of the commit" if "." in base_of(file) and _is_outside(file, scene, place) else ""
            )
            text = f"`git {command[1]}` failed: the {hook} hook{what}{outside}. It went through {how}."
            drafts.setdefault(
                what,
                Draft(
                    "failure",
                    text,
                    [action.result],
                    witnesses=[action.call, *(one.call for one in proof)],
                    said=text,
                    is_known_whole=True,
                ),
            )
    return list(drafts.values())


def is_plain(command: str, what: str = "commit") -> bool:
    """Whether nothing but git runs before a commit in its command: what that prints is of git and its hooks."""
    for part in re.split(r"&&|;", command):
        found = _FIRST.match(part)
        if found:
            return found[1] == what
        if not _ONLY_GIT.match(part) or "|" in part:
            return False
    return False


def _echoed(output: str) -> list[str]:
    """The commands that a runner of scripts printed before it ran them; none where one is of this machine only."""
    found = [runs.strip() for runs in _ECHO.findall(output) if not _NPM_HEAD.search(runs)]
    is_shown = all(
        len(runs) <= MAX_RUNS_CHARS and not _PRIVATE.search(runs) and _TOOL_LIKE.match(runs) for runs in found
    )
    return list(dict.fromkeys(found)) if is_shown else []


def _hook(output: str, kind: str) -> str:
    """The name of the hook that said no, "" where none did."""
    found = _HOOK.search(output)
    if found:
        return found["husky"] or found["left"] or found["own"]
    is_step = kind == "commit" and _STEP.match(output) and "commitlint" not in output
    return "pre-commit" if is_step or _OF_PRE_COMMIT.search(output) else ""


def _what(output: str) -> tuple[str, str]:
    """What a hook did not let pass, and the file, where it names one."""
    failed = _OF_PRE_COMMIT.findall(output)
    steps = _echoed(output)
    of = f"'s {failed[0]}" if failed else (f" (`{steps[-1]}`)" if steps else "")
    last = output[output.rfind(steps[-1]) :] if steps and steps[-1] in output else output
    found = [one for one in findings(last) if not one.rule.startswith("unused")]
    if found:
        return f"{of} found {found[0].rule} in `{base_of(found[0].file)}` ({_cut(found[0].text)})", found[0].file
    if would_format(last) or _MODIFIED.search(last):
        return f"{of} found that {FORMATTING}", ""
    folders = {"/".join(file.split("/")[:2]) for file in _HEADED.findall(last)}
    if len(folders) == 1:
        [folder] = folders
        return f"{of} ran tests in `{folder}` that could not find their modules", folder
    tests = failed_tests(last)
    if tests:
        return f"{of} found a failing test, `{tests[0].name}`", ""
    return "", ""


def _cut(text: str) -> str:
    text = text.replace("`", "'").rstrip(".")
    return f"“{text if len(text) <= MAX_SAID_CHARS else text[:MAX_SAID_CHARS].rsplit(' ', 1)[0] + ' …'}”"


def _how(scene: Scene, place: int, kind: str, file: str) -> tuple[str, Sequence[Action]]:
    """What let it through, as the calls show it."""
    later = later_than(scene, place)
    went = [at for at, action in enumerate(later) if _went(action, kind)]
    end = next((at for at in went if not goes_round(later[at].command)), None)
    if end is None:
        return "", []
    done, is_first = later[end], end == went[0]
    between = [action for action in later[:end] if not action.has_failed]
    edits = [action for action in between if action.is_edit]
    of_file = (
        [action for action in edits if "." in base_of(file) and base_of(action.call.file) == base_of(file)]
        if file
        else []
    )
    if any(switches_off(edit) for edit in edits):
        return "", []
    if of_file:
        line = one_line_changed(of_file[0]) if len(of_file) == 1 else ""
        return f"after a change of `{base_of(file)}`{f' ({line})' if line else ''}", [*of_file[:2], done]
    fixed, proof = by_fixer(between, None)
    if fixed and not edits:
        return fixed, [*proof, done]
    files = list(dict.fromkeys(base_of(action.call.file) for action in edits)) if is_first else []
    if 0 < len(files) <= 2:
        return f"after a change of {' and '.join(f'`{one}`' for one in files)}", [*edits[:2], done]
    removed = [
        action for action in between if action.is_shell and (match := _REMOVES.search(action.command)) and match[1]
    ]
    if file and not edits and len(removed) == 1 and f"/{file}" in f"/{removed[0].command}":
        return f"after files in `{file}` were removed", [*removed, done]
    return "", []


def _went(action: Action, kind: str) -> bool:
    made = _COMMITS.search(action.command) if action.is_shell and action.has_succeeded else None
    return made is not None and made[1] == kind


def _is_outside(file: str, scene: Scene, place: int) -> bool:
    """Whether all that was staged was named, and the file was not among it."""
    named: list[str] = []
    for action in scene.actions[: place + 1]:
        if action.is_shell and "git" in action.command:
            if _ALL.search(action.command) and re.search(r"git (?:add|commit)", action.command):
                return False
            named += [one for match in _ADDS.findall(action.command) for one in match.split()]
    edited = {base_of(action.call.file) for action in scene.actions[:place] if action.is_edit}
    staged = any(file == one or file.startswith(f"{one.rstrip('/')}/") for one in named)
    return bool(named) and not staged and base_of(file) not in edited
