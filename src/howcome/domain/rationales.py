"""Rationale: in a few sentences what an exchange was asked for, what was done, and why. Derived from its events.

An exchange has at most one, known by its prompt: whoever writes it again replaces it.
"""

from __future__ import annotations

from typing import NamedTuple

from howcome.domain.patterns import late

KEY_BYTES = 16
MAX_TEXT_CHARS = 600
_PART = late(r" (?=(?:Done|Why): )")


def parts_of(text: str) -> list[str]:
    """What was asked, what was done and why, each with its name before it."""
    return _PART.split(text)


class Rationale:
    """What is said of one exchange.

    `author` is who wrote it: the rules with their version, or a model. `origin` is the least trusted of what it quotes.
    """

    __slots__ = ("author", "origin", "text")

    def __init__(self, text: str, origin: str, author: str) -> None:
        self.text, self.origin, self.author = text, origin, author


class NewRationale(NamedTuple):
    """A rationale with its place: `key` is what it is known by, `last_row` the highest event row of its exchange.

    `rationale` is None where nothing was done: what was written of that exchange before goes.
    """

    key: bytes
    prompt_row: int
    last_row: int
    ts_ms: int | None
    order_ms: int
    rationale: Rationale | None


class UnreadSession(NamedTuple):
    """A session with events that the rules have not looked through: those after a row, up to another."""

    row: int
    after_row: int
    last_row: int


class Unasked(NamedTuple):
    """A rationale that a model has not been asked for: its prompt, its session, and how far its exchange went then."""

    prompt_row: int
    session: int
    last_row: int
