"""Reading on from an answer: what stood around it, its whole exchange, the way that led to it. Read-only."""

from __future__ import annotations

from recollect.capture.decode import clean_text
from recollect.domain import events, memories
from recollect.domain.stored import ID_PREFIX
from recollect.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.domain.stored import StoredEvent
    from recollect.store.base import Store


def is_memory_id(text: str) -> bool:
    """Whether an id (or the beginning of one) is a memory's."""
    return text.strip().lower().startswith(memories.ID_PREFIX)


def event_by_id(store: Store, prefix: str) -> StoredEvent:
    """The event whose id begins so, with its text.

    Raises:
        NotFoundError: none, or several (the message names them).
    """
    prefix = clean_text(prefix).strip()
    found = store.events_by_prefix(prefix)
    if not found:
        raise NotFoundError(f"no event {prefix}; a search prints ids ({ID_PREFIX}…)")
    if len(found) > 1:
        raise NotFoundError(f"{prefix} could be {', '.join(event.id for event in found)}; write more of it")
    return found[0]


def session_by_id(store: Store, prefix: str) -> tuple[int, str, str]:
    """The session whose client id is or begins so: row id, client id, project root.

    Raises:
        NotFoundError: none, or several (the message names them).
    """
    prefix = clean_text(prefix).strip()
    found = store.find_sessions(prefix)
    if not found:
        raise NotFoundError(f"no session {prefix}; a search prints session ids")
    if len(found) > 1:
        raise NotFoundError(f"{prefix} could be {', '.join(name for _, name, _ in found)}; write more of it")
    return found[0]


def session_of(store: Store, event: StoredEvent) -> tuple[list[StoredEvent], int]:
    """All events of an event's session in their order (without texts), and the place of the event among them."""
    session = store.session_of_event(event.row)
    told = store.session_events(session) if session is not None else [event]
    return told, next((place for place, other in enumerate(told) if other.row == event.row), 0)


def exchange_around(told: Sequence[StoredEvent], place: int) -> list[StoredEvent]:
    """The exchange that holds a place: from the prompt that opened it to the last event before the next one."""
    start = place
    while start > 0 and told[start].kind != events.USER_PROMPT:
        start -= 1
    end = place + 1
    while end < len(told) and told[end].kind != events.USER_PROMPT:
        end += 1
    return list(told[start:end])


def with_texts(store: Store, told: Sequence[StoredEvent]) -> list[StoredEvent]:
    """The same events with their whole texts, in the same order."""
    found = store.events_by_row([event.row for event in told], with_text=True)
    return [found.get(event.row, event) for event in told]
