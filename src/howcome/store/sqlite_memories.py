"""Memories in the SQLite store: their rows, and keeping their index up to them."""

from __future__ import annotations

import contextlib
import json
import os
from itertools import islice

from howcome.domain import events, memories
from howcome.domain.memories import Memory
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.errors import IndexDamagedError, MachineError, StoreError, StoreLockedError, UsageError
from howcome.store.driver import driver_errors
from howcome.store.gated import Kept
from howcome.store.kept import note_kept
from howcome.store.memory_index import MemoryIndex
from howcome.store.sqlite_reads import SqliteReads, as_text, one, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from howcome.domain.memories import MemoryFilter, MemoryHit, NewMemory
    from howcome.domain.stored import Filter, Scope
    from howcome.store.memory_index import MemoryDocument

_COLUMNS = (
    "row", "key", "type", "text", "project", "agent", "origin", "status", "created_ms", "supersedes", "superseded_by",
    "deleted_ms", "purged_ms", "access_count", "source", "subject", "said_ms", "pinned_ms", "status_ms",
    "supersedes_key", "superseded_by_key", "is_outside",
)  # fmt: skip
OUTSIDE = "EXISTS (SELECT 1 FROM memory_reviews WHERE newer = {}.id AND reason = 'imported' AND settled_ms IS NULL)"
"""A file brought a memory, and nobody has accepted it."""

_SELECT = (
    "SELECT m.id, m.key, m.type, m.text, p.root, m.agent, m.origin, m.status, m.created_ms, m.supersedes,"  # noqa: S608 - fixed text
    " m.superseded_by, m.deleted_ms, m.purged_ms, m.access_count, m.source, m.subject, m.said_ms, m.pinned_ms,"
    " m.status_ms, (SELECT key FROM memories WHERE id = m.supersedes),"
    f" (SELECT key FROM memories WHERE id = m.superseded_by), {OUTSIDE.format('m')},"
    " (SELECT json_group_array(e.event ORDER BY (SELECT min(s.ts_ms) FROM memory_said s"
    " WHERE s.memory_id = m.id AND s.event = e.event) NULLS LAST, e.event)"
    " FROM memory_evidence e WHERE e.memory_id = m.id)"
    " FROM memories m LEFT JOIN projects p ON p.id = m.project_id"
)
NEXT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM memories)"
LIVE = "deleted_ms IS NULL AND superseded_by IS NULL AND purged_ms IS NULL"
ORIGIN_NUMBERS = {origin: number for number, origin in enumerate(events.ORIGINS)}
EFFECTIVE_IDS = os.access in os.supports_effective_ids
CHECKPOINT_TRIES = 3
"""Readers of an old state hold the log back for a moment; each try waits for them as long as any write does."""

PURGE_WAIT_S = 5.0
"""How long a purge waits for another process that is writing the memories' index."""

ROWS_A_LOOK = 1000
"""Events whose texts are looked into at once."""

MAX_TRACES = 20
"""Events and memories that are named as holding a text; one more says that there are more."""


