"""What goes wrong again and again: failures of all sessions in classes, what each costs, and the fix that worked.

A class is a program or tool with what it complained of, masked (`domain.commands`). What several tools complain of in
the same words is the client's answer to a call (refused, cancelled), no mistake. The fix is what was different when it
worked: other words of a command, other fields of a call, a look at the same file before, or another program. What was
solved by changing files has none: what was wrong there is what the complaint says.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median
from typing import TypeVar

from howcome.domain.answering import cut
from howcome.domain.commands import NOT_RUN, masked, parts_of
from howcome.domain.complaints import complaint
from howcome.domain.stored import Scope, StoredEvent
from howcome.history.telemetry import solving
from howcome.history.telemetry.solving import FIND, FIRST, IN_FULL, SET, UNSOLVED, Solved
from howcome.learn.actions import Action, actions_by_agent
from howcome.learn.command_runs import failed_in
from howcome.store.base import Store

Said = TypeVar("Said", bound=Hashable)

SAID_CHARS, SHOWN_CHARS, CALL_CHARS = 100, 110, 500
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

MAX_EXAMPLES, MANY = 2, 3
"""So many values are named, and a place where it came up in so many sessions."""

_WORD, _SOURCE = re.compile(r"[^\W\d_]{2,}"), re.compile(r"\W*\d[\d\s]*[|│]|^\W*[\w.\[\]:]+\]? \$ |\W*$")
_QUOTED = re.compile(r'"(\S{4,60}?)"')
_ADVICE = re.compile(r"(?i)\b(?:please|instead|try|did you mean|read it|set \w+ to)\b")
_PLACE = re.compile(r"(?:\S*[/\]]\S*\s+)+(?=\S)")
"""Lines of source code in a report, and commands repeated there, say nothing of what is wrong; nor do places.
A message with advice needs none of ours (docs/evaluation.md, "Patterns")."""


@dataclass(frozen=True)
class Failed:
    """A call that failed.

    Attributes:
        tool: The tool, or the program that a shell ran. `what`: the same with the words that say what it did.
        said: What it complained of; `call`: the call.
        place: The end of the path that it was about, "" of none.
        solved: How it worked later; `is_again`: the file had been read or changed before. `ms`: how long it took.
        shown: What had named the file since then without reading it: a tool or a program; "" for nothing.
        named: A word of the call that the complaint repeats; "" for none.
    """

    tool: str
    what: str
    said: str
    call: StoredEvent
    place: str = ""
    solved: Solved = UNSOLVED
    is_again: bool = False
    ms: int = 0
    shown: str = ""
    named: str = ""


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
        """What helps; "" where nothing is sure, or where the message says it already and we know no more."""
        said = self.helped
        is_told = 2 * sum(bool(_ADVICE.search(one.said)) for one in self.failed) > len(self.failed)
        return "" if is_told and not self.examples else said

    @property
    def helped(self) -> str:
        """What was different in most that were solved, where those are many; "" where nothing is sure."""
        solved = self.solved
        if not solved:
            never = _often([(one.named, one.call.session) for one in self.failed if one.named], MANY)
            return "".join(f"do not call it with `{name}`, which never worked" for name in never[:1])
        if len(solved) < SURE * len(self.failed):
            return ""
        often = Counter(step for one in solved for step in one.solved.steps or ()).most_common()
        steps = [step for step, count in often if count >= max(SURE * len(solved), solving.seen_at_least(step))]
        if any(step.startswith(SET) for step in steps):  # who knows the value need not look for it
            steps = [step for step in steps if not step.startswith(FIND)]
        said = ", then ".join(sorted(steps, key=lambda step: not step.endswith(FIRST)))
        is_again = 2 * sum(one.is_again for one in solved) >= len(solved)
        said = said.replace(f"the file{FIRST}", f"the file again{FIRST}") if is_again else said
        by = Counter(one.solved.by for one in solved if one.solved.by).most_common(1)
        return said.replace(FIND, f"{FIND} with `{by[0][0]}`") if by else said

    @property
    def examples(self) -> str:
        """What did not do in several sessions: values, with what worked instead, places, and what only named a file."""
        least = 1 if IN_FULL in self.helped else 2
        swaps = _often([(one.solved.swap, one.call.session) for one in self.solved if one.solved.swap[0]], least)
        places = _often([(one.place, one.call.session) for one in self.failed if one.place], MANY)
        said = [f" It is `{now}`, not `{was}`." for was, now in swaps if json.dumps(now) not in self.helped]
        if FIND in self.helped:
            gone = (place for place in places if not any(place.endswith(was) for was, _ in swaps))
            said += [f" There is no `{place}`." for place in gone]
        else:
            often = (place for place in places if 2 * sum(one.place == place for one in self.failed) > len(self.failed))
            said += [f" Mostly at `{place}`." for place in often]
        shown = Counter(one.shown for one in self.failed if one.shown).most_common(1)
        if FIRST in self.helped and FIND not in self.helped:
            most = (by for by, count in shown if count >= SURE * len(self.failed))
            said += [f" What `{by}` shows of it is not enough." for by in most]
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
    worked: set[tuple[str, str]] = set()
    for session in sessions:
        told = store.log.session(session.row, with_text=True)
        every += [(said, one) for said, one in failures_of(told, worked) if one.call.session == session.name]
    every = [(said, replace(one, named="") if (one.tool, one.named) in worked else one) for said, one in every]
    tools: dict[str, set[str]] = defaultdict(set)
    for said, one in every:
        tools[said].add(one.tool)
    classes: dict[str, list[tuple[set[str], list[Failed]]]] = defaultdict(list)
    for said, one in every:
        if len(tools[said]) < TOOLS and one.what:
            stems = set(store.index.analyze(said)) or {said}
            alike = (failed for other, failed in classes[one.tool] if _are_alike(stems, other))
            if (first := next(alike, None)) is not None:
                first.append(one)
            else:
                classes[one.tool].append((stems, [one]))
    joined = _joined(pair for of_tool in classes.values() for pair in of_tool)
    found = [one for one in joined if one.sessions >= least]
    for pattern in found:
        late = [2 * order[name] >= len(order) for name in {one.call.session for one in pattern.failed}]
        pattern.trend = late.count(False), late.count(True)
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
    fix, first = pattern.helped.replace(" again", ""), pattern.failed[0]
    if not fix:
        return id(pattern)
    if fix.startswith(FIND) and 2 * sum(bool(one.place) for one in pattern.failed) > len(pattern.failed):
        return FIND
    return (first.what if first.what != first.tool else frozenset(stems)), fix


def _are_alike(one: set[str], other: set[str]) -> bool:
    """Whether two complaints are one: they share enough, or the shorter one is all in the other."""
    shared = len(one & other)
    return shared > SAME * len(one | other) or (shared > 2 and shared == min(len(one), len(other)))


def failures_of(told: Sequence[StoredEvent], worked: set[tuple[str, str]]) -> Iterator[tuple[str, Failed]]:
    """The failures of a session that say something, with what they say, masked; `worked` gets what did: tool, word."""
    for actions in actions_by_agent(told):
        for place, action in enumerate(actions):
            if action.has_succeeded and not action.is_shell:
                quoted = _QUOTED.findall(action.call.text or "", 0, CALL_CHARS)
                worked.update((action.call.tool or "", word) for word in quoted)
            tool, what, said = _complaint(action) if action.has_failed else ("", "", "")
            said = _PLACE.sub("", said, count=1) if _PLACE.match(said) else said
            if len(_WORD.findall(key := masked(said)[:SAID_CHARS])) > 1:
                later = actions[place + 1 : place + 1 + MOST_LATER]
                solved = solving.other_words(action, later) if action.is_shell else solving.other_call(action, later)
                took = _active_ms([action, *later[: solved.calls]])
                since = next((at for at in range(place, 0, -1) if solving.is_at(action, actions[at - 1])), 0)
                where = action.call.file or action.input.get("path")
                path = solving.within(action.call, where) if isinstance(where, str) else ""
                shown = solving.named_by(action, actions[since:place])
                named = "" if action.is_shell else solving.word_in(action, said)
                yield key, Failed(tool, what, said, action.call, path, solved, since > 0, took, shown, named)


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


def _active_ms(actions: Iterable[Action]) -> int:
    """How long was worked from the first call to the last result: of a long pause only IDLE_MS."""
    times = [event.order_ms for one in actions for event in (one.call, one.result) if event is not None]
    return sum(min(max(after - before, 0), IDLE_MS) for before, after in pairwise(times))
