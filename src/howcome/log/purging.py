"""Erasing memories for good, and looking for what is left of them, in the rows and in the raw files."""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Iterator
from itertools import islice

from howcome.domain import memories
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.errors import StoreError, StoreLockedError
from howcome.log.database import Database, Kept, driver_errors
from howcome.log.event_rows import unpack
from howcome.log.memory_rows import NEXT_CHANGE
from howcome.log.memory_writing import MemoryWriter

CHECKPOINT_TRIES = 3
"""Readers of an old state hold the log back for a moment; each try waits for them as long as any write does."""

ROWS_A_LOOK = 1000
"""Events whose texts are looked into at once."""

MAX_TRACES = 20
"""Events and memories that are named as holding a text; one more says that there are more."""

BLOCK_BYTES = 64
"""Files are compared block by block with every 64 bytes of the text: each run of 127 bytes of it holds one block.

A text of more than 4 KB lies on several pages of the database, so all of it in one piece is found nowhere.
"""

MIN_DISTINCT_BYTES = 8
"""A block of fewer is a rule or an indentation: it is in many texts."""


class Trace:
    """What a text looks like wherever it may rest: as it is, on one line, and as JSON writes it."""

    def __init__(self, text: str) -> None:
        """Takes a text that no file holds by chance; the work is done once, for all that is to be looked into."""
        forms = (text, " ".join(text.split()), json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
        encoded = dict.fromkeys(form.encode("utf-8", "replace") for form in forms)
        self._blocks = {block for data in encoded for block in _blocks(data)}
        self._wholes = [data for data in encoded if len(data) < 2 * BLOCK_BYTES - 1 or not self._blocks]

    def is_in(self, content: bytes | mmap.mmap) -> bool:
        """Whether it is there: all of it if it is short, else at least 127 bytes in one piece (64 may do)."""
        if any(content.find(whole) >= 0 for whole in self._wholes):
            return True
        blocks = self._blocks
        starts = range(0, len(content) - BLOCK_BYTES + 1, BLOCK_BYTES) if blocks else ()
        return any(content[start : start + BLOCK_BYTES] in blocks for start in starts)


def _blocks(data: bytes) -> Iterator[bytes]:
    if len(data) >= 2 * BLOCK_BYTES - 1:
        for start in range(len(data) - BLOCK_BYTES + 1):
            block = data[start : start + BLOCK_BYTES]
            if len(set(block)) >= MIN_DISTINCT_BYTES:
                yield block


def files_with(folder: str, trace: Trace) -> list[str]:
    """The files in a folder and all below it that hold a trace, as paths in the folder.

    Raises:
        StoreError: one cannot be read, or a folder is a link to elsewhere, so nobody knows.
    """
    found = []
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        for name in folders:
            if os.path.islink(os.path.join(place, name)):
                raise StoreError(f"{os.path.join(place, name)} is a link to a folder elsewhere: it was not searched")
        for name in names:
            path = os.path.join(place, name)
            if _holds(path, trace):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def _holds(path: str, trace: Trace) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                return False
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return trace.is_in(content)
    except FileNotFoundError:  # gone meanwhile
        return False
    except (OSError, ValueError) as error:
        _unreadable(error)
    return False


def _unreadable(error: OSError | ValueError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StoreError(f"not all of the store's files could be searched: {error}") from error


class Purging:
    """Takes memories out of the database's pages and its log."""

    unseen = ""
    """What nobody here can look into, to see whether anything is left."""

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
        return files_with(self._db.folder, Trace(text))

    def events_with(self, text: str) -> list[str]:
        """Ids of events whose texts (packed ones too) hold a text or much of it; at most MAX_TRACES + 1."""
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
        trace = Trace(text)
        sql = "SELECT key, text FROM memories UNION ALL SELECT coalesce(memory_key, key), text FROM candidates"
        said = self._db.rows(sql)
        found = (memories.memory_id(key) for key, words in said if trace.is_in(words.encode()))
        return list(dict.fromkeys(found))[: MAX_TRACES + 1]
