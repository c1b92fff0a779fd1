"""Closing batches: what of a session is one question to a language model.

A session is one batch, whole: only its end shows what of it stood. It is closed when nothing was said for a while, and
what is said later begins another batch. A long one is cut before the prompt that follows when it is full, and one of
several projects where another begins: what was said before decides that, so it is cut there whoever looks when.
"""

from __future__ import annotations

from collections.abc import Sequence

from howcome.domain import events
from howcome.domain.distil_batches import END, PROJECT, SIZE, NewBatch, OpenSession
from howcome.domain.stored import StoredEvent
from howcome.store.base import Store

MOST_CHARS = 64_000
"""A batch is full from here on, at some 16,000 tokens, and ends with the exchange; the longest of 28 sessions has
56,000 (docs/evaluation.md)."""

TOOL_CHARS = 40
"""What a tool call or its result counts: a third of them is shown, in a line."""

QUIET_MS, FEW_QUIET_MS = 20 * 60_000, 2 * 60 * 60_000
"""A session in which nothing was said for so long has ended, or begins another batch when it goes on; one in which less
than FEW_MESSAGES are new is waited for longer, so that a pause after a few words costs no call."""

FEW_MESSAGES = 15


def close_batches(store: Store, session: OpenSession, now_ms: int) -> int:
    """Closes what can be closed of a session; how many batches."""
    told = store.distil_batches.main_events(session.row, session.after_row)
    found, has_tail = closed(told, now_ms)
    return len(found) if store.distil_batches.keep(session, found, has_tail=has_tail) else 0


def closed(told: Sequence[StoredEvent], now_ms: int) -> tuple[list[NewBatch], bool]:
    """The batches of a session's events that are in none, in the order of their rows; whether messages are left."""
    found, begin, turns, size = [], 0, 0, 0
    for place, event in enumerate(told):
        if event.kind in events.TURN_KINDS:
            is_full = size >= MOST_CHARS and event.kind == events.USER_PROMPT
            if turns and (is_full or event.project != told[begin].project):
                found.append(_batch(told[begin:place], SIZE if event.project == told[begin].project else PROJECT))
                begin, turns, size = place, 0, 0
            turns += 1
            size += event.text_chars
        else:
            size += TOOL_CHARS
    if not turns:
        return found, False
    quiet_ms = now_ms - max(event.order_ms for event in told)
    if quiet_ms < (QUIET_MS if turns >= FEW_MESSAGES else FEW_QUIET_MS):
        return found, True
    return [*found, _batch(told[begin:], END)], False


def _batch(told: Sequence[StoredEvent], why: str) -> NewBatch:
    turns = [event for event in told if event.kind in events.TURN_KINDS]
    rows, ended_ms = (told[0].row, told[-1].row), turns[-1].order_ms
    return NewBatch(turns[-1].project, *rows, turns=len(turns), ended_ms=ended_ms, closed_by=why)
