"""`app.events`: events and sessions as they are stored, by id and in their order."""

from __future__ import annotations

from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.retrieve import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import SessionSummary, StoredEvent
    from howcome.store.base import Store


class Reading:
    """Reads only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def by_id(self, prefix: str) -> StoredEvent:
        """The event whose id begins so, with its text; see `retrieve.reading.event_by_id`."""
        return reading.event_by_id(self._store, prefix)

    def or_memory(self, prefix: str) -> StoredEvent | Memory:
        """The event or memory whose id begins so; see `retrieve.reading.one_by_id`."""
        return reading.one_by_id(self._store, prefix)

    def cited(self, ids: Iterable[str]) -> list[StoredEvent]:
        """The events that a memory names, with their texts; those that are in this store."""
        return [event for ident in ids for event in self._store.log.find(ident, limit=1)]

    def exchange_of(self, event: StoredEvent) -> list[StoredEvent]:
        """The exchange that an event is of (without texts): from its prompt to the last event before the next one."""
        return reading.exchange_around(*self.session_of(event))

    def of_rows(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """Events by their rows, with their texts."""
        return self._store.log.events(list(rows), with_text=True)

    def with_texts(self, told: Sequence[StoredEvent]) -> list[StoredEvent]:
        """The same events with their whole texts, in the same order."""
        return reading.with_texts(self._store, told)

    def session_named(self, text: str) -> tuple[int, str, str]:
        """The session whose id is or begins so: row id, client id, root; see `reading.session_by_id`."""
        return reading.session_by_id(self._store, text)

    def is_session(self, text: str) -> bool:
        """Whether what looks like an event's id is a session's; see `retrieve.reading.is_session`."""
        return reading.is_session(self._store, text)

    def session(self, row: int, *, with_text: bool = False) -> list[StoredEvent]:
        """The events of a session, in their order."""
        return self._store.log.session(row, with_text=with_text)

    def session_of(self, event: StoredEvent) -> tuple[list[StoredEvent], int]:
        """All events of an event's session (without texts), and the place of the event among them."""
        return reading.session_of(self._store, event)

    def session_row(self, event: StoredEvent) -> int:
        """The row of an event's session; 0 when it has none."""
        return self._store.sessions.of_event(event.row) or 0

    def recent_sessions(
        self, scope: Scope, limit: int, agent: str | None = None, since_ms: int = 0, before_ms: int | None = None
    ) -> list[SessionSummary]:
        """The latest sessions of a scope (of a client, or with a subagent), the newest first, as before a moment."""
        sessions = self._store.sessions
        among = None if agent is None else sessions.clients().get(agent) or sessions.of_agent(agent)
        return sessions.recent(scope, limit, among, since_ms, before_ms)

    def agents(self) -> list[str]:
        """The agents that sessions are of."""
        return list(self._store.sessions.clients())

    def is_of_agent(self, agent: str) -> bool:
        """Whether anything here is of an agent: a session, a part of one, or a memory."""
        wanted = MemoryFilter(agent=agent, with_superseded=True)
        is_owner = bool(self._store.memories.select(Scope.everything(), wanted, 1))
        return agent in self.agents() or is_owner or bool(self._store.sessions.of_agent(agent))

    def is_empty(self) -> bool:
        """Whether there is nothing that could be found: no event and no memory."""
        return self._store.log.last_position() == 0 and not self._store.memories.counts()["by_state"]

    def last_row(self) -> int:
        """The row of the newest event; 0 when there is none."""
        return self._store.log.last_position()

    def last_ms(self) -> int:
        """The time of the newest event (UTC ms)."""
        return self._store.accounts.last_ms()
