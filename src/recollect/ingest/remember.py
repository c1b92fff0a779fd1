"""Memories by hand: what a person or an agent wants kept, redacted like everything else, before it is stored."""

from __future__ import annotations

import os
from hashlib import blake2b

from recollect.capture.decode import clean_text
from recollect.capture.projects import project_root
from recollect.domain import events, memories
from recollect.domain.memories import MemoryFilter, NewMemory
from recollect.errors import NotFoundError, OwnerError, UsageError
from recollect.ingest.secrets import Redactor, strip_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recollect.domain.memories import Memory
    from recollect.domain.stored import Scope
    from recollect.store.base import Store

EXPORT_FORMAT = "memories"
EXPORT_VERSION = 1
INDEX_WAIT_S = 2.0
MAX_LISTED = 1_000_000
PRIVATE = "[private]"
"""What is left of words that nobody wants kept."""

_LONG_ENOUGH_TO_LOOK_FOR = 12


class ImportReport:
    """What became of the lines of an export: counts, and (line number, what is wrong) of those that are none."""

    __slots__ = ("added", "known", "problems", "purged")

    def __init__(self) -> None:
        self.added = self.known = self.purged = 0
        self.problems: list[tuple[int, str]] = []


class PurgeReport:
    """What a purge left: whether the text still stands in the store's files, as it does when a transcript said it."""

    __slots__ = ("id", "is_gone", "was_compacted")

    def __init__(self, memory_id: str, *, is_gone: bool, was_compacted: bool) -> None:
        self.id, self.is_gone, self.was_compacted = memory_id, is_gone, was_compacted


