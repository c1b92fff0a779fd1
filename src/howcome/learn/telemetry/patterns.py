"""What goes wrong again and again: failures of all sessions in classes, what each costs, and the fix that worked.

A class is a program or tool with what it complained of, masked (`domain.commands`). What several tools complain of in
the same words is the client's answer to a call (refused, cancelled), no mistake. The fix is what was different when it
worked: other words of a command, other fields of a call, a look at the same file before, or another program. What was
solved by changing files has none: what was wrong there is what the complaint says.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from howcome.domain.answering import cut
from howcome.domain.commands import NOT_RUN, complaint, masked, parts_of
from howcome.domain.events import READERS
from howcome.learn.actions import WRITTEN, actions_of
from howcome.learn.command_runs import failed_in, mending

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from howcome.domain.stored import Scope, StoredEvent
    from howcome.learn.actions import Action
    from howcome.store.base import Store

Said = TypeVar("Said", bound=Hashable)

PLACE_PARTS, SPACED_CHARS = 2, 30
"""Of a path outside of the project its end; of two texts so much decides whether only tabs and blanks differ."""

SAID_CHARS, SHOWN_CHARS, WORDS_CHARS = 100, 110, 60
MOST_LATER = 40
"""Calls after a failure among which the one that solved it is looked for."""

IDLE_MS = 180_000
"""A longer pause counts as so much: 99.5 % of the pauses within a turn of one project are shorter (175 s)."""

TOOLS = 3
"""What so many tools complain of alike is no complaint of theirs."""

SAME = 0.5
"""What complaints of a tool have to share of their stems, and more, to be one (docs/evaluation.md, "Patterns")."""

SURE = 0.4
"""Of a class's failures so many have to be solved, that its fix is said; what helped once is none."""

FIRST, FIND, IN_FULL, SET, WITH, WITHOUT = " first", "find it", "in full", "set", "give a", "give no"
"""Words of steps that decide how these are counted and said."""

MAX_EXAMPLES, MANY = 2, 3
"""So many values are named, and a place where it came up in so many sessions."""

NAMED, SHORT = re.compile(r"\S{4,}"), re.compile(r"\S{1,200}")

_WORD, _SOURCE = re.compile(r"[^\W\d_]{2,}"), re.compile(r"\W*\d[\d\s]*[|│]|^\W*[\w.\[\]:]+\]? \$ |\W*$")
_PLACE = re.compile(r"(?:\S*[/\]]\S*\s+)+(?=\S)")
"""Lines of source code in a report, and commands repeated there, say nothing of what is wrong; nor do places."""


class Solved(NamedTuple):
    """How it worked in the end.

    Attributes:
        steps: What was different; None where nobody saw it work.
        calls: After how many calls it worked.
        is_same: It was at the same file.
        by: The tool that told where the right thing is; "" where none did.
        swap: The short value of a field that did not work, and the one that did.
    """

    steps: Sequence[str] | None = None
    calls: int = 0
    is_same: bool = True
    by: str = ""
    swap: tuple[str, str] = ("", "")


UNSOLVED = Solved()


@dataclass(frozen=True)
class Failed:
    """A call that failed.

    Attributes:
        tool: The tool, or the program that a shell ran. `what`: the same with the words that say what it did.
        said: What it complained of; `call`: the call.
        place: The end of the path that it was about, "" of none.
        solved: How it worked later; `is_again`: the file had been read or changed before. `ms`: how long it took.
    """

    tool: str
    what: str
    said: str
    call: StoredEvent
    place: str = ""
    solved: Solved = UNSOLVED
    is_again: bool = False
    ms: int = 0


