"""Distilling what is new: sessions into candidates, then each project's candidates into memories, a piece at a time.

What is done is kept: a session is one transaction, with its cursor, and a project another. Whoever goes on later, in
whatever process, goes on where this one ended, and two at once do the same twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from howcome.domain import candidates, memories
from howcome.domain.candidates import OTHER_PROJECT, Candidate
from howcome.domain.memories import normalized
from howcome.domain.reconciliation import Changes, DueSession, NewCandidate, Taught
from howcome.domain.stored import Scope, StoredEvent
from howcome.learn.base import LOOKAHEAD, LOOKBACK, Distiller, Exchange, Pace, stream_of
from howcome.learn.meaning import VECTORS_PAUSE, Meaning
from howcome.learn.reconcile import reconcile
from howcome.redact.redactor import Redactor
from howcome.store.base import Store

Rest = Callable[[], bool]

MAX_READ_EVENTS = 3000
"""A session that is all new is read at once when it is no longer; of others the texts are read as they are needed."""

RECONCILE_TRIES = 3
"""How often a project is reconciled anew because somebody changed it meanwhile; then the next run does it."""


@dataclass(slots=True, eq=False)
class DistilReport(Changes):
    """What a run did.

    Attributes:
        sessions: How many were looked through. `candidates`: how many things they taught that were not known before.
        duplicates: How many of those became a part of another memory.
        removed: How many memories were taken away; `folded` of them say the same as another one.
        rejected: How many became no candidate, by reason (`candidates.REASONS`).
        is_whole: Whether nothing is left to do.
    """

    sessions: int = 0
    candidates: int = 0
    duplicates: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    is_whole: bool = True


class Distillation:
    """Distils what is stored.

    `meaning` gives what tells what is near by meaning, when that is needed (None from it: by words only); `model` names
    its vectors, where that is known without loading it: projects without them are due.
    """

    def __init__(
        self,
        store: Store,
        distiller: Distiller,
        now_ms: Callable[[], int],
        meaning: Callable[[], Meaning | None] = lambda: None,
        model: str = "",
    ) -> None:
        self._store, self._distiller, self._now_ms = store, distiller, now_ms
        self._meaning, self._model = meaning, model
        self._label = f"{distiller.name} {distiller.version}"
        self._key = bytes(store.meta("key"))  # type: ignore[call-overload]
        self._redactor = Redactor(self._key)

    def due(self, scope: Scope | None = None, since_ms: int | None = None) -> list[DueSession]:
        """Sessions with something to distil."""
        return self._store.candidates.due(self._label, scope or Scope.everything(), since_ms)

    def run(
        self,
        scope: Scope | None = None,
        since_ms: int | None = None,
        *,
        rest: Rest = lambda: True,
        on_session: Callable[[int], None] = lambda _number: None,
    ) -> DistilReport:
        """Distils what is due in a scope, then reconciles the projects in which something has changed.

        Args:
            scope: Only this project's sessions; None: all.
            since_ms: Only sessions in which something was said since.
            rest: Called between pieces of work; False: end now. What was done is kept, what was begun is left.
            on_session: Told after each session how many are done.
        """
        report, pace = DistilReport(), Pace(rest)
        last_row = self._store.log.last_position()
        for number, due in enumerate(self.due(scope, since_ms), 1):
            if not self._session(due, report, pace):
                report.is_whole = False
                break
            on_session(number)
        else:
            if since_ms is None and (scope is None or scope.is_everything):
                self._store.candidates.mark(self._label, last_row)
            report.is_whole = self._reconcile_all(report, pace)
        report.duplicates = max(0, report.candidates - report.added)
        report.seconds = pace.seconds
        return report

    def reconcile(self) -> None:
        """Memories from what is known, where something changed; nothing is distilled."""
        self._reconcile_all(DistilReport(), Pace(lambda: True))

    # -- sessions --------------------------------------------------------------------------------------------------
    def _session(self, due: DueSession, report: DistilReport, pace: Pace) -> bool:
        """One session's new exchanges; False when it had to end before that."""
        taught: list[Taught] = []
        streams: dict[str | None, list[Exchange]] = {}
        is_read = due.after_row == 0 and due.events + due.members <= MAX_READ_EVENTS
        told = self._store.log.session(due.row, with_text=is_read)
        is_one = len({event.project for event in told}) == 1  # as good as always: then nobody asks whose an event is
        roots = {} if is_one else {event.id: event.project for event in told}
        for exchange in stream_of(told):
            streams.setdefault(exchange.first.agent_id, []).append(exchange)
        for stream in streams.values():
            new = [not due.after_row or any(row > due.after_row for row in exchange.rows) for exchange in stream]
            whole = stream if is_read else _WholeTexts(self._store, stream)
            for place in range(len(stream)):
                if not any(new[max(0, place - LOOKBACK) : place + LOOKAHEAD + 1]):
                    continue
                counts = report if new[place] else DistilReport()
                taught.append(self._exchange(whole, place, counts, roots))
                if not pace.goes_on():
                    return False
        exchanges = [exchange.first.row for stream in streams.values() for exchange in stream]
        report.candidates += self._store.candidates.record(due, self._label, taught, exchanges)
        report.sessions += 1
        return True

    def _exchange(self, whole: Sequence[Exchange], place: int, report: DistilReport, roots: dict[str, str]) -> Taught:
        """What an exchange taught. `roots`: whose events are whose, {} where a session is of one project."""
        exchange = whole[place]
        distilled = self._distiller.distil(whole, place)
        if place:
            whole[place - 1].view = None  # nobody looks back further: what it holds goes at once
        report.rejected.update(distilled.rejected)
        home = exchange.first.project
        found: list[NewCandidate] = []
        for candidate in distilled.candidates:
            said_in = {roots[event] for event in candidate.evidence if event in roots} if roots else {home}
            root = said_in.pop() if len(said_in) == 1 else ""  # what is said in one project stays there
            if reason := admit(candidate, self._redactor) if root else OTHER_PROJECT:
                report.rejected[reason] += 1
                continue
            found.append(NewCandidate(memory_key(self._key, root, candidate.type, candidate.text), root, candidate))
        return Taught(exchange.first.row, found)

    # -- projects --------------------------------------------------------------------------------------------------
    def _reconcile_all(self, report: DistilReport, pace: Pace) -> bool:
        """Projects with new candidates, and those whose candidates have no vectors although there is a model by now."""
        due = self._store.candidates.unreconciled()
        if self._model and self._store.model_answers.pause_of(VECTORS_PAUSE, self._now_ms()) is None:
            behind = self._store.memory_vectors.projects_without(self._model)
            if behind and self._meaning() is not None:
                due = sorted({*due, *behind})
        roots = dict(self._store.projects.roots()) if due else {}
        return all(self._reconcile(project_id, roots[project_id], report, pace) for project_id in due)

    def _reconcile(self, project_id: int, root: str, report: DistilReport, pace: Pace) -> bool:
        for _ in range(RECONCILE_TRIES):
            known = self._store.candidates.known_of(project_id)
            ours = (memory for memory in known.kept if memory.source == memories.RULES)  # another store has other keys
            known.derived = {one.key for one in ours if one.key == memory_key(self._key, root, one.type, one.text)}
            meaning = self._meaning()
            near = meaning.near(known, pace.goes_on) if meaning is not None else None
            if not pace.goes_on():
                return False
            plan = reconcile(known, near)
            for wanted in plan.wanted:
                wanted.digest = memory_digest(self._key, wanted.type, wanted.text)
            changes = self._store.candidates.apply(known, plan, memories.RULES, self._now_ms())
            if changes is not None:
                report.add(changes)
                return pace.goes_on()
        return True


