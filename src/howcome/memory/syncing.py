"""One person's machines: each brings its memories to the place where they meet, and takes what the others brought.

One sealed file a memory (`memory/sealing`). A run reads all files, merges (`memory/merging`), does here what it says,
writes what is new, and then notes what was agreed on. So a run that was ended anywhere is simply run again: what it did
is seen as done. A write that a shared folder lost is made again, because this machine knows that it was agreed on.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from howcome.clients.decode import decode_record
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.identity import Repository
from howcome.domain.memories import HAND, Memory
from howcome.domain.stored import Scope
from howcome.errors import StoreError, SyncError, UsageError
from howcome.files import read_plain, write_whole
from howcome.ingest.identity import Identities
from howcome.memory.chains import walked
from howcome.memory.export import HEAD, MARK, exported, store_id
from howcome.memory.merging import REGISTERS, Record, agreed, alike, is_stone, merged, stamped, values, without_none
from howcome.memory.remember import Memories
from howcome.memory.remotes import normal, put, remote_of, sealed_files, shown
from howcome.memory.sealing import Key
from howcome.memory.team import MAX_STATE_BYTES, Exchange
from howcome.memory.text import is_clean

FOLDER = "sync"
KEY, REMOTE, STATE, LOCK, GIT = "key", "remote", "state.json", "lock", "git"
"""What a machine keeps beside its store: the key, where it meets the others, what was agreed on."""

NO_KEY = "lost"
HEAD_FILE = "howcome-sync.json"
VERSION = 1
TRIES = 5
"""How often a run begins anew because another machine brought something meanwhile."""

NOT_SET_UP = "this machine syncs with none yet: howcome sync init --remote URL|FOLDER"
FROM_OUTSIDE, _EXCLUDED, _SECRET = "from outside the conversation", "of excluded projects", "with a secret"


@dataclass(slots=True)
class SyncReport:
    """What a run did: memories that came, that were changed and purged here, that were sent.

    `kept_back` counts those that do not leave this machine, by the reason. `unreadable` are files that are cut or
    damaged, `problems` what could not be done of a memory: the next run tries again.
    """

    brought: int = 0
    changed: int = 0
    purged: int = 0
    sent: int = 0
    unreadable: int = 0
    kept_back: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Sync(Exchange):
    """The memories of one machine and of the others that have the same key; none of excluded folders goes or comes."""

    def __init__(self, memories: Memories, home: str, exclude: Sequence[str], now_ms: Callable[[], int]) -> None:
        super().__init__(memories, os.path.join(home, FOLDER), exclude, now_ms)
        self._key, self._remote = self._line(KEY), self._line(REMOTE)
        self._state = self._kept(STATE)
        row, mark = self._state.get("log", (0, ""))
        if self._state.get("store") != store_id(self._store) or (mark and self._store.log.mark_at(row) != mark):
            # it is not the one of the last run, or an older copy of it: its past is no new word on anything
            self._state = {"machine": os.urandom(4).hex(), "known": {}, "run_ms": None}
        self._machine, self._known = self._state["machine"], self._state["known"]
        self.report = SyncReport()

    def _line(self, name: str) -> str:
        return (read_plain(os.path.join(self._home, name), MAX_STATE_BYTES) or b"").decode("utf-8", "replace").strip()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One sync at a time on a machine; the kernel lets go of the lock when a process is killed."""
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        with open(os.path.join(self._home, LOCK), "ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SyncError("another `howcome sync` is running") from error
            yield

    def set_up(self, remote: str, key_text: str) -> dict[str, object]:
        """Looks at the remote, and remembers it and the key ('': this machine's, or a new one) where they fit."""
        place, key = normal(remote), Key(key_text or self._key)
        with self._alone():
            if self._remote and (self._remote, self._key) != (place, key.text):
                raise UsageError(
                    f"this machine syncs with {shown(self._remote)} and its key: howcome sync remove first"
                )
            _require_head(remote_of(place, os.path.join(self._home, GIT)).fetch(), key, is_new=True)
            for name, text in ((STATE, "{}"), (KEY, key.text), (REMOTE, place)):
                write_whole(os.path.join(self._home, name), text.encode() + b"\n", must_last=True)
        return {"remote": shown(place), "key": key.fingerprint, "key_file": os.path.join(self._home, KEY)}

    def status(self) -> dict[str, object]:
        """With whom this machine syncs, and when it did; nothing is asked of the remote."""
        if not self._remote:
            return {"remote": None}
        counts = {"run_ms": self._state["run_ms"], "shared": len(self._known)}
        return {"remote": shown(self._remote), "key": Key(self._key).fingerprint, **counts}

    def remove(self) -> None:
        """This machine syncs with none any more, and has no key; what is shared stays where it is."""
        with self._alone():
            shutil.rmtree(self._home)

    def run(self) -> SyncReport:
        """Takes what the others brought, and brings what is new here.

        Raises:
            SyncError: the remote cannot be reached or read; what was done stays, and is not done twice.
        """
        if not self._remote:
            raise UsageError(NOT_SET_UP)
        key, remote = Key(self._key or NO_KEY), remote_of(self._remote, os.path.join(self._home, GIT))
        with self._alone():
            try:
                for _ in range(TRIES):
                    agreed_on = self._once(remote.fetch(), key)
                    if remote.push():
                        break
                else:
                    raise SyncError("other machines were faster every time: run `howcome sync` again")
            except OSError as error:
                raise SyncError(f"{shown(self._remote)}: {error.strerror or error}") from error
            row = self._store.log.last_position()
            here = {"store": store_id(self._store), "log": (row, self._store.log.mark_at(row))}
            state = {**here, "machine": self._machine, "known": agreed_on, "run_ms": self._now_ms()}
            self._keep(STATE, state)
        return self.report

    def _once(self, tree: str, key: Key) -> dict[str, Any]:
        """One pass; what was agreed on in it."""
        self.report = SyncReport()
        _require_head(tree, key, is_new=not self._known)
        theirs, ours, now_ms = self._read(tree, key), self._ours(), self._now_ms()
        records = {}
        for name in {*ours, *theirs}:
            own = stamped(ours[name], self._known.get(name), now_ms) if name in ours else None
            record = merged(theirs.get(name), own)
            records[name] = record if own else self._last_word(name, record, now_ms)
            if own and "text" in record and own["text"] != record["text"] and not self._is_clean(record["text"]):
                record["text"] = own["text"]  # newer rules have found a secret in it here
        records = dict(sorted(records.items(), key=lambda item: (item[1]["created_ms"], item[0])))
        twins = self._take_in({name: one for name, one in records.items() if name not in ours})
        for name, local in [*twins.items()] * 2:  # from all to the one that is here, and from that to all
            if name in records and local in records:
                records[name], records[local] = alike(records[name], records[local])
        here = self._ours()
        for name, record in records.items():
            self._do(name, record, here, twins)
        self._publish(tree, key, records, theirs)
        here, shared = self._ours(), [name for name in records if name in theirs or self._held(records[name]) is None]
        known = {name: agreed(records[name], here.get(name, records[name])) for name in shared}
        return {name: {**one, **({"twin": twins[name]} if name in twins else {})} for name, one in known.items()}

    def _last_word(self, name: str, record: Record, now_ms: int) -> Record:
        """What was distilled here, and is not said here any more, is let go everywhere: nobody meant it."""
        if not self._is_let_go(name, record) or is_stone(record) or record.get("deleted_ms"):
            return record
        return {**record, "deleted_ms": now_ms, "gone_ms": now_ms, "times": {**record["times"], "life": now_ms}}

    def _is_let_go(self, name: str, record: Record) -> bool:
        is_own = record.get("by") == self._machine and record.get("source", HAND) != HAND
        return is_own and name in self._known and "twin" not in self._known[name]

    def _read(self, tree: str, key: Key) -> dict[str, Record]:
        """What is there. Copies that somebody's software made of a file are taken away: who wrote it knows it, too."""
        found: dict[str, Record] = {}
        for path, data in sealed_files(tree):
            record = key.open(data)
            if record is None:
                self.report.unreadable += 1
            elif key.name(str(record["key"])) == path:
                found[str(record["key"])] = record
            else:
                os.unlink(os.path.join(tree, path))
        return found

    def _publish(self, tree: str, key: Key, records: Mapping[str, Record], theirs: Mapping[str, Record]) -> None:
        if not os.path.exists(os.path.join(tree, HEAD_FILE)):
            put(tree, HEAD_FILE, json.dumps(_head(key)).encode() + b"\n")
        for name, record in records.items():
            held = None if name in theirs else self._held(record)
            if record != theirs.get(name) and held is None:
                put(tree, key.name(name), key.seal(record))
                self.report.sent += 1
            elif held:
                self.report.kept_back[held] = self.report.kept_back.get(held, 0) + 1

    def _held(self, record: Record) -> str | None:
        """Why a memory does not leave this machine; '' where there is nothing to say, None where it may."""
        is_gone = is_stone(record) or record.get("deleted_ms") is not None
        if is_gone and record["key"] not in self._known:
            return ""
        if is_stone(record):
            return None
        if record["origin"] not in PUSHED_ORIGINS:
            return FROM_OUTSIDE
        if self._is_excluded(record):
            return _EXCLUDED
        return None if self._is_clean(record["text"]) and self._is_clean(record.get("subject", "")) else _SECRET

    def _is_clean(self, text: str) -> bool:
        return not text or is_clean(text, self._memories.gate.redactor)

    def _is_excluded(self, record: Record) -> bool:
        return any(self._places.is_excluded(root) for root in (record.get("project"), *record.get("also", ())) if root)

    def _ours(self) -> dict[str, Record]:
        """Every memory of this store as a record without times."""
        shows = {one.root: one for one in self._store.projects.repositories()}
        found: dict[str, Record] = {}
        for line in exported(self._store, Scope.everything()):
            if "key" in line:
                record = without_none({name: value for name, value in line.items() if name not in (MARK, "id")})
                repository = shows.get(str(record.get("project")))
                if repository is not None and repository.commits and not is_stone(record):
                    record["repository"] = {"remote": repository.remote, "commits": list(repository.commits)}
                found[str(record["key"])] = {**record, "by": self._machine}
        return found

    def _take_in(self, records: Mapping[str, Record]) -> dict[str, str]:
        """Adds what only the others have; those that say what one here says, with that one's key."""
        twins = {name: known["twin"] for name, known in self._known.items() if "twin" in known}
        new = []
        for name, one in records.items():
            if not (name in twins or self._is_let_go(name, one) or (self._is_excluded(one) and not is_stone(one))):
                self._introduce(one)
                new.append(one)

        report = self._memories.import_values(enumerate((HEAD, *new)), is_mine=True)
        twins |= {key.hex(): here.hex() for key, here in report.keys.items() if key != here}
        self.report.brought += report.added
        self.report.problems += [f"{new[number - 1]['key'][:12]}: {said}" for number, said in report.problems]
        return twins

    def _introduce(self, record: Record) -> None:
        """Another clone of a repository that is a project here is known by what it shows."""
        root, shows = record.get("project"), record.get("repository")
        if root is not None and shows and self._store.projects.of_root(root) is None:
            found = Repository(root, tuple(shows["commits"]), shows["remote"], is_shallow=False)
            Identities(self._store, self._now_ms).introduce(found)

    def _do(self, name: str, record: Record, here: Mapping[str, Record], twins: Mapping[str, str]) -> None:
        """Makes one memory what the record says it has become; twins become it with the one that is here."""
        local = here.get(twins.get(name, name))
        if local is None or is_stone(local):
            return
        try:
            if is_stone(record):
                self._memories.purge(local["key"])
                self.report.purged += 1
            elif name not in twins:
                known = self._known.get(name) or {"said": {}, "here": {}}
                place = record.get("supersedes")
                wanted = {**record, "supersedes": twins.get(str(place), place)}
                for register in REGISTERS:
                    said, has = values(record, register), values(local, register)
                    is_tried = known["said"].get(register) == said and known["here"].get(register) == has
                    if has != values(wanted, register) and not is_tried:
                        self._become(local, register, wanted)
        except StoreError as error:
            self.report.problems.append(f"{local['key'][:12]}: {error}")

    def _become(self, local: Record, register: str, record: Record) -> None:
        [memory] = self._store.memories.find(local["key"], limit=1)
        if register == "place":
            self._take_place(memory, record.get("supersedes"))
        elif register == "also":
            has, wanted = set(local.get("also", ())), set(record.get("also", ()))
            self._store.memories.set_also(memory.row, wanted - has, has - wanted, self._now_ms())
        else:
            told = dict(zip(REGISTERS[register], values(record, register), strict=True))
            self._store.reviews.become(memory.row, told)
        self.report.changed += 1

    def _take_place(self, new: Memory, wanted: str | None) -> None:
        """A memory takes the place of another; of several that took it, the one that was kept last has it.

        So it is of two that took each other's.
        """
        reviews, now_ms = self._store.reviews, self._now_ms()
        found = self._store.memories.find(wanted, limit=1) if wanted else []
        below = [found[0], *walked(self._store, found[0], "supersedes")] if found else []
        is_below = new.row in {one.row for one in below}
        if found and (new.supersedes == found[0].row or (is_below and _when_kept(found[0]) >= _when_kept(new))):
            return
        if is_below:
            reviews.part(new.row, new.superseded_by or 0)
        if new.supersedes is not None:
            reviews.part(new.supersedes, new.row)
        for last, later in pairwise([*found, *walked(self._store, found[0], "superseded_by")] if found else ()):
            if _when_kept(later) > _when_kept(new):
                reviews.part(last.row, later.row)
                reviews.relate([(last.row, new.row), (new.row, later.row)], (), now_ms)
                return
            found = [later]
        reviews.relate([(last.row, new.row) for last in found], (), now_ms)


def _when_kept(memory: Memory) -> tuple[int, bytes]:
    return memory.created_ms, memory.key


def _head(key: Key) -> dict[str, object]:
    return {"howcome": "sync", "version": VERSION, "key": key.fingerprint}


def _require_head(tree: str, key: Key, *, is_new: bool) -> None:
    """Refuses a place that is another's, before anything is read or written."""
    path = os.path.join(tree, HEAD_FILE)
    if not os.path.exists(path):
        if not is_new or any(sealed_files(tree)):
            raise SyncError(f"{HEAD_FILE} is missing in {tree}: it is not there as a whole (yet), or not what it was")
        return
    with open(path, "rb") as stream:
        found = decode_record(stream.read(1000), None)
    if (found.get("howcome"), found.get("version")) != ("sync", VERSION):
        raise UsageError(f"{HEAD_FILE} is not of this version of howcome: upgrade it")
    if found != _head(key):
        raise UsageError(
            f"another key wrote what is there (its fingerprint is {found.get('key')}, yours {key.fingerprint}); nothing"
            " was read or written. Take the key of your first machine: howcome sync init --remote … --key FILE"
        )
