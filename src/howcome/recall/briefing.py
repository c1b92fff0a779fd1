"""The briefing of a session: what holds in its project whatever is asked. No word has to match.

First what the user wants kept to and failures with what mended them; then, on a branch that is one task's, how its last
sessions ended, what is left to do, and what was decided on it. On a branch where everything is done, what was done last
is nothing to who begins something else: there an empty briefing is right. The same state gives the same bytes.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, islice

from howcome.domain.answering import cut
from howcome.domain.candidates import users_words
from howcome.domain.events import EDITORS, PUSHED_ORIGINS, TOOL_CALL
from howcome.domain.memories import HAND, OPEN, RULES, MemoryFilter
from howcome.domain.stored import Reminder
from howcome.domain.text import title_of, tokens
from howcome.domain.times import iso_day
from howcome.recall.bites import QUOTED_CHARS, of_failure, of_memory, with_later
from howcome.recall.checks import HEAD as CHECKS
from howcome.recall.checks import checks_of
from howcome.recall.standing import GONE, standing
from howcome.retrieve.branches import Unmerged
from howcome.retrieve.branches import told as on_branch
from howcome.retrieve.settled import by_weight, is_telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from howcome.domain.candidates import Told
    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope, SessionSummary, StoredEvent
    from howcome.store.base import Store

    Line = tuple[str, Reminder | None]
    Other = tuple[StoredEvent | None, StoredEvent, str, Mapping[str, None]]
    Section = tuple[str, list[Line]]

NEWEST = 1000
"""So many memories, the newest, are looked at."""

DAY_MS = 24 * 3_600_000
MAX_LINE_CHARS, MAX_RULE_WORDS = 160, 30
"""Some 40 tokens a line."""

MAX_ASKED_CHARS = 40
SESSIONS, ENDED, OF_A_TASK = 40, 2, 3
"""Of the latest sessions so many are looked at, and how so many ended on this branch is said, where it had no more than
OF_A_TASK of them: seven in ten sessions on such a branch go on with it, one in three on one that had nine or more
(`howcome replay` of two projects, docs/evaluation.md)."""

IDLE_EVENTS = 2
"""A session of a prompt and an answer did nothing that another could go on with, where its answer names nothing."""

RECENT_DAYS = {"context": 3, "failure": 60, "decision": 30}
"""What is open is of some days; what failed and what was decided stays worth saying longer."""

FAILED_SESSIONS = 2
"""What failed and was mended in so many sessions is met again: of 28 lines that came by two in place of three, sessions
then ran that command, or edited such a file, in 25 (docs/evaluation.md)."""

RULE_TYPES = ("decision", "pattern")
"""What somebody keeps by hand as one of these is to be kept to."""

OTHERS = 6
NOW_MS, CHANGED_MS = 120_000, 3_600_000
"""Who was at work on the branch so lately, and changed files in the last hour: of 31 such sessions of one project and
12 of another three in four went on, or the new session touched one of their files (docs/evaluation.md)."""

PLACES, PLACE_PARTS = 2, 2
"""Of what was changed elsewhere so many files are said, each with so much of its path: its name and where it is."""

LIMITS = {"rules": 6, "since": 3, "now": 2, "noted": 2, "context": 2, "failure": 3, "decision": 2}
HEADS = {
    "rules": "Keep to these:", "checks": CHECKS, "failure": "Failed here before:",
    "now": "At work here a moment ago:", "ended": "Last on this branch:", "elsewhere": "Last in this project:",
    "since": "Elsewhere since then:", "noted": "Noted:", "context": "Open:", "decision": "Decided on this branch:",
}  # fmt: skip


class Briefing:
    """Memories of a project by what they are for.

    Args:
        store: Where they are.
        scope: The project.
        now_ms: The moment, UTC milliseconds: what is old is left out by the day.
        before_ms: As it was then, by what had been said before that moment; None: by all that there is.
        is_held: Whether what a memory says is said to the agent elsewhere.
    """

    def __init__(
        self, store: Store, scope: Scope, now_ms: int, before_ms: int | None = None,
        is_held: Callable[[str], bool] | None = None,
    ) -> None:  # fmt: skip
        self._store, self._scope, self._now_ms, self._today_ms = store, scope, now_ms, now_ms // DAY_MS * DAY_MS
        self._before_ms, self._is_held = before_ms, is_held or (lambda _text: False)
        found: dict[int, Memory] = {}
        for source in (HAND, None):  # what is kept by hand is never too old
            newest = store.memories.select(scope, MemoryFilter(status=OPEN, source=source, before_ms=before_ms), NEWEST)
            found |= {one.row: one for one in newest}
        own = [one for one in found.values() if one.agent is None and not one.is_outside and not one.is_asleep]
        self._found = [one for one in own if one.origin in PUSHED_ORIGINS]
        self._told = store.candidates.told_of([one.key for one in own], before_ms)
        failures = (one for one in own if one.type == "failure" and self._is_kept(one))
        self._failures = sorted(failures, key=self._rule_order)

    def lines(self, branch: str, limit_tokens: int) -> list[Line]:
        """The lines of the briefing, heads among them (of nothing), within a limit; none where nothing holds."""
        return self._within(limit_tokens, chain(self._holding(), self._of_branch(branch)))

    def holding(self, limit_tokens: int) -> list[Line]:
        """The lines that hold whoever asks and on any branch."""
        return self._within(limit_tokens, self._holding())

    def since(self, session: str, limit_tokens: int) -> list[Line]:
        """What other sessions did since a session (the client's id) was asked last, and it was not told yet."""
        return self._within(limit_tokens, [("since", self._since(session))])

    def open_ends(self) -> list[Reminder]:
        """What is open, and how the last sessions ended: what is answered where nothing but that is asked."""
        recent = [one for one in self._found if one.type == "context"]
        kept = self._standing(_newest(recent), "context")
        lines = _lines(kept) + self._ended("")[1][:1]
        return [reminder for _, reminder in lines if reminder is not None]

    @cached_property
    def _rules(self) -> list[Memory]:
        found = (one for one in self._found if one.type != "failure" and self._is_rule(one))
        return self._standing(sorted(found, key=self._rule_order), "rules")

    @cached_property
    def _recent(self) -> list[SessionSummary]:
        is_known = self._scope.project_id is not None
        return self._store.sessions.recent(self._scope, SESSIONS, before_ms=self._before_ms) if is_known else []

    @cached_property
    def _refuted(self) -> set[int]:
        return self._store.memory_search.refuted(self._before_ms)

    def _within(self, limit_tokens: int, sections: Iterable[Section]) -> list[Line]:
        """As `_within`; in each section what was said on branches that are not merged says so, and stands last."""
        unmerged = Unmerged(self._store, self._scope, self._before_ms)
        return _within(limit_tokens, ((name, _marked(lines, unmerged)) for name, lines in sections))

    def _holding(self) -> Iterator[Section]:
        yield "rules", _lines(self._rules, lambda one: self._rule_in(one) or users_words(one.text))
        checks = checks_of(self._store, self._scope, [one.row for one in self._recent], self._before_ms)
        yield "checks", [(f"[{checks.source.id}] {checks.passages[0][1]}", checks)] if checks is not None else []
        failed = [line for one in self._failures if self._is_recent(one) for line in self._failed(one)]
        yield "failure", failed[: LIMITS["failure"]]

    def _of_branch(self, branch: str) -> Iterator[Section]:
        taken = {one.row for one in self._rules}
        kept = [one for one in self._found if one.row not in taken and self._is_recent(one)]
        now = self._now(branch)
        yield "now", now
        count, ended = self._ended(branch)
        told = [one.rows for _, one in now if one is not None]
        ended = [line for line in ended if line[1] is not None and line[1].rows not in told]
        is_task = count <= OF_A_TASK
        yield "ended" if branch else "elsewhere", ended if is_task else []
        for name in ("noted", "context", "decision"):
            said = [one for one in kept if _section(one) == name and self._is_of(one, branch, is_task=is_task)]
            yield name, _lines(self._standing(_newest(said), name))

    def _now(self, branch: str) -> list[Line]:
        """Who changed files on a branch and was at work a moment ago: it may go on, or was left for this session."""
        others = self._others(self._now_ms - NOW_MS, self._now_ms - CHANGED_MS)
        return [
            line
            for asked, last, day, changed in others
            if changed and branch in ("", last.branch)
            for line in _ending(asked, last, day, changed, "said last")
        ][: LIMITS["now"]]

    def _since(self, session: str) -> list[Line]:
        """The last sessions that went on after the last prompt of one: what each changed since, and how it ended."""
        sessions, known = self._store.sessions, self._store.injections.events_known(session)
        asked_ms, *_ = sessions.since_prompt(session, self._before_ms)
        others = self._others(asked_ms, asked_ms, sessions.named(session)) if asked_ms else []
        new = [_ending(*other) for other in others if other[1].row not in known]
        return [line for lines in new for line in lines][: LIMITS["since"]]

    def _others(self, active_ms: int, since_ms: int, without: Collection[int] = ()) -> list[Other]:
        """Sessions that went on after a moment: what was asked and said, the day, what was changed since another."""
        active = [one for one in self._recent if one.last_ms > active_ms and one.row not in without][:OTHERS]
        changed = self._changed(max(since_ms, min((one.first_ms for one in active), default=0))) if active else {}
        ends = ((one, *self._ends(one.row)) for one in active)
        return [
            (asked, last, iso_day(one.last_ms), changed.get(one.name, {}))
            for one, asked, last in ends
            if last is not None
        ]

    def _changed(self, since_ms: int) -> dict[str, dict[str, None]]:
        """The files that each session changed since a moment, the last first."""
        found: dict[str, dict[str, None]] = {}
        until_ms = self._before_ms or self._now_ms
        for call in reversed(self._store.log.calls_of(self._scope.project_id or 0, EDITORS, since_ms, until_ms)):
            if call.file:
                found.setdefault(call.session, {})[call.file] = None
        return found

    def _standing(self, ordered: Iterable[Memory], name: str) -> list[Memory]:
        """The first of a section whose files are not gone, and that nothing else says."""
        wanted = (one for one in ordered if not self._is_held(one.text) and standing(self._store, one) != GONE)
        return list(islice(wanted, LIMITS[name]))

    def _ended(self, branch: str) -> tuple[int, list[Line]]:
        """How many of the last sessions were on a branch ("": on any), and how the last ones of them ended."""
        found: dict[int, list[Line]] = {}
        for session in self._recent:
            asked, last = self._ends(session.row)
            if last is not None and last.row not in found and branch in ("", last.branch):
                is_work = session.count > IDLE_EVENTS or is_telling(last.text or "")
                is_said = len(found) < OF_A_TASK and is_work and not self._is_overruled(last)
                found[last.row] = _ending(asked, last, iso_day(session.last_ms)) if is_said else []
        return len(found), [line for lines in found.values() for line in lines][:ENDED]

    def _is_overruled(self, event: StoredEvent) -> bool:
        """Whether what the exchange of an event taught does not hold any more."""
        return bool(self._store.reviews.overruled([self._store.log.opening(event.row) or 0], self._before_ms))

    def _ends(self, session: int) -> tuple[StoredEvent | None, StoredEvent | None]:
        """What was asked first in a session, and what was said last; nothing of an exchange that is refuted."""
        rows = self._store.sessions.ends(session, self._scope.project_id, self._before_ms)
        turns = self._store.log.turns([row for row in rows if row is not None])
        is_right = {row: self._store.log.opening(row) not in self._refuted for row in turns}
        asked, last = (turns[row] if row is not None and is_right.get(row) else None for row in rows)
        return asked, last

    def _failed(self, memory: Memory) -> list[Line]:
        """A failure that came again and again: of what a tool said only the commands, which were the agent's."""
        if memory.source == HAND or memory.origin in PUSHED_ORIGINS:
            return _lines([memory])
        told = self._told.get(memory.key)
        text = of_failure(memory.text, told.sessions if told else 1) if memory.source == RULES else ""
        said = Reminder(None, 1.0, [(memory.type, text)], [memory.row], memory)
        return [(f"[{memory.id}] {text}", said)] if text and len(text) <= MAX_LINE_CHARS else []

    def _is_kept(self, memory: Memory) -> bool:
        """Whether a failure holds until somebody says otherwise: kept by hand, pinned, or met in several sessions."""
        told = self._told.get(memory.key)
        is_met_again = told is not None and told.sessions >= FAILED_SESSIONS
        return memory.source == HAND or memory.pinned_ms is not None or is_met_again

    def _is_standing(self, memory: Memory) -> bool:
        told = self._told.get(memory.key)
        return told is not None and told.is_standing

    def _is_rule(self, memory: Memory) -> bool:
        """Whether it says what is to be kept to: pinned, kept by hand as such, standing, or worded so by the user."""
        if memory.pinned_ms is not None or self._is_standing(memory) or self._rule_in(memory):
            return True
        is_short = "?" not in memory.text and len(memory.text.split()) <= MAX_RULE_WORDS
        is_kept = memory.source == HAND and memory.type in RULE_TYPES
        return is_short and is_kept and not self._is_correction(memory)

    def _rule_in(self, memory: Memory) -> str:
        """What the words of a memory order for good; "" if nothing."""
        from howcome.recall.ordered import ordered  # its patterns cost a session without such words 4 ms

        said = memory.text if memory.source == HAND else users_words(memory.text)
        return ordered(said, QUOTED_CHARS if memory.later else MAX_LINE_CHARS) if said else ""

    def _is_correction(self, memory: Memory) -> bool:
        """Whether somebody only put right what was learnt: that is as much of a rule as it was before."""
        corrected = self._store.memories.by_row([memory.supersedes or 0]).values()
        return any(older.source != HAND for older in corrected)

    def _rule_order(self, memory: Memory) -> tuple[bool, int, bool, int, bytes]:
        told: Told | None = self._told.get(memory.key)
        sessions = told.sessions if told is not None else 1
        return memory.pinned_ms is None, -sessions, memory.source != HAND, -_said_ms(memory), memory.key

    def _is_recent(self, memory: Memory) -> bool:
        return _said_ms(memory) >= self._today_ms - RECENT_DAYS.get(memory.type, 0) * DAY_MS

    def _is_of(self, memory: Memory, branch: str, *, is_task: bool) -> bool:
        """Whether it is of a branch that is one task's: what was decided there, or a list of what is left to do."""
        if memory.source == HAND and memory.type == "context":
            return True
        cited = [event for ident in memory.evidence[:1] for event in self._store.log.find(ident, limit=1)]
        is_said = memory.type != "context" and "?" not in users_words(memory.text)
        return is_task and any(branch in ("", one.branch) and (is_said or one.kind == TOOL_CALL) for one in cited)


def _section(memory: Memory) -> str:
    """What somebody keeps by hand without a type is a note; a session's own is what it left to do."""
    return "noted" if memory.source == HAND and memory.type == "context" else memory.type


def _within(limit_tokens: int, sections: Iterable[Section]) -> list[Line]:
    """As many of the first lines of each section, below its head, as there is room for."""
    said: list[Line] = []
    room = limit_tokens
    for name, lines in sections:
        costs = [tokens(line) + 1 for line, _ in lines]
        if not lines or tokens(HEADS[name]) + costs[0] > room:
            continue
        said.append((HEADS[name], None))
        room -= tokens(HEADS[name]) + 1
        for line, cost in zip(lines, costs, strict=True):
            if cost > room:
                break
            said.append(line)
            room -= cost
    return said


def _marked(lines: list[Line], unmerged: Unmerged) -> list[Line]:
    unmerged.mark([one for _, one in lines if one is not None])
    told = [(f"{text} ({on_branch(one.unmerged)})" if one and one.unmerged else text, one) for text, one in lines]
    return sorted(told, key=lambda line: bool(line[1] and line[1].unmerged))


def _lines(kept: Iterable[Memory], say: Callable[[Memory], str] = lambda one: of_memory(one.text)) -> list[Line]:
    return [
        (
            f"[{one.id}] {cut(with_later(one, say(one) or one.text), MAX_LINE_CHARS)}",
            Reminder(None, 1.0, [(one.type, one.text)], [one.row], one),
        )
        for one in kept
    ]


def _ending(
    asked: StoredEvent | None, last: StoredEvent, day: str, changed: Iterable[str] = (), verb: str = "ended"
) -> list[Line]:
    """What was asked first in a session, which files were changed there, and the sentence of what was said last that
    tells most; none where neither does.
    """  # noqa: D205 - one sentence
    words_asked = cut(title_of(asked.text or ""), MAX_ASKED_CHARS).replace("”", '"') if asked is not None else ""
    files = ", ".join("/".join(file.split("/")[-PLACE_PARTS:]) for file in islice(changed, PLACES))
    ended = next((text for _, text in by_weight([last], {})), "")
    if not ended and not files:
        return []
    did = "; ".join(filter(None, (files and f"changed {files}", ended and f"{verb}: {ended}")))
    text = cut(f"{day} “{words_asked}” {did}", MAX_LINE_CHARS)
    return [(f"[{last.id}] {text}", Reminder(last, 1.0, [(last.origin, ended or files)], [last.row]))]


def _newest(kept: Iterable[Memory]) -> list[Memory]:
    return sorted(kept, key=lambda one: (-_said_ms(one), one.key))


def _said_ms(memory: Memory) -> int:
    return memory.said_ms or memory.created_ms
