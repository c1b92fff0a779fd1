"""Choices put before the user: what was asked, what was chosen, over what."""

from __future__ import annotations

from howcome.learn.actions import Action
from howcome.learn.scene import ASKING
from howcome.learn.sources.seen import Draft, Seen, one_line, quoted


def find(seen: Seen) -> list[Draft]:
    """Answers of an exchange that a person chose from options, or typed."""
    asked = (action for action in seen.scene.actions if action.tool in ASKING and action.has_succeeded)
    return [draft for action in asked for draft in _of(seen, action)]


def _of(seen: Seen, action: Action) -> list[Draft]:
    asked = action.input.get("questions")
    found = []
    for one in asked if isinstance(asked, list) else []:
        question = str(one.get("question") or "") if isinstance(one, dict) else ""
        answer = action.output.partition(f'"{question}"="')[2].partition('"')[0] if question else ""
        raw = one.get("options") if question else None
        options = [option for option in (raw if isinstance(raw, list) else []) if isinstance(option, dict)]
        chosen = next((option for option in options if option.get("label") == answer), None)
        others = [str(option.get("label") or "") for option in options if str(option.get("label") or "") not in answer]
        if not answer or (chosen is not None and not chosen.get("description")):
            continue
        if any(seen.is_repeated(str(part), action.call) for part in (question, *(chosen or {}).values())):
            continue
        why = f": {chosen['description']}" if chosen is not None else ""
        over = f" Not: {'; '.join(others[:3])}." if others else ""
        chose = f"the user chose {quoted(one_line(answer, 90))}{one_line(why, 90).rstrip('.')}.{over}"
        text = f"Asked {quoted(one_line(question, 110))}, {chose}"
        witnesses = [action.result] if action.result else []
        found.append(Draft("decision", text, [action.call], witnesses=witnesses, subject=question.casefold()[:120]))
    return found