@dataclass
class Pattern:
    """A class of failures, in the order of time; `trend`: sessions with it in the earlier and the later half of all."""

    failed: list[Failed]
    trend: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """What was called most often, and what it said last, without the words that it said that time only."""
        whats = Counter(one.what for one in self.failed).most_common()
        tools = sorted({one.tool for one in self.failed})
        what = ", ".join(tools) if len(tools) > 1 else whats[0][0]
        often = Counter(word for one in self.failed for word in set(one.said.split()))
        words = [word if 2 * often[word] > len(self.failed) else "…" for word in self.failed[-1].said.split()]
        said = " ".join(word for word, _ in groupby(words))
        return f"{what}: {cut(said if _WORD.search(said) else self.failed[-1].said, SHOWN_CHARS)}"

    @property
    def sessions(self) -> int:
        """In how many it came."""
        return len({one.call.session for one in self.failed})

    @property
    def drift(self) -> str:
        """The trend in words."""
        before, since = self.trend
        return "as often as before" if before == since else f"{'more' if since > before else 'less'} often of late"

    @property
    def solved(self) -> list[Failed]:
        """Those that were solved; where most were at the same file, what was done at another is no solution."""
        found = [one for one in self.failed if one.solved.steps is not None]
        same = [one for one in found if one.solved.is_same]
        return same if 2 * len(same) >= len(found) else found

    @property
    def fix(self) -> str:
        """What was different in most that were solved, where those are many; "" where nothing is sure."""
        solved = self.solved
        if len(solved) < SURE * len(self.failed):
            return ""
        often = Counter(step for one in solved for step in one.solved.steps or ()).most_common()
        steps = [step for step, count in often if count >= max(SURE * len(solved), _least(step))]
        if any(step.startswith(SET) for step in steps):  # who knows the value need not look for it
            steps = [step for step in steps if not step.startswith(FIND)]
        said = ", then ".join(steps)
        is_again = 2 * sum(one.is_again for one in solved) >= len(solved)
        said = said.replace(f"the file{FIRST}", f"the file again{FIRST}") if is_again else said
        by = Counter(one.solved.by for one in solved if one.solved.by).most_common(1)
        return said.replace(FIND, f"{FIND} with `{by[0][0]}`") if by else said

    @property
    def examples(self) -> str:
        """Values that did not work in several sessions, with what worked instead, and places that were not there."""
        least = 1 if IN_FULL in self.fix else 2
        swaps = _often([(one.solved.swap, one.call.session) for one in self.solved if one.solved.swap[0]], least)
        places = _often([(one.place, one.call.session) for one in self.failed if one.place], MANY)
        said = [f" It is `{now}`, not `{was}`." for was, now in swaps if json.dumps(now) not in self.fix]
        if FIND in self.fix:
            gone = (place for place in places if not any(place.endswith(was) for was, _ in swaps))
            said += [f" There is no `{place}`." for place in gone]
        else:
            most = (place for place in places if 2 * sum(one.place == place for one in self.failed) > len(self.failed))
            said += [f" Mostly at `{place}`." for place in most]
        return "".join(said[:MAX_EXAMPLES])

    @property
    def cost(self) -> tuple[float, int, float]:
        """Minutes and calls until solved, in all; minutes of the median one."""
        took = [one.ms / 60_000 for one in self.solved]
        return sum(took), sum(one.solved.calls for one in self.solved), median(took) if took else 0.0

    @property
    def sentence(self) -> str:
        """What an instructions file may say; "" without a fix."""
        what, _, said = self.name.partition(": ")
        tools = what.replace(", ", "` and `")
        return f"Avoid “{said.rstrip('.')}” of `{tools}`: {self.fix}.{self.examples}" if self.fix else ""


def patterns(store: Store, scope: Scope, since_ms: int = 0, least: int = 2) -> list[Pattern]:
    """The classes of failures that came in so many sessions or more: those with a fix first, of these the commonest."""
    sessions = sorted(store.sessions.recent(scope, -1, since_ms=since_ms), key=lambda one: one.first_ms)
    order = {one.name: at for at, one in enumerate(sessions)}
    every: list[tuple[str, Failed]] = []
    for session in sessions:
        told = store.log.session(session.row, with_text=True)
        every += [(said, one) for said, one in failures_of(told) if one.call.session == session.name]
    tools: dict[str, set[str]] = defaultdict(set)
    for said, one in every:
        tools[said].add(one.tool)
    classes: dict[str, list[tuple[set[str], list[Failed]]]] = defaultdict(list)
    for said, one in every:
        if len(tools[said]) < TOOLS and one.what:
            stems = set(store.index.analyze(said)) or {said}
            of_tool = classes[one.tool]
            alike = [failed for other, failed in of_tool if _are_alike(stems, other)]
            if alike:
                alike[0].append(one)
            else:
                of_tool.append((stems, [one]))
    found = _joined([pair for of_tool in classes.values() for pair in of_tool])
    for pattern in found:
        late = [2 * order[name] >= len(order) for name in {one.call.session for one in pattern.failed}]
        pattern.trend = late.count(False), late.count(True)
    found = [one for one in found if one.sessions >= least]
    return sorted(found, key=lambda one: (not one.fix, -one.sessions, -len(one.failed), one.name))


def _often(pairs: Iterable[tuple[Said, str]], least: int) -> list[Said]:
    """What came in so many sessions or more, the commonest first."""
    sessions: dict[Said, set[str]] = defaultdict(set)
    for said, session in pairs:
        sessions[said].add(session)
    return sorted((said for said, of in sessions.items() if len(of) >= least), key=lambda said: -len(sessions[said]))