class _WholeTexts(Sequence[Exchange]):
    """The exchanges of a stream with their whole texts, read when they are asked for and forgotten when passed."""

    def __init__(self, store: Store, stream: Sequence[Exchange]) -> None:
        self._store, self._stream = store, stream
        self._read: dict[int, Exchange] = {}

    def __len__(self) -> int:
        return len(self._stream)

    def __getitem__(self, place: int) -> Exchange:  # type: ignore[override]
        if place not in self._read:
            for passed in [other for other in self._read if other < place - LOOKBACK - LOOKAHEAD]:
                del self._read[passed]
            exchange = self._stream[place]
            found = self._store.log.events(exchange.rows, with_text=True)
            events: list[StoredEvent] = [found[row] for row in exchange.rows if row in found]
            prompt = events.pop(0) if exchange.prompt is not None else None
            self._read[place] = Exchange(prompt, events)
        return self._read[place]


REDACTED, PRIVATE = "[redacted", "[private]"


def admit(candidate: Candidate, redactor: Redactor) -> str:
    """Why a candidate, whoever distilled it, is not kept: one of `candidates.REASONS`; "" when it may be.

    What it was made from is redacted already. It is looked through again, because a rewording can put together what no
    rule saw apart, and a model can say what it should not know; and what had a secret in it says nothing without it.
    """
    whole = f"{candidate.text}\n{candidate.subject}"  # looked through at once
    if REDACTED in whole.casefold() or PRIVATE in whole.casefold() or redactor.redact(whole) != whole:
        return candidates.SECRET
    length = len(candidate.text.strip())
    if length < candidates.MIN_TEXT_CHARS:
        return candidates.TOO_SHORT
    return candidates.TOO_LONG if length > candidates.MAX_TEXT_CHARS else ""


def memory_key(key: bytes, root: str, type_: str, text: str) -> bytes:
    """What a distilled memory is known by: where it holds, its type, and its words whatever their case and spacing."""
    what = "\0".join((root, type_, normalized(text))).encode("utf-8", "surrogateescape")
    return blake2b(what, digest_size=memories.KEY_BYTES, key=key, person=b"memory").digest()


def memory_digest(key: bytes, type_: str, text: str) -> bytes:
    """What tells equal texts of a type."""
    return blake2b(normalized(text).encode() + b"\0" + type_.encode(), digest_size=16, key=key).digest()
