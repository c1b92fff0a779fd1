"""What earlier sessions say about a prompt: nothing below the threshold, nothing twice, nothing of the session itself.

Only what a person or the agent said is ever pushed, and memories that were kept on purpose.
"""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import events
from howcome.domain.memories import HAND, OPEN
from howcome.domain.stored import Filter, Reminder
from howcome.domain.text import best_passage
from howcome.errors import ProviderError, StoreError
from howcome.retrieve.memories import before_evidence, not_crowding, search_memories
from howcome.retrieve.question import PASSAGE_CHARS
from howcome.retrieve.ranking import MEANING
from howcome.retrieve.search import MAX_QUESTION_CHARS, RECALL_BREADTH, Searcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope, StoredEvent
    from howcome.retrieve.memories import RankedMemory
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.settings import Settings
    from howcome.store.base import Store, Vectors

RECALL_SHARE = 0.6
"""What is much weaker than the best reminder of a prompt only dilutes it."""

MAX_MEMORIES = 20
WITH_NEAR = 400
"""Rows looked at when turns by meaning are among them: they must not push out what the words are sure of."""


def recall(
    store: Store,
    settings: Settings,
    prompt: str,
    *,
    scope: Scope,
    session: str,
    recent: Callable[[], str],
    now_ms: int,
    vectors: Vectors | None = None,
) -> list[Reminder]:
    """The reminders worth giving with a prompt, best first.

    Words decide whether a row is worth it; `vectors` only help to order what is. Without them, or when they fail, it
    is what the words alone say.
    """
    wanted = Filter(scope, without=store.sessions.named(session), origins=events.PUSHED_ORIGINS)
    prompt = clean_text(prompt[:MAX_QUESTION_CHARS])  # what is asked; a pasted log may hold megabytes
    situation = Searcher(store).situation(prompt, wanted, breadth=RECALL_BREADTH, recent=recent)
    ranked = _ranked(store, situation, vectors, now_ms) if scope.project_id is not None else []
    threshold = settings.recall_threshold
    good = [item for item in ranked if item.strength >= threshold][:RECALL_BREADTH]
    kept = _memories(store, situation, vectors, now_ms)
    kept = [item for item in kept if item.strength >= threshold and _is_pushed(store, item.memory, session)]
    if not good and not kept:
        return []
    strongest = max([item.strength for item in good] + [item.strength for item in kept])
    said = _Said(store, settings, set(store.index.analyze(prompt)))
    good = [item for item in good if item.strength >= RECALL_SHARE * strongest]
    known = store.injections.events_known(session)
    found = said.events(good, known)
    kept = [item for item in kept if item.strength >= RECALL_SHARE * strongest]
    cited = {item.memory.row: _cited(store, item.memory) for item in kept} if known or found else {}
    kept = [item for item in kept if known.isdisjoint(cited.get(item.memory.row, ()))]
    scores = {item.event.id: score for score, item in found if item.event is not None}
    told = said.memories(kept, session, scores)
    before = store.injections.memories_known(session)
    before.update(item.memory.row for _, item in told if item.memory is not None)
    answered = {row for item in kept if item.memory.row in before for row in cited.get(item.memory.row, ())}
    rest = [pair for pair in found if answered.isdisjoint(pair[1].rows)]
    found = told + rest  # what a memory says, or has said, is not said again by the exchange that it is from
    found.sort(key=lambda pair: -pair[0])
    return [reminder for _, reminder in found][: settings.recall_limit]


def _cited(store: Store, memory: Memory) -> set[int]:
    """The rows of the events that a memory of sessions is from."""
    evidence = () if memory.source == HAND else memory.evidence
    return {event.row for ident in evidence for event in store.log.find(ident, limit=1)}


def _is_pushed(store: Store, memory: Memory, session: str) -> bool:
    """Only what somebody or the agent said (the index may know it by an older origin), and in another session.

    What was distilled from this session alone stands in its window as it was said.
    """
    if memory.status != OPEN or memory.origin not in events.PUSHED_ORIGINS:
        return False
    return memory.source == HAND or set(store.sessions.of_memory(memory.row).values()) != {session}


def record_said(store: Store, session: str, hook: str, said: Sequence[Reminder], now_ms: int) -> None:
    """Remembers what was injected; losing this must not lose the answer."""
    if store.is_read_only:
        return
    rows = [(row, item.score) for item in said if item.memory is None for row in item.rows]
    kept = [(row, item.score) for item in said if item.memory is not None for row in item.rows]
    try:
        if rows:
            store.injections.record_events(session, hook, rows, now_ms)
        if kept:
            store.injections.record_memories(session, hook, kept, now_ms)
    except StoreError:
        return