def _joined(classes: Iterable[tuple[set[str], list[Failed]]]) -> list[Pattern]:
    """As classes, those in one that the same thing helps."""
    found: dict[Hashable, Pattern] = {}
    for stems, failed in classes:
        pattern = Pattern(failed)
        first = found.setdefault(_mistake(pattern, stems), pattern)
        if first is not pattern:
            first.failed = sorted([*first.failed, *failed], key=lambda one: one.call.order_ms)
    return [*found.values()]


def _mistake(pattern: Pattern, stems: set[str]) -> Hashable:
    """What two classes have in common that are one: a path that is not there, a command's fix, words and their fix."""
    fix, first = pattern.fix.replace(" again", ""), pattern.failed[0]
    if not fix:
        return id(pattern)
    if fix.startswith(FIND) and 2 * sum(bool(one.place) for one in pattern.failed) > len(pattern.failed):
        return FIND
    return (first.what if first.what != first.tool else frozenset(stems)), fix


def _are_alike(one: set[str], other: set[str]) -> bool:
    """Whether two complaints are one: they share enough, or the shorter one is all in the other."""
    shared = len(one & other)
    return shared > SAME * len(one | other) or (shared > 2 and shared == min(len(one), len(other)))


def failures_of(told: Sequence[StoredEvent]) -> Iterator[tuple[str, Failed]]:
    """The failures of a session that say something, with what they say, masked."""
    for agent in dict.fromkeys(event.agent_id for event in told):
        actions = actions_of([event for event in told if event.agent_id == agent])
        for place, action in enumerate(actions):
            tool, what, said = _complaint(action) if action.has_failed else ("", "", "")
            said = _PLACE.sub("", said, count=1) if _PLACE.match(said) else said
            if len(_WORD.findall(key := masked(said)[:SAID_CHARS])) > 1:
                later = actions[place + 1 : place + 1 + MOST_LATER]
                solved = _other_words(action, later) if action.is_shell else _other_call(action, later)
                took = _active_ms([action, *later[: solved.calls]])
                is_again = any(map(partial(_is_at, action), actions[:place]))
                where = action.call.file or action.input.get("path")
                path = _within(action.call, where) if isinstance(where, str) else ""
                yield key, Failed(tool, what, said, action.call, path, solved, is_again, took)


def _complaint(action: Action) -> tuple[str, str, str]:
    """The tool or program, what it did, and what it complained of; no `what` where that is nobody's fault."""
    output = action.output.replace(NOT_RUN, "").replace(NOT_RUN.replace("<", "</"), "").strip()
    if not action.is_shell:
        return action.call.tool or "", action.call.tool or "", output.partition("\n")[0]
    failed, parts = failed_in(action), parts_of(action.command)
    if failed is None or not complaint(output):
        return (parts[0].program if parts else ""), "", output.partition("\n")[0]
    said = "" if _SOURCE.match(failed.said) else failed.said
    return failed.part.program, " ".join(failed.part.name), said


def _other_words(action: Action, later: Sequence[Action]) -> Solved:
    """What was different when the command worked, and after how many calls."""
    failed = failed_in(action)
    fix = mending(failed, later) if failed is not None else None
    if failed is not None and fix is not None:
        was, now = failed.part.words, fix[1].words
        gone, new = (" ".join(word for word in one if word not in other) for one, other in ((was, now), (now, was)))
        how = f"use `{cut(new, WORDS_CHARS)}` instead of `{cut(gone, WORDS_CHARS)}`" if new and gone else ""
        how = how or (f"add `{cut(new, WORDS_CHARS)}`" if new else f"leave out `{cut(gone, WORDS_CHARS)}`")
        return Solved([how if new or gone else f"run `{cut(str(fix[1]), WORDS_CHARS)}`"], later.index(fix[0]) + 1)
    between: list[str] = []
    for calls, other in enumerate(later, 1):
        ran = parts_of(other.command) if other.is_shell and other.has_succeeded else ()
        if failed is not None and any(part.words == failed.part.words for part in ran):
            return Solved(between[-1:], calls)
        if other.is_edit and other.has_succeeded:
            between.clear()
        between += [f"run `{' '.join(part.name)}`" for part in ran if failed and part.program == failed.part.program]
    return UNSOLVED


def _is_at(action: Action, other: Action) -> bool:
    """Whether another call has read or changed the same file."""
    has_touched = other.has_succeeded and (other.is_edit or other.tool in READERS)
    return has_touched and bool(action.call.file) and other.call.file == action.call.file


