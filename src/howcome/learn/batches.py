"""Closing batches: a session's messages in portions small enough for one question to a language model.

Messages are what a person and the main agent said, in the order in which they came. A batch is full at 15 of them, or
when 20 minutes have passed since its first, and it ends where another topic or another project begins, or where nothing
has followed for as long. What is in none yet stays for the next time: the same messages give the same batches, however
often they are looked at while they come.

A topic changes between one exchange and the next when they share less than TOPIC_SHARE of the words of the one that has
fewer. That is decided when the next exchange is over, and not of one that says too little.
"""

from __future__ import annotations

from howcome.domain import events
from howcome.domain.distil_batches import END, MESSAGES, PROJECT, TIME, TOPIC, NewBatch
from howcome.learn.likeness import Statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from howcome.domain.distil_batches import OpenSession
    from howcome.domain.stored import StoredEvent
    from howcome.store.base import Store

MOST_MESSAGES = 15
MOST_MS = 20 * 60_000
IDLE_MS = MOST_MS
"""A session in which nothing was said for so long has ended, or begins another batch by its time when it goes on."""

TOPIC_SHARE = 0.20
"""Of 273 coding sessions, 35 % of neighbouring exchanges share less and 84 % of pairs from different sessions of the
project (Youden's J .49). The cosine of their all-MiniLM vectors tells them apart no better (.46 at .40), and 88 % of
neighbouring messages are below .70, at which a sentence model is often said to see another topic."""

TOPIC_WORDS = 8
"""Fewer words are no topic: "go on"."""

TOPIC_CHARS = 4000
READ_AT_ONCE = 200


class Closing:
    """Closes the batches of one session.

    Args:
        told: Its events that are in no batch, in the order of their rows.
        text_of: The whole text of one of them.
        now_ms: The time now.
    """

    def __init__(self, told: Sequence[StoredEvent], text_of: Callable[[StoredEvent], str], now_ms: int) -> None:
        self._told, self._text_of, self._now_ms = told, text_of, now_ms
        self._words: dict[int, frozenset[str]] = {}
        self._turns = [place for place, event in enumerate(told) if event.kind in events.TURN_KINDS]
        self._is_over = bool(told) and now_ms - max(event.order_ms for event in told) >= IDLE_MS
        self.has_tail = False

    def batches(self) -> Iterator[NewBatch]:
        """Those that are closed; then `has_tail` says whether messages are left."""
        begin, first = 0, 0
        for number in range(1, len(self._turns)):
            why = self._ends_before(first, number)
            if why is None:  # the exchange that begins here has to end first
                self.has_tail = True
                return
            if why:
                yield self._batch(begin, first, number, why)
                begin, first = self._turns[number], number
        if self._turns and self._is_over:
            yield self._batch(begin, first, len(self._turns), END)
        self.has_tail = bool(self._turns) and not self._is_over

    def _batch(self, begin: int, first: int, after: int, why: str) -> NewBatch:
        """The batch of some messages, with what was done between them, and after the last of them."""
        end = len(self._told) if after == len(self._turns) else self._turns[after]
        last = self._told[self._turns[after - 1]]
        return NewBatch(
            last.project,
            self._told[begin].row,
            self._told[end - 1].row,
            turns=after - first,
            ended_ms=last.order_ms,
            closed_by=why,
        )

    def _ends_before(self, first: int, number: int) -> str | None:
        """Why a batch ends before a message, "" when it does not, None when that is not known yet."""
        start, event = self._told[self._turns[first]], self._told[self._turns[number]]
        if number - first >= MOST_MESSAGES:
            return MESSAGES
        if event.project != start.project:
            return PROJECT
        if abs(event.order_ms - start.order_ms) > MOST_MS:
            return TIME
        if event.kind != events.USER_PROMPT:
            return ""
        after = self._next_prompt(number)
        if after is None and not self._is_over:
            return None
        return TOPIC if self._is_another(number, after or len(self._turns), first) else ""

    def _next_prompt(self, number: int) -> int | None:
        """The next message after one that begins an exchange."""
        kinds = (self._told[place].kind for place in self._turns[number + 1 :])
        return next((number + 1 + more for more, kind in enumerate(kinds) if kind == events.USER_PROMPT), None)

    def _is_another(self, number: int, after: int, first: int) -> bool:
        """Whether the exchange of the messages from `number` is of another topic than the one before it."""
        before = number - 1
        while before > first and self._told[self._turns[before]].kind != events.USER_PROMPT:
            before -= 1
        one, other = self._words_of(before, number), self._words_of(number, after)
        fewer = min(len(one), len(other))
        return fewer >= TOPIC_WORDS and len(one & other) < TOPIC_SHARE * fewer

    def _words_of(self, number: int, after: int) -> frozenset[str]:
        return frozenset().union(*(self._words_in(self._told[place]) for place in self._turns[number:after]))

    def _words_in(self, event: StoredEvent) -> frozenset[str]:
        if event.row not in self._words:
            self._words[event.row] = Statement(self._text_of(event)[:TOPIC_CHARS]).words
        return self._words[event.row]


class Texts:
    """Whole texts of a session's messages, read some at a time as they are needed."""

    def __init__(self, store: Store, told: Sequence[StoredEvent]) -> None:
        self._store = store
        self._rows = [event.row for event in told if event.kind in events.TURN_KINDS]
        self._read: dict[int, str] = {}

    def __call__(self, event: StoredEvent) -> str:
        """One message's."""
        if event.row not in self._read:
            place = self._rows.index(event.row)
            found = self._store.log.events(self._rows[place : place + READ_AT_ONCE], with_text=True)
            self._read |= {row: one.text or "" for row, one in found.items()}
        return self._read.get(event.row, "")


def close_batches(store: Store, session: OpenSession, now_ms: int) -> int:
    """Closes what can be closed of a session; how many batches."""
    told = store.distil_batches.main_events(session.row, session.after_row)
    closing = Closing(told, Texts(store, told), now_ms)
    found = list(closing.batches())
    return len(found) if store.distil_batches.keep(session, found, has_tail=closing.has_tail) else 0
