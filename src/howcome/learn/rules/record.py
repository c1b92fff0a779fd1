"""What was changed from an exchange to the end of what is seen of its session, and what of that stayed."""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from howcome.domain.stored import StoredEvent
    from howcome.learn.rules.scene import Action, Said, Scene

_I = re.IGNORECASE
_NO_CODE = re.compile(r"\.(?:md|mdx|txt|rst|adoc|log)$|(?:^|/)(?:docs?/)?plans?/|(?:^|/)\.claude/", _I)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|testdata|fixtures)/|[._-](?:test|spec)\.\w+$|(?:^|/)test_\w+\.\w+$", _I
)
_COMMENT = re.compile(r"\s*(?://|#(?!include|\[|!)|\*|/\*|--\s|<!--|\"\"\"|''')")
_RESTORES = re.compile(
    r"\bgit (?:checkout (?:HEAD\S* )?(?:-- |\.(?:\s|$)|\S+\.\w+)|restore\b(?! --staged)|reset --hard|stash drop"
    r"|revert\b)(?P<rest>[^&|;\n]*)"
)
"""What git throws away; a stash comes back."""

_PATCH_LINE = re.compile(r"^([-+])(?![-+]{2})(.*)$", re.MULTILINE)
MIN_UNDONE_CHARS = 8


class Change:
    """What a call changed in a file. Kept by its action: each exchange before it asks for the same."""

    def __init__(self, action: Action) -> None:
        self.file = (action.call.file or "").replace("\\", "/")
        self._action = action

    @cached_property
    def text(self) -> str:
        """All that its call says, in lower case."""
        return (self._action.call.text or "").lower()

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """What it took out and what it put there."""
        return list(_pairs(self._action.input))

    @cached_property
    def old(self) -> str:
        """All that it took out."""
        return "\n".join(old for old, _ in self.pairs)

    @cached_property
    def new(self) -> str:
        """All that it put there."""
        return "\n".join(new for _, new in self.pairs)

    @cached_property
    def is_test(self) -> bool:
        """Whether it changed a test."""
        return _TEST.search(self.file) is not None

    @cached_property
    def code_before(self) -> str:
        """The lines of code that it changed, without comments."""
        return "\n".join(line for old, new in self.pairs if old.strip() != new.strip() for line in _code_lines(old))

    @cached_property
    def code_after(self) -> str:
        """The lines of code that it put there."""
        return "\n".join(line for _, new in self.pairs for line in _code_lines(new))

    @cached_property
    def is_code(self) -> bool:
        """Whether it changed more than documents and comments."""
        if _NO_CODE.search(self.file) or "<<<<<<<" in self.old:  # who settles a conflict mends nothing
            return False
        return any(_code_lines(old) != _code_lines(new) for old, new in self.pairs)