def _other_call(action: Action, later: Sequence[Action]) -> Solved:
    """The same tool at the same file, else at one in it (it was a folder), else with something else in common."""
    again = [(calls, one) for calls, one in enumerate(later, 1) if one.tool == action.tool and one.has_succeeded]
    values, file = [*action.input.values()], action.call.file
    same = [pair for pair in again if file and pair[1].call.file == file]
    inside = [pair for pair in again if file and (pair[1].call.file or "").startswith(f"{file.rstrip('/')}/")]
    alike = [pair for pair in again if any(value in values for value in pair[1].input.values())]
    for calls, other in (same or inside or alike or again)[:1]:
        before = [one for one in later[: calls - 1] if one.has_succeeded and one.tool != action.tool]
        read = (one for one in before if one.tool in READERS and _is_at(action, one))
        new = [value for value in other.input.values() if isinstance(value, str) and value not in values]
        names = [os.path.basename(value) for value in new if NAMED.fullmatch(value)]
        told = [one for one in before if not one.is_edit and any(name and name in one.output for name in names)]
        first = [f"`{one.call.tool}` the file{FIRST}" for one in read][:1]
        if inside and not same:
            return Solved([f"list that folder{FIRST}", "name a file in it"], calls)
        first = first or [f"{FIND}{FIRST}" for _ in told][:1]
        changed = _changed(action.input, other.input, action.output)
        by = _named(told[0]) if told else ""
        return Solved([*first, *changed], calls, bool(same), by, _swapped(action, other))
    return UNSOLVED


def _named(action: Action) -> str:
    """What a call is called by: its tool, or the program that a shell ran."""
    parts = parts_of(action.command) if action.is_shell else ()
    return parts[0].program if parts else action.call.tool or ""


def _swapped(action: Action, later: Action) -> tuple[str, str]:
    """The only short word or path of a call that is another one now, as it is called in the project."""
    other = [
        (old, new)
        for name, old in action.input.items()
        if name not in WRITTEN and isinstance(old, str) and isinstance(new := later.input.get(name), str) and old != new
    ]
    if len(other) != 1 or not all(SHORT.fullmatch(value) for value in other[0]):
        return "", ""
    was, now = other[0]
    inside = now.startswith(f"{was.rstrip('/')}/") or was.startswith(f"{now.rstrip('/')}/")
    return ("", "") if inside else (_within(action.call, was), _within(later.call, now))


def _within(call: StoredEvent, path: str) -> str:
    """A path below its project's root; of another its end, of a word the word."""
    root = f"{call.project.rstrip('/')}/"
    return path[len(root) :] if path.startswith(root) else "/".join(path.split("/")[-PLACE_PARTS:])


def _least(step: str) -> int:
    """How often a step has to be seen: that a field was there or not says less than what was in it."""
    return 3 if step.startswith((WITH, WITHOUT)) else 2


def _changed(before: Mapping[str, object], after: Mapping[str, object], output: str) -> list[str]:
    """How the fields of a call changed, as far as that says something to somebody with other values."""
    said = []
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name in WRITTEN or old == new:
            continue
        if old is None or new is None:
            said.append(f"{WITH if old is None else WITHOUT} `{name}`")
        elif isinstance(old, str) and isinstance(new, str) and new.startswith(f"{old.rstrip('/')}/"):
            said.append("name what is in that folder")
        elif isinstance(new, str) and new.strip() and new in output:
            is_part = isinstance(old, str) and new.endswith(old)
            said.append(f"give the `{name}` {IN_FULL}" if is_part else f"use a `{name}` that the message lists")
        elif isinstance(new, bool) or (isinstance(new, str) and re.fullmatch(r"[^\s/]{1,40}", new)):
            said.append(f"{SET} `{name}` to {json.dumps(new, ensure_ascii=False)}")
        elif isinstance(old, str) and isinstance(new, str) and _is_spaced(old, new):
            said.append(f"give `{name}` the tabs and spaces that the file has")
        elif isinstance(old, str) and isinstance(new, str) and (old in new or new in old):
            said.append(f"use a {'longer' if old in new else 'shorter'} `{name}`")
        elif isinstance(old, int) and isinstance(new, int):
            said.append(f"use a {'larger' if old < new else 'smaller'} `{name}`")
    return said


def _is_spaced(one: str, other: str) -> bool:
    """Whether two texts begin alike but for their tabs and blanks."""
    bare, also = ("".join(text.split())[:SPACED_CHARS] for text in (one, other))
    width = min(len(one), len(other), SPACED_CHARS)
    return bare == also and one[:width] != other[:width]


def _active_ms(actions: Iterable[Action]) -> int:
    """How long was worked from the first call to the last result: of a long pause only IDLE_MS."""
    times = [event.order_ms for one in actions for event in (one.call, one.result) if event is not None]
    return sum(min(max(after - before, 0), IDLE_MS) for before, after in pairwise(times))
