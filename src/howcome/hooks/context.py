"""What is said with a prompt: reminders as one block of data, within its room."""

from __future__ import annotations

import os

from howcome.domain.memories import HAND, author_of
from howcome.domain.stored import Reminder
from howcome.domain.verdicts import PROMPT, PROMPT_MS
from howcome.present.render import (
    BITES_HEADING,
    BRIEFING_HEADING,
    MANIFEST_HEADING,
    NOTICE_HEADING,
    Rendered,
    block,
    counted,
    entry,
    joined,
    line,
    said,
)
from howcome.recall.bites import SHORT_ID_CHARS, bite_lines
from howcome.retrieve.branches import told as on_branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.verdicts import PastVerdict
    from howcome.present.views import View

_WHO = {"user": "user", "assistant": "agent"}


MAX_BITES_CHARS = 600
"""Some 150 tokens for all, with what stands around them."""


def render_bites(found: Sequence[Reminder], now_ms: int) -> tuple[str, list[Reminder]]:
    """One dated line each, and those that are in it; '' for none."""
    told = list(found)
    while told:
        lines = [line(head, text) for head, text in bite_lines(told, now_ms)]
        text = block(lines, _nonce(told[0].source.key), BITES_HEADING)
        if len(text) <= MAX_BITES_CHARS:
            return text, told
        told.remove(min(told, key=lambda reminder: reminder.score))  # what is escaped takes more room
    return "", []


def render_context(found: Sequence[Reminder], limit_chars: int) -> tuple[str, list[Reminder]]:
    """The block for a prompt, at most `limit_chars` long, and the reminders that are in it."""
    if not found:
        return "", []
    from howcome.present.views import reminder_view

    nonce = _nonce(found[0].source.key)
    room = limit_chars - len(block((), nonce))
    parts: list[Rendered] = []
    told: list[Reminder] = []
    for reminder in found:
        part = _entry(reminder_view(reminder))
        if len(part) > room:
            continue
        room -= len(part)
        parts.append(part)
        told.append(reminder)
    return (block(parts, nonce), told) if told else ("", [])


def render_reminder(reminder: Reminder) -> tuple[str, list[Reminder]]:
    """One line about what is done just now."""
    head = f"[{reminder.source.id[:SHORT_ID_CHARS]}] "
    return block([line(head, reminder.passages[0][1])], _nonce(reminder.source.key), BITES_HEADING), [reminder]


def render_notice(text: str) -> str:
    """One line about this session; '' for nothing."""
    return block([line("", text)], os.urandom(4).hex(), NOTICE_HEADING) if text else ""


def render_briefing(lines: Sequence[tuple[str, Reminder | None]]) -> tuple[str, list[Reminder]]:
    """The block that a session begins with, and what is in it; '' for none."""
    told = [reminder for _, reminder in lines if reminder is not None]
    if not told:
        return "", []
    return block([line("", text) for text, _ in lines], _nonce(told[0].source.key), BRIEFING_HEADING), told


def render_manifest(lines: Sequence[str]) -> str:
    """What a compacted window held; '' for nothing. It is said once, so its nonce may be another each time."""
    return block([line("", text) for text in lines], os.urandom(4).hex(), MANIFEST_HEADING) if lines else ""


def receipt_line(verdicts: Sequence[PastVerdict], asked_ms: int) -> str:
    """What the prompt of a moment was told, and its session in all (newest first); '' where that was nothing."""
    last = next((one for one in verdicts if one.hook == PROMPT), None)
    if last is None or not last.lines or last.asked_ms < asked_ms - PROMPT_MS:
        return ""
    told, whole = counted(last.lines, "line"), sum(one.tokens for one in verdicts)
    return f"howcome: {told} with this prompt ({last.tokens} tokens), {whole} tokens in this session: howcome why"


def _nonce(key: bytes) -> str:
    """A part of a keyed hash, or of random bytes, that no id shows: nobody who wrote the text could know it."""
    return key.hex()[16:24]


def _entry(view: View) -> Rendered:
    day = (view["ts"] or "undated")[:10]
    if view.get("kind") == "memory":
        from howcome.present.views import contradiction_of, source_of

        against = contradiction_of(view), on_branch(view["unmerged"])
        by_hand = view["source"] == HAND
        whose = view["agent"] and f"of {author_of(view['agent'])}"
        kept = f"kept as a {view['type']}" if by_hand else f"{view['type']}, {source_of(view)} {view['cited']}".rstrip()
        head = ", ".join(filter(None, (f"[{view['id']}] {day}", kept, whose, *against)))
        return entry(head, view["passages"][0][1], mark="\n")
    place = f", branch {view['branch']}{', not merged' * bool(view['unmerged'])}" if view["branch"] else ""
    head = entry(f"[{view['id']}] {day}{place}", mark="\n")
    return joined([head, *(said(_WHO.get(origin, origin), text) for origin, text in view["passages"])])
