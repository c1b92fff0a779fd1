"""The briefing of a session: what holds in its project whatever is asked. No word has to match.

First what the user wants kept to and failures with what mended them; then, on a branch that is one task's, how its last
sessions ended, what is left to do, and what was decided on it. On a branch where everything is done, what was done last
is nothing to who begins something else: there an empty briefing is right. The same state gives the same bytes.
"""

from __future__ import annotations

from itertools import islice

from howcome.domain import words
from howcome.domain.answering import cut
from howcome.domain.candidates import failed_and_worked, users_words
from howcome.domain.events import PUSHED_ORIGINS, TOOL_CALL
from howcome.domain.memories import HAND, OPEN, RULES, MemoryFilter
from howcome.domain.stored import Reminder
from howcome.domain.text import tokens
from howcome.domain.times import iso_day
from howcome.recall.bites import by_weight, of_memory
from howcome.recall.standing import GONE, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from howcome.domain.memories import Memory
    from howcome.domain.reconciliation import Told
    from howcome.domain.stored import Scope, StoredEvent
    from howcome.store.base import Store

    Line = tuple[str, Reminder | None]

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

RECENT_DAYS = {"context": 3, "failure": 60, "decision": 30}
"""What is open is of some days; what failed and what was decided stays worth saying longer."""

RULE_TYPES = ("decision", "pattern")
"""What somebody keeps by hand as one of these is to be kept to."""

LIMITS = {"rules": 6, "context": 2, "failure": 3, "decision": 2}
HEADS = {
    "rules": "To be kept to:", "failure": "Failed here before:", "ended": "Last on this branch:",
    "elsewhere": "Last in this project:", "context": "Open:",
    "decision": "Decided on this branch:",
}  # fmt: skip