class SqliteMemories(SqliteReads):
    """What the store does with memories."""

    folder: str
    is_read_only: bool
    _memory_index: MemoryIndex | None = None

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """One write transaction."""
        raise NotImplementedError

    @property
    def memory_index(self) -> MemoryIndex:
        """The memories' lexical index, opened on first use."""
        if self._memory_index is None:
            self._memory_index = MemoryIndex(os.path.join(self.folder, "index"), self.mark_of_change)
        return self._memory_index

    # -- writing ---------------------------------------------------------------------------------------------------
    def add_memory(self, new: NewMemory) -> tuple[Memory, bool]:
        """Adds a memory: the row, and True; the one that says the same in the same scope (or has its key), and False.

        A memory that supersedes another takes its place in the same transaction. One that was forgotten or purged
        elsewhere comes as it is: only live ones are compared by what they say.

        Raises:
            UsageError: what it would supersede was superseded, forgotten or purged meanwhile.
        """
        with self.transaction():
            return self._add(new)

    def _add(self, new: NewMemory) -> tuple[Memory, bool]:
        """As `add_memory`, within a transaction."""
        project_id = self._memory_project(new.project, new.created_ms)
        if new.supersedes is not None and not new.is_copy:
            self._require_live(new.supersedes)
        known = self._known_memory(new, project_id)
        if known is not None:
            return self.memories_by_row([known])[known], False
        self.connection.execute(
            "INSERT INTO memories (key, change, digest, type, text, project_id, agent, origin, status, created_ms,"  # noqa: S608 - fixed text
            " supersedes, deleted_ms, purged_ms, source, subject, pinned_ms, status_ms)"
            f" VALUES (?, {NEXT_CHANGE}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.key, new.digest, new.type, new.text, project_id, new.agent, ORIGIN_NUMBERS[new.origin],
                new.status, new.created_ms, new.supersedes, new.deleted_ms, new.purged_ms, new.source, new.subject,
                new.pinned_ms, new.status_ms,
            ),
        )  # fmt: skip
        row = self.connection.last_insert_rowid()
        if new.supersedes is not None:
            self._change(new.supersedes, "superseded_by = ?", row)
        self.bear_out(row, new.evidence, new.said)
        return self.memories_by_row([row])[row], True

    def bear_out(self, row: int, evidence: Iterable[str], said: Iterable[tuple[int, str]]) -> None:
        """Adds events that bear a memory out, and times at which it was said."""
        self.connection.executemany(
            "INSERT OR IGNORE INTO memory_evidence (memory_id, event) VALUES (?, ?)",
            [(row, event) for event in evidence],
        )
        if times := [(row, ts_ms, event) for ts_ms, event in said]:
            self.connection.executemany("INSERT OR IGNORE INTO memory_said VALUES (?, ?, ?)", times)
            last = "(SELECT max(ts_ms) FROM memory_said WHERE memory_id = memories.id)"
            self.connection.execute(f"UPDATE memories SET said_ms = {last} WHERE id = ?", (row,))  # noqa: S608 - fixed text

    def _require_live(self, row: int) -> None:
        found = self.memories_by_row([row])[row]
        if not found.is_live:
            raise UsageError(f"{found.id} is {found.state} by now; only what is live can be superseded")

    def _memory_project(self, root: str | None, now_ms: int) -> int | None:
        if root is None:
            return None
        values = (as_text(root), now_ms)
        self.connection.execute("INSERT OR IGNORE INTO projects (root, created_ms) VALUES (?, ?)", values)
        return int(one(self.connection.execute("SELECT id FROM projects WHERE root = ?", values[:1])))

    def _known_memory(self, new: NewMemory, project_id: int | None) -> int | None:
        found = self._row("SELECT id FROM memories WHERE key = ?", (new.key,))
        if found is None and new.deleted_ms is None and new.purged_ms is None:
            own = "" if new.claims is not None else f" AND NOT {OUTSIDE.format('memories')}"  # a stranger's is no twin
            found = self._row(
                f"SELECT id FROM memories WHERE digest = ? AND project_id IS ? AND agent IS ? AND {LIVE}"  # noqa: S608 - fixed text
                f" AND id IS NOT ?{own} ORDER BY id LIMIT 1",
                (new.digest, project_id, new.agent, new.supersedes),
            )
        return int(found[0]) if found else None

    def _change(self, row: int, what: str, *values: object) -> None:
        self.connection.execute(f"UPDATE memories SET change = {NEXT_CHANGE}, {what} WHERE id = ?", (*values, row))  # noqa: S608 - fixed text

    def set_memory_status(self, row: int, status: str, now_ms: int) -> None:
        """Whether a memory is still open or resolved, as somebody says."""
        with self.transaction():
            self._change(row, "status = ?, status_ms = ?", status, now_ms)

    def set_memory_deleted(self, row: int, deleted_ms: int | None) -> None:
        """Forgets a memory, or (None) restores it."""
        with self.transaction():
            self._change(row, "deleted_ms = ?", deleted_ms)

    def record_memory_access(self, rows: Iterable[int], now_ms: int) -> None:
        """Counts that memories were read on purpose."""
        with self.transaction():
            self.connection.execute(
                "UPDATE memories SET access_count = access_count + 1, accessed_ms = ?"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (now_ms, json.dumps(list(rows))),
            )

    def record_memory_injections(self, session: str, hook: str, said: list[tuple[int, float]], now_ms: int) -> None:
        """Remembers which memories (row id, score) were said to a session."""
        with self.transaction():
            sql = "INSERT INTO memory_injections (session, memory_id, hook, score, said_ms) VALUES (?, ?, ?, ?, ?)"
            self.connection.executemany(sql, [(session, row, Kept(hook), score, now_ms) for row, score in said])

    def purge_memory(self, row: int, now_ms: int, *, wait_s: float = PURGE_WAIT_S) -> None:
        """Takes a memory's text out of the index, the rows and the write-ahead log; its id stays as a stone.

        Whatever can be in the way is met first, while the text is still there to be looked for afterwards.

        Raises:
            StoreError: the index cannot be written; nothing was changed.
            StoreLockedError: another process is in the way; the memory is forgotten but not erased, purge it again.
        """
        if not os.access(folder := self.memory_index.writable_folder, os.W_OK | os.X_OK, effective_ids=EFFECTIVE_IDS):
            raise StoreError(
                f"{folder} is not writable (Permission denied), so the memory cannot be erased; nothing was changed."
                " Make it writable and purge the memory again."
            )
        with self.transaction():
            self._change(row, "deleted_ms = coalesce(deleted_ms, ?)", now_ms)
        if not (self._write_memory_index(wait_s, anew=True) and self._empty_log()):
            raise StoreLockedError(
                "another process is using the store: the memory is forgotten, but not erased; purge it again (when the"
                " agents' sessions have ended, if need be)"
            )
        try:
            with self.transaction():
                self._erase(row, now_ms)
        finally:
            self._empty_log()  # if it cannot be, the old page is still in the file: whoever looks finds it there
        self.catch_up_memories(wait_s=wait_s)

    def _erase(self, row: int, now_ms: int) -> None:
        """Takes away what a memory says, and all that says the same; within a transaction."""
        stone = "text = '', subject = '', digest = zeroblob(16), agent = NULL, purged_ms = coalesce(purged_ms, ?)"
        self._change(row, stone, now_ms)
        for table in ("memory_evidence", "memory_said"):
            self.connection.execute(f"DELETE FROM {table} WHERE memory_id = ?", (row,))  # noqa: S608 - fixed names

    def _empty_log(self) -> bool:
        """Whether the write-ahead log is empty now: readers of an old state keep what they read."""
        return any(not self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] for _ in range(CHECKPOINT_TRIES))

    def vacuum(self) -> None:
        """Writes the whole database anew, without what was left in unused parts of its pages.

        Raises:
            StoreError: there is no room for it; StoreLockedError: another process is in the way.
        """
        with driver_errors(self.folder):
            self.connection.execute("VACUUM")
        if not self._empty_log():
            raise StoreLockedError("another process is reading the store's log; end the agent's sessions")

    def files_with(self, text: str) -> list[str]:
        """The files of the store's folder that hold a text or much of it."""
        from howcome.store.traces import Trace, files_with

        return files_with(self.folder, Trace(text))

    def events_with(self, text: str) -> list[str]:
        """Ids of events whose texts (packed ones too) hold a text or much of it; at most MAX_TRACES + 1."""
        from howcome.store.traces import Trace

        trace = Trace(text)
        ids = (ID_PREFIX + key.hex()[:ID_HEX_CHARS] for key, said in self._event_texts() if trace.is_in(said.encode()))
        return list(islice(ids, MAX_TRACES + 1))

    def _event_texts(self) -> Iterator[tuple[bytes, str]]:
        last = 0
        sql = "SELECT id, key, excerpt, payload FROM events WHERE id > ? ORDER BY id LIMIT ?"
        while rows := self._rows(sql, (last, ROWS_A_LOOK)):
            last = rows[-1][0]
            for _, key, excerpt, payload in rows:
                yield key, excerpt if payload is None else f"{excerpt}\n{unpack(payload, excerpt)}"

    def memories_with(self, text: str) -> list[str]:
        """Ids of memories, whatever became of them, that hold a text or much of it; at most MAX_TRACES + 1."""
        from howcome.store.traces import Trace

        trace = Trace(text)
        sql = "SELECT key, text FROM memories UNION ALL SELECT coalesce(memory_key, key), text FROM candidates"
        said = self._rows(sql)
        found = (memories.memory_id(key) for key, words in said if trace.is_in(words.encode()))
        return list(dict.fromkeys(found))[: MAX_TRACES + 1]

    # -- reading ---------------------------------------------------------------------------------------------------
    def memories_by_row(self, rows: Iterable[int]) -> dict[int, Memory]:
        """Memories by their row ids; ids that are not there are left out."""
        sql = f"{_SELECT} WHERE m.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - fixed text
        return {row[0]: _memory(row) for row in self._rows(sql, (json.dumps(list(rows)),))}

    def memories_by_prefix(self, prefix: str, limit: int = 5) -> list[Memory]:
        """Memories whose id starts with `prefix` (`mem-` and hex digits); at most `limit`."""
        digits = prefix.removeprefix(memories.ID_PREFIX).lower()
        if not digits or len(digits) > 2 * memories.KEY_BYTES or not set(digits) <= set("0123456789abcdef"):
            return []
        low, high = (bytes.fromhex(digits.ljust(2 * memories.KEY_BYTES, digit)) for digit in "0f")
        sql = _SELECT + " WHERE m.key BETWEEN ? AND ? LIMIT ?"
        return [_memory(row) for row in self._rows(sql, (low, high, limit))]

    def live_twin(self, row: int) -> Memory | None:
        """The live memory that says the same in the same scope, of the same owner, if there is one."""
        found = self._row(
            "SELECT o.id FROM memories m JOIN memories o ON o.digest = m.digest AND o.project_id IS m.project_id"  # noqa: S608 - fixed text
            " AND o.agent IS m.agent AND o.id != m.id WHERE m.id = ? AND o.deleted_ms IS NULL"
            f" AND o.superseded_by IS NULL AND o.purged_ms IS NULL AND NOT {OUTSIDE.format('o')} LIMIT 1",
            (row,),
        )
        return self.memories_by_row([found[0]])[found[0]] if found else None

    def list_memories(
        self, scope: Scope, wanted: MemoryFilter, limit: int, *, oldest_first: bool = False
    ) -> list[Memory]:
        """Memories of a scope (a project's with those that hold everywhere), newest first; purged ones when asked."""
        clauses = ["1"] if wanted.with_purged else ["m.purged_ms IS NULL"]
        values: list[object] = []
        if wanted.is_global_only:
            clauses.append("m.project_id IS NULL")
        elif wanted.is_own_only:
            clauses.append("m.project_id = ?")
            values.append(scope.project_id)
        elif not scope.is_everything:
            clauses.append("(m.project_id IS NULL OR m.project_id = ?)")
            values.append(scope.project_id)
        for column in ("type", "agent", "status", "source"):
            if getattr(wanted, column) is not None:
                clauses.append(f"m.{column} = ?")
                values.append(getattr(wanted, column))
        clauses += [] if wanted.with_forgotten else ["m.deleted_ms IS NULL"]
        clauses += [] if wanted.with_superseded else ["m.superseded_by IS NULL"]
        order = "m.id" if oldest_first else "m.created_ms DESC, m.id DESC"  # a chain is in the order of its rows
        sql = f"{_SELECT} WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ?"
        return [_memory(row) for row in self._rows(sql, (*values, limit))]

    def memory_counts(self) -> dict[str, dict[str, int]]:
        """Live memories by type and by status, and all by what has become of them."""
        rows = self._rows(
            "SELECT type, status, CASE WHEN purged_ms IS NOT NULL THEN 'purged' WHEN deleted_ms IS NOT NULL THEN"
            " 'forgotten' WHEN superseded_by IS NOT NULL THEN 'superseded' ELSE 'live' END, count(*)"
            " FROM memories GROUP BY 1, 2, 3"
        )
        counts: dict[str, dict[str, int]] = {"by_type": {}, "by_status": {}, "by_state": {}}
        for kind, status, state, count in rows:
            counts["by_state"][state] = counts["by_state"].get(state, 0) + count
            if state == "live":
                counts["by_type"][kind] = counts["by_type"].get(kind, 0) + count
                counts["by_status"][status] = counts["by_status"].get(status, 0) + count
        return counts

    def memories_known(self, session: str) -> set[int]:
        """Rows of memories that were said to a session."""
        return {row[0] for row in self._rows("SELECT memory_id FROM memory_injections WHERE session = ?", (session,))}

    def memory_documents(self, after_change: int, limit: int) -> list[MemoryDocument]:
        """The memories that were written after a change number, as their index needs them."""
        from howcome.store.memory_index import MemoryDocument

        sql = (
            "SELECT id, change, type, text, coalesce(project_id, 0), coalesce(agent, ''), origin, created_ms,"  # noqa: S608 - fixed text
            f" {LIVE} FROM memories WHERE change > ? ORDER BY change LIMIT ?"
        )
        return [MemoryDocument(row) for row in self._rows(sql, (after_change, limit))]

    # -- searching -------------------------------------------------------------------------------------------------
    def search_memories(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[MemoryHit]:
        """Live memories that hold the terms, best first."""
        return self.memory_index.search(weights, wanted, limit, required)

    def catch_up_memories(self, *, wait_s: float = 0.2) -> bool:
        """Makes new memories searchable; False when that is left to the next pass.

        Another process is at it for longer than `wait_s`, or the machine has no room for it. An index of other rows (an
        older database was put back) is made anew, as a damaged one is.
        """
        if self.is_read_only:
            return True
        try:
            lag = self.memory_index_lag()
        except IndexDamagedError:
            lag = None
        except MachineError:  # the rows are written, and whoever comes next adds them
            return False
        with contextlib.suppress(MachineError):
            if lag != 0:
                note_kept(self.folder, self._kept_keys())
            return lag == 0 or self._write_memory_index(wait_s, anew=lag is None)
        return False

    def _kept_keys(self) -> list[str]:
        sql = "SELECT hex(key) FROM memories WHERE source = ? ORDER BY id"
        return [key for (key,) in self._rows(sql, (memories.HAND,))]

    def _write_memory_index(self, wait_s: float, *, anew: bool) -> bool:
        try:
            return self.memory_index.catch_up(self, wait_s, anew=anew)
        except IndexDamagedError:  # everything in it comes from the rows
            self.memory_index.drop()
            self._memory_index = None
            return self.memory_index.catch_up(self, wait_s)

    def memory_index_lag(self) -> int | None:
        """How many changes to memories their index has not seen; None when it is of other rows than these.

        It is asked before the rows, which are always written first: it is ahead of them only when it is not theirs.

        Raises:
            IndexDamagedError: the index cannot be read.
        """
        self.memory_index.refresh()
        if self.memory_index.is_foreign:
            return None
        indexed, documents = self.memory_index.last_change(), self.memory_index.size()
        [(change, rows)] = self._rows("SELECT coalesce(max(change), 0), count(*) FROM memories")
        lag = int(change) - indexed
        return None if lag < 0 or (lag == 0 and documents != rows) else lag


def _memory(row: Sequence[object]) -> Memory:
    values = dict(zip(_COLUMNS, row, strict=False))
    values["origin"] = events.ORIGINS[values["origin"]]  # type: ignore[call-overload]
    return Memory(values, json.loads(str(row[-1])))
