"""What is said at the moment of action: the command that worked where this one failed, what is known of a file.

Only the agent's own commands are quoted, never what a tool said: that may be anybody's words.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from howcome.domain.advice import is_risky
from howcome.domain.answering import cut
from howcome.domain.commands import (
    MASK,
    failure_of,
    form_number,
    line_of,
    numbers_of,
    parts_of,
    worked_number,
)
from howcome.domain.events import EDITORS, ORIGIN_USER, PUSHED_ORIGINS, SHELLS
from howcome.domain.memories import HAND, OPEN, MemoryFilter
from howcome.domain.stored import Filter, Reminder
from howcome.domain.times import iso_day
from howcome.domain.verdicts import BRIEFING
from howcome.recall.bites import of_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.clients.hook import Called
    from howcome.domain.commands import Part, Run
    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope, StoredEvent
    from howcome.store.base import Store

MAX_FAILED_CHARS, MAX_FIX_CHARS = 60, 100
"""A fix that is longer is a script: cut, it would be of no use."""

WEIGHTY = ("decision", "failure", "pattern")
FAILURE = "failure"
NEWEST, MAX_MEMORIES, MAX_LINE_CHARS = 1000, 20, 160
_EXPANDED = re.compile(r"[$`(*]")
"""What a shell puts something else for: the words that ran are not the ones that were typed."""

_PATH = re.compile(r"[\w.@~/-]+")

SPINNING = 3
SURE_RUNS = 3
"""So often a command has to have failed, and never worked, before something is said ahead of its run."""


class Mended:
    """A command that failed, the one that then worked, and what is said of both."""

    __slots__ = ("failed", "fix", "reminder")

    def __init__(self, failed: Part, fix: Part, reminder: Reminder) -> None:
        self.failed, self.fix, self.reminder = failed, fix, reminder


class Ledger:
    """What a project's earlier sessions know of commands.

    Args:
        store: Where they are.
        scope: The project.
        session: Whose own commands do not count (the client's id).
        before_ms: Nothing from this moment on counts (for evaluation); None: all does.
    """

    def __init__(self, store: Store, scope: Scope, session: str, before_ms: int | None = None) -> None:
        self._store, self._scope, self._before_ms = store, scope, before_ms
        self._without = store.sessions.named(session)
        self._known = store.injections.events_known(session, BRIEFING)  # who fails all the same is told once more
        self._told = store.injections.memories_known(session, BRIEFING)

    def after_failure(self, command: str, output: str) -> Mended | None:
        """The other command that worked where this one, or one with the same wrong word, failed in the same way."""
        failed = failure_of(command, output)
        if failed is None:
            return None
        exact, alike = numbers_of(failed)
        found = self._failed([exact, alike])
        said = None
        if failed.named or not self._has_worked(failed.part):  # else it is right: what it worked on was not
            said = self._said([run for run in found if failed.named or run.exact == exact], failed.part)
        return said or self._said([run for run in found if run.alike == alike], failed.part, is_prepared=True)

    def before_run(self, command: str) -> Mended | None:
        """The same before a command runs that failed each time."""
        for part in parts_of(command):
            found = self._failed([form_number(part)])
            if len(found) >= SURE_RUNS and not self._has_worked(part):
                said = self._said(found, part)
                if said is not None:
                    return said
        return None

    def _failed(self, numbers: Sequence[int]) -> list[Run]:
        return self._store.commands.failed(self._scope, numbers, self._without, self._before_ms)

    def _has_worked(self, part: Part) -> bool:
        return self._store.commands.has_worked(self._scope, worked_number(part), self._before_ms)

    def _said(self, found: Sequence[Run], now: Part, *, is_prepared: bool = False) -> Mended | None:
        """The fix that was found most often, the newest of several; what only ran before if more than half had it."""
        mended = [run for run in found if run.fixed_by is not None and run.is_prepared is is_prepared]
        rows = {row for run in mended for row in run.rows}
        told = {} if rows & self._known else self._store.log.events(rows, with_text=True)
        wrong = self._store.memory_search.refuted(self._before_ms) if told else set()
        mended = [run for run in mended if not wrong or wrong.isdisjoint(map(self._store.log.opening, run.rows))]
        fixes = [(run, *pair) for run in mended if (pair := _pair(run, told)) is not None]
        fixes = [one for one in fixes if is_prepared or not is_risky(one[2], now)]
        if not fixes:
            return None
        names = [fix.form if is_prepared else str(fix) for _, _, fix in fixes]
        often = Counter(names)
        first = max(range(len(fixes)), key=lambda at: often[names[at]])  # the first of them: the newest
        run, failed, fix = fixes[first]
        kept = self._kept(failed, fix, [told[row] for row in run.rows])
        is_rare = is_prepared and 2 * often[names[first]] <= len(found)
        if is_rare or str(fix) == str(now) or any(not memory.is_live or memory.row in self._told for memory in kept):
            return None
        times = f" {len(found)} times" if len(found) > 1 and not is_prepared else ""  # others' commands failed, too
        how = f"it worked after `{fix}`" if is_prepared else f"`{fix}` then worked"
        last = iso_day(max(told[run.call].order_ms for run, _, _ in fixes))
        text = f"`{cut(str(failed), MAX_FAILED_CHARS)}` failed here{times}, last on {last}; {how}."
        if kept:
            return Mended(failed, fix, Reminder(None, 1.0, [(kept[0].type, text)], [kept[0].row], kept[0]))
        event, worked = told[run.call], told[run.fixed_by or 0]
        return Mended(failed, fix, Reminder(event, 1.0, [(event.origin, text)], [event.row, worked.row]))

    def _kept(self, failed: Part, fix: Part, calls: Sequence[StoredEvent]) -> list[Memory]:
        """What was distilled of the same pair: who forgot it does not want to hear of it, nor who was told.

        It says both or, where these are long, cites the failed call; one that is forgotten may cite its fix only.
        """
        wanted = MemoryFilter(type=FAILURE, with_forgotten=True)
        both = [f"`{' '.join(part.words)}`" for part in (failed, fix)]
        cited = [call.id for call in calls]
        found = self._store.memories.select(self._scope, wanted, NEWEST)
        return [
            one
            for one in found
            if all(words in one.text for words in both)
            or not {*one.evidence}.isdisjoint(cited[:1] if one.is_live else cited)
        ]


def _pair(run: Run, told: dict[int, StoredEvent]) -> tuple[Part, Part] | None:
    """What failed and what worked, as they were typed; None where that is not to be said."""
    failed, fix = part_in(told.get(run.call), run.form), part_in(told.get(run.fixed_by or 0), run.fix)
    if failed is None or fix is None or is_risky(fix, *(() if run.is_prepared else (failed,))):
        return None
    text = str(fix)
    return None if len(text) > MAX_FIX_CHARS or not text.isprintable() or MASK in text else (failed, fix)


def part_in(event: StoredEvent | None, form: int | None) -> Part | None:
    """What a call ran in a form, where the agent itself ran it and it can be said as it was typed."""
    if event is None or event.origin not in PUSHED_ORIGINS:
        return None
    line = _command(event)
    ran = [part for part in parts_of(line) if form_number(part) == abs(form or 0)]
    found = max(ran, key=lambda part: (part.decides, ran.index(part)), default=None)
    return found if found is not None and str(found) in line and not _EXPANDED.search(str(found)) else None


def _command(event: StoredEvent) -> str:
    """The line that a shell's call ran."""
    try:
        values = json.loads(event.text or "")
    except (ValueError, RecursionError):
        return ""
    return line_of(values) if isinstance(values, dict) else ""


def spinning(command: str, output: str, before: Iterable[Called]) -> str:
    """That a command failed so often in the same way and nothing was changed in between, said at that run only.

    `before` are the calls before it, newest first.
    """
    failed, times = failure_of(command, output), 1
    if failed is None:
        return ""
    for call in before:
        if call.error is None and call.tool.lower() in EDITORS:
            break
        ran = line_of(call.input) if call.tool.lower() in SHELLS else ""
        other = failure_of(ran, call.error) if call.error is not None else None
        times += other is not None and other.exact == failed.exact
        if call.error is None and any(part.form == failed.part.form for part in parts_of(ran)):
            break
    if times != SPINNING:
        return ""
    ran = cut(str(failed.part), MAX_FAILED_CHARS)
    return f"`{ran}` failed {times} times in the same way, with no edit in between."


def of_file(store: Store, scope: Scope, session: str, path: str) -> Reminder | None:
    """The newest thing that is to be kept to, or that failed, and names exactly this file."""
    name = path.replace("\\", "/").rpartition("/")[2]
    terms = store.index.analyze(name)
    if scope.project_id is None or not terms:
        return None
    wanted = Filter(scope, origins=PUSHED_ORIGINS, memory_types=WEIGHTY)
    hits = store.memory_search.search(dict.fromkeys(terms, 1.0), wanted, MAX_MEMORIES, required=[terms])
    found = store.memories.by_row(hit.row for hit in hits)
    told = store.candidates.told_of([memory.key for memory in found.values()])
    known = store.injections.memories_known(session)
    kept = [
        memory
        for memory in found.values()
        if memory.status == OPEN
        and memory.row not in known
        and memory.agent is None
        and not (memory.is_outside or memory.is_asleep)
        and (
            memory.source == HAND
            or memory.pinned_ms is not None
            or memory.origin == ORIGIN_USER
            or (memory.key in told and told[memory.key].is_standing)
        )
        and _names(store, memory, path, name)
    ]
    newest = max(kept, key=lambda memory: (memory.said_ms or memory.created_ms, memory.key), default=None)
    if newest is None:
        return None
    return Reminder(None, 1.0, [(newest.type, cut(of_memory(newest.text), MAX_LINE_CHARS))], [newest.row], newest)


def _names(store: Store, memory: Memory, path: str, name: str) -> bool:
    """Whether a memory names a file by its path, or by its name where it was kept by hand or learnt at that file."""
    words = [word.rstrip(".") for word in _PATH.findall(memory.text.replace("\\", "/"))]
    if any(word != name and f"/{path}".endswith(f"/{word}") for word in words if word.endswith(name)):
        return True
    if name not in words:
        return False
    cited = [event for ident in memory.evidence for event in store.log.find(ident, limit=1)]
    return memory.source == HAND or any(event.file and event.file.endswith(path) for event in cited)
