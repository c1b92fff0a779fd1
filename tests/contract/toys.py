"""A store in memory, as small as its port allows: a list of events that commits in whatever order, and a brute search.

It says what an adapter has to do, and shows that nobody above the port knows the database. What is not of the log
(memories, spending, …) is SQLite's, in the same folder.
"""

from __future__ import annotations

import copy
import re
import threading
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from howcome.domain import bm25, events
from howcome.domain.sources import COUNTERS, Batch, NewEvent, SourceState
from howcome.domain.stored import (
    EXCHANGES,
    FUZZY,
    HOLDING,
    NAMES,
    Hit,
    IndexRow,
    SessionSummary,
    StoredEvent,
    Turn,
    Weights,
)
from howcome.domain.text import STOP_WORDS, entities, with_extra_terms
from howcome.errors import CursorMovedError
from howcome.log.event_rows import unpack
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from howcome.domain.stored import Filter, Scope
    from howcome.domain.verdicts import KeptVerdict, PastVerdict
    from howcome.index.search_index import SearchIndex
    from howcome.log.event_log import Appended
    from howcome.store.base import Store

TURNS = tuple(events.KINDS.index(kind) for kind in events.TURN_KINDS)
SAID = events.ASSISTANT_TEXT
PROMPT, ANSWER = events.KINDS.index(events.USER_PROMPT), events.KINDS.index(SAID)


class Row:
    """An event where it lies: its number is given when it is committed, and not before."""

    def __init__(self, event: NewEvent, session: int, project: int, source: int) -> None:
        self.event, self.session, self.project, self.source, self.position = event, session, project, source, 0

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place in its session."""
        return self.event.order_ms, self.source, self.position

    @property
    def text(self) -> str:
        """All that was said."""
        return unpack(self.event.payload, self.event.excerpt)


class Disk:
    """What several toy stores have in common: what is committed, and one lock for committing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.rows: list[Row] = []
        self.keys: dict[bytes, Row] = {}
        self.members: dict[int, dict[int, int]] = {}
        self.sources: list[tuple[SourceState, dict[str, int]]] = []
        self.quarantine: list[dict[str, object]] = []
        self.roots: list[str] = []
        self.paths: dict[str, int] = {}
        self.sessions: list[tuple[str, str, int]] = []
        self.marks = 0
        self.injected: list[tuple[str, int]] = []
        self.indexed = 0

    def project(self, root: str, cwd: str) -> int:
        """The number of a project, which is made when it is new."""
        if cwd not in self.paths:
            if root not in self.roots:
                self.roots.append(root)
            self.paths[cwd] = self.roots.index(root) + 1
        return self.paths[cwd]

    def root(self, project: int) -> str:
        """The root of a project."""
        return self.roots[project - 1]