class Memories:
    """Every way in which memories are written and read by hand.

    Args:
        store: Where they are kept.
        now_ms: The clock, UTC milliseconds.
    """

    def __init__(self, store: Store, now_ms: Callable[[], int]) -> None:
        self._store, self._now_ms = store, now_ms
        self._redactor: Redactor | None = None

    # -- writing ---------------------------------------------------------------------------------------------------
    def add(
        self, text: str, *, type: str = memories.DEFAULT_TYPE, project: str | None, agent: str | None = None,  # noqa: A002 - the field's own word
        evidence: Sequence[str] = (), status: str = "open", origin: str = events.ORIGIN_USER,
    ) -> tuple[Memory, bool]:  # fmt: skip
        """Keeps a memory: it, and whether it is new (else the one that says the same in the same scope).

        Args:
            text: At most `memories.MAX_TEXT_CHARS`; secrets in it are redacted.
            type: One of `memories.TYPES`.
            project: A folder of the project it holds in; None: everywhere.
            agent: Who owns it.
            evidence: Ids of events (any unique beginning) that bear it out.
            status: One of `memories.STATUSES`.
            origin: Whose words it is.

        Raises:
            UsageError: an argument that cannot be used.
            NotFoundError: evidence that is not there.
        """
        new = NewMemory(
            key=os.urandom(memories.KEY_BYTES), digest=b"", type=_known("type", type, memories.TYPES), text=text,
            project=None if project is None else project_root(clean_text(project)), agent=owner(agent), origin=origin,
            status=_known("status", status, memories.STATUSES), created_ms=self._now_ms(),
            evidence=self._evidence(evidence),
        )  # fmt: skip
        return self._store_new(new)

    def update(
        self, prefix: str, *, text: str | None = None, type: str | None = None, status: str | None = None,  # noqa: A002 - the field's own word
        agent: str | None = None, is_person: bool = False,
    ) -> Memory:  # fmt: skip
        """A memory with another text or type is a new one that supersedes it; another status is set in place.

        Raises:
            NotFoundError: no such memory, or several.
            OwnerError: another agent owns it.
            UsageError: it is not live, or there is nothing to change.
        """
        found = self._owned(prefix, agent, is_person=is_person)
        if not found.is_live:
            raise UsageError(f"{found.id} is {found.state}: {self._instead(found)}")
        status = status if status is None else _known("status", status, memories.STATUSES)
        if text is None and type is None:
            if status is None:
                raise UsageError("nothing to change: give a new text, a type or a status")
            self._store.set_memory_status(found.row, status)
            return self._store.memories_by_row([found.row])[found.row]
        new = NewMemory(
            key=os.urandom(memories.KEY_BYTES), digest=b"", type=_known("type", type or found.type, memories.TYPES),
            text=found.text if text is None else text, project=found.project, agent=found.agent, origin=found.origin,
            status=status or found.status, created_ms=self._now_ms(), evidence=found.evidence, supersedes=found.row,
        )  # fmt: skip
        return self._store_new(new)[0]

    def forget(self, prefix: str, *, agent: str | None = None, is_person: bool = False) -> Memory:
        """Takes a memory out of every search; `restore` brings it back.

        Raises:
            NotFoundError: no such memory, or several.
            OwnerError: another agent owns it.
        """
        found = self._owned(prefix, agent, is_person=is_person)
        if found.deleted_ms is None:
            self._store.set_memory_deleted(found.row, self._now_ms())
            self._index()
        return self._store.memories_by_row([found.row])[found.row]

    def restore(self, prefix: str) -> Memory:
        """Brings a forgotten memory back.

        Raises:
            NotFoundError: no such memory, or several.
            UsageError: it was purged, or one that says the same is live.
        """
        found = self.get(prefix)
        if found.purged_ms is not None:
            raise UsageError(f"{found.id} was purged: its text is gone")
        if found.deleted_ms is not None:
            twin = self._store.live_twin(found.row)
            if twin is not None:
                raise UsageError(f"{twin.id} says the same and is live: there is nothing to bring back")
            self._store.set_memory_deleted(found.row, None)
            self._index()
        return self._store.memories_by_row([found.row])[found.row]

    def purge(self, prefix: str) -> PurgeReport:
        """Takes a memory's text out of everything on disk, and looks whether it is gone; its id stays as a stone.

        Raises:
            NotFoundError: no such memory, or several.
            StoreLockedError: another process is in the way; run it again.
        """
        found = self.get(prefix)
        self._store.purge_memory(found.row, self._now_ms())
        look_for = found.text if len(found.text) >= _LONG_ENOUGH_TO_LOOK_FOR else ""
        was_compacted = bool(look_for) and self._store.is_on_disk(look_for)
        if was_compacted:  # an unused part of a page, or words that a transcript holds too
            self._store.vacuum()
        return PurgeReport(
            found.id, is_gone=not (was_compacted and self._store.is_on_disk(look_for)), was_compacted=was_compacted
        )

    def _store_new(self, new: NewMemory) -> tuple[Memory, bool]:
        new.text = self._clean(new.text)
        words = memories.normalized(new.text).encode()
        key = bytes(self._store.meta("key"))  # type: ignore[call-overload]
        new.digest = blake2b(words + b"\0" + new.type.encode(), digest_size=16, key=key).digest()
        added = self._store.add_memory(new)
        if added[1]:
            self._index()
        return added

    def _clean(self, text: str) -> str:
        if self._redactor is None:
            self._redactor = Redactor(bytes(self._store.meta("key")))  # type: ignore[call-overload]
        text = self._redactor.redact(strip_private(clean_text(text))).strip()
        if text in ("", PRIVATE):
            raise UsageError("a memory needs words: give it a text")
        if len(text) > memories.MAX_TEXT_CHARS:
            raise UsageError(
                f"a memory is at most {memories.MAX_TEXT_CHARS} characters, this is {len(text)}: say it shortly, or"
                " write a document and remember where it is"
            )
        return text

    def _evidence(self, ids: Sequence[str]) -> list[str]:
        if len(ids) > memories.MAX_EVIDENCE:
            raise UsageError(f"at most {memories.MAX_EVIDENCE} events may bear a memory out")
        found = []
        for event_id in ids:
            matches = self._store.events_by_prefix(clean_text(event_id), limit=2)
            if len(matches) != 1:
                how_many = "several events" if matches else "no event"
                raise NotFoundError(f"{how_many} {event_id}; a search prints ids (ev-…)")
            found.append(matches[0].id)
        return found

    def _index(self) -> None:
        self._store.catch_up_memories(wait_s=INDEX_WAIT_S)

    # -- reading ---------------------------------------------------------------------------------------------------
    def get(self, prefix: str) -> Memory:
        """The memory whose id begins so, whatever has become of it.

        Raises:
            NotFoundError: none, or several (the message names them).
        """
        found = self._store.memories_by_prefix(clean_text(prefix))
        if not found:
            raise NotFoundError(f"no memory {prefix}; a search and `recollect memories` print ids (mem-…)")
        if len(found) > 1:
            raise NotFoundError(f"{prefix} could be {', '.join(memory.id for memory in found)}; write more of it")
        return found[0]

    def chain(self, prefix: str) -> list[Memory]:
        """A memory with all that it superseded and all that superseded it, oldest first."""
        middle = self.get(prefix)
        return [*self._walk(middle, "supersedes")[::-1], middle, *self._walk(middle, "superseded_by")]

    def _walk(self, memory: Memory, way: str) -> list[Memory]:
        found: list[Memory] = []
        row = getattr(memory, way)
        while row is not None and row not in {memory.row, *(one.row for one in found)}:
            found += self._store.memories_by_row([row]).values()
            row = getattr(found[-1], way)
        return found

    def listed(self, scope: Scope, wanted: MemoryFilter, limit: int = 50) -> list[Memory]:
        """Memories of a scope, newest first."""
        wanted.agent = None if wanted.agent is None else clean_text(wanted.agent)
        return self._store.list_memories(scope, wanted, limit)

    def _owned(self, prefix: str, agent: str | None, *, is_person: bool) -> Memory:
        found = self.get(prefix)
        if found.agent is not None and agent != found.agent and not (is_person and agent is None):
            raise OwnerError(
                f"{found.id} belongs to {found.agent}: only its owner changes or forgets it"
                " (or a person at the command line)"
            )
        return found

    def _instead(self, memory: Memory) -> str:
        if memory.state == "forgotten":
            return f"`recollect restore {memory.id}` brings it back"
        if memory.state == "purged":
            return "its text is gone"
        return f"update {self._walk(memory, 'superseded_by')[-1].id} instead"

    # -- moving ----------------------------------------------------------------------------------------------------
    def export(self, scope: Scope) -> Iterator[dict[str, object]]:
        """Every memory of a scope that still has its text, oldest first, as JSON values; the first one is the head."""
        yield {"recollect": EXPORT_FORMAT, "version": EXPORT_VERSION}
        wanted = MemoryFilter(with_forgotten=True, with_superseded=True)
        found = self._store.list_memories(scope, wanted, MAX_LISTED, oldest_first=True)
        keys = {memory.row: memory.key.hex() for memory in found}
        for memory in found:
            yield {
                "key": memory.key.hex(), "id": memory.id, "type": memory.type, "text": memory.text,
                "project": memory.project, "agent": memory.agent, "origin": memory.origin, "status": memory.status,
                "created_ms": memory.created_ms, "deleted_ms": memory.deleted_ms,
                "supersedes": keys.get(memory.supersedes or 0), "evidence": memory.evidence,
            }  # fmt: skip

    def import_values(self, values: Iterable[tuple[int, object]], *, is_trial: bool = False) -> ImportReport:
        """Adds exported memories (line number, decoded JSON); keys that are known already are left as they are.

        Raises:
            UsageError: it is no export, or one of a newer version; nothing was written.
        """
        from recollect.ingest.memory_import import MemoryImport

        return MemoryImport(self._store, self._clean, self._store_new, is_trial=is_trial).run(values)


def _known(name: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise UsageError(f"{value!r} is no {name} of a memory; choose {', '.join(allowed)}")
    return value


def owner(agent: str | None) -> str | None:
    """The name of an owner: one short line, or none.

    Raises:
        UsageError: it is something else.
    """
    if agent is None:
        return None
    name = clean_text(agent).strip()
    if not name or len(name) > memories.MAX_AGENT_CHARS or not name.isprintable():
        raise UsageError(f"an agent's id is one line of at most {memories.MAX_AGENT_CHARS} characters")
    return name
