"""What was left open when a session ended: todos that are not done, what its last words say is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howcome.domain import words
from howcome.learn.actions import Action
from howcome.learn.scene import Said
from howcome.learn.sources.seen import Draft, Seen, lasting, named, one_line

MAX_TEXT_CHARS, MAX_HEAD_CHARS = 240, 30
_LISTS = frozenset(("todowrite", "update_plan", "write_todos"))
_DONE = frozenset(("completed", "done", "cancelled"))


def find(seen: Seen) -> list[Draft]:
    """Open ends of the session's last exchange."""
    if not seen.is_last:
        return []
    lists = [action for action in seen.scene.actions if action.tool in _LISTS]
    left = [one for one in todos_left(lists) if not seen.is_repeated(one, lists[-1].call)]
    if left:
        return [Draft("context", f"Left to do: {one_line('; '.join(left), MAX_TEXT_CHARS)}", [lists[-1].call])]
    final = [said for said in seen.replies if said.is_final]
    best = seen.best((float(named(text)), text, said) for said in final[-1:] for text in _opened(said))
    return [Draft("context", one_line(best[0], MAX_TEXT_CHARS), [best[1].event])] if best is not None else []


def _opened(said: Said) -> Iterator[str]:
    """What stands under a word for what is open ("Next steps: …"), and what still fails.

    In the middle of a sentence such words told of other things in 10 of 10 memories of two projects ("the remaining
    files are unrelated").
    """
    kept = set(lasting(said))
    for one in said.sentences:
        if one.text in kept and named(one.text):
            head = next((head for head in (one.label, one.heading) if words.begins(head, "open")), "")
            if head:
                yield f"{head}: {one.text}"
            elif words.begins(one.text, "open") and ":" in one.text[:MAX_HEAD_CHARS]:
                yield one.text
            elif words.has(one.text, "fails") and not words.has(one.text, "denies"):
                yield f"Left open: {one.text}"


def todos_left(actions: Sequence[Action]) -> list[str]:
    """The items that are not done of the last list among some calls."""
    last = next((action.input for action in reversed(actions) if action.tool in _LISTS), {})
    items = last.get("todos") or last.get("plan")
    listed = [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    left = []
    for one in listed:
        text = one.get("content") or one.get("step") or one.get("description")
        if isinstance(text, str) and text.strip() and str(one.get("status")).casefold() not in _DONE:
            left.append(text.strip())
    return left
