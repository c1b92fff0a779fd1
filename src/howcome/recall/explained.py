"""Verdicts looked back at: with the prompt of each, and what the candidates were. Read-only."""

from __future__ import annotations

import json
from contextlib import suppress

from howcome.clients.decode import clean_text
from howcome.domain.answering import asked_of_past
from howcome.domain.events import PUSHED_ORIGINS, TOOL_CALL, USER_PROMPT
from howcome.domain.memories import OPEN as OPEN_STATUS
from howcome.domain.stored import Filter, Scope, StoredEvent
from howcome.domain.verdicts import AGENT, BEST, BRIEFING, MANIFEST, OWN, RULES, UNLIKELY
from howcome.recall.bites import Bites, line_of, of_failure, of_memory, with_later
from howcome.recall.checks import HEAD as CHECKS
from howcome.recall.gate import SPEAK
from howcome.recall.prompt import fingerprint
from howcome.retrieve.search import MAX_QUESTION_CHARS, RECALL_BREADTH, Searcher
from howcome.retrieve.settled import by_weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.verdicts import PastVerdict
    from howcome.store.base import Store

BEGUN = {
    BRIEFING: "said as the session began: it holds here, whatever is asked",
    MANIFEST: "said as the window was compacted",
    AGENT: "said as the subagent began: its task names what it is about",
}
OPEN = "said: it is what was open, or how the last sessions ended"
LIKELY = f"said: its chance to help is {SPEAK:.0%} or more"
NEAR = "said: it is among what is nearest to the prompt"
KEPT = "said: a memory with enough of the prompt's words"
"""Why a line was said. Which way the gate went is not kept: these hold for each of them."""

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

    def why(self, found: StoredEvent | Memory | None, chance: float, rule: str) -> str:
        """Why a candidate was said, or held back, with what was measured of it."""
        held = RULES.get(rule, rule)
        if self.verdict.hook in BEGUN:
            return held or BEGUN[self.verdict.hook]
        memory = None if isinstance(found, StoredEvent) else found
        if chance >= 1 and not held and (memory is None or memory.type == "context"):
            return OPEN
        if memory is not None:
            reason = _own(memory) if rule == OWN else held or KEPT
            return f"{reason} ({chance:.0%} of the prompt's words, by their weight)"
        if held not in ("", RULES[UNLIKELY], RULES[BEST]):
            return held
        return f"{held or (LIKELY if chance >= SPEAK else NEAR)} (its chance: {chance:.0%})"


def _own(memory: Memory) -> str:
    """Why a memory is not told unasked (`verdicts.OWN`)."""
    if memory.status != OPEN_STATUS:
        return f"it is {memory.status}"
    if memory.is_outside or memory.origin not in PUSHED_ORIGINS:
        return "it is from outside"
    return "it is asleep" if memory.is_asleep else "only this very session says it"


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
    """The words of what was said, by ids. They are not kept: the same question gives them again, while all is stored
    that was there then.
    """  # noqa: D205 - one sentence
    said = [row for row, _, rule in one.considered if not rule]
    memories = store.memories.by_row([-row for row in said if row < 0]).values()
    found = {memory.id: with_later(memory, _of_memory(store, memory)) for memory in memories}
    events = store.log.events([row for row in said if row > 0], with_text=True)
    bites = _bites(store, one, asked, found.values(), events.values()) if asked and events else {}
    for row, event in events.items():
        told = by_weight([event], {}) if event.kind != TOOL_CALL and row not in bites else []
        found[event.id] = bites.get(row) or (line_of(event, told[0][1], told) if told else command_of(event))
    return found


def _of_memory(store: Store, memory: Memory) -> str:
    """What a memory says: of a failed command only the commands."""
    if memory.type != "failure" or memory.origin in PUSHED_ORIGINS:
        return of_memory(memory.text)
    told = store.candidates.told_of([memory.key]).get(memory.key)
    return of_failure(memory.text, told.sessions if told is not None else 1)


def _bites(
    store: Store, one: PastVerdict, asked: str, kept: Iterable[str], events: Iterable[StoredEvent]
) -> dict[int, str]:
    """The lines that a prompt was told of some events, by their rows, beside the lines of memories."""
    past = asked_of_past(prompt := clean_text(asked[:MAX_QUESTION_CHARS]))
    scope = Scope.everything() if one.project_id is None else Scope.project(one.project_id)
    wanted = Filter(scope, before_ms=one.asked_ms)  # nothing that was said since
    situation = Searcher(store).situation(past or prompt, wanted, breadth=RECALL_BREADTH)
    if past is not None:
        situation.terms = [term for term in situation.terms if term in situation.weights.known] or situation.terms
    more = one.lines - sum(not rule for _, _, rule in one.considered)  # lines of one turn are one row
    is_asked = past is not None or more > 0  # nobody else is told more
    made = Bites(store, situation, kept, is_asked=is_asked, wrong=store.memory_search.refuted(one.asked_ms))
    found: dict[int, list[str]] = {}
    exchanges: dict[int, list[int]] = {}
    for event in events:
        exchanges.setdefault(store.log.opening(event.row) or event.row, []).append(event.row)
    for exchange, rows in exchanges.items():
        told = made.again(exchange, rows[0], len(rows) + more)
        more -= max(0, len(told) - len(rows))
        for row, line in told:
            found.setdefault(row if row in rows else rows[0], []).append(line)
    return {row: "; also: ".join(lines) for row, lines in found.items()}


def command_of(event: StoredEvent) -> str:
    """The command of a call, as a briefing says that it checks the work; of anything else its excerpt."""
    with suppress(ValueError, RecursionError):
        called = json.loads(event.text or "")
        if isinstance(called, dict) and isinstance(called.get("command"), str):
            return f"{CHECKS} `{' '.join(called['command'].split())}`"
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