class Edit:
    """A change of a file that went through; see `Change` for what it says.

    `number`: 0 in the exchange itself, 1 in the next …; `place`: of its call among the events of that.
    """

    __slots__ = ("_change", "call", "file", "number", "place")

    def __init__(self, number: int, action: Action) -> None:
        if not isinstance(action.change, Change):
            action.change = Change(action)
        self.number, self.place, self.call = number, action.place, action.call
        self._change, self.file = action.change, action.change.file

    @property
    def text(self) -> str:
        """All that its call says, in lower case."""
        return self._change.text

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What it took out and what it put there; of a file that was written whole only the latter is known."""
        return self._change.pairs

    @property
    def old(self) -> str:
        """What it took out."""
        return self._change.old

    @property
    def new(self) -> str:
        """What it put there."""
        return self._change.new

    @property
    def is_test(self) -> bool:
        """Whether it changed a test."""
        return self._change.is_test

    @property
    def code_before(self) -> str:
        """The lines of code that it changed, without comments."""
        return self._change.code_before

    @property
    def code_after(self) -> str:
        """The lines of code that it put there."""
        return self._change.code_after

    @property
    def is_code(self) -> bool:
        """Whether it changed more than documents and comments."""
        return self._change.is_code

    def is_after(self, number: int, place: int) -> bool:
        """Whether it was made after an event."""
        return (self.number, self.place) > (number, place)


class Record:
    """The changes of an exchange and of those after it."""

    def __init__(self, scene: Scene) -> None:
        self._scenes = [scene, *scene.later]
        self.edits = [
            Edit(number, action)
            for number, one in enumerate(self._scenes)
            for action in one.actions
            if action.is_edit and not action.has_failed
        ]
        self._undone: dict[int, bool] = {}

    def is_undone(self, edit: Edit) -> bool:
        """Whether a later edit put back what one took out, or git did."""
        known = self._undone.get(id(edit))
        if known is None:
            known = self._undone[id(edit)] = self._is_undone(edit)
        return known

    def _is_undone(self, edit: Edit) -> bool:
        for later in self.edits:
            if later.file == edit.file and later.is_after(edit.number, edit.place) and _puts_back(later, edit):
                return True
        base = edit.file.rpartition("/")[2]
        for number, action in self._shell():
            if (number, action.place) < (edit.number, edit.place) or not action.has_succeeded:
                continue
            if "git commit" in action.command:  # what is committed stays
                return False
            match = _RESTORES.search(action.command)
            if match:
                rest = match["rest"] + match[0]
                if not re.search(r"\w\.\w", rest) or base in rest:
                    return True
        return False

    def stays(self, name: str) -> bool:
        """Whether an edit brought a name in (or a command used it) and no later one took the last of it out."""
        is_there = False
        for edit in self.edits:
            if _NO_CODE.search(edit.file):
                continue
            if name in edit.new or name in edit.file:
                is_there = True
            elif is_there and name in edit.old:
                is_there = False
        return is_there or any(name in action.command for _, action in self._shell())

    def is_dropped(self, name: str) -> bool:
        """Whether a later edit took a name out that an earlier one had brought in, and none brought it back."""
        brought = last = None
        for edit in self.edits:
            if name in edit.new and name not in edit.old:
                brought, last = edit, None
            elif name in edit.old and name not in edit.new:
                last = edit
        return brought is not None and last is not None and last.is_after(brought.number, brought.place)

    def holds(self, name: str) -> bool:
        """Whether a name is anywhere in what tools were called with, or answered."""
        low = name.lower()
        for scene in self._scenes:
            for action in scene.actions:
                if low in (action.call.text or "").lower():
                    return True
                if action.result is not None and low in (action.result.text or "").lower():
                    return True
        return False

    def has_calls(self) -> bool:
        """Whether any tool was called."""
        return any(scene.actions for scene in self._scenes)

    def prompts(self, count: int) -> Iterator[Said]:
        """What a person said first in each of the next exchanges."""
        for scene in self._scenes[1 : 1 + count]:
            yield from scene.user_said()[:1]

    def told_after(self, number: int, place: int) -> Iterator[Said]:
        """What the agent said after an event."""
        for later, scene in enumerate(self._scenes):
            for said in scene.agent_said():
                if (later, said.place) > (number, place):
                    yield said

    def _shell(self) -> Iterator[tuple[int, Action]]:
        for number, scene in enumerate(self._scenes):
            for action in scene.actions:
                if action.is_shell:
                    yield number, action


def place_of(scene: Scene, event: StoredEvent) -> int:
    """The number of an event among those of its exchange; -1 for one that is none of them."""
    for place, other in enumerate(scene.exchange.all_events):
        if other.id == event.id:
            return place
    return -1


def _pairs(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    edits = values.get("edits")
    for part in edits if isinstance(edits, list) else [values]:
        if not isinstance(part, dict):
            continue
        old = str(part.get("old_string") or part.get("old_str") or "")
        new = str(part.get("new_string") or part.get("new_str") or part.get("content") or part.get("file_text") or "")
        patch = str(part.get("patch") or part.get("input") or "")
        if patch and not (old or new):
            lines = _PATCH_LINE.findall(patch)
            old = "\n".join(line for mark, line in lines if mark == "-")
            new = "\n".join(line for mark, line in lines if mark == "+")
        if old or new:
            yield old, new


def _code_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not _COMMENT.match(line)]


def _puts_back(later: Edit, edit: Edit) -> bool:
    for old, new in edit.pairs:
        for theirs, back in later.pairs:
            if len(new.strip()) < MIN_UNDONE_CHARS or not theirs.strip():
                continue
            if new.strip() in theirs and old.strip() in back and new.strip() not in back:
                return bool(old.strip()) or later.is_after(edit.number, edit.place)
            if (
                theirs.strip() in new
                and back.strip() in old
                and len(theirs.strip()) >= len(new.strip()) // 2
                and back.strip()
            ):
                return True
    return False
