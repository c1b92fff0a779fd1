"""The briefing of a session: what holds in its project whatever is asked. No word has to match.

First what the user wants kept to, then how the last sessions on this branch ended, what is open, failures with what
mended them, and the last decisions on this branch. The same state gives the same bytes.
"""

from __future__ import annotations

from howcome.domain import words
from howcome.domain.candidates import users_words
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import HAND, OPEN, MemoryFilter
from howcome.domain.stored import Reminder
from howcome.domain.text import tokens
from howcome.domain.times import iso_day
from howcome.recall.bites import by_weight, cut, of_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from howcome.domain.memories import Memory
    from howcome.domain.reconciliation import Told
    from howcome.domain.stored import Scope
    from howcome.store.base import Store

    Line = tuple[str, Reminder | None]

NEWEST = 1000
"""So many memories, the newest, are looked at."""

DAY_MS = 24 * 3_600_000
MAX_LINE_CHARS, MAX_RULE_WORDS = 160, 30
"""Some 40 tokens a line."""

MAX_ASKED_CHARS = 40
SESSIONS, ENDED = 12, 2
"""Of the latest sessions so many are looked at, and how so many ended on this branch is said."""

RECENT_DAYS = {"context": 3, "failure": 60, "decision": 30}
"""What is open is of some days; what failed and what was decided stays worth saying longer."""

RULE_TYPES = ("decision", "pattern")
"""What somebody keeps by hand as one of these is to be kept to."""

LIMITS = {"rules": 6, "context": 2, "failure": 3, "decision": 2}
HEADS = {
    "rules": "To be kept to:", "ended": "Last on this branch:", "elsewhere": "Last in this project:",
    "context": "Open:", "failure": "Failed here before:", "decision": "Decided last:",
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
        pushed = (one for one in found.values() if one.origin in PUSHED_ORIGINS and not one.is_outside)
        self._found = [one for one in pushed if one.agent is None]  # an agent's own are no other's rules
        self._told = store.candidates.told_of([one.key for one in self._found], before_ms)

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
        kept = sorted(recent, key=lambda one: (-_said_ms(one), one.key))[: LIMITS["context"]]
        lines = _lines(kept) + [line for _, line in self._ended("")[:1]]
        return [reminder for _, reminder in lines if reminder is not None]

    def _sections(self, branch: str) -> Iterator[tuple[str, list[Line]]]:
        rules = sorted(filter(self._is_rule, self._found), key=self._rule_order)[: LIMITS["rules"]]
        taken = {one.row for one in rules}
        yield "rules", _lines(rules, users_words)
        ended = self._ended(branch)
        here = [line for is_here, line in ended if is_here]
        yield ("ended", here[:ENDED]) if here else ("elsewhere", [line for _, line in ended[:1]])
        for name in ("context", "failure", "decision"):
            recent = [one for one in self._found if one.type == name and self._is_recent(one, RECENT_DAYS[name])]
            kept = [one for one in recent if one.row not in taken]
            if name == "decision":
                kept = list(self._on_branch(kept, branch))
            yield name, _lines(sorted(kept, key=lambda one: (-_said_ms(one), one.key))[: LIMITS[name]])

    def _ended(self, branch: str) -> list[tuple[bool, Line]]:
        """How the last sessions of the project ended, and whether on a branch: what was asked first and said last."""
        found: dict[int, tuple[bool, Line]] = {}
        sessions, before_ms = self._store.sessions, self._before_ms
        recent = sessions.recent(self._scope, SESSIONS, before_ms=before_ms) if self._scope.project_id else ()
        for session in recent:
            rows = sessions.ends(session.row, self._scope.project_id, before_ms)
            turns = self._store.log.turns([row for row in rows if row is not None])
            asked, last = (turns.get(row) if row is not None else None for row in rows)
            told = by_weight([last], {}) if last is not None and last.row not in found else []
            for turn, ended in told[:1]:
                words_asked = cut((asked.text or "") if asked is not None else "", MAX_ASKED_CHARS).replace("”", '"')
                text = cut(f"{iso_day(session.last_ms)} “{words_asked}” ended: {ended}", MAX_LINE_CHARS)
                said = Reminder(turn, 1.0, [(turn.origin, ended)], [turn.row])
                found[turn.row] = bool(branch) and turn.branch == branch, (f"[{turn.id}] {text}", said)
        return list(found.values())

    def _is_rule(self, memory: Memory) -> bool:
        """Whether it says what is to be kept to: pinned, kept by hand as such, standing, or worded so by the user."""
        told = self._told.get(memory.key)
        if memory.pinned_ms is not None or (told is not None and told.is_standing):
            return True
        said = memory.text if memory.source == HAND else users_words(memory.text)
        if not said or "?" in said or len(said.split()) > MAX_RULE_WORDS:
            return False
        is_kept = memory.source == HAND and memory.type in RULE_TYPES
        return is_kept or words.has(said, "rules") or words.opens(said, "orders")

    def _rule_order(self, memory: Memory) -> tuple[bool, int, bool, int, bytes]:
        told: Told | None = self._told.get(memory.key)
        sessions = told.sessions if told is not None else 1
        return memory.pinned_ms is None, -sessions, memory.source != HAND, -_said_ms(memory), memory.key

    def _is_recent(self, memory: Memory, days: int) -> bool:
        return _said_ms(memory) >= self._today_ms - days * DAY_MS

    def _on_branch(self, kept: Iterable[Memory], branch: str) -> Iterator[Memory]:
        for memory in kept:
            cited = [event for ident in memory.evidence[:1] for event in self._store.log.find(ident, limit=1)]
            if any(event.branch == branch for event in cited):
                yield memory


def _lines(kept: Iterable[Memory], say: Callable[[str], str] = of_memory) -> list[Line]:
    return [
        (
            f"[{one.id}] {cut(say(one.text) or one.text, MAX_LINE_CHARS)}",
            Reminder(None, 1.0, [(one.type, one.text)], [one.row], one),
        )
        for one in kept
    ]


def _said_ms(memory: Memory) -> int:
    return memory.said_ms or memory.created_ms
