"""What is said with a prompt: reminders as one block of data, within its room."""

from __future__ import annotations

from howcome.domain.memories import HAND
from howcome.present.render import Rendered, block, entry, joined, said
from howcome.present.views import contradiction_of, reminder_view, source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Reminder
    from howcome.present.views import View

_WHO = {"user": "user", "assistant": "agent"}


def render_context(found: Sequence[Reminder], limit_chars: int) -> tuple[str, list[Reminder]]:
    """The block for a prompt, at most `limit_chars` long, and the reminders that are in it."""
    first = (found[0].event or found[0].memory) if found else None
    if first is None:
        return "", []
    nonce = first.key.hex()[16:24]  # a keyed hash, or random: nobody who wrote the text could know it
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


def _entry(view: View) -> Rendered:
    day = (view["ts"] or "undated")[:10]
    if view.get("kind") == "memory":
        by_hand = view["source"] == HAND
        kept = f"kept as a {view['type']}" if by_hand else f"{view['type']}, {source_of(view)} {view['cited']}".rstrip()
        head = ", ".join(filter(None, (f"[{view['id']}] {day}", kept, contradiction_of(view))))
        return entry(head, view["passages"][0][1], mark="\n")
    place = f", branch {view['branch']}" if view["branch"] else ""
    head = entry(f"[{view['id']}] {day}{place}", mark="\n")
    return joined([head, *(said(_WHO.get(origin, origin), text) for origin, text in view["passages"])])
