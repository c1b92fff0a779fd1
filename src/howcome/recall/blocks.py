"""Exchanges in full: what was asked, what answers best, how it ended; and memories before the events that they cite."""

from __future__ import annotations

from howcome.domain import events
from howcome.domain.stored import Reminder
from howcome.domain.text import best_passage
from howcome.retrieve.memories import before_evidence, not_crowding
from howcome.retrieve.search import MAX_QUESTION_CHARS, PASSAGE_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.stored import StoredEvent
    from howcome.retrieve.memories import RankedMemory
    from howcome.retrieve.situation import Ranked
    from howcome.settings import Settings
    from howcome.store.base import Store


def _question(parts: Sequence[StoredEvent]) -> str:
    """What a person asked in an exchange, whatever its case and spacing; '' when it opens otherwise."""
    opening = parts[0] if parts and parts[0].kind == events.USER_PROMPT else None
    return " ".join((opening.text or opening.excerpt)[:MAX_QUESTION_CHARS].split()).casefold() if opening else ""


class Blocks:
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
