"""Verdicts looked back at: with the prompt of each, and what the candidates were. Read-only."""

from __future__ import annotations

import json
from contextlib import suppress

from howcome.clients.decode import clean_text
from howcome.domain.events import TOOL_CALL, USER_PROMPT
from howcome.recall.bites import by_weight, line_of, of_memory
from howcome.recall.prompt import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import StoredEvent
    from howcome.domain.verdicts import PastVerdict
    from howcome.store.base import Store

APART_MS = 60_000
"""A prompt whose words are not those of the hash (they were redacted, or put otherwise) is the one that is so near."""


class Explained:
    """A verdict with its prompt (None: it is not read yet, or nobody asked) and its candidates, by their rows.

    `said`: by the ids of what was said, the words of it.
    """

    __slots__ = ("candidates", "prompt", "said", "verdict")

    def __init__(
        self,
        verdict: PastVerdict,
        prompt: StoredEvent | None,
        candidates: Sequence[tuple[StoredEvent | Memory | None, float, str]],
        said: Mapping[str, str],
    ) -> None:
        self.verdict, self.prompt, self.candidates, self.said = verdict, prompt, candidates, said


def explained(store: Store, verdicts: Iterable[PastVerdict]) -> list[Explained]:
    """Verdicts with their prompts and candidates, in their order."""
    prompts: dict[str, list[tuple[bytes, StoredEvent]]] = {}
    return [_explained(store, one, prompts) for one in verdicts]


def _explained(store: Store, one: PastVerdict, prompts: dict[str, list[tuple[bytes, StoredEvent]]]) -> Explained:
    rows = [row for row, _, _ in one.considered]
    found: dict[int, StoredEvent | Memory] = {**store.log.events([row for row in rows if row > 0])}
    found |= {-row: memory for row, memory in store.memories.by_row([-row for row in rows if row < 0]).items()}
    if one.asked is not None and one.session not in prompts:
        prompts[one.session] = prompts_of(store, one.session)
    prompt = _nearest(one, prompts.get(one.session, ())) if one.asked is not None else None
    texts = store.log.events([prompt.row], with_text=True) if prompt is not None else {}
    said = words_said(store, one, next((event.text or "" for event in texts.values()), ""))
    return Explained(one, prompt, [(found.get(row), chance, rule) for row, chance, rule in one.considered], said)


def words_said(store: Store, one: PastVerdict, asked: str) -> dict[str, str]:
    """The words of what was said, by ids; of an event what is most about what was asked (they are not kept)."""
    said = [row for row, _, rule in one.considered if not rule]
    weights = dict.fromkeys(store.index.analyze(asked), 1.0) if asked else {}
    found = {}
    for event in store.log.events([row for row in said if row > 0], with_text=True).values():
        told = by_weight([event], weights) if event.kind != TOOL_CALL else []
        found[event.id] = line_of(event, told[0][1], told) if told else command_of(event)
    memories = store.memories.by_row([-row for row in said if row < 0]).values()
    return found | {memory.id: of_memory(memory.text) for memory in memories}


def command_of(event: StoredEvent) -> str:
    """The command of a call, as a briefing says it; of anything else its excerpt."""
    with suppress(ValueError, RecursionError):
        called = json.loads(event.text or "")
        if isinstance(called, dict) and isinstance(called.get("command"), str):
            return f"`{' '.join(called['command'].split())}`"
    return event.excerpt


def prompts_of(store: Store, session: str) -> list[tuple[bytes, StoredEvent]]:
    """The prompts of a session (the client's id), each with its keyed hash."""
    told = [event for row in store.sessions.named(session) for event in store.log.session(row)]
    asked = [event for event in told if event.kind == USER_PROMPT and event.agent_id is None]
    texts = store.log.events([event.row for event in asked], with_text=True)
    return [(fingerprint(store, clean_text(texts[event.row].text or "")), event) for event in asked]


def _nearest(one: PastVerdict, prompts: Sequence[tuple[bytes, StoredEvent]]) -> StoredEvent | None:
    def apart(event: StoredEvent) -> int:
        return abs((event.ts_ms or event.order_ms) - one.asked_ms)

    same = [event for said, event in prompts if said == one.asked]
    near = [event for _, event in prompts if apart(event) <= APART_MS]
    return min(same or near, key=apart, default=None)