def _ranked(store: Store, situation: Situation, vectors: Vectors | None, now_ms: int) -> list[Ranked]:
    """The rows for a prompt, best first; by words alone when the embedder or its index fails."""
    if vectors is not None:
        try:
            ranked = Searcher(store, vectors=vectors).search(situation, limit=WITH_NEAR, now_ms=now_ms)
            return [item for item in ranked if item.tiers.keys() != {MEANING}]
        except (ProviderError, StoreError):  # a store that fails fails again, and says so
            pass
    return Searcher(store).search(situation, limit=RECALL_BREADTH, now_ms=now_ms)


def _memories(store: Store, situation: Situation, vectors: Vectors | None, now_ms: int) -> list[RankedMemory]:
    """Memories for a prompt, best first; by words alone when the embedder fails."""
    if vectors is not None:
        try:
            return search_memories(store, situation, limit=MAX_MEMORIES, now_ms=now_ms, vectors=vectors)
        except ProviderError:
            pass
    return search_memories(store, situation, limit=MAX_MEMORIES, now_ms=now_ms)


def _question(parts: Sequence[StoredEvent]) -> str:
    """What a person asked in an exchange, whatever its case and spacing; '' when it opens otherwise."""
    opening = parts[0] if parts and parts[0].kind == events.USER_PROMPT else None
    return " ".join((opening.text or opening.excerpt)[:MAX_QUESTION_CHARS].split()).casefold() if opening else ""


class _Said:
    """Turns what was found into what is said: pairs of the score that orders them and the reminder."""

    def __init__(self, store: Store, settings: Settings, words: set[str]) -> None:
        self._store, self._words, self._limit = store, words, settings.recall_limit
        self._room = min(PASSAGE_CHARS, settings.recall_chars // 6)

    def memories(
        self, kept: Sequence[RankedMemory], session: str, events_said: Mapping[str, float]
    ) -> list[tuple[float, Reminder]]:
        """Memories that this session has not been told, before the events that they cite."""
        if not kept:
            return []
        told = self._store.injections.memories_known(session)
        new = [item for item in kept if item.memory.row not in told]
        found = []
        for item in not_crowding(new, len(events_said), self._limit)[: self._limit]:
            passage = best_passage(item.memory.text, self._words, self._room)
            score = before_evidence(item.memory, item.score, events_said)
            what = Reminder(None, item.strength, [(item.memory.type, passage)], [item.memory.row], item.memory)
            found.append((score, what))
        return found

    def events(self, good: Sequence[Ranked], said: set[int]) -> list[tuple[float, Reminder]]:
        """One reminder an exchange, best first: what was asked, what answers this prompt best, how it ended."""
        found = self._store.log.events([item.candidate.row for item in good], with_text=True)
        reminders: list[tuple[float, Reminder]] = []
        told = set(said)
        seen: set[int] = set()
        asked: set[str] = set()
        for item in good:
            event, exchange = found.get(item.candidate.row), item.candidate.exchange
            if event is None or event.origin not in events.PUSHED_ORIGINS:  # the index may know it by an older one
                continue
            if event.row in told or exchange in seen:
                continue
            opening = self._opening(event, exchange)
            if opening is not None and opening.row in seen:
                continue
            seen.update((exchange, opening.row if opening else exchange))
            whole = self._exchange_parts(event, opening)
            question = _question(whole)
            if question and question in asked:  # asked again in another session: the better answer has been chosen
                continue
            asked.add(question)
            parts = [part for part in whole if part.row not in told]
            passages = [
                (part.origin, best_passage(part.text or part.excerpt, self._words, self._room)) for part in parts
            ]
            told.update(part.row for part in parts)
            rows = [part.row for part in parts]
            reminders.append((item.score, Reminder(event, item.strength, passages, rows)))
            if len(reminders) >= self._limit:
                break
        return reminders

    def _opening(self, event: StoredEvent, exchange: int) -> StoredEvent | None:
        """The prompt that opened an event's exchange; the index does not know one that was read after the event."""
        opening = self._store.log.events([exchange], with_text=True).get(exchange)
        if opening is not None and opening.kind == events.USER_PROMPT:
            return opening
        row = self._store.log.opening(event.row)
        return None if row is None else self._store.log.events([row], with_text=True).get(row)

    def _exchange_parts(self, event: StoredEvent, opening: StoredEvent | None) -> list[StoredEvent]:
        """The prompt of an exchange, the event itself, and the agent's last words in it, in their order.

        A session may move to another project in mid-exchange: what it said there stays there.
        """
        parts = {event.row: event}
        if opening is not None:
            around = [opening, *self._store.log.answers(opening.row, 1)]
            parts.update({part.row: part for part in around if part.project == event.project})
        return sorted(parts.values(), key=lambda part: (part.order_ms, part.row))
