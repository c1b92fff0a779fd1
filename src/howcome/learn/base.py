"""The port of distillers, and the exchanges that they read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from howcome.domain import events
from howcome.domain.candidates import Distilled
from howcome.domain.stored import StoredEvent

PIECE_S = 0.05
"""Between pieces of so much work whoever distils or writes rationales may rest."""

LOOKAHEAD = 3
"""Exchanges after one that a distiller may look at, to see whether what was found in it was taken back."""

LOOKBACK = 8
"""Exchanges before one in which a page or a tool may have said first what the agent says in it."""


class Exchange:
    """A prompt and everything until the next one of the same session and agent, in its order.

    `prompt` is None where events come before the first prompt; `events` does not hold the prompt. `view` is a
    distiller's own: what it made of the exchange, to look at it again as one that follows another.
    """

    __slots__ = ("events", "prompt", "view")

    def __init__(self, prompt: StoredEvent | None, events: Sequence[StoredEvent]) -> None:
        self.prompt, self.events = prompt, list(events)
        self.view: object = None

    @property
    def first(self) -> StoredEvent:
        """The event that it begins with; an exchange without any is none."""
        return self.prompt or self.events[0]

    @property
    def all_events(self) -> list[StoredEvent]:
        """The prompt, where there is one, and what followed it."""
        return [self.prompt, *self.events] if self.prompt else self.events

    @property
    def rows(self) -> list[int]:
        """The row ids of all its events."""
        return [event.row for event in self.all_events]

    @property
    def ts_ms(self) -> int:
        """When it ended, UTC milliseconds."""
        return max((event.ts_ms or event.order_ms for event in self.all_events), default=0)


class Distiller(Protocol):
    """Turns an exchange into candidates: a pure function of it, `LOOKBACK` ones before it and `LOOKAHEAD` after it.

    A stream holds the exchanges of one agent of a session, in their order.
    """

    name: str
    version: int

    def distil(self, stream: Sequence[Exchange], place: int) -> Distilled:
        """What the exchange at a place of its stream taught."""
        ...


def stream_of(session_events: Iterable[StoredEvent]) -> list[Exchange]:
    """The exchanges of a session (`EventLog.session(…, with_text=True)`), in the order in which they began.

    What the main agent and each subagent did are streams of their own: one's prompt does not end another's exchange.
    """
    streams: dict[str | None, list[Exchange]] = {}
    found: list[Exchange] = []
    for event in session_events:
        stream = streams.setdefault(event.agent_id, [])
        is_prompt = event.kind == events.USER_PROMPT
        if is_prompt or not stream:
            stream.append(Exchange(event if is_prompt else None, ()))
            found.append(stream[-1])
        if not is_prompt:
            stream[-1].events.append(event)
    return found


class Pace:
    """Lets a worker rest between pieces of work, wherever they end."""

    def __init__(self, rest: Callable[[], bool]) -> None:
        self._rest, self._began_s, self._is_over = rest, time.monotonic(), False
        self._piece_s = self._began_s

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return round(time.monotonic() - self._began_s, 3)

    def goes_on(self) -> bool:
        """False when the work has to end."""
        if not self._is_over and time.monotonic() - self._piece_s >= PIECE_S:
            self._is_over = not self._rest()
            self._piece_s = time.monotonic()
        return not self._is_over
