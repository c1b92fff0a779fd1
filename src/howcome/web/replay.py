"""A session as it went: what was asked, what was said and done then, what each edit changed."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, NamedTuple

from howcome.domain.events import TOOL_RESULT, USER_PROMPT, cut
from howcome.learn.actions import Action, actions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from howcome.app import App
    from howcome.domain.stored import StoredEvent

PAGE_EXCHANGES = 20
MAX_CHARS = 6_000
"""Of a longer text the beginning is shown; whoever opens the event itself sees all of it."""

_SIGNS = {"+": "added", "-": "removed", "@": "place"}


class Step(NamedTuple):
    """One event as it is shown; of a call with its result what it was called with, or the lines that it changed."""

    event: StoredEvent
    text: str
    diff: list[tuple[str, str]]
    result: StoredEvent | None
    output: str


def exchanges(told: Sequence[StoredEvent]) -> list[list[StoredEvent]]:
    """The exchanges of a session: each begins with what its user asked."""
    found: list[list[StoredEvent]] = []
    for event in told:
        if not found or (event.kind == USER_PROMPT and event.agent_id is None):
            found.append([])
        found[-1].append(event)
    return found


def steps(app: App, told: Sequence[StoredEvent], whole: str) -> list[Step]:
    """Events as they are shown; `whole` is the id of one that is shown in full."""
    full = {one.row: one for one in app.events.with_texts(told)}
    by_agent = ([one for one in full.values() if one.agent_id == agent] for agent in {one.agent_id for one in told})
    actions = {action.call.row: action for stream in by_agent for action in actions_of(stream)}
    answered = {action.result.row for action in actions.values() if action.result is not None}

    def shown(event: StoredEvent | None) -> str:
        text = (full[event.row].text or event.excerpt) if event is not None else ""
        return text if event is not None and event.id == whole else cut(text, MAX_CHARS)

    found = []
    for event in told:
        if event.kind == TOOL_RESULT and event.row in answered:
            continue
        action = actions.get(event.row)
        diff = list(difference(action)) if action is not None and action.is_edit else []
        text = _called(action) if action is not None and event.id != whole else shown(event)
        result = action.result if action is not None else None
        found.append(Step(event, text, diff, result, shown(result)))
    return found


def _called(action: Action) -> str:
    """What a tool was called with: a command as it was typed, all else by its names."""
    if action.is_shell and action.command:
        return cut(action.command, MAX_CHARS)
    named = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in action.input.items()
    )
    return cut("\n".join(named) or action.call.text or "", MAX_CHARS)


def difference(action: Action) -> Iterator[tuple[str, str]]:
    """The lines that an edit added and removed, with those around them, each behind its class."""
    pieces = [
        list(difflib.unified_diff(replaced.splitlines(), written.splitlines(), lineterm="", n=2))[2:]
        for replaced, written in action.changes
    ]
    if not any(pieces):  # a patch is a difference already
        pieces = [value.splitlines() for value in action.input.values() if isinstance(value, str) and "\n+" in value]
    size = 0
    for line in (line for piece in pieces for line in piece):
        size += len(line) + 1
        if size > MAX_CHARS:
            yield "place", "…"
            return
        yield _SIGNS.get(line[:1], "same"), line
