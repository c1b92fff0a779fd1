"""What is typed while Claude Code works: it waits in a queue until the agent gets it, and each is said once.

How the words come out of the queue depends on the client's version, and only one record says them for sure:

| what happens | records behind `enqueue` | who says the words |
|---|---|---|
| the turn ends | `dequeue`, then a `user` record | the `user` record |
| given to the working agent | `remove` and an `attachment` `queued_command`, in either order | the attachment |
| the same, before some 2.1.60 | `remove` alone, without the words | nobody but `enqueue` |
| taken back into the editor | `popAll` | nobody: it was never said |

So words of the queue itself are said when `remove` has come and no attachment will: at once where the client wrote none
so far, else when the agent, or a person, goes on. Forks copy records with an id, but no operations of the queue.
"""

from __future__ import annotations

from typing import Any

Words = tuple[str, int | None]
"""What was typed, and when: UTC milliseconds."""

MAX_WAITING = 100
"""Entries that are remembered; the client's own notices may wait for ever."""

_WORDS, _TS, _IS_GIVEN = 0, 1, 2


class PromptQueue:
    """The queue of one transcript, as far as it was read."""

    __slots__ = ("attached_ms", "expected", "is_attaching", "unconfirmed", "waiting")

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        values = values or {}
        self.waiting: list[list[Any]] = values.get("waiting") or []
        """Words ('' for what no person typed), time, and whether the agent was given them."""
        self.expected: str = values.get("expected") or ""
        """What the next `user` record says, because it was taken out of the queue."""
        self.unconfirmed: int = values.get("unconfirmed") or 0
        """Attachments whose `remove` has not come."""
        self.attached_ms: list[int] = values.get("attached_ms") or []
        """Times of attachments whose `enqueue` has not come: both may have the same, and be sorted by it."""
        self.is_attaching: bool = bool(values.get("is_attaching"))
        """Whether this client writes attachments."""

    def to_values(self) -> dict[str, object]:
        """The queue as JSON values, empty parts left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}

    @property
    def holds_words(self) -> bool:
        """Whether words of a person are in it."""
        return bool(self.expected) or any(entry[_WORDS] for entry in self.waiting)

    def enqueue(self, words: str, ts_ms: int | None) -> None:
        """Somebody typed, or the client itself put something into the queue."""
        if ts_ms in self.attached_ms:
            self.attached_ms.remove(ts_ms)
        else:
            if len(self.waiting) >= MAX_WAITING:
                self._drop(next((entry for entry in self.waiting if not entry[_WORDS]), self.waiting[0]))
            self.waiting.append([words, ts_ms, False])

    def dequeue(self) -> None:
        """The next one becomes a `user` record."""
        entry = self._first()
        self._drop(entry)
        self.expected = entry[_WORDS] if entry else ""

    def take_back(self) -> None:
        """What the agent has not got is in the editor again; an operation for each, or one for all."""
        self.waiting = [entry for entry in self.waiting if entry[_IS_GIVEN]]

    def remove(self, words: str | None, reason: str | None) -> list[Words]:
        """The agent got it (`words` are None where the record does not say what), or for another `reason` nobody will.

        Returns:
            What is said by that.
        """
        entry = self._first() if words is None else self._first(words)
        if (not words and words is not None) or (reason and "absorbed" not in reason):
            self._drop(entry)
        elif self.unconfirmed and (words is None or entry is None):
            self.unconfirmed -= 1
        elif self.is_attaching and entry is not None:
            entry[_IS_GIVEN] = True
        elif words is not None:
            return self._say([entry] if entry else [])
        else:  # all that waits is given at once, but for commands when there is anything else
            return self._say([one for one in self.waiting if not one[_WORDS].startswith("/")] or self.waiting)
        return []

    def attach(self, words: str, ts_ms: int | None) -> None:
        """An attachment says these words."""
        self.is_attaching = True
        entry = self._given(words) or self._first(words)
        if entry is None and ts_ms is not None:
            self.attached_ms = [*self.attached_ms[-MAX_WAITING:], ts_ms]
        if entry is None or not entry[_IS_GIVEN]:
            self.unconfirmed += 1
        self._drop(entry)

    def prompt(self, words: str) -> None:
        """A `user` record says these words."""
        if words != self.expected:
            self._drop(self._first(words) or self._given(words))
        self.expected = ""

    def go_on(self) -> list[Words]:
        """Somebody answers or asks: no attachment comes any more for what the agent was given; what that says."""
        given = [entry for entry in self.waiting if entry[_IS_GIVEN]]
        return self._say(given) if given else []

    def _first(self, words: str | None = None) -> list[Any] | None:
        """The first that the agent has not got (with these words)."""
        waiting = (entry for entry in self.waiting if not entry[_IS_GIVEN])
        return next((entry for entry in waiting if words is None or entry[_WORDS] == words), None)

    def _given(self, words: str) -> list[Any] | None:
        return next((entry for entry in self.waiting if entry[_IS_GIVEN] and entry[_WORDS] == words), None)

    def _drop(self, entry: list[Any] | None) -> None:
        if entry is not None:
            self.waiting = [one for one in self.waiting if one is not entry]

    def _say(self, entries: list[list[Any]]) -> list[Words]:
        self.waiting = [entry for entry in self.waiting if not any(entry is said for said in entries)]
        return [(entry[_WORDS], entry[_TS]) for entry in entries if entry[_WORDS]]