class Briefing:
    """Memories of a project by what they are for.

    Args:
        store: Where they are.
        scope: The project.
        now_ms: The moment, UTC milliseconds: what is old is left out by the day.
        before_ms: As it was then, by what had been said before that moment; None: by all that there is.
    """

    def __init__(self, store: Store, scope: Scope, now_ms: int, before_ms: int | None = None) -> None:
        self._store, self._scope, self._today_ms = store, scope, now_ms // DAY_MS * DAY_MS
        self._before_ms = before_ms
        found: dict[int, Memory] = {}
        for source in (HAND, None) if scope.project_id is not None else ():  # what is kept by hand is never too old
            newest = store.memories.select(scope, MemoryFilter(status=OPEN, source=source, before_ms=before_ms), NEWEST)
            found |= {one.row: one for one in newest}
        own = [one for one in found.values() if one.agent is None and not one.is_outside]  # others' rules are no rules
        self._found = [one for one in own if one.origin in PUSHED_ORIGINS]
        self._told = store.candidates.told_of([one.key for one in own], before_ms)
        failures = (one for one in own if one.type == "failure" and self._is_kept(one))
        self._failures = sorted(failures, key=self._rule_order)

    def lines(self, branch: str, limit_tokens: int) -> list[Line]:
        """The lines of the briefing, heads among them (of nothing), within a limit; none where nothing holds."""
        said: list[Line] = []
        room = limit_tokens
        for name, lines in self._sections(branch):
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

    def open_ends(self) -> list[Reminder]:
        """What is open, and how the last sessions ended: what is answered where nothing but that is asked."""
        recent = [one for one in self._found if one.type == "context"]
        kept = self._standing(_newest(recent), "context")
        lines = _lines(kept) + self._ended("")[1][:1]
        return [reminder for _, reminder in lines if reminder is not None]

    def _sections(self, branch: str) -> Iterator[tuple[str, list[Line]]]:
        found = (one for one in self._found if one.type != "failure" and self._is_rule(one))
        rules = self._standing(sorted(found, key=self._rule_order), "rules")
        taken = {one.row for one in rules}
        yield "rules", _lines(rules, users_words)
        kept = [one for one in self._found if one.row not in taken and self._is_recent(one)]
        failed = [line for one in self._failures if self._is_recent(one) for line in self._failed(one)]
        yield "failure", failed[: LIMITS["failure"]]
        count, ended = self._ended(branch)
        is_task = count <= OF_A_TASK
        yield "ended" if branch else "elsewhere", ended if is_task else []
        for name in ("context", "decision"):
            said = [one for one in kept if one.type == name and self._is_of(one, branch, is_task=is_task)]
            yield name, _lines(self._standing(_newest(said), name))

    def _standing(self, ordered: Iterable[Memory], name: str) -> list[Memory]:
        """The first of a section whose files are not gone."""
        return list(islice((one for one in ordered if standing(self._store, one) != GONE), LIMITS[name]))

    def _ended(self, branch: str) -> tuple[int, list[Line]]:
        """How many of the last sessions were on a branch ("": on any), and how the last ones of them ended."""
        found: dict[int, list[Line]] = {}
        sessions, before_ms = self._store.sessions, self._before_ms
        recent = sessions.recent(self._scope, SESSIONS, before_ms=before_ms) if self._scope.project_id else ()
        for session in recent:
            rows = sessions.ends(session.row, self._scope.project_id, before_ms)
            turns = self._store.log.turns([row for row in rows if row is not None])
            asked, last = (turns.get(row) if row is not None else None for row in rows)
            if last is not None and last.row not in found and branch in ("", last.branch):
                is_said = len(found) < OF_A_TASK
                found[last.row] = _ending(asked, last, iso_day(session.last_ms)) if is_said else []
        return len(found), [line for lines in found.values() for line in lines][:ENDED]

    def _failed(self, memory: Memory) -> list[Line]:
        """A failure that came again and again: of what a tool said only the commands, which were the agent's."""
        if memory.source == HAND or memory.origin in PUSHED_ORIGINS:
            return _lines([memory])
        failed, worked = failed_and_worked(memory.text) if memory.source == RULES else ("", "")
        told = self._told.get(memory.key)
        text = f"`{failed}` failed in {told.sessions if told else 1} sessions; `{worked}` then worked."
        said = Reminder(None, 1.0, [(memory.type, text)], [memory.row], memory)
        return [(f"[{memory.id}] {text}", said)] if worked and len(text) <= MAX_LINE_CHARS else []

    def _is_kept(self, memory: Memory) -> bool:
        """Whether it holds until somebody says otherwise: kept by hand, pinned, or said in several sessions."""
        return memory.source == HAND or memory.pinned_ms is not None or self._is_standing(memory)

    def _is_standing(self, memory: Memory) -> bool:
        told = self._told.get(memory.key)
        return told is not None and told.is_standing

    def _is_rule(self, memory: Memory) -> bool:
        """Whether it says what is to be kept to: pinned, kept by hand as such, standing, or worded so by the user."""
        if memory.pinned_ms is not None or self._is_standing(memory):
            return True
        said = memory.text if memory.source == HAND else users_words(memory.text)
        if not said or "?" in said or len(said.split()) > MAX_RULE_WORDS:
            return False
        is_kept = memory.source == HAND and memory.type in RULE_TYPES
        return is_kept or words.has(said, "rules") or (words.opens(said, "orders") and not words.opens(said, "dangles"))

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


def _lines(kept: Iterable[Memory], say: Callable[[str], str] = of_memory) -> list[Line]:
    return [
        (
            f"[{one.id}] {cut(say(one.text) or one.text, MAX_LINE_CHARS)}",
            Reminder(None, 1.0, [(one.type, one.text)], [one.row], one),
        )
        for one in kept
    ]


def _ending(asked: StoredEvent | None, last: StoredEvent, day: str) -> list[Line]:
    """What was asked first in a session, and the sentence of what was said last that tells most; none if none does."""
    words_asked = cut((asked.text or "") if asked is not None else "", MAX_ASKED_CHARS).replace("”", '"')
    return [
        (
            f"[{turn.id}] {cut(f'{day} “{words_asked}” ended: {ended}', MAX_LINE_CHARS)}",
            Reminder(turn, 1.0, [(turn.origin, ended)], [turn.row]),
        )
        for turn, ended in by_weight([last], {})[:1]
    ]


def _newest(kept: Iterable[Memory]) -> list[Memory]:
    return sorted(kept, key=lambda one: (-_said_ms(one), one.key))


def _said_ms(memory: Memory) -> int:
    return memory.said_ms or memory.created_ms
