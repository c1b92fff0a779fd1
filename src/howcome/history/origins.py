"""Why a line is there, and what became of a file: what git says, joined with what sessions did and were asked for.

What git says of a line is who committed it. That is often another session, or a person, and a commit that was
squashed, rebased or amended has a hash that nobody saw. The text that an edit wrote is the same wherever it went, so
the last edit before the commit that put the line in comes first (docs/evaluation.md, "Lines").
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from howcome.clients import git
from howcome.clients.decode import clean_text
from howcome.clients.git import Commit
from howcome.clients.projects import fold_worktree, is_inside, top_of
from howcome.domain import events
from howcome.domain.stored import StoredEvent
from howcome.errors import UsageError
from howcome.history.rationale.run import Rationales
from howcome.learn.actions import Action
from howcome.learn.scene import MESSAGE, PLANNERS
from howcome.learn.shell import commands
from howcome.store.base import Store

NEAR = 3
"""So many lines on each side are compared: what stands in more than one place is told apart by them."""

CLOCK_MS = 2_000
"""Git counts whole seconds, and an event is noted a moment after what it says."""

COMMITTING_MS = 30 * 60_000
"""A call that commits may run hooks for so long before the commit is there."""

MIN_PART_CHARS = 6
"""An edit of a shorter part of a line is not told from chance."""

_SECTION = re.compile(r"^\*\*\* (?:Add|Update) File: (?P<file>.+)$", re.MULTILINE)
_ABSOLUTE = re.compile(r"/|[A-Za-z]:")
_HASH = re.compile(r"\b[0-9a-f]{7,40}\b")


class Edit:
    """A call that wrote text, as lines without their indentation: what it wrote, and what it replaced.

    `is_change`: it is known to have changed the file; a command that only holds the file's name may have.
    """

    __slots__ = ("event", "is_change", "replaced", "written")

    def __init__(self, event: StoredEvent, written: str, replaced: str, *, is_change: bool = True) -> None:
        self.event, self.written, self.replaced, self.is_change = event, bare(written), bare(replaced), is_change

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
        return max(runs, key=lambda run: run[1] - run[0], default=self._part_at(lines, at))

    def _part_at(self, lines: Sequence[str], at: int) -> tuple[int, int]:
        """The line that it wrote a part of, if no other line of the file has that part."""
        part = self.written[0] if len(self.written) == len(self.replaced) == 1 else ""
        is_there = len(part) >= MIN_PART_CHARS and part in lines[at] and self.written != self.replaced
        return (at, at + 1) if is_there and sum(part in line for line in lines) == 1 else (0, 0)


def bare(text: str) -> list[str]:
    """The lines of a text without blanks around them: a formatter moves them, and they say the same."""
    return [line.strip() for line in text.split("\n")]


def edits_of(told: Iterable[StoredEvent], file: str, *, anywhere: bool = False) -> list[Edit]:
    """The edits among calls about a file (`EventLog.calls_on`) that went through, in their order.

    `anywhere`: a bare name may be that of any folder's file.
    """
    told = list(told)
    failed = {event.tool_use_id for event in told if event.kind == events.TOOL_RESULT and event.failed} - {None}
    calls = (event for event in told if event.kind == events.TOOL_CALL and event.tool_use_id not in failed)
    return [edit for event in calls for edit in _edits(Action(event, 0), file, anywhere=anywhere)]


def _edits(action: Action, file: str, *, anywhere: bool) -> Iterator[Edit]:
    call = action.call
    if action.is_shell and not _SECTION.search(action.command):
        yield Edit(call, action.command, "", is_change=False)
    elif action.is_shell:  # Codex runs its patches there
        yield from (Edit(call, *sides) for sides in _patched(action.command, file))
    elif action.is_edit and call.file is None:
        patches = (value for value in action.input.values() if isinstance(value, str) and _SECTION.search(value))
        yield from (Edit(call, *sides) for patch in patches for sides in _patched(patch, file))
    elif action.is_edit and (anywhere or _is_of(call.file or "", call.project, file)):
        yield from (Edit(call, written, replaced) for replaced, written in action.changes)


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
    """The edit that wrote a line, and whether that is sure: no other place of the file looks like what it wrote."""
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
            actions[event.tool_use_id].answer(event)
    made = [one for one in actions.values() if not one.has_failed and _messages(one.command)]
    by_hash = [one for one in made if any(commit.hash.startswith(name) for name in _HASH.findall(one.output))]
    by_subject = [one for one in made if commit.subject and _says(one, commit.subject)]
    return next((one.call for one in reversed(by_hash or by_subject)), None)


def _says(action: Action, subject: str) -> bool:
    """Whether a call commits with a message of this first line, or its output shows it behind the hash."""
    firsts = (text.strip().partition("\n")[0].strip() for text in _messages(action.command))
    return subject in firsts or any(line.endswith(f"] {subject}") for line in action.output.splitlines())


def _messages(command: str) -> list[str]:
    """The messages that a line commits with, "" where it does not say one; whatever program runs git for it."""
    ran = commands(command) if "commit" in command else ()
    made = (one for one in ran if {"git", "commit"} <= {*one.words, one.program})
    return [text for one in made for text in ("", *one.given, *one.option(*MESSAGE))]


MAX_BYTES = 8 << 20
MAX_TRIED = 2
EVER_MS = 1 << 60
LINE, EDITS, COMMIT, PLAN = "line", "edits", "commit", "plan"


@dataclass(slots=True, eq=False)
class Past:
    """What is known of a line, or one thing that became of a file: the edits of an exchange, a commit, a plan.

    Attributes:
        commit: The commit that the line is of, or that took the file in; `committed`: the call that made it.
        problem: Why git says none ('': it does, or the line is not committed).
        done: The calls: of a line the one that wrote it, without one what its committer's session did last.
        is_sure: False where other places of the file look like the line, too.
        prompt: What was asked; `rationale`: what was done then, and why ('': nobody says).
        said: What the agent said last before it; `tried`: the last calls before it that failed.
    """

    kind: str
    ts_ms: int | None = None
    commit: Commit | None = None
    committed: StoredEvent | None = None
    problem: str = ""
    done: list[StoredEvent] = field(default_factory=list)
    is_sure: bool = True
    prompt: StoredEvent | None = None
    rationale: str = ""
    said: StoredEvent | None = None
    tried: list[StoredEvent] = field(default_factory=list)


class Origins:
    """What is known of the files of one project (None: nothing of it is stored; then only git is asked).

    `root` is its folder, for files that are in no repository; `rationales` say why of what nobody has said it yet.
    """

    def __init__(self, store: Store, project_id: int | None, root: str, rationales: Rationales) -> None:
        self._store, self._project_id, self._root, self._rationales = store, project_id, root, rationales
        self._sessions: dict[int, list[StoredEvent]] = {}

    def of_line(self, path: str, line: int) -> tuple[str, Past]:
        """A file's name, and where a line of it (counted from 1) comes from.

        Raises:
            UsageError: there is no such file, or no such line in it.
        """
        lines = _lines(path)
        if not 1 <= line <= len(lines):
            raise UsageError(f"{clean_text(path)} has {len(lines)} lines: there is no line {line}")
        top, file = self._place(path)
        past, names = Past(LINE, problem="" if top else git.NOWHERE), [file]
        try:
            found = git.commit_of_line(top, file, line) if top else None
        except git.GitError as error:
            found, past.problem = None, str(error)
        if found is not None:
            past.commit, names = found[0], list(dict.fromkeys((file, found[1])))
            past.committed = self._committing(past.commit)
        self._find(past, [edit for name in names for edit in self._edits(name)], lines, line - 1)
        if past.done:
            self._tell(past)
        return clean_text(file), past

    def _find(self, past: Past, edits: Sequence[Edit], lines: Sequence[str], at: int) -> None:
        """The edit that wrote a line; without one what the session did last to the file that committed it."""
        by, found = past.committed, writer_of(edits, lines, at, past.commit.until_ms if past.commit else None)
        if found is not None:
            event = found[0].event
            past.done, past.is_sure = [event], found[1] or (by is not None and by.session == event.session)
        elif by is not None:
            own = [one.event for one in edits if one.event.session == by.session and one.ts_ms <= by.order_ms]
            past.done = own[-1:] or [by]

    def named(self, name: str) -> list[str]:
        """The files of a bare name that sessions edited and that are there."""
        told = {os.path.join(self._root, edit.event.file or "") for edit in self._edits(name, anywhere=True)}
        return sorted({os.path.realpath(one) for one in told if os.path.isfile(one)})

    def of_file(self, path: str, limit: int) -> tuple[str, list[Past], str]:
        """A file's name, what became of it, the newest first, and why git does not say more ('': it does)."""
        top, file = self._place(path)
        problem, is_bare = "" if top else git.NOWHERE, "/" not in file and not os.path.exists(path)
        try:
            commits = git.commits_of(top, file, limit) if top else []
        except git.GitError as error:
            commits, problem = [], str(error)
        found = [Past(COMMIT, one.at_ms, one, self._committing(one)) for one in commits]
        found += [*self._plans(file), *self._changes(self._edits(file, anywhere=is_bare), limit)]
        shown = sorted(found, key=lambda one: one.ts_ms or 0, reverse=True)[:limit]
        for one in shown:
            if one.done:
                self._tell(one)
        return clean_text(file), shown, problem

    def _place(self, path: str) -> tuple[str | None, str]:
        """The top of a file's working copy (None: it is in none), and its path below that, or below its project."""
        folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
        top = top_of(folder)
        below = os.path.relpath(os.path.join(folder, os.path.basename(path)), top or self._root)
        return top, os.path.basename(path) if below.startswith(os.pardir) else below.replace(os.sep, "/")

    # -- what sessions did -----------------------------------------------------------------------------------------
    def _edits(self, file: str, *, anywhere: bool = False) -> list[Edit]:
        file = clean_text(file)  # as transcripts name it
        told = self._store.log.calls_on(self._project_id, file) if self._project_id else []
        return edits_of(told, file, anywhere=anywhere)

    def _calls(self, tools: Iterable[str], from_ms: int, until_ms: int) -> list[StoredEvent]:
        return self._store.log.calls_of(self._project_id, tools, from_ms, until_ms) if self._project_id else []

    def _committing(self, commit: Commit) -> StoredEvent | None:
        """The call that made a commit; one that was rebased since was made when it was written."""
        moments = dict.fromkeys((commit.at_ms, commit.until_ms))
        made = (
            committing(self._calls(events.SHELLS, at - COMMITTING_MS, at + COMMITTING_MS), commit) for at in moments
        )
        return next(filter(None, made), None)

    def _plans(self, file: str) -> list[Past]:
        """Plans that name a file."""
        calls = [event for event in self._calls(PLANNERS, 0, EVER_MS) if event.kind == events.TOOL_CALL]
        named = (event for event in calls if file.rpartition("/")[2] in str(Action(event, 0).input.get("plan")))
        return [Past(PLAN, event.ts_ms or event.order_ms, done=[event]) for event in named]

    def _changes(self, edits: Sequence[Edit], limit: int) -> list[Past]:
        """The edits of each exchange, as many exchanges as are wanted, the newest first."""
        found: dict[tuple[str, int], Past] = {}
        for edit in reversed([one for one in edits if one.is_change]):
            key = edit.event.session, self._exchange(edit.event)[0].row
            if key not in found and len(found) == limit:
                break
            found.setdefault(key, Past(EDITS, edit.ts_ms)).done.insert(0, edit.event)
        return list(found.values())

    # -- what led to it --------------------------------------------------------------------------------------------
    def _told(self, event: StoredEvent) -> list[StoredEvent]:
        session = self._store.sessions.of_event(event.row) or 0
        if session not in self._sessions:
            self._sessions[session] = self._store.log.session(session)
        return self._sessions[session]

    def _exchange(self, event: StoredEvent) -> list[StoredEvent]:
        """From the main agent's prompt to an event of its or of a subagent."""
        told = self._told(event)
        end = next((place for place, one in enumerate(told) if one.row == event.row), len(told) - 1)
        start = next((place for place in range(end, -1, -1) if _opens(told[place])), 0)
        return told[start : end + 1] or [event]

    def _tell(self, past: Past) -> None:
        """Adds what led to the first of its calls."""
        event = past.done[0]
        exchange = self._exchange(event)
        said = [one for one in exchange if one.kind == events.ASSISTANT_TEXT and one.agent_id == event.agent_id]
        failed = {one.tool_use_id for one in exchange if one.kind == events.TOOL_RESULT and one.failed} - {None}
        tried = [one for one in exchange if one.kind == events.TOOL_CALL and one.tool_use_id in failed]
        past.said, past.tried = said[-1] if said else None, tried[-MAX_TRIED:]
        if _opens(exchange[0]):
            past.prompt = exchange[0]
            session = self._store.sessions.of_event(event.row) or 0
            written = next((one.excerpt for one in self._told(event) if one.row == -exchange[0].row), "")
            past.rationale = written or self._rationales.said_now(session, exchange[0].row)


def _opens(event: StoredEvent) -> bool:
    return event.kind == events.USER_PROMPT and event.agent_id is None


def _lines(path: str) -> list[str]:
    """The lines of a file as they are compared."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{clean_text(path)} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{clean_text(path)} is too large: at most {MAX_BYTES >> 20} MB")
    return bare(data.decode("utf-8", "replace").removesuffix("\n"))
