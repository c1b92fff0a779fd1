"""What goes wrong again and again: failures of all sessions in classes, what each costs, and the fix that worked.

A class is a program or tool with what it complained of, masked (`domain.commands`). What several tools complain of in
the same words is the client's answer to a call (refused, cancelled), no mistake. The fix is what was different when it
worked: other words of a command, other fields of a call, a read of the same file before, or a change of files.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from howcome.domain.answering import cut
from howcome.domain.commands import LOOKING, NOT_RUN, complaint, masked, parts_of
from howcome.domain.events import READERS
from howcome.learn.actions import WRITTEN, actions_of
from howcome.learn.command_runs import failed_in, mending

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from howcome.domain.stored import Scope, StoredEvent
    from howcome.learn.actions import Action
    from howcome.store.base import Store

SAID_CHARS, SHOWN_CHARS, WORDS_CHARS = 100, 110, 60
MOST_LATER = 40
"""Calls after a failure among which the one that solved it is looked for."""

IDLE_MS = 180_000
"""A longer pause counts as so much: 99.5 % of the pauses within a turn of one project are shorter (175 s)."""

TOOLS = 3
"""What so many tools complain of alike is no complaint of theirs."""

SAME = 0.5
"""What complaints of a tool have to share of their stems to be one (docs/evaluation.md, "Patterns")."""

SURE = 3
"""Of so many failures one has to be solved, that its fix is said."""

ANOTHER = "another "
_WORD, _SOURCE = re.compile(r"[^\W\d_]{2,}"), re.compile(r"\W*\d[\d\s]*[|│]|^\W*[\w.\[\]:]+\]? \$ |\W*$")
_PLACE = re.compile(r"(?:\S*[/\]]\S*\s+)+(?=\S)")
"""Lines of source code in a report, and commands repeated there, say nothing of what is wrong; nor do places."""


@dataclass(frozen=True)
class Failed:
    """A call that failed.

    Attributes:
        tool: The tool, or the program that a shell ran. `what`: the same with the words that say what it did.
        said: What it complained of; `call`: the call.
        fixes: What was different when it worked; none: nobody saw it work. `is_same`: it was at the same file.
        named: The value of the call that the complaint names, if it does. `ms`, `calls`: how long it took.
    """

    tool: str
    what: str
    said: str
    call: StoredEvent
    fixes: Sequence[str] = ()
    named: str = ""
    is_same: bool = True
    ms: int = 0
    calls: int = 0


@dataclass
class Pattern:
    """A class of failures, in the order of time; `trend`: sessions with it in the earlier and later half of all."""

    failed: list[Failed]
    trend: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """What was called most often, and what it said last."""
        [(what, _)] = Counter(one.what for one in self.failed).most_common(1)
        return f"{what}: {cut(self.failed[-1].said, SHOWN_CHARS)}"

    @property
    def sessions(self) -> int:
        """In how many it came."""
        return len({one.call.session for one in self.failed})

    @property
    def solved(self) -> list[Failed]:
        """Those that were solved; where most were at the same file, what was done at another is no solution."""
        found = [one for one in self.failed if one.fixes]
        same = [one for one in found if one.is_same]
        return same if 2 * len(same) >= len(found) else found

    @property
    def fix(self) -> str:
        """What was different in most that were solved, where those are most; "" where nothing is sure."""
        solved, named = self.solved, Counter(one.named for one in self.failed if one.named).most_common(1)
        if not solved and named and named[0][1] > 1:
            return f"nothing called with `{named[0][0]}` worked here"
        if SURE * len(solved) < len(self.failed):
            return ""
        often = Counter(fix for one in solved for fix in one.fixes).most_common()
        most = [fix for fix, count in often if 2 * count >= len(solved)]
        others = " and ".join(fix for fix in most if fix.startswith(ANOTHER))
        steps = [fix for fix in most if not fix.startswith(ANOTHER)]
        return ", then ".join(steps + [f"call it with {others}"] * bool(others))

    @property
    def cost(self) -> tuple[float, int, float]:
        """Minutes and calls until solved, in all; minutes of the median one."""
        took = [one.ms / 60_000 for one in self.solved]
        return sum(took), sum(one.calls for one in self.solved), median(took) if took else 0.0

    @property
    def sentence(self) -> str:
        """What an instructions file may say; "" without a fix."""
        what, _, said = self.name.partition(": ")
        return f"Avoid “{said.rstrip('.')}” of `{what}`: {self.fix}." if self.fix else ""


def patterns(store: Store, scope: Scope, since_ms: int = 0, least: int = 2) -> list[Pattern]:
    """The classes of failures that came in so many sessions or more, those of most sessions first."""
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
    found = [Pattern(failed) for of_tool in classes.values() for _, failed in of_tool]
    for pattern in found:
        late = [2 * order[name] >= len(order) for name in {one.call.session for one in pattern.failed}]
        pattern.trend = late.count(False), late.count(True)
    found = [one for one in found if one.sessions >= least]
    return sorted(found, key=lambda one: (-one.sessions, -len(one.failed), one.name))


def _are_alike(one: set[str], other: set[str]) -> bool:
    """Whether two complaints are one: they share enough, or the shorter one is all in the other."""
    shared = len(one & other)
    return shared >= SAME * len(one | other) or (shared > 1 and shared == min(len(one), len(other)))


def failures_of(told: Sequence[StoredEvent]) -> Iterator[tuple[str, Failed]]:
    """The failures of a session that say something, with what they say, masked."""
    for agent in dict.fromkeys(event.agent_id for event in told):
        actions = actions_of([event for event in told if event.agent_id == agent])
        for place, action in enumerate(actions):
            tool, what, said = _complaint(action) if action.has_failed else ("", "", "")
            said = _PLACE.sub("", said, count=1) if _PLACE.match(said) else said
            if len(_WORD.findall(key := masked(said)[:SAID_CHARS])) > 1:
                later = actions[place + 1 : place + 1 + MOST_LATER]
                fixes, calls, is_same = (_other_words if action.is_shell else _other_call)(action, later)
                named = (value for value in action.input.values() if isinstance(value, str) and value and value in said)
                took = _active_ms([action, *later[:calls]])
                yield key, Failed(tool, what, said, action.call, fixes, next(named, ""), is_same, took, calls)


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


Solved = tuple[list[str], int, bool]
UNSOLVED: Solved = ([], 0, True)


def _other_words(action: Action, later: Sequence[Action]) -> Solved:
    """What was different when the command worked, and after how many calls."""
    failed = failed_in(action)
    fix = mending(failed, later) if failed is not None else None
    if failed is not None and fix is not None:
        was, now = failed.part.words, fix[1].words
        gone, new = (" ".join(word for word in one if word not in other) for one, other in ((was, now), (now, was)))
        how = f"use `{cut(new, WORDS_CHARS)}` instead of `{cut(gone, WORDS_CHARS)}`" if new and gone else ""
        how = how or (f"add `{cut(new, WORDS_CHARS)}`" if new else f"leave out `{cut(gone, WORDS_CHARS)}`")
        return [how if new or gone else f"run `{cut(str(fix[1]), WORDS_CHARS)}`"], later.index(fix[0]) + 1, True
    between: list[str] = []
    for calls, other in enumerate(later, 1):
        ran = parts_of(other.command) if other.is_shell and other.has_succeeded else ()
        if failed is not None and any(part.words == failed.part.words for part in ran):
            return [*(between[-1:] or ["run it again"])], calls, True
        if other.is_edit and other.has_succeeded:
            between.append("mend the files that it names")
        between += [f"run `{' '.join(part.name)}`" for part in ran if part.program not in LOOKING]
    return UNSOLVED


def _other_call(action: Action, later: Sequence[Action]) -> Solved:
    """The same tool at the same file, else the same tool with something else in common."""
    again = [(calls, one) for calls, one in enumerate(later, 1) if one.tool == action.tool and one.has_succeeded]
    values, file = [*action.input.values()], action.call.file
    same = [pair for pair in again if file and pair[1].call.file == file]
    alike = [pair for pair in again if any(value in values for value in pair[1].input.values())]
    for calls, other in (same or alike or again)[:1]:
        before = [one for one in later[: calls - 1] if one.has_succeeded and one.tool != action.tool]
        read = (one for one in before if one.tool in READERS and file and one.call.file == file)
        looked = (one for one in before if not (one.tool in READERS or one.is_edit or one.is_shell))
        first = [f"`{one.call.tool}` the file first" for one in read][:1]
        first += dict.fromkeys(f"`{one.call.tool}` first" for one in looked)
        names = [name for name in {**action.input, **other.input} if name not in WRITTEN]
        changed = [f"{ANOTHER}`{name}`" for name in names if action.input.get(name) != other.input.get(name)]
        return [*first, *changed] or ["call it again"], calls, bool(same)
    return UNSOLVED


def _active_ms(actions: Iterable[Action]) -> int:
    """How long was worked from the first call to the last result: of a long pause only IDLE_MS."""
    times = [event.order_ms for one in actions for event in (one.call, one.result) if event is not None]
    return sum(min(max(after - before, 0), IDLE_MS) for before, after in pairwise(times))
