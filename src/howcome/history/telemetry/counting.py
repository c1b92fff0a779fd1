"""What sessions did, counted event by event: each counted event with the names of the counts that it adds to.

| count | is |
|---|---|
| `prompts`, `calls`, `compactions` | what was typed, what was called, how often a window was compacted |
| `reads`, `edits` | calls that read a file, and that change one; a shell's are not among them |
| `placed`, `blind` | edits within a file; those of a file that was neither read nor changed before in the session |
| `answered`, `failed`, `retried` | calls with a result; those that failed; failures after which the same tool is next |
| `spins` | the third failure in the same way with no edit in between that worked |
| `edited`, `again` | files that a session changed; those that another session changed within a week after |
| `settled`, `reworked` | edits that are a week old; those of which another session took away most lines in it |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from howcome.domain.events import COMPACTION, ORIGIN_USER, READERS, USER_PROMPT, WRITERS
from howcome.domain.stored import Scope, StoredEvent
from howcome.history.origins import edits_of
from howcome.learn.actions import Action, actions_by_agent, actions_of
from howcome.store.base import Store

Counted = tuple[StoredEvent, str]
WEEK_MS = 7 * 24 * 3_600_000
SPINNING = 3
"""As in `recall.acting`, which says so at the moment."""

TOOL = "tool: "
"""What the count of a tool's calls begins with."""

BY: Mapping[str, Callable[[StoredEvent], str]] = {
    "session": lambda event: event.session,
    "project": lambda event: event.project,
    "branch": lambda event: event.branch or "(none)",
    "agent": lambda event: event.client + (", subagents" if event.agent_id else ""),
    "week": lambda event: week_of(event.ts_ms or event.order_ms),
}
"""What counts are told apart by."""


@dataclass
class Counts:
    """Counts of everything, of each session, and by what was asked for."""

    every: Counter[str] = field(default_factory=Counter)
    sessions: dict[str, Counter[str]] = field(default_factory=dict)
    groups: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, event: StoredEvent, name: str, by: str | None) -> None:
        """Counts an event."""
        self.every[name] += 1
        self.sessions.setdefault(event.session, Counter())[name] += 1
        if by is not None:
            self.groups.setdefault(BY[by](event), Counter())[name] += 1


def counts(store: Store, scope: Scope, since_ms: int = 0, by: str | None = None) -> Counts:
    """What the sessions of a scope did from a moment on."""
    found, edits, last_ms = Counts(), [], store.accounts.last_ms()
    for session in store.sessions.recent(scope, -1, since_ms=since_ms):
        told = store.log.session(session.row)
        failures = store.commands.failures_of([event.row for event in told if event.tool])
        for event, name in _of_session(told, failures):
            if event.session == session.name and event.order_ms >= since_ms:  # a fork's copies are the other's
                found.add(event, name, by)
        own = [one for one in actions_of(told) if one.call.session == session.name]
        edits += [one.call for one in own if one.is_edit and one.has_succeeded and one.call.file is not None]
    for event, name in reworked(store, edits, last_ms):
        if event.order_ms >= since_ms:
            found.add(event, name, by)
    return found


def week_of(ts_ms: int) -> str:
    """The week of a moment (UTC), as ISO 8601 counts."""
    year, week, _ = datetime.fromtimestamp(ts_ms / 1000, UTC).isocalendar()
    return f"{year}-W{week:02d}"


def _of_session(told: Sequence[StoredEvent], failures: Mapping[int, int]) -> Iterator[Counted]:
    for event in told:
        if event.kind == COMPACTION:
            yield event, "compactions"
        elif event.kind == USER_PROMPT and event.origin == ORIGIN_USER:
            yield event, "prompts"
    for actions in actions_by_agent(told):
        yield from _of_calls(actions)
        yield from _of_edits(actions)
        yield from _spins(actions, failures)


def _of_calls(actions: Sequence[Action]) -> Iterator[Counted]:
    for place, action in enumerate(actions):
        call = action.call
        yield call, "calls"
        yield call, TOOL + (call.tool or "")
        if action.result is not None:
            yield call, "answered"
        if action.has_failed:
            yield call, "failed"
            if [one.tool for one in actions[place + 1 : place + 2]] == [action.tool]:
                yield call, "retried"


def _of_edits(actions: Iterable[Action]) -> Iterator[Counted]:
    known: set[str | None] = {None}
    for action in actions:
        call = action.call
        if action.tool in READERS:
            yield call, "reads"
        if action.is_edit:
            yield call, "edits"
            if action.tool not in WRITERS:
                yield call, "placed"
                if call.file not in known:
                    yield call, "blind"
        if action.has_succeeded and (action.is_edit or action.tool in READERS):
            known.add(call.file)


def _spins(actions: Iterable[Action], failures: Mapping[int, int]) -> Iterator[Counted]:
    """The same command that fails in the same way (`failures`: by the ledger), or the same tool at the same file."""
    failed: Counter[object] = Counter()
    for action in actions:
        call = action.call
        what = failures.get(call.row) if action.is_shell else (action.tool, call.file) if call.file else None
        if action.has_succeeded:
            failed = Counter() if action.is_edit else failed
            failed.pop(what, None)
        elif action.has_failed and what is not None:
            failed[what] += 1
            if failed[what] == SPINNING:
                yield call, "spins"


def reworked(store: Store, calls: Sequence[StoredEvent], last_ms: int) -> Iterator[Counted]:
    """Edits and files with what other sessions did to them in the week after; younger ones are left out."""
    by_file: dict[str, list[StoredEvent]] = {}
    for call in sorted(calls, key=lambda call: (call.order_ms, call.row)):
        by_file.setdefault(call.file or "", []).append(call)
    for file, made in by_file.items():
        last = {call.session: call for call in made}
        for call in last.values():
            if call.order_ms + WEEK_MS <= last_ms:
                yield call, "edited"
                if any(_is_after(call, other) for other in made):
                    yield call, "again"
        told = store.log.events([call.row for call in made], with_text=True)
        edits = edits_of((told[call.row] for call in made), file)
        for edit in edits:
            lines = {line for place in edit.new if (line := edit.written[place])}
            if lines and edit.event.order_ms + WEEK_MS <= last_ms:
                yield edit.event, "settled"
                later = [other for other in edits if _is_after(edit.event, other.event)]
                gone = lines & set().union(*({*other.replaced} - {*other.written} for other in later))
                if 2 * len(gone) > len(lines):
                    yield edit.event, "reworked"


def _is_after(one: StoredEvent, other: StoredEvent) -> bool:
    return other.session != one.session and 0 < other.order_ms - one.order_ms <= WEEK_MS
