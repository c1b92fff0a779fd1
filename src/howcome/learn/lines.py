"""Who wrote a line: of the edits of a file the one that put it in, told by its text and the lines around it.

What git says of a line is who committed it. That is often another session, or a person, and a commit that was
squashed, rebased or amended has a hash that nobody saw. The text that an edit wrote is the same wherever it went, so
the last edit before the commit that put the line in comes first (docs/evaluation.md, "Lines").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from howcome.clients.git import Commit
from howcome.clients.projects import fold_worktree, is_inside
from howcome.domain import events
from howcome.domain.stored import StoredEvent
from howcome.learn.actions import Action
from howcome.learn.scene import MESSAGE
from howcome.learn.shell import commands

NEAR = 3
"""So many lines on each side are compared: what stands in more than one place is told apart by them."""

CLOCK_MS = 2_000
"""Git counts whole seconds, and an event is noted a moment after what it says."""

COMMITTING_MS = 30 * 60_000
"""A call that commits may run hooks for so long before the commit is there."""

_WRITTEN = ("content", "file_text", "new_string", "new_str")
_REPLACED = ("old_string", "old_str")
_SECTION = re.compile(r"^\*\*\* (?:Add|Update) File: (?P<file>.+)$", re.MULTILINE)
_ABSOLUTE = re.compile(r"/|[A-Za-z]:")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


class Edit:
    """A call that wrote text, as lines without their indentation: what it wrote, and what it replaced."""

    __slots__ = ("event", "replaced", "written")

    def __init__(self, event: StoredEvent, written: str, replaced: str) -> None:
        self.event, self.written, self.replaced = event, bare(written), bare(replaced)

    @property
    def ts_ms(self) -> int:
        """When it was made."""
        return self.event.ts_ms or self.event.order_ms

    @property
    def new(self) -> list[int]:
        """The places of its lines that were not in what it replaced."""
        head = _alike(self.replaced, self.written)  # first: what was put behind a line is not that line
        steps = SequenceMatcher(None, self.replaced[head:], self.written[head:], autojunk=False).get_opcodes()
        return [head + place for step, *_, start, end in steps if step != "equal" for place in range(start, end)]

    def block_at(self, lines: Sequence[str], at: int) -> tuple[int, int]:
        """The longest run of lines around one of a file that it wrote there, as places; (0, 0): it wrote none."""
        new = self.new if lines[at] in self.written else ()
        runs = (_run(lines, at, self.written, place) for place in new if self.written[place] == lines[at])
        return max(runs, key=lambda run: run[1] - run[0], default=(0, 0))


def bare(text: str) -> list[str]:
    """The lines of a text without blanks around them: a formatter moves them, and they say the same."""
    return [line.strip() for line in text.split("\n")]


def edits_of(told: Iterable[StoredEvent], file: str) -> list[Edit]:
    """The edits among calls about a file (`EventLog.calls_on`) that went through, in their order."""
    told = list(told)
    failed = {event.tool_use_id for event in told if event.kind == events.TOOL_RESULT and event.failed} - {None}
    calls = (event for event in told if event.kind == events.TOOL_CALL and event.tool_use_id not in failed)
    return [edit for event in calls for edit in _edits(Action(event, 0), file)]


def _edits(action: Action, file: str) -> Iterator[Edit]:
    call = action.call
    if action.is_shell:
        yield Edit(call, action.command, "")
    elif action.is_edit and call.file is None:
        patches = (value for value in action.input.values() if isinstance(value, str) and _SECTION.search(value))
        yield from (Edit(call, *sides) for patch in patches for sides in _patched(patch, file))
    elif action.is_edit and _is_of(call.file or "", call.project, file):
        several = action.input.get("edits")
        for values in several if isinstance(several, list) else [action.input]:
            if isinstance(values, dict):
                yield Edit(call, _field(values, _WRITTEN), _field(values, _REPLACED))


def _field(values: Mapping[str, object], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := values.get(name), str)), "")


def _patched(patch: str, file: str) -> Iterator[tuple[str, str]]:
    """What a patch wrote into a file, and what it replaced, with the lines around it."""
    heads = list(_SECTION.finditer(patch))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if ("/" + head["file"].strip()).endswith("/" + file):
            lines = patch[head.end() : following.start() if following else None].split("\n")
            yield tuple("\n".join(line[1:] for line in lines if line[:1] in (" ", sign)) for sign in "+-")  # type: ignore[misc]


def _is_of(path: str, project: str, file: str) -> bool:
    """Whether a path that ends like a file is that file: in the project's root, a worktree, or another checkout."""
    top = path.replace("\\", "/")[: -len(file)].rstrip("/")
    if is_inside(top, project):
        return fold_worktree(top) == project
    return not top or _ABSOLUTE.match(top) is not None


def _run(lines: Sequence[str], at: int, written: Sequence[str], place: int) -> tuple[int, int]:
    """How far two texts agree around a line of each, at most NEAR lines on each side: places in the first."""
    above = _alike(lines[max(0, at - NEAR) : at][::-1], written[max(0, place - NEAR) : place][::-1])
    return at - above, at + 1 + _alike(lines[at + 1 : at + 1 + NEAR], written[place + 1 : place + 1 + NEAR])


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def writer_of(edits: Iterable[Edit], lines: Sequence[str], at: int, until_ms: int | None) -> tuple[Edit, bool] | None:
    """The edit that wrote a line, and whether that is sure: no other place of the file looks like what it wrote.

    Args:
        edits: What was done to the file.
        lines: The file's lines (`bare`).
        at: The place of the one that is asked for.
        until_ms: When it was committed; None: it is not.
    """
    best: tuple[int, int] = (0, 0)
    found: tuple[Edit, int, int] | None = None
    for edit in edits:
        if until_ms is None or edit.ts_ms <= until_ms + CLOCK_MS:
            start, end = edit.block_at(lines, at)
            if end and (end - start, edit.ts_ms) >= best:
                best, found = (end - start, edit.ts_ms), (edit, start, end)
    if found is None:
        return None
    edit, start, end = found
    block = lines[start:end]
    places = sum(lines[place : place + len(block)] == block for place in range(len(lines)))
    return edit, places == 1 and any(block)


def committing(calls: Sequence[StoredEvent], commit: Commit) -> StoredEvent | None:
    """Which of some shell calls (with their results) made a commit: its hash came of it, or it has its first line."""
    actions = {event.tool_use_id: Action(event, 0) for event in calls if event.kind == events.TOOL_CALL}
    for event in calls:
        if event.kind == events.TOOL_RESULT and event.tool_use_id in actions:
            actions[event.tool_use_id].answer(event, 0)
    made = [one for one in actions.values() if not one.has_failed and _messages(one.command)]
    by_hash = [one for one in made if any(commit.hash.startswith(name) for name in _HASH.findall(one.output))]
    by_subject = [one for one in made if commit.subject and _says(one, commit.subject)]
    return next((one.call for one in reversed(by_hash or by_subject)), None)


def _says(action: Action, subject: str) -> bool:
    """Whether a call commits with a message of this first line, or its output shows it behind the hash."""
    is_shown = any(line.endswith(f"] {subject}") for line in action.output.splitlines())
    return is_shown or any(text.strip().partition("\n")[0].strip() == subject for text in _messages(action.command))


def _messages(command: str) -> list[str]:
    """The messages that a line commits with, "" where it does not say one; whatever program runs git for it."""
    made = (
        [one for one in commands(command) if {"git", "commit"} <= {*one.words, one.program}]
        if "commit" in command
        else []
    )
    return [text for one in made for text in ("", *one.given, *one.option(*MESSAGE))]
