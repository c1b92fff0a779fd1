"""Reading on from an answer: what stood around it, its whole exchange, the way that led to it. Read-only."""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import events, memories
from howcome.domain.events import squeeze
from howcome.domain.stored import ID_PREFIX
from howcome.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from howcome.domain.memories import Memory
    from howcome.domain.stored import StoredEvent
    from howcome.store.base import Store

    _Kept = TypeVar("_Kept", StoredEvent, Memory, StoredEvent | Memory)

MAX_NAME_CHARS = 60
"""Ids of sessions are text from transcripts, and a message has room for a short word only."""

MAX_CANDIDATES = 5
MAX_SESSIONS = 100_000
"""All of them: those of other agents are sorted out afterwards."""


def event_by_id(store: Store, prefix: str) -> StoredEvent:
    """The event whose id begins so, with its text.

    Raises:
        NotFoundError: none, or several (the message names them).
    """
    prefix = clean_text(prefix).strip()
    found = store.log.find(prefix)
    if not found:
        raise NotFoundError(f"no event {_short(prefix)}; a search prints ids ({ID_PREFIX}…)")
    return _only(prefix, found)


def one_by_id(store: Store, prefix: str) -> StoredEvent | Memory:
    """The event or memory whose id begins so; events with their texts.

    Raises:
        NotFoundError: none, or several (the message names them).
    """
    prefix = clean_text(prefix).strip()
    found: list[StoredEvent | Memory] = [*store.log.find(prefix), *store.memories.find(prefix)]
    if not found and (session := next(iter(store.sessions.find(prefix)), None) if prefix else None):
        raise NotFoundError(f"{_short(prefix)} is a session: `howcome timeline {session[1]}` shows it")
    if not found:
        raise NotFoundError(
            f"no event or memory {_short(prefix)}; `howcome search` prints ids ({ID_PREFIX}…, {memories.ID_PREFIX}…)"
        )
    return _only(prefix, found)


def _only(prefix: str, found: Sequence[_Kept]) -> _Kept:
    if len(found) > 1:
        raise NotFoundError(several(prefix, [one.id for one in found]))
    return found[0]


def several(prefix: str, names: Sequence[str]) -> str:
    """What is said of the beginning of several ids: some of them."""
    some = ", ".join(_short(name) for name in names[:MAX_CANDIDATES])
    more = ", …" if len(names) >= MAX_CANDIDATES else ""
    return f"several ids begin with {_short(prefix)}: {some}{more}; write more of it"


def session_by_id(store: Store, text: str) -> tuple[int, str, str]:
    """The session whose client id is or begins so: row id, client id, project root.

    Where two clients have a session of one id, `client:id` is the one of that client.

    Raises:
        NotFoundError: none, or several (the message names them).
    """
    text = clean_text(text).strip()
    found = store.sessions.find(text) or _of_client(store, text)
    if not found:
        raise NotFoundError(f"no session {_short(text)}; a search prints ids of sessions, a timeline lists the latest")
    names = [name for _, name, _ in found]
    if len(found) == 1:
        return found[0]
    if len(set(names)) > 1:
        raise NotFoundError(several(text, names))
    rows = {row for row, _, _ in found}
    clients = [client for client, own in store.sessions.clients().items() if rows & own]
    choice = " or ".join(f"{_short(client)}:{_short(names[0])}" for client in clients)
    raise NotFoundError(f"several agents have a session {_short(names[0])}: write {choice}")


def is_session(store: Store, text: str) -> bool:
    """Whether what looks like an event's id is a session's: exactly so, and no event's whole id.

    Agents without transcripts name their sessions as they like.
    """
    text = clean_text(text).strip()
    is_name = any(name == text for _, name, _ in store.sessions.find(text))
    return is_name and not any(event.id == text for event in store.log.find(text))


def _of_client(store: Store, text: str) -> list[tuple[int, str, str]]:
    client, colon, prefix = text.partition(":")
    rows = store.sessions.clients().get(client, set()) if colon else set()
    return [found for found in store.sessions.find(prefix, MAX_SESSIONS) if found[0] in rows] if rows else []


def _short(name: str) -> str:
    return squeeze(name, MAX_NAME_CHARS)


def session_of(store: Store, event: StoredEvent) -> tuple[list[StoredEvent], int]:
    """All events of an event's session in their order (without texts), and the place of the event among them."""
    session = store.sessions.of_event(event.row)
    told = store.log.session(session) if session is not None else [event]
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
    found = store.log.events([event.row for event in told], with_text=True)
    return [found.get(event.row, event) for event in told]
