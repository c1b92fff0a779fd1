"""Memories by hand: what a person or an agent wants kept, redacted like everything else, before it is stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from howcome.clients.decode import clean_text
from howcome.clients.projects import project_root
from howcome.domain import events, memories
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory, MemoryFilter, NewMemory
from howcome.domain.ranking import STALE_READS, facts_of, is_stale
from howcome.domain.reconciliation import Beside
from howcome.domain.stored import ID_PREFIX, Scope
from howcome.errors import NotFoundError, OwnerError, StoreError, UsageError
from howcome.memory.backup import purge_from_backups
from howcome.memory.chains import give_back, instead, walked
from howcome.memory.export import exported
from howcome.memory.importing import ImportReport, MemoryImport
from howcome.memory.text import cleaned, known_word, owner, require_in, require_others
from howcome.redact.gate import Gate
from howcome.store.base import Store

MIN_TEXT_CHARS = 6
"""Shorter texts are in any file by chance: a purge does not look for them."""

MAX_COMPARED = 20_000
"""Of more memories the newest are compared with a new one."""

_OF_EVENTS = (
    "an event (ev-…) stays as it was said: name the memory that it taught (a search prints `kept: mem-…` beside it), or"
    " keep all of its project from being told: `howcome config set exclude FOLDER`"
)


@dataclass(slots=True, eq=False)
class PurgeReport:
    """What a purge left, as far as was looked.

    `is_gone`: the words are nowhere in the store's files, events and memories (None: that was not looked for). `files`
    of the store's folder hold the words, or much of them; so do `events` (what was said is not the memory's to erase)
    and `memories`, by their ids. Nobody here can look into what is `unseen`; `problem`: why not all was looked for.
    """

    id: str
    unseen: str = ""
    problem: str = ""
    is_gone: bool | None = None
    was_compacted: bool = False
    files: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)


class Memories:
    """Every way in which memories are written and read by hand.

    A `prefix` is any unique beginning of an id: NotFoundError says that there is no such memory, or several, OwnerError
    that another agent owns it, and UsageError that what is asked for cannot be done. `root_of` gives the root of the
    project that a folder belongs to, as searches find it; `beside` what a new memory repeats, supersedes and
    contradicts, of some (None: only equal words are known).
    """

    def __init__(
        self,
        store: Store,
        now_ms: Callable[[], int],
        root_of: Callable[[str], str] = project_root,
        beside: Callable[[NewMemory, Sequence[Memory]], Beside] | None = None,
    ) -> None:
        self.store, self._now_ms, self.root_of, self._beside = store, now_ms, root_of, beside
        own = store.gate if isinstance(store.gate, Gate) else None
        self.gate = own or Gate(lambda: bytes(store.meta("key")))  # type: ignore[call-overload]

    # -- writing ---------------------------------------------------------------------------------------------------
    def add(
        self,
        text: str,
        *,
        type: str = memories.DEFAULT_TYPE,
        project: str | None,
        also: Sequence[str] = (),
        agent: str | None = None,
        evidence: Sequence[str] = (),
        status: str = memories.OPEN,
        origin: str = events.ORIGIN_USER,
    ) -> tuple[Memory, bool]:
        """Keeps a memory: it, and whether it is new (else the one that says the same in the same scope).

        `project` is a folder of the project it holds in (None: everywhere), `also` are folders of others. `evidence`
        are ids of events (any unique beginning) that bear it out.
        """
        home = None if project is None else self.root_of(clean_text(project))
        require_others(home, also := self._roots(also))
        new = NewMemory(
            key=os.urandom(memories.KEY_BYTES),
            type=known_word("type", type, memories.TYPES),
            text=text,
            project=home,
            also=also,
            agent=self._owner(agent),
            origin=origin,
            status=known_word("status", status, memories.STATUSES),
            created_ms=self._now_ms(),
            evidence=self._evidence(evidence),
        )
        return self._keep(new)

    def update(
        self,
        prefix: str,
        *,
        text: str | None = None,
        type: str | None = None,
        status: str | None = None,
        agent: str | None = None,
        is_person: bool = False,
        also: Sequence[str] = (),
        not_in: Sequence[str] = (),
    ) -> Memory:
        """A memory with another text or type is a new one that supersedes it; all else is set in place.

        `also` are folders of projects that it holds in, too, `not_in` of those in which it does not any more. A new
        text is open whatever the old one was; a person's is nobody else's. Where another memory says the same already,
        that one is given back and nothing is superseded: only what `supersedes` the old one's row has taken its place.
        """
        found = self._owned(prefix, agent, is_person=is_person)
        if not found.is_live:
            raise UsageError(f"{found.id} is {found.state}: {instead(self.store, found)}")
        status = status if status is None else known_word("status", status, memories.STATUSES)
        require_others(found.project, also := self._roots(also))
        require_in(found, left := self._roots(not_in))
        if found.is_outside and not is_person and (text or type or also):
            raise UsageError(f"{found.id} is from outside: a person accepts it first (`howcome memories --review`)")
        if text is None and type is None:
            return self._set_in_place(found, status, also, left)
        status = status or (found.status if text is None else memories.OPEN)
        new = NewMemory(
            key=os.urandom(memories.KEY_BYTES),
            type=known_word("type", type or found.type, memories.TYPES),
            text=found.text if text is None else text,
            project=found.project,
            also=[root for root in (*found.also, *also) if root not in left],
            agent=None if is_person and text is not None else found.agent,
            origin=events.ORIGIN_USER if is_person and (text is not None or found.is_outside) else found.origin,
            status=status,
            created_ms=self._now_ms(),
            evidence=found.evidence,
            supersedes=found.row,
            subject=found.subject,
        )
        return self._keep(new)[0]

    def _set_in_place(self, found: Memory, status: str | None, also: Sequence[str], left: Sequence[str]) -> Memory:
        if also or left:
            self.store.memories.set_also(found.row, also, left, self._now_ms())
        elif status is None:
            raise UsageError("nothing to change: give a new text, a type, a status or another project")
        if status is not None:
            self.store.memories.set_status(found.row, status, self._now_ms())
        return self._again(found)

    def _again(self, memory: Memory) -> Memory:
        """A memory as it is now."""
        return self.store.memories.by_row([memory.row])[memory.row]

    def forget(
        self, prefix: str, *, agent: str | None = None, is_person: bool = False, is_wrong: bool = False
    ) -> Memory:
        """Takes a memory out of every search; `restore` brings it back. What was kept by hand gets back its place.

        With `is_wrong` nothing distilled that says the same, in whatever words, becomes a memory again.
        """
        found = self._owned(prefix, agent, is_person=is_person)
        if found.deleted_ms is None or (is_wrong and found.wrong_ms is None):
            self.store.memories.set_deleted(found.row, self._now_ms(), is_wrong=is_wrong)
            for older in self.store.memories.by_row([found.supersedes or 0]).values():
                if found.source != memories.HAND and older.source == memories.HAND:
                    give_back(self.store, older)
        return self._again(found)

    def restore(self, prefix: str) -> Memory:
        """Brings back a memory that was forgotten, or whose place was taken by what is not live any more."""
        found = self.get(prefix)
        if found.purged_ms is not None:
            raise UsageError(f"{found.id} was purged: its text is gone")
        if not found.is_live and (twin := self.store.memories.live_twin(found.row)) is not None:
            raise UsageError(f"{twin.id} says the same and is live: there is nothing to bring back")
        if found.deleted_ms is not None:
            self.store.memories.set_deleted(found.row, None)
        if found.superseded_by is not None and not give_back(self.store, found) and found.deleted_ms is None:
            raise UsageError(f"{found.id} is superseded: {instead(self.store, found)}, or forget that first")
        return self._again(found)

    def purge(self, prefix: str) -> PurgeReport:
        """Takes a memory's text out of everything that is the memory's on disk, and looks for what is left of it.

        Its id stays as a stone. Events that said the same words stay as they are and are named.

        Raises:
            StoreLockedError: another process is in the way; the memory is forgotten but not erased, run it again.
        """
        found = self.get(prefix)
        self.store.purging.purge(found.row, self._now_ms())
        report = PurgeReport(found.id, self.store.purging.unseen)
        try:
            purge_from_backups(os.path.dirname(self.store.path), self._again(found))
            self._look_for(found.text, report)
        except StoreError as error:  # its text is gone from the rows: this is the last moment to say what was not seen
            report.is_gone, report.problem = None, str(error)
        return report

    def _look_for(self, text: str, report: PurgeReport) -> None:
        if len(text) < MIN_TEXT_CHARS:
            self.store.purging.vacuum()
            report.was_compacted = True
            report.problem = "it is too short to be looked for" if text else "it was erased before: no words are left"
            return
        # unused parts of pages hold old words, and so may what somebody else said
        if report.unseen or self.store.purging.files_with(text):
            self.store.purging.vacuum()
            report.was_compacted = True
        report.files = self.store.purging.files_with(text)
        report.events, report.memories = self.store.purging.events_with(text), self.store.purging.memories_with(text)
        report.is_gone = not (report.files or report.events or report.memories)

    def _keep(self, new: NewMemory) -> tuple[Memory, bool]:
        """Stores a memory with what it does to others, and notes that it was kept; or finds the one that is there."""
        new.text = self._clean(new.text)
        others = self._others(new) if self._beside is not None else []
        beside = self._beside(new, others) if self._beside is not None and others else Beside(None, (), ())
        if beside.same is not None and not beside.same.is_live:
            raise UsageError(f"{beside.same.id} says the same and was called wrong: only a person restores it")
        new.same_as = None if beside.same is None else beside.same.row
        added = self._store_new(new)
        if not added[1]:
            self.store.memories.record_access([added[0].row], self._now_ms())
            return added
        rows = {new.key: added[0].row, **{one.key: one.row for one in others}}
        taken = [(rows[older], rows[newer]) for older, newer in beside.taken]
        differing = [(rows[older], rows[newer], reason) for older, newer, reason in beside.differs]
        if taken or differing:
            self.store.reviews.relate(taken, differing, self._now_ms())
        self.store.kept.note()
        return self.store.memories.by_row([added[0].row])[added[0].row], True

    def _others(self, new: NewMemory) -> list[Memory]:
        """What a new memory is compared with: what lives in its scope; an agent's also with what was called wrong.

        Where an agent wants something kept in all projects, with what was called wrong in any.
        """
        is_agents = new.origin != events.ORIGIN_USER
        wanted = memories.MemoryFilter(is_global_only=new.project is None, with_forgotten=is_agents)
        roots = [new.project] if new.supersedes is not None else [new.project, *new.also]
        scopes = [Scope.project(None if root is None else self.store.projects.of_root(root)) for root in roots]
        found = {one.row: one for scope in scopes for one in self.store.memories.select(scope, wanted, MAX_COMPARED)}
        if is_agents and new.project is None:
            wanted = memories.MemoryFilter(with_forgotten=True)
            every = self.store.memories.select(Scope.everything(), wanted, MAX_COMPARED)
            found |= {one.row: one for one in every if one.wrong_ms is not None and one.project is not None}
        return [
            one
            for one in found.values()
            if not one.is_outside and one.row != new.supersedes and (one.is_live or one.wrong_ms is not None)
        ]

    def _store_new(self, new: NewMemory) -> tuple[Memory, bool]:
        if new.purged_ms is not None:
            new.text, new.digest = "", bytes(16)
            return self.store.memories.add(new)
        new.text = self._clean(new.text)
        words = memories.normalized(new.text).encode()
        key = bytes(self.store.meta("key"))  # type: ignore[call-overload]
        new.digest = blake2b(words + b"\0" + new.type.encode(), digest_size=16, key=key).digest()
        return self.store.memories.add(new)

    def _clean(self, text: str) -> str:
        return cleaned(text, self.gate.redactor)

    def _roots(self, folders: Sequence[str]) -> list[str]:
        return [self.root_of(clean_text(folder)) for folder in folders]

    def _owner(self, agent: str | None) -> str | None:
        return self.gate.name(owner(agent))

    def _evidence(self, ids: Sequence[str]) -> list[str]:
        if len(ids) > memories.MAX_EVIDENCE:
            raise UsageError(f"at most {memories.MAX_EVIDENCE} events may bear a memory out")
        found = []
        for event_id in ids:
            matches = self.store.log.find(clean_text(event_id), limit=2)
            if len(matches) != 1:
                how_many = "several events" if matches else "no event"
                raise NotFoundError(f"{how_many} {event_id}; a search prints ids (ev-…)")
            found.append(matches[0].id)
        return found

    # -- reading ---------------------------------------------------------------------------------------------------
    def get(self, prefix: str) -> Memory:
        """The memory whose id begins so, whatever has become of it."""
        found = self.store.memories.find(clean_text(prefix))
        if not found:
            hint = _OF_EVENTS if prefix.startswith(ID_PREFIX) else "a search and `howcome memories` print ids (mem-…)"
            raise NotFoundError(f"no memory {squeeze(prefix, 60)}; {hint}")
        if len(found) > 1:
            some = ", ".join(memory.id for memory in found)
            raise NotFoundError(f"several ids begin with {prefix}: {some}; write more of it")
        return found[0]

    def chain(self, prefix: str) -> list[Memory]:
        """A memory with all that it superseded and all that superseded it, oldest first."""
        middle = self.get(prefix)
        return [*walked(self.store, middle, "supersedes")[::-1], middle, *walked(self.store, middle, "superseded_by")]

    def listed(self, scope: Scope, wanted: MemoryFilter, limit: int = 50) -> list[Memory]:
        """Memories of a scope, newest first."""
        wanted.agent = None if wanted.agent is None else clean_text(wanted.agent)
        return self.store.memories.select(scope, wanted, limit)

    def _owned(self, prefix: str, agent: str | None, *, is_person: bool) -> Memory:
        found, agent = self.get(prefix), self._owner(agent)
        if found.agent is not None and agent != found.agent and not (is_person and agent is None):
            raise OwnerError(
                f"{found.id} belongs to {squeeze(found.agent, 60)}: only its owner changes or forgets it"
                " (or a person at the command line)"
            )
        return found

    # -- life ------------------------------------------------------------------------------------------------------
    def pin(self, prefix: str, *, is_pinned: bool = True) -> Memory:
        """A memory that does not fade, and that no distiller supersedes; or one that fades again."""
        found = self.get(prefix)
        if is_pinned and not found.is_live:
            raise UsageError(f"{found.id} is {found.state}: {instead(self.store, found)}")
        if (found.pinned_ms is not None) != is_pinned:
            self.store.memories.set_pinned(found.row, self._now_ms() if is_pinned else None)
        return self._again(found)

    def stale(self, scope: Scope, limit: int = 50, wanted: MemoryFilter | None = None) -> list[Memory]:
        """Live memories that have faded and that hardly anybody asked for, those said longest ago first.

        Of `wanted` what would show others than live ones is not looked at.
        """
        now_ms, wanted = self._now_ms(), wanted or memories.MemoryFilter()
        wanted.agent = None if wanted.agent is None else clean_text(wanted.agent)
        fading = self.store.reviews.fading(scope, STALE_READS - 1)
        return [one for one in fading if _is_wanted(one, wanted) and is_stale(facts_of(one), now_ms)][:limit]

    # -- moving ----------------------------------------------------------------------------------------------------
    def export(self, scope: Scope) -> Iterator[dict[str, object]]:
        """Every memory of a scope as JSON values; see `memory.export.exported`."""
        return exported(self.store, scope)

    def import_values(
        self,
        values: Iterable[tuple[int, object]],
        *,
        is_trial: bool = False,
        is_mine: bool = False,
        outside: Mapping[bytes, bytes] | None = None,
    ) -> ImportReport:
        """Adds exported memories (line number, decoded JSON); keys that are known already are left as they are.

        Those that this store did not write wait for review, unless `is_mine`: then they are believed. `outside` are
        keys of others' memories that came before, each with the one here (`ImportReport.keys`).
        """
        add, now_ms = self._store_new, self._now_ms()
        one = MemoryImport(self.store, self._clean, add, now_ms=now_ms, is_trial=is_trial, is_mine=is_mine)
        return one.run(values, outside or {})


def _is_wanted(memory: Memory, wanted: MemoryFilter) -> bool:
    """Whether a filter lets a live memory pass."""
    narrowed = all(
        getattr(wanted, name) in (None, getattr(memory, name)) for name in ("type", "status", "source", "agent")
    )
    return narrowed and not (wanted.is_global_only if memory.project is not None else wanted.is_own_only)
