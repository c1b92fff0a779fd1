"""Tests that failed and passed again: what they said, and the few files that were changed in between."""

# ruff: noqa: RUF001 - marks are matched as tools print them

from __future__ import annotations

import re

from howcome.learn.rules import commands
from howcome.learn.rules.checks import base_of, is_cut, is_told, later_than, one_line_changed, text_after
from howcome.learn.rules.draft import Draft
from howcome.learn.rules.runs import failed_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.runs import FailedTest
    from howcome.learn.rules.scene import Action, Scene

_TESTS = re.compile(r"\b(?:tests?|pytest|jest|vitest|spec|check|ci)\b|test:|:test")
_MARKS = ("--- FAIL: ", "(fail) ", "FAILED ", "FAIL ", "●", "panicked at")
"""One of them stands in every output with a failed test."""

_OF_TESTS = re.compile(
    r"(?:^|[/._-])(?:tests?|specs?|__tests__|testutil|testdata|fixtures?|conftest)(?:[/._-]|$)", re.IGNORECASE
)
_DOCUMENT = re.compile(r"\.(?:md|mdx|txt|rst|lock)$")
_FAILS = re.compile(r"\bFAIL\b|^\(fail\) |\b[1-9]\d* fail(?:ed|ures?)?\b|\bbuild failed\b|task failed", re.MULTILINE)
_SURROUNDINGS = re.compile(
    r"panic: testing|\bno such file\b|not a git repository|permission denied|/private/|\bsymlink|\bENOENT\b|\bEACCES\b"
    r"|address already in use|timed? ?out|\bexecutable file not found|environment variable|\bindex\.lock\b"
    r"|Cannot find module|ModuleNotFoundError|fixture .* not found|event loop|not allowed to",
    re.IGNORECASE,
)
"""What a test says that fails through where and how it runs: whoever writes the next one wants to know it."""

_SAYS_LITTLE = re.compile(
    r"REDACTED|panic: runtime error|\b(?:want|wanted|expected?) (?:true|false|nil|\d+)\b", re.IGNORECASE
)
_EXPECTS = re.compile(r"\b(?:expect\w*|want\w*|should)\b", re.IGNORECASE)
MAX_FAILED = 4
"""Of more tests that fail at once one alone says little."""

MAX_FILES = 2
MIN_WORDS = 4
MAX_SAID_CHARS = 160


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Tests that an exchange broke, or found broken, and mended."""
    drafts: dict[str, Draft] = {}
    for place, action in enumerate(scene.actions):
        if not (action.is_shell and _has_mark(action.output)) or is_told(action, found):
            continue
        output = action.output
        if not _TESTS.search(commands.core(action.command)):
            continue
        tests = failed_tests(output)
        if 0 < len(tests) <= MAX_FAILED:
            draft = _draft(scene, place, tests)
            if draft is not None:
                drafts.setdefault(tests[0].name, draft)
    return list(drafts.values())


def _has_mark(output: str) -> bool:
    if "FAIL" in output or "(fail) " in output or "●" in output or "panicked at" in output:
        return any(mark in output for mark in _MARKS)
    return False


def _draft(scene: Scene, place: int, tests: Sequence[FailedTest]) -> Draft | None:
    failed, first = scene.actions[place], next((test for test in tests if test.said), tests[0])
    written = [text_after(action) for action in scene.actions[:place] if action.is_edit]
    name = re.split(r"[/:› >]+", first.name)[0 if first.name.startswith("Test") else -1]
    of_place = _SURROUNDINGS.search(first.said) is not None and not _EXPECTS.search(first.said)
    is_new = any(name in text for text in written)
    if (
        len(first.said.split()) < MIN_WORDS
        or _SAYS_LITTLE.search(first.said)
        or failed.result is None
        or (is_new and not of_place)
    ):
        return None  # a test that was just written fails first
    later = later_than(scene, place)
    end = next((at for at, action in enumerate(later) if _passes(action, failed)), None)
    if end is None:
        return None
    edits = [action for action in later[:end] if action.is_edit and not action.has_failed and action.call.file]
    files = list(dict.fromkeys(action.call.file or "" for action in edits))
    files = [file for file in files if not _DOCUMENT.search(file)]
    if not 0 < len(files) <= MAX_FILES or (not of_place and all(_OF_TESTS.search(file) for file in files)):
        return None
    said = first.said.replace("`", "'")
    said = said if len(said) <= MAX_SAID_CHARS else said[:MAX_SAID_CHARS].rsplit(" ", 1)[0] + " …"
    listed = " and ".join(f"`{base_of(file)}`" for file in files)
    line = one_line_changed(edits[0]) if len(edits) == 1 else ""
    listed = f"{listed} ({line})" if line else listed
    text = f"`{first.name}` failed: {said.rstrip('.')}. It passed after a change of {listed}."
    return Draft(
        "failure", text, [failed.result], witnesses=[failed.call, *(one.call for one in edits[:3]), later[end].call],
        said=text, is_known_whole=True,
    )  # fmt: skip


def _passes(action: Action, failed: Action) -> bool:
    """Whether the same tests were run again, and all went well."""
    if not (action.is_shell and action.has_succeeded) or is_cut(action.command):
        return False
    first = commands.core(failed.command)
    is_again = commands.core(action.command) == first or commands.ran_too(first, action.command)
    return is_again and _FAILS.search(action.output) is None
