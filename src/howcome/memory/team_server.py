"""A team's server, as a member's machine uses it: what is shared goes there, what others shared comes for review.

Only a command and the worker talk to it; hooks never do. What is to be pushed is found anew each time, by what the
server has confirmed. So a run that was killed, or days without a network, lose nothing and send nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode, urlsplit

from howcome.clients.spool import locked
from howcome.domain.memories import IMPORTED, Memory, Review
from howcome.domain.stored import Scope
from howcome.domain.team_records import MAX_RECORDS, TOKEN_PREFIX, Record, record_of, repository_of
from howcome.errors import HowcomeError, ProviderError, StoreLockedError, SyncError, UsageError
from howcome.ingest.identity import remote_of
from howcome.memory.chains import latest, walked
from howcome.memory.export import HEAD, store_id
from howcome.memory.team import MAX_SHARED, MEMBERSHIP, Exchange, held_back, kept_by_people, line_of
from howcome.memory.text import owner
from howcome.providers.http_post import LOOPBACK, Endpoint, RefusedError, in_one_line

LOCK, LOCK_WAIT_S = "team.lock", 30.0
"""One process at a time: who leaves waits for the worker, which would write the token again."""

MAX_PAGES = 10
"""The worker reads as many answers of a repository in a run, then goes on with other work."""

CADENCE_S, MAX_WAIT_S = 60.0, 3600.0
"""How often the worker asks the server; after failures half as often each time, and once an hour at least."""

ASK_S, MAX_BATCH_CHARS = 10.0, 500_000
ENDED = 401

UNKNOWN = "does not know this token, or it has ended: `howcome team join` again, perhaps with another"
NOT_JOINED = "this machine is in no team: howcome team join URL"


@dataclass(slots=True)
class TeamReport:
    """What went and came: counts, by id why a memory was `left_out`, and what was wrong.

    `left` are memories that were accepted here before their author took them back, by id, with the author.
    """

    pushed: int = 0
    withdrawn: int = 0
    to_review: int = 0
    taken_back: int = 0
    left: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class TeamServer(Exchange):
    """This machine's membership of a team, and UsageError where there is none; of folders of `exclude` nothing leaves.

    What asks the server raises SyncError where that does not answer: the worker goes on later.
    """

    @cached_property
    def _state(self) -> dict[str, Any]:
        state = self._kept(MEMBERSHIP)
        if state.get("store") not in (None, store_id(self._store)):  # another store has taken this one's place
            state |= {"store": store_id(self._store), **_nothing_done()}
        return {**_nothing_done(), **state} if state else {}

    @contextmanager
    def _alone(self, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
        """One at a time, with what the last one left; the kernel lets go of the lock when a process is killed."""
        with locked(os.path.join(self._home, LOCK), wait_s):
            self.__dict__.pop("_state", None)
            yield

    # -- membership ------------------------------------------------------------------------------------------------
    def join(self, url: str, token: str) -> dict[str, object]:
        """Makes this machine a member; what the server says of the token."""
        host = urlsplit(url).hostname or ""
        if not url.startswith("https://") and not (url.startswith("http://") and host in LOOPBACK):
            raise UsageError(f"{url}: an address that begins with https:// (http:// on this machine only)")
        if not token.startswith(TOKEN_PREFIX):
            raise UsageError(f"a token begins with {TOKEN_PREFIX}: paste what `howcome team invite` printed")
        url = url.rstrip("/")
        with self._alone():
            kept = self._state if self._state.get("url") == url else {}
            found = TeamWire(url, token).ask("/v1/me")
            self._state = {**_nothing_done(), **kept, "store": store_id(self._store), "url": url, "token": token}
            self._state |= {name: found.get(name) for name in ("team", "person", "scope", "expires")}
            self._state |= {"problem": None, "failures": 0}
            self._keep(MEMBERSHIP, self._state)
        return self.status()

    def leave(self) -> None:
        """Ends it here. What was pushed stays on the server, what came stays here."""
        with self._alone():
            self._require()
            os.remove(os.path.join(self._home, MEMBERSHIP))
            self._state = {}

    def status(self) -> dict[str, object]:
        """The membership without its token; {} where there is none."""
        names = ("url", "team", "person", "scope", "expires", "run_ms", "problem")
        if not self._state:
            return {}
        shared = sorted(name for name, one in self._state["repositories"].items() if one["is_pushed"])
        facts: dict[str, object] = {name: self._state.get(name) for name in names}
        done = sum(bool(digest) for digest, *_ in self._state["pushed"].values())
        left = [one for key in self._state.get("left", {}).values() for one in self._store.memories.find(key, limit=1)]
        facts |= {"left": {one.id: one.agent for one in left if one.is_live and not one.is_outside}}
        return {**facts, "pushes": shared, "pulls": sorted(self._state["repositories"]), "pushed": done}

    def waiting(self) -> list[Review]:
        """What came from the team's server, and nobody has accepted or refused yet, by its number."""
        came = set(self._state.get("keys", {}).values())
        every = self._store.reviews.waiting(Scope.everything(), MAX_SHARED)
        found = [pair for pair in every if pair.reason == IMPORTED and pair.newer.key.hex() in came]
        return sorted(found, key=lambda pair: pair.row)

    # -- both ways -------------------------------------------------------------------------------------------------
    def push(self, folder: str, prefixes: Sequence[str]) -> TeamReport:
        """Shares memories of a folder's project: those named, or all kept by hand or pinned, then and later."""
        report, chosen = TeamReport(), [self._memories.get(one) for one in prefixes]
        with self._alone():
            name, root = self._repository(folder)
            if self._state.get("scope") == "read":
                raise UsageError("your token only reads: ask for another that writes, then `howcome team join` again")
            entry = self._entry(name, root)
            entry["chosen"] = sorted({*entry["chosen"], *(one.key.hex() for one in chosen)})
            entry["is_pushed"] |= not prefixes
            self._state["refused"] = {}
            self._keep(MEMBERSHIP, self._state)
            with self._noted(report):
                self._push(name, entry, report, {one.key for one in chosen} if prefixes else None)
                if not (report.pushed or report.withdrawn):
                    self._wire.ask("/v1/me")  # a token that has ended is told, too, where nothing was to be sent
        return report

    def pull(self, folder: str) -> TeamReport:
        """Puts what teammates shared of a folder's project on the review list; the worker does so from now on."""
        report = TeamReport()
        with self._alone():
            name, root = self._repository(folder)
            with self._noted(report):
                self._pull(name, self._entry(name, root), report, MAX_SHARED // MAX_RECORDS)
        return report

    @contextmanager
    def _noted(self, report: TeamReport) -> Iterator[None]:
        """What is done by hand counts as a run: when it was, and what was wrong."""
        try:
            yield
        except HowcomeError as error:
            report.problems.append(str(error))
            raise
        finally:
            self._note(report)

    def run(self, wait_s: float = LOCK_WAIT_S) -> TeamReport:
        """Both ways for every repository that was pushed or pulled before; StoreLockedError if another is at it."""
        with self._alone(wait_s):
            self._require()
            return self._both_ways()

    def _both_ways(self) -> TeamReport:
        report = TeamReport()
        for name, entry in sorted(self._state["repositories"].items()):
            try:
                self._pull(name, entry, report, MAX_PAGES)  # first: what came from others is not pushed
                if self._state.get("scope") != "read":
                    self._push(name, entry, report, None)
            except HowcomeError as error:
                report.problems.append(str(error))
                break  # the server is away, or the token has ended: so it is for the others
        self._note(report)
        return report

    def _note(self, report: TeamReport) -> None:
        self._state["failures"] = self._state.get("failures", 0) + 1 if report.problems else 0
        self._state |= {"run_ms": self._now_ms(), "problem": report.problems[0] if report.problems else None}
        self._keep(MEMBERSHIP, self._state)

    def run_if_due(self) -> None:
        """Runs if the last time is long enough ago, and no other process is at it."""
        wait_s = min(CADENCE_S * 2.0 ** min(self._state.get("failures", 0), 10), MAX_WAIT_S)
        since_ms = self._now_ms() - (self._state.get("run_ms") or 0)
        if self._state.get("repositories") and not 0 <= since_ms < wait_s * 1000:
            with suppress(StoreLockedError):
                self.run(wait_s=0)

    # -- giving ----------------------------------------------------------------------------------------------------
    def _push(self, name: str, entry: dict[str, Any], report: TeamReport, only: set[bytes] | None) -> None:
        root = entry["root"]
        if self._places.is_excluded(root):
            report.left_out[name] = "its project is excluded"
            return
        kept = kept_by_people(self._store, self._memories, root) if entry["is_pushed"] else []
        wanted = {*self._today(entry["chosen"]), *(one.key.hex() for one in kept)}
        theirs, records = self._theirs(), []
        for key in sorted(wanted):
            memory = next(iter(self._store.memories.find(key, limit=1)), None)
            if memory is None or key in theirs:
                continue
            reason = held_back(memory, root, self._memories.gate.redactor, was_sent=key in self._state["pushed"])
            if reason is None:
                records.append(self._record(memory, name))
            elif memory.is_live and (only is None or memory.key in only):
                report.left_out[memory.id] = reason
        records += self._withdrawals(name, {one.key for one in records})
        sent, refused = self._state["pushed"], self._state.get("refused", {})
        told = {one.key: (*sent.get(one.key, ())[:1], refused.get(one.key)) for one in records}
        for batch in batches([one for one in records if digest_of(one) not in told[one.key]]):
            self._send(batch, report)

    def _today(self, keys: Sequence[str]) -> set[str]:
        """The keys of memories, or of what has taken their places."""
        found = [memory for key in keys for memory in self._store.memories.find(key, limit=1)]
        return {latest(self._store, one).key.hex() for one in found}

    def _record(self, memory: Memory, name: str) -> Record:
        chain = [one.key.hex() for one in self._memories.chain(memory.key.hex())]
        before = chain[: chain.index(memory.key.hex())]
        raws = {local: raw for raw, local in self._state["keys"].items()}
        old = raws.get(before[-1], before[-1]) if before else None
        return Record(
            memory.key.hex(), memory.type, memory.status, memory.created_ms, memory.origin, name, old, memory.text
        )

    def _withdrawals(self, name: str, live: set[str]) -> list[Record]:
        """What was pushed, and is now forgotten, purged, excluded by its words, or replaced by what is not shared."""
        found, shared = [], live | self._theirs()
        for key in [key for key, (_, where, *_) in self._state["pushed"].items() if where == name and key not in live]:
            memory = next(iter(self._store.memories.find(key, limit=1)), None)
            is_gone = memory is None or memory.deleted_ms is not None or memory.purged_ms is not None
            heirs = [] if memory is None or is_gone else walked(self._store, memory, "superseded_by")
            if shared & {one.key.hex() for one in heirs}:
                continue
            said = (memory.type, memory.status, memory.created_ms) if memory is not None else ("context", "open", 0)
            found.append(Record(key, *said, "user", name, None, "", is_withdrawn=True))
        return found

    def _send(self, batch: list[Record], report: TeamReport) -> None:
        for record in batch:  # before: what is sent and then forgotten has to be withdrawn, whatever happens between
            self._state["pushed"].setdefault(record.key, ["", record.repository])
        self._keep(MEMBERSHIP, self._state)
        answer = self._wire.ask("/v1/memories", {"memories": [one.value for one in batch]})
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(batch):
            raise self._wire.stranger()
        for record, result in zip(batch, results, strict=True):
            state = result.get("state") if isinstance(result, dict) else None
            if state in ("stored", "known"):
                self._state["pushed"][record.key] = [digest_of(record), record.repository]
                report.withdrawn += record.is_withdrawn
                report.pushed += not record.is_withdrawn
            else:
                self._state.setdefault("refused", {})[record.key] = digest_of(record)
                if not self._state["pushed"][record.key][0]:
                    del self._state["pushed"][record.key]
                reason = str(result.get("reason")) if isinstance(result, dict) else "no answer"
                report.left_out[f"mem-{record.key[:12]}"] = f"the server: {in_one_line(reason)}"
        self._keep(MEMBERSHIP, self._state)

    # -- taking ----------------------------------------------------------------------------------------------------
    def _pull(self, name: str, entry: dict[str, Any], report: TeamReport, max_pages: int) -> None:
        records: dict[str, tuple[Record, str]] = {}
        position = entry["position"]
        for _ in range(max_pages):
            answer = self._wire.ask("/v1/memories", repository=name, after=position, limit=MAX_RECORDS)
            values, last = answer.get("memories"), answer.get("position")
            if not isinstance(values, list) or not isinstance(last, int) or last < position:
                raise self._wire.stranger()
            for value in values:
                try:
                    record = record_of(value)
                    records[record.key] = (record, owner(str(value.get("author"))[:90]) or "")
                except HowcomeError as error:
                    report.problems.append(f"a memory that came is none: {error}")
            is_more, position = answer.get("more") is True and last > position, last
            if not is_more:
                break
        self._take_in(entry["root"], records, report)
        entry["position"] = position
        self._keep(MEMBERSHIP, self._state)

    def _take_in(self, root: str, records: dict[str, tuple[Record, str]], report: TeamReport) -> None:
        keys, later = self._state["keys"], {one.supersedes for one, _ in records.values() if not one.is_withdrawn}
        lines: list[dict[str, object]] = []
        for record, author in records.values():
            self._state.setdefault("left", {}).pop(record.key, None)
            if record.is_withdrawn:
                self._take_back(record.key, report)
            elif record.key not in later and not self._store.memories.find(record.key, limit=1):
                lines.append(line_of(record, author, root))
        if not lines:
            return
        done = self._memories.import_values(enumerate((HEAD, *lines)), outside=self._came())
        keys |= {raw.hex(): local.hex() for raw, local in done.keys.items()}
        report.to_review += done.added
        report.problems += [said for _, said in done.problems]

    def _take_back(self, raw: str, report: TeamReport) -> None:
        """Forgets what its author withdrew; what somebody here has accepted stays, and is told."""
        key = self._state["keys"].get(raw)
        for memory in self._store.memories.find(key, limit=1) if key else ():
            if memory.is_live and memory.is_outside:
                self._memories.forget(key, is_person=True)
                report.taken_back += 1
            elif memory.is_live:
                self._state["left"][raw] = key
                report.left[memory.id] = str(memory.agent)

    # -- what is here ----------------------------------------------------------------------------------------------
    def _theirs(self) -> set[str]:
        """Keys here of what came from teammates, by whichever way."""
        return {local.hex() for local in self._came().values()}

    def _repository(self, folder: str) -> tuple[str, str]:
        """The name of a folder's repository, and its project's root."""
        self._require()
        root = self._root_of(folder)
        if self._places.is_excluded(root):
            raise UsageError(f"{folder}: its project is excluded")
        try:
            return repository_of(remote_of(root)), root
        except UsageError as error:
            raise UsageError(f"{folder}: a repository with a remote on a server is wanted: git remote add …") from error

    def _entry(self, name: str, root: str) -> dict[str, Any]:
        new = {"root": root, "position": 0, "is_pushed": False, "chosen": []}
        entry: dict[str, Any] = self._state["repositories"].setdefault(name, new)
        entry["root"] = root
        return entry

    def _require(self) -> None:
        if not self._state.get("token"):
            raise UsageError(NOT_JOINED)

    @property
    def _wire(self) -> TeamWire:
        return TeamWire(self._state["url"], self._state["token"])


def _nothing_done() -> dict[str, Any]:
    return {"repositories": {}, "pushed": {}, "keys": {}, "refused": {}}


class TeamWire:
    """The server at an address, for the holder of a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token

    def ask(self, path: str, value: Mapping[str, object] | None = None, **asked: object) -> dict[str, Any]:
        """What it says to a value, or to a question without one; SyncError says what to do where it does not answer."""
        deadline = time.monotonic() + ASK_S
        try:
            endpoint = Endpoint(self.url + path, self._token, setting="team")
            found = json.loads(endpoint.ask(value, deadline, urlencode(asked)))
        except RefusedError as error:
            if error.status == ENDED:
                raise SyncError(f"{self.url} {UNKNOWN}") from error
            raise SyncError(str(error).partition("; check")[0]) from error
        except ProviderError as error:
            raise SyncError(str(error)) from error
        except (ValueError, RecursionError) as error:
            raise SyncError(f"{self.url} answers what is no JSON: check the address") from error
        if not isinstance(found, dict):
            raise self.stranger()
        return found

    def stranger(self) -> SyncError:
        """What is raised where the answer has not the form that was agreed on."""
        return SyncError(f"{self.url} answers what is no team server's: check the address")


def digest_of(record: Record) -> str:
    """What tells whether a record has changed since it was sent."""
    return hashlib.sha256(json.dumps(record.value).encode()).hexdigest()[:32]


def batches(records: list[Record]) -> list[list[Record]]:
    """Pieces that the server takes at once."""
    found: list[list[Record]] = []
    size = 0
    for record in records:
        if not found or size + len(record.text) > MAX_BATCH_CHARS or len(found[-1]) == MAX_RECORDS:
            found.append([])
            size = 0
        found[-1].append(record)
        size += len(record.text)
    return found
