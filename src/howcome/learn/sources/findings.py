"""What the agent found out: said after evidence (a result, the user's words), and acted on or put as a cause.

No guess, nothing that the agent takes back soon after; of an exchange the last one that is put most surely.
"""

from __future__ import annotations

from collections.abc import Iterator

from howcome.domain import events, words
from howcome.domain.stored import StoredEvent
from howcome.learn.actions import Action
from howcome.learn.scene import Said, Scene
from howcome.learn.sources.seen import MAX_CHARS, Draft, Seen, base_names, is_whole, lasting, named, one_line, quoted

MAX_SAID_CHARS = 700
"""What is longer is a report."""

MAX_SYMPTOM_CHARS = 90


def find(seen: Seen) -> list[Draft]:
    """The finding of an exchange, where there is one."""
    found = seen.best(_weighed(seen))
    evidence = _evidence(seen.scene, found[1]) if found is not None else None
    if found is None or evidence is None:
        return []
    line, said = found
    symptom = ""  # what a tool says is the tool's: it would lower whose words the memory is
    if evidence.kind == events.USER_PROMPT:
        symptom = f"After {quoted(one_line(evidence.text or '', MAX_SYMPTOM_CHARS))}: "
    change = _change_after(seen.scene, said)
    files = base_names([change.call.file]) if change is not None else []
    tail = f" Then changed: {files[0]}." if files and files[0] not in line else ""
    text = f"{symptom}{one_line(line, MAX_CHARS - len(symptom) - len(tail))}{tail}"
    return [Draft("discovery", text, [said.event], witnesses=[evidence])]


def _weighed(seen: Seen) -> Iterator[tuple[float, str, Said]]:
    """Causes that the agent named, the surest first, of those the last."""
    for said in seen.replies:
        evidence = _evidence(seen.scene, said) if len(said.text) <= MAX_SAID_CHARS else None
        if evidence is None:
            continue
        least = 1 if _change_after(seen.scene, said) is not None else 2
        names = 1 if evidence.kind == events.USER_PROMPT else 2
        for line in lasting(said):
            strength = 2 if words.has(line, "blames") else int(words.has(line, "causes"))
            if strength >= least and is_whole(line) and named(line) >= names and not seen.is_taken_back(line, said):
                yield 1000.0 * strength + said.place + 0.1 * named(line), line, said


def _change_after(scene: Scene, said: Said) -> Action | None:
    """The change of a file that followed a statement at once."""
    following = next((action for action in scene.actions if action.place > said.place), None)
    return following if following is not None and following.is_edit and not following.has_failed else None


def _evidence(scene: Scene, said: Said) -> StoredEvent | None:
    """What a statement rests on: the result, or the user's words, just before it."""
    kinds = (events.TOOL_RESULT, events.USER_PROMPT, events.ASSISTANT_TEXT)
    before = reversed(scene.exchange.all_events[: said.place])
    found = next((event for event in before if event.kind in kinds), None)
    return None if found is None or found.kind == events.ASSISTANT_TEXT else found
