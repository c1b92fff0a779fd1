"""Verdicts looked back at: with the prompt of each, and what the candidates were. Read-only."""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain.events import USER_PROMPT
from howcome.recall.prompt import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import StoredEvent
    from howcome.domain.verdicts import PastVerdict
    from howcome.store.base import Store

APART_MS = 60_000
"""A prompt whose words are not those of the hash (they were redacted, or put otherwise) is the one that is so near."""


class Explained:
    """A verdict with its prompt (None: it is not read yet, or nobody asked) and its candidates, by their rows."""

    __slots__ = ("candidates", "prompt", "verdict")

    def __init__(
        self,
        verdict: PastVerdict,
        prompt: StoredEvent | None,
        candidates: Sequence[tuple[StoredEvent | Memory | None, float, str]],
    ) -> None:
        self.verdict, self.prompt, self.candidates = verdict, prompt, candidates


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
    return Explained(one, prompt, [(found.get(row), chance, rule) for row, chance, rule in one.considered])


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
