"""Edits that a tool refused because of white space: what was wrong with it, as the file shows when it is read."""

from __future__ import annotations

import re

from howcome.ingest.distil.rules.checks import base_of, later_than, text_after, text_before
from howcome.ingest.distil.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from howcome.domain.candidates import Distilled
    from howcome.ingest.distil.rules.scene import Action, Scene

_NOT_FOUND = re.compile(
    r"\b(?:[Ss]tring to replace|old_str(?:ing)?|[Ss]earch (?:text|string|block))\b.{0,40}\b(?:not found|did not appear"
    r"|not match)|0 occurrences found|[Ff]ailed to find (?:expected|context)|[Nn]o exact match",
    re.DOTALL,
)
_SAID = re.compile(r"(?:<\w+>)?([^<\n:.]{8,90})")
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|\| ?)(.*)$", re.MULTILINE)
_SETTLED = re.compile(r"\.(?:go|py|rs|ya?ml|zig|nim)$|^(?:GNU)?[Mm]akefile$")
"""What its language or its one formatter indents in one way only: everybody knows that of it."""

_BLANKS = re.compile(r"\s+")
_TAB_AFTER = re.compile(r"^\s*\d+→\t", re.MULTILINE)
_AFTER_ARROW = " (in a line of a file that was read, the tabs begin right after `N→`)"
_COUNTED = {1: "one", 2: "two", 3: "three"}
MIN_LINE_CHARS = 8
MAX_LATER = 12
"""Actions after a refused edit among which the one that worked is looked for."""


def find(scene: Scene, _found: Distilled) -> list[Draft]:
    """Files of an exchange whose indentation an edit did not meet."""
    drafts: dict[str, Draft] = {}
    for place, action in enumerate(scene.actions):
        file = action.call.file
        is_missed = action.is_edit and action.has_failed and _NOT_FOUND.search(action.output[:600])
        if not is_missed or not file or _SETTLED.search(base_of(file)):
            continue
        for other, true in _true_texts(scene, place):
            how = _indent(text_before(action), true)
            if how and action.result is not None:
                seen = _AFTER_ARROW if "tab" in how and _shows_tabs(scene, place) else ""
                text = (
                    f"An edit of a `{kind_of(file)}` file failed (“{_said(action)}”) because its old text {how}{seen}."
                )
                proof = [action.call, other.result] if other.result is not None else [action.call]
                drafts.setdefault(
                    text, Draft("failure", text, [action.result], witnesses=proof, said=text, is_known_whole=True)
                )
                break
    return list(drafts.values())


def _true_texts(scene: Scene, place: int) -> Iterator[tuple[Action, str]]:
    """What the file holds, by the edits that then worked and by what was read of it again."""
    file = scene.actions[place].call.file
    for action in later_than(scene, place)[:MAX_LATER]:
        if action.call.file != file or not action.has_succeeded:
            continue
        if action.is_edit:
            if text_after(action):
                yield action, text_before(action)
        elif (action.call.tool or "").lower() in ("read", "read_file", "view"):
            yield action, "\n".join(_NUMBERED.findall(action.output))


def _shows_tabs(scene: Scene, place: int) -> bool:
    """Whether the file was read with numbers before its lines, and a tab right after one."""
    file = scene.actions[place].call.file
    both = (*scene.actions[:place], *later_than(scene, place)[:MAX_LATER])
    return any(action.call.file == file and _TAB_AFTER.search(action.output) for action in both)


def _indent(wrong: str, true: str) -> str:
    """How a text is indented otherwise than another that is the same but for that; "" where nobody can tell."""
    if not true or len(_BLANKS.sub("", wrong)) < MIN_LINE_CHARS or _BLANKS.sub("", wrong) not in _BLANKS.sub("", true):
        return ""
    indents: dict[str, set[str]] = {}
    for line in true.splitlines():
        indents.setdefault(line.strip(), set()).add(_lead(line))
    missed: list[tuple[str, str]] = []
    for number, line in enumerate(wrong.splitlines()):
        theirs = indents.get(line.strip(), set()) if len(line.strip()) >= MIN_LINE_CHARS else set()
        is_begun = not number and not _lead(line)  # an old text may begin within its first line
        if theirs and _lead(line) not in theirs and not is_begun:
            missed += [(_lead(line), their) for their in theirs] if len(theirs) == 1 else []
    return _told(missed)


def _told(missed: Sequence[tuple[str, str]]) -> str:
    """What is wrong with the indentation of lines (theirs, the file's), where it is the same with all of them."""
    kinds = {(mine.strip("\t") == "", their.strip("\t") == "") for mine, their in missed}
    depths = {len(their) - len(mine) for mine, their in missed}
    if len(kinds) != 1:
        return ""
    is_tabs, is_of_tabs = kinds.pop()
    if is_tabs and is_of_tabs:
        depth = depths.pop() if len(depths) == 1 else 0
        much = f"{_COUNTED.get(abs(depth), abs(depth))} tab{'s' if abs(depth) > 1 else ''}"
        return f"was {much} too {'shallow' if depth > 0 else 'deep'}" if depth else ""
    is_spaces = not is_tabs and all(not mine.strip(" ") for mine, _ in missed)
    if is_spaces and is_of_tabs and all(their for _, their in missed):
        return "had spaces where the file has tabs"
    is_of_spaces = not is_of_tabs and all(not their.strip(" ") for _, their in missed)
    return "had tabs where the file has spaces" if is_tabs and is_of_spaces and all(mine for mine, _ in missed) else ""


def _lead(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def kind_of(file: str) -> str:
    """The ending of a file's name (`.tsx`), or its whole name where it has none."""
    name = base_of(file)
    return f".{name.rpartition('.')[2]}" if "." in name[1:] else name


def _said(action: Action) -> str:
    found = _SAID.match(action.output.strip())
    return " ".join(found[1].split()) if found else "not found"
