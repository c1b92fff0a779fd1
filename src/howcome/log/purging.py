"""Erasing memories for good, and looking for what is left of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from howcome.domain import memories
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.errors import StoreLockedError
from howcome.log.database import Database
from howcome.log.driver import driver_errors
from howcome.log.gated import Kept
from howcome.log.memory_rows import NEXT_CHANGE
from howcome.log.memory_writing import MemoryWriter
from howcome.log.sqlite_reads import unpack

CHECKPOINT_TRIES = 3
"""Readers of an old state hold the log back for a moment; each try waits for them as long as any write does."""

ROWS_A_LOOK = 1000
"""Events whose texts are looked into at once."""

MAX_TRACES = 20
"""Events and memories that are named as holding a text; one more says that there are more."""


class Purging:
    """Takes memories out of the database's pages and its log."""

    def __init__(self, db: Database) -> None:
        self._db, self._writer = db, MemoryWriter(db)

    def purge(self, row: int, now_ms: int) -> None:
        """Takes a memory's text and its words out of the rows and the write-ahead log; its id stays as a stone.

        Whatever can be in the way is met first, while the text is still there to be looked for afterwards.

        Raises:
            StoreLockedError: another process is in the way; the memory is forgotten but not erased, purge it again.
        """
        with self._db.transaction():
            self._writer.change(row, "deleted_ms = coalesce(deleted_ms, ?)", now_ms)
        if not self._empty_log():
            raise StoreLockedError(
                "another process is using the store: the memory is forgotten, but not erased; purge it again (when the"
                " agents' sessions have ended, if need be)"
            )
        try:
            with self._db.transaction():
                self._erase(row, now_ms)
        finally:
            self._empty_log()  # if it cannot be, the old page is still in the file: whoever looks finds it there

    def _erase(self, row: int, now_ms: int) -> None:
        """Takes away what a memory says, and all that says the same; within a transaction.

        The other words that say the same leave a stone each, so that none of them comes back; what a model said of the
        memory goes with it.
        """
        [(key, project_id, origin)] = self._db.rows("SELECT key, project_id, origin FROM memories WHERE id = ?", (row,))
        parts = {part for (part,) in self._db.rows("SELECT key FROM candidates WHERE memory_key = ?", (key,))} | {key}
        stone = "text = '', subject = '', digest = zeroblob(16), agent = NULL, purged_ms = coalesce(purged_ms, ?)"
        self._writer.change(row, stone, now_ms)
        for table in ("memory_evidence", "memory_said", "memory_projects"):
            self._db.execute(f"DELETE FROM {table} WHERE memory_id = ?", (row,))  # noqa: S608 - fixed names
        for part in sorted(parts):
            for table in ("candidates", "memory_vectors"):
                self._db.execute(f"DELETE FROM {table} WHERE key = ?", (part,))  # noqa: S608 - fixed names
            self._db.execute(
                "INSERT OR IGNORE INTO memories (key, change, digest, type, text, project_id, origin, status,"  # noqa: S608 - fixed text
                " created_ms, superseded_by, deleted_ms, purged_ms, source)"
                f" SELECT ?1, {NEXT_CHANGE}, digest, type, '', ?2, ?3, status, created_ms, NULL, ?4, ?4, source"
                " FROM memories WHERE id = ?5",
                (part, project_id, origin, now_ms, row),
            )
        self._db.execute("UPDATE distil_operations SET reason = '' WHERE memory_id = ?", (row,))
        self._renew_words()

    def _renew_words(self) -> None:
        """Writes the table of all memories' words anew; within a transaction.

        Pages that were taken apart and put together hold copies of what stood in them, which no DELETE of rows reaches;
        pages that are given back are zeroed (`secure_delete`).
        """
        row = "json_array(term, memory_id, count, words)"
        [(held,)] = self._db.rows(f"SELECT json_group_array({row}) FROM memory_words")  # noqa: S608 - fixed text
        self._db.execute("DELETE FROM memory_words")
        columns = ", ".join(f"value ->> {place}" for place in range(4))
        self._db.execute(f"INSERT INTO memory_words SELECT {columns} FROM json_each(?)", (Kept(held),))  # noqa: S608 - fixed text

    def _empty_log(self) -> bool:
        """Whether the write-ahead log is empty now: readers of an old state keep what they read."""
        return any(not self._db.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] for _ in range(CHECKPOINT_TRIES))

    def vacuum(self) -> None:
        """Writes the whole database anew, without what was left in unused parts of its pages.

        Raises:
            StoreError: there is no room for it; StoreLockedError: another process is in the way.
        """
        with driver_errors(self._db.folder):
            self._db.execute("VACUUM")
        if not self._empty_log():
            raise StoreLockedError("another process is reading the store's log; end the agent's sessions")

    def files_with(self, text: str) -> list[str]:
        """The files of the store's folder that hold a text (of 6 characters or more) or much of it."""
        from howcome.log.traces import Trace, files_with

        return files_with(self._db.folder, Trace(text))

    def events_with(self, text: str) -> list[str]:
        """Ids of events whose texts (packed ones too) hold a text or much of it; at most MAX_TRACES + 1."""
        from howcome.log.traces import Trace

        trace = Trace(text)
        ids = (ID_PREFIX + key.hex()[:ID_HEX_CHARS] for key, said in self._event_texts() if trace.is_in(said.encode()))
        return list(islice(ids, MAX_TRACES + 1))

    def _event_texts(self) -> Iterator[tuple[bytes, str]]:
        last = 0
        sql = "SELECT id, key, excerpt, payload FROM events WHERE id > ? ORDER BY id LIMIT ?"
        while rows := self._db.rows(sql, (last, ROWS_A_LOOK)):
            last = rows[-1][0]
            for _, key, excerpt, payload in rows:
                yield key, excerpt if payload is None else f"{excerpt}\n{unpack(payload, excerpt)}"
        yield from self._db.rows("SELECT key, text FROM rationales")

    def memories_with(self, text: str) -> list[str]:
        """Ids of memories, whatever became of them, that hold a text or much of it; at most MAX_TRACES + 1."""
        from howcome.log.traces import Trace

        trace = Trace(text)
        sql = "SELECT key, text FROM memories UNION ALL SELECT coalesce(memory_key, key), text FROM candidates"
        said = self._db.rows(sql)
        found = (memories.memory_id(key) for key, words in said if trace.is_in(words.encode()))
        return list(dict.fromkeys(found))[: MAX_TRACES + 1]