class ToyLog:
    """A list. `before_commit` runs between reading and committing: whoever waits there is overtaken."""

    def __init__(self, disk: Disk, before_commit: Callable[[], object] = lambda: None) -> None:
        self._disk, self._before_commit = disk, before_commit

    # -- cursors ---------------------------------------------------------------------------------------------------
    def source(self, path: str) -> SourceState | None:
        return next((state for state in self.sources() if state.path == path), None)

    def sources(self) -> Iterator[SourceState]:
        newest: dict[str, SourceState] = {}
        for state, _ in self._disk.sources:
            if state.path not in newest or newest[state.path].generation < state.generation:
                newest[state.path] = state
        return iter([state.copy() for state in newest.values()])

    def sources_like(self, head_digest: str) -> list[SourceState]:
        return [state for state in self.sources() if state.head_digest == head_digest]

    def move_source(self, source_id: int, path: str) -> None:
        self._disk.sources[source_id - 1][0].path = path

    # -- writing ---------------------------------------------------------------------------------------------------
    def append(self, batch: Batch) -> Appended:
        self._before_commit()
        with self._disk.lock:
            source = self._claim(batch)
            counts, new = dict.fromkeys(COUNTERS, 0), {}
            for record in batch.records:
                counts["records"] += 1
                fate = "ignored"
                if record.quarantined is not None:
                    fate = "quarantined"
                    counts[fate] += 1
                    self._disk.quarantine.append({
                        "path": batch.after.path, "generation": batch.after.generation, "offset": record.offset,
                        "size_bytes": record.size_bytes, "reason": record.quarantined, "digest": record.digest,
                    })  # fmt: skip
                elif record.ignored:
                    counts["ignored"] += 1
                    counts["unknown"] += record.unknown
                else:
                    added = [self._add(event, batch, source) for event in record.events]
                    new |= {row.position: row.event.search_text for row in added if row is not None}
                    accepted = sum(row is not None for row in added)
                    counts["accepted"] += accepted
                    counts["duplicate"] += len(added) - accepted
                    fate = "accepted" if accepted else "duplicate"
                counts[fate + "_bytes"] += record.size_bytes
            batch.after.id = source
            before = self._disk.sources[source - 1][1]
            self._disk.sources[source - 1] = (
                batch.after.copy(),
                {name: before[name] + count for name, count in counts.items()},
            )
            return counts, new

    def append_all(self, batches: Sequence[Batch]) -> list[Appended | None]:
        found: list[Appended | None] = []
        for batch in batches:
            try:
                found.append(self.append(batch))
            except CursorMovedError:
                found.append(None)
        return found

    def renew_marks(self) -> None:
        self._disk.marks += 1

    def _claim(self, batch: Batch) -> int:
        after = batch.after
        expected = after.offset - sum(record.size_bytes for record in batch.records)
        known = self.source(after.path)
        if after.id is None:
            if expected or (known is not None and known.generation >= after.generation):
                raise CursorMovedError(after.path)
            self._disk.sources.append((after.copy(), dict.fromkeys(COUNTERS, 0)))
            return len(self._disk.sources)
        if known is None or (known.id, known.offset) != (after.id, expected):
            raise CursorMovedError(after.path)
        return after.id

    def _add(self, event: NewEvent, batch: Batch, source: int) -> Row | None:
        client, session = batch.after.client, event.session
        cwd = event.cwd or ""
        known = [(name, of) for name, of, _ in self._disk.sessions]
        if (session, client) not in known:
            project = self._disk.project(batch.roots.get(cwd, (cwd, False))[0], cwd)
            self._disk.sessions.append((session, client, project))
            known.append((session, client))
        number = known.index((session, client)) + 1
        row = Row(event, number, self._project(batch, number, event.cwd), source)
        if (found := self._disk.keys.get(event.key)) is not None:
            if found.session != number:
                self._disk.members.setdefault(number, {}).setdefault(found.position, event.order_ms)
            return None
        row.position = len(self._disk.rows) + 1
        self._disk.rows.append(row)
        self._disk.keys[event.key] = row
        return row

    def _project(self, batch: Batch, session: int, cwd: str | None) -> int:
        project = self._disk.sessions[session - 1][2]
        root = self._disk.root(project)
        if cwd is None or cwd == root:
            return project
        resolved, is_certain = batch.roots.get(cwd, (cwd, False))
        if resolved == root:
            return project
        is_below = root != "/" and resolved.startswith(root + "/")
        return self._disk.project(root if is_below and not is_certain else resolved, cwd)

    # -- by position -----------------------------------------------------------------------------------------------
    def last_position(self) -> int:
        return len(self._disk.rows)

    def mark_at(self, row: int) -> str:
        return f"{id(self._disk)}-{self._disk.marks}" if 0 < row <= self.last_position() else ""

    def after(self, row: int, limit: int) -> list[IndexRow]:
        return [_index_row(one) for one in self._disk.rows[row : row + limit]]

    def turns_after(self, row: int, limit: int) -> list[Turn]:
        return [self._turn(one) for one in self._disk.rows[row:] if one.event.kind in TURNS][:limit]

    def count_turns_after(self, row: int) -> int:
        return sum(one.event.kind in TURNS for one in self._disk.rows[row:])

    def sessions_before(self, row: int, asked: Iterable[int]) -> set[int]:
        return {one.session for one in self._disk.rows[: row - 1]} & set(asked)

    def search_texts(self, rows: Iterable[int]) -> dict[int, str]:
        return {row: self._disk.rows[row - 1].event.search_text for row in rows}

    def _turn(self, row: Row) -> Turn:
        own = self._own(row.session)
        before = [one for one in own if one.place < row.place and one.event.kind in TURNS]
        opening = self.opening(row.position) or own[0].position
        place = sum(one.event.kind in TURNS for one in own if self._row(opening).place <= one.place <= row.place)
        return Turn(
            row.position, row.session, opening, row.project, max(row.event.ts_ms or 0, 0), row.event.kind,
            row.event.origin, text=row.text[:2000], before=before[-1].text[:2000] if before else None,
            place=min(place, 64),
        )  # fmt: skip

    # -- reading ---------------------------------------------------------------------------------------------------
    def _row(self, position: int) -> Row:
        return self._disk.rows[position - 1]

    def _own(self, session: int) -> list[Row]:
        return sorted((row for row in self._disk.rows if row.session == session), key=lambda row: row.place)

    def _event(self, row: Row, *, with_text: bool, order_ms: int | None = None) -> StoredEvent:
        name, client, _ = self._disk.sessions[row.session - 1]
        values: dict[str, Any] = {field: getattr(row.event, field) for field in NewEvent.__slots__}
        values |= {"row": row.position, "session": name, "client": client, "project": self._disk.root(row.project)}
        values["order_ms"] = row.event.order_ms if order_ms is None else order_ms
        return StoredEvent(values, row.text if with_text else None)

    def events(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        there = [row for row in rows if 0 < row <= self.last_position()]
        return {row: self._event(self._row(row), with_text=with_text) for row in there}

    def turns(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        found = self.events(rows, with_text=True)
        for event in found.values():
            event.text = event.text if event.kind in events.TURN_KINDS else None
        return found

    def within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        return {row for row in rows if 0 < row <= self.last_position() and _is_where(self._row(row), wanted)}

    def calls_on(self, project_id: int, file: str) -> list[StoredEvent]:
        def is_on(event: StoredEvent) -> bool:
            if event.file is None:
                return event.kind == events.TOOL_CALL and file.rpartition("/")[2] in event.excerpt
            return f"/{event.file}".replace("\\", "/").endswith(f"/{file}")

        return [event for event in self._calls(project_id) if is_on(event)]

    def calls_of(self, project_id: int, tools: Iterable[str], from_ms: int, until_ms: int) -> list[StoredEvent]:
        found = [event for event in self._calls(project_id) if from_ms <= event.order_ms <= until_ms]
        return [event for event in found if (event.tool or "").lower() in tools]

    def _calls(self, project_id: int) -> list[StoredEvent]:
        own = (self._event(row, with_text=True) for row in self._disk.rows if row.project == project_id)
        calls = [event for event in own if event.kind in (events.TOOL_CALL, events.TOOL_RESULT)]
        return sorted(calls, key=lambda event: (event.order_ms, event.row))

    def find(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        digits = prefix.removeprefix("ev-").lower()
        found = [row for key, row in self._disk.keys.items() if digits and key.hex()[:12].startswith(digits)]
        return [self._event(row, with_text=True) for row in found[:limit]]

    def session(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        shared = self._disk.members.get(session_id, {})
        placed = [(row.place, row) for row in self._own(session_id)]
        placed += [((order_ms, 0, row), self._row(row)) for row, order_ms in shared.items()]
        return [self._event(row, with_text=with_text) for _, row in sorted(placed, key=lambda pair: pair[0])]

    def session_rows(self, session_id: int, from_ms: int) -> list[IndexRow]:
        own = self._own(session_id)
        prompts = [row.event.order_ms for row in own if row.event.kind == PROMPT and row.event.order_ms <= from_ms]
        start = prompts[-2] if len(prompts) > 1 else 0
        return [_index_row(row) for row in own if row.event.order_ms >= start]

    def opening(self, row: int) -> int | None:
        of = self._row(row)
        prompts = [one for one in self._own(of.session) if one.event.kind == PROMPT and one.place <= of.place]
        return prompts[-1].position if prompts else None

    def prompts(self, row: int) -> list[int]:
        """The prompts of an event's session."""
        return [one.position for one in self._own(self._row(row).session) if one.event.kind == PROMPT]

    def answers(self, exchange: int, limit: int, kind: str = SAID) -> list[StoredEvent]:
        if exchange > self.last_position():
            return []
        of = self._row(exchange)
        following = [row for row in self._own(of.session) if row.place > of.place]
        end = next((place for place, row in enumerate(following) if row.event.kind == PROMPT), len(following))
        said = [
            row for row in following[:end] if row.event.kind == events.KINDS.index(kind) and row.event.agent_id is None
        ]
        return [self._event(row, with_text=kind == SAID) for row in said[-limit:]]


class ToyIndex:
    """Looks at every event that it has been brought up to, each time."""

    def __init__(self, disk: Disk, log: ToyLog) -> None:
        self._disk, self._log = disk, log

    def analyze(self, text: str) -> list[str]:
        words = re.findall(r"\w+", with_extra_terms(text).lower())
        return list(dict.fromkeys(word.removesuffix("s") for word in words if word not in STOP_WORDS))

    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        found, rows = Weights(), self._rows(None if scope is None or scope.is_everything else scope.project_id)
        held = Counter(term for row in rows for term in set(self.analyze(row.event.search_text)))
        for term in terms:
            found.windows[term] = found.exchanges[term] = bm25.weight(held[term], len(rows), is_generic=False)
            found.known |= {term} if held[term] else set()
        found.totals = {"events": len(rows), "exchanges": len(rows)}
        return found

    def search(
        self, what: str, weights: Mapping[str, float], wanted: Filter, limit: int,
        required: Sequence[Sequence[str]] = (),
    ) -> list[Hit]:  # fmt: skip
        hits: dict[int, Hit] = {}
        for row in self._rows(None):
            event, opening = row.event, self._log.opening(row.position) or row.position
            if not _is_wanted(row, wanted):
                continue
            said = event.search_text
            held = set(map(str.lower, entities(said)) if what == NAMES else self.analyze(said))
            held_worth = (worth for term, worth in weights.items() if _holds(held, term, is_fuzzy=what == FUZZY))
            score = (1.0 if what == HOLDING else bm25.SATURATION) * sum(held_worth)
            if not score or not all(held & set(group) for group in required):
                continue
            number = opening if what in (EXCHANGES, HOLDING) else row.position
            if number not in hits or hits[number].score < score:
                hits[number] = Hit(number, row.session, opening, max(event.ts_ms or 0, 0), score)
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.row))[:limit]

    def name_frequencies(self, names: Sequence[str], scope: Scope) -> tuple[int, dict[str, int]]:
        rows = self._rows(None if scope.is_everything else scope.project_id)
        said = [set(map(str.lower, entities(row.event.search_text))) for row in rows]
        return len(rows), {name: sum(name in names_of for names_of in said) for name in names}

    def similar_terms(self, term: str, scope: Scope, limit: int = 8) -> list[tuple[str, int]]:
        rows = self._rows(None if scope.is_everything else scope.project_id)
        held = Counter(word for row in rows for word in set(self.analyze(row.event.search_text)))
        return [(word, count) for word, count in held.most_common() if word.startswith(term)][:limit]

    def catch_up(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """By position, as any index: an event that came below it afterwards would be missed for ever."""
        del texts, deadline
        new = self._log.after(self._disk.indexed, 1_000_000)
        self._disk.indexed = new[-1].row if new else self._disk.indexed
        return len(new)

    def rebuild(self) -> int:
        self._disk.indexed = 0
        return self.catch_up() or 0

    def lag(self) -> int:
        return self._log.last_position() - self._disk.indexed

    def refresh(self) -> None:
        pass

    def release(self) -> None:
        pass

    def _rows(self, project: int | None) -> list[Row]:
        rows = self._disk.rows[: self._disk.indexed]
        return [row for row in rows if project is None or row.project == project]


class ToyProjects:
    """Folders and their projects, as the log knows them."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def of_path(self, path: str) -> int | None:
        return self._disk.paths.get(path) or self.of_root(path)

    def of_root(self, root: str) -> int | None:
        return self._disk.roots.index(root) + 1 if root in self._disk.roots else None

    def roots(self) -> list[tuple[int, str]]:
        return sorted(((number + 1, root) for number, root in enumerate(self._disk.roots)), key=lambda pair: pair[1])

    def repositories(self) -> list[Any]:
        return []

    def aliases(self) -> list[tuple[str, str]]:
        return []

    def roots_apart(self) -> set[tuple[str, str]]:
        return set()

    def keep_repository(self, found: object, now_ms: int) -> None:
        pass


class ToySessions:
    """Sessions, as the log knows them."""

    def __init__(self, disk: Disk, log: ToyLog) -> None:
        self._disk, self._log = disk, log

    def find(self, prefix: str, limit: int = 5) -> list[tuple[int, str, str]]:
        known = [(row, name, self._disk.root(of)) for row, (name, _, of) in enumerate(self._disk.sessions, 1)]
        exact = [one for one in known if one[1] == prefix]
        return (
            exact
            or [one for one in sorted(known, key=lambda one: one[1]) if prefix and one[1].startswith(prefix)][:limit]
        )

    def named(self, name: str) -> list[int]:
        return [row for row, one in enumerate(self._disk.sessions, 1) if one[0] == name]

    def clients(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for row, one in enumerate(self._disk.sessions, 1):
            found.setdefault(one[1], set()).add(row)
        return found

    def prompts_around(self, exchange: int, count: int) -> list[int]:
        prompts = self._log.prompts(exchange)
        at = prompts.index(exchange)
        return [*reversed(prompts[max(0, at - count) : at]), *prompts[at + 1 : at + 1 + count]]

    def of_project(self, project_id: int, asked: Iterable[int]) -> set[int]:
        return {row for row in asked if self._disk.sessions[row - 1][2] == project_id}

    def of_event(self, row: int) -> int | None:
        return self._disk.rows[row - 1].session if 0 < row <= len(self._disk.rows) else None

    def ends(
        self, session_id: int, project_id: int | None, before_ms: int | None = None
    ) -> tuple[int | None, int | None]:
        del project_id
        held = [one for one in self._log.session(session_id) if before_ms is None or one.order_ms < before_ms]
        asked = (one.row for one in held if one.kind == events.USER_PROMPT)
        ended = (one.row for one in reversed(held) if one.kind == events.ASSISTANT_TEXT)
        return next(asked, None), next(ended, None)

    def of_memory(self, row: int) -> dict[str, str]:
        del row
        return {}

    def recent(
        self,
        scope: Scope,
        limit: int,
        among: Collection[int] | None = None,
        since_ms: int = 0,
        before_ms: int | None = None,
    ) -> list[SessionSummary]:
        assert among is None
        found = []
        for row, (name, client, project) in enumerate(self._disk.sessions, 1):
            if scope.is_everything or project == scope.project_id:
                held = [one for one in self._log.session(row) if before_ms is None or one.order_ms < before_ms]
                if not held or max(one.order_ms for one in held) < since_ms:
                    continue
                prompt = next((event for event in held if event.kind == events.USER_PROMPT), held[0])
                times = [event.order_ms for event in held]
                columns = (row, name, client, self._disk.root(project), min(times), max(times), len(held))
                found.append(SessionSummary((*columns, prompt.excerpt)))
        return sorted(found, key=lambda one: (-one.last_ms, -one.row))[:limit]

    def steps(self, name: str, before_ms: int | None = None) -> int:
        del name, before_ms
        return 0


class ToyAccounts:
    """How much there is."""

    def __init__(self, disk: Disk, log: ToyLog) -> None:
        self._disk, self._log = disk, log

    def counts(self) -> dict[str, int]:
        disk = self._disk
        return {
            "projects": len(disk.roots), "sessions": len(disk.sessions), "events": len(disk.rows),
            "memberships": sum(map(len, disk.members.values())), "quarantine": len(disk.quarantine),
            "injections": len(disk.injected), "sources": len(list(self._log.sources())),
        }  # fmt: skip

    def kinds(self) -> dict[int, int]:
        return dict(Counter(row.event.kind for row in self._disk.rows))

    def sources(self) -> list[dict[str, object]]:
        current = {state.path: state.generation for state in self._log.sources()}
        fields = ("path", "client", "generation", "offset", "tail_bytes")
        rows = [
            {
                **{name: getattr(state, name) for name in fields},
                "is_current": int(current[state.path] == state.generation), "read_ms": 0, **counts,
            }
            for state, counts in self._disk.sources
        ]  # fmt: skip
        return sorted(rows, key=lambda row: (row["path"], row["generation"]))

    def last_ms(self) -> int:
        return max((row.event.ts_ms or 0 for row in self._disk.rows), default=0)


class ToyQuarantine:
    """What could not be read; nothing is ever tried twice here."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def trial(self, path: str, generation: int, offset: int) -> tuple[int, int] | None:
        del path, generation, offset
        return None

    def begin_trial(self, path: str, generation: int, offset: int, pid: int, now_ms: int) -> None:
        pass

    def end_trial(self, path: str, generation: int, offset: int) -> None:
        pass

    def reasons(self) -> dict[str, int]:
        return dict(Counter(str(one["reason"]) for one in self._disk.quarantine).most_common())

    def newest(self, limit: int = 20) -> list[dict[str, object]]:
        return self._disk.quarantine[::-1][:limit]


class ToyInjections:
    """What was said to whom."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def record(
        self,
        session: str,
        hook: str,
        now_ms: int,
        events: Sequence[tuple[int, float]] = (),
        memories: Sequence[tuple[int, float]] = (),
        verdict: KeptVerdict | None = None,
    ) -> None:
        del hook, now_ms, memories, verdict
        self._disk.injected += [(session, row) for row, _ in events]

    def verdicts(
        self, *, session: str | None = None, project_id: int | None = None, since_ms: int = 0, limit: int = -1
    ) -> list[PastVerdict]:
        del session, project_id, since_ms, limit
        return []

    def bites(self, session: str) -> tuple[int, dict[int, int]]:
        del session
        return 0, {}

    def told_elsewhere(self, asked: bytes | None, session: str, since_ms: int) -> dict[int, int]:
        del asked, session, since_ms
        return {}

    def events_known(self, session: str) -> set[int]:
        copied = [self._disk.members.get(row, {}) for row in ToySessions(self._disk, ToyLog(self._disk)).named(session)]
        return {row for name, row in self._disk.injected if name == session}.union(*copied)

    def forget(self, session: str) -> None:
        self._disk.injected = [pair for pair in self._disk.injected if pair[0] != session]

    def memories_known(self, session: str) -> set[int]:
        del session
        return set()

    def rehearse(self) -> None:
        self._disk = copy.copy(self._disk)
        self._disk.injected = []


_DISKS: dict[str, Disk] = {}


def open_toys(folder: Path, before_commit: Callable[[], object] = lambda: None) -> Store:
    """The toys over one folder's disk, in the place of SQLite's log and index and of what hangs on them."""
    store = SqliteStore(str(folder))
    disk = _DISKS.setdefault(str(folder), Disk())
    log = ToyLog(disk, before_commit)
    store.log, store.index = log, ToyIndex(disk, log)
    store.projects = ToyProjects(disk)  # type: ignore[assignment]  # nothing is joined here
    store.sessions, store.accounts = ToySessions(disk, log), ToyAccounts(disk, log)
    store.quarantine = ToyQuarantine(disk)  # type: ignore[assignment]  # nothing is set aside here
    store.injections = ToyInjections(disk)
    return store


def _index_row(row: Row) -> IndexRow:
    event = row.event
    return IndexRow(
        row.position, row.session, row.project, event.kind, event.origin, event.ts_ms, event.order_ms
    )  # fmt: skip


def _is_where(row: Row, wanted: Filter) -> bool:
    is_here = wanted.scope.is_everything or row.project == wanted.scope.project_id
    return is_here and row.session not in wanted.without and (wanted.sessions is None or row.session in wanted.sessions)


def _is_wanted(row: Row, wanted: Filter) -> bool:
    event, ts_ms = row.event, max(row.event.ts_ms or 0, 0)
    is_then = (wanted.before_ms is None or ts_ms < wanted.before_ms) and ts_ms >= (wanted.since_ms or 0)
    is_kind = wanted.kinds is None or events.KINDS[event.kind] in wanted.kinds
    is_origin = wanted.origins is None or events.ORIGINS[event.origin] in wanted.origins
    return is_then and is_kind and is_origin and _is_where(row, wanted)


def _holds(held: set[str], term: str, *, is_fuzzy: bool) -> bool:
    return term in held or (is_fuzzy and any(_is_near(word, term) for word in held))


def _is_near(one: str, other: str) -> bool:
    """Whether one edit, or one swap, makes one word of the other."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    same = next((place for place, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    rest, other_rest = short[same:], long[same:]
    swaps = any(a + b == other_rest[1::-1] and rest[2:] == other_rest[2:] for a, b in pairwise(rest[:2]))
    return rest == other_rest[1:] or rest[1:] == other_rest[1:] or swaps


if TYPE_CHECKING:
    _: type[SearchIndex] = ToyIndex
