"""What can still be read of a damaged database, into a new one.

Tables are read by their row ids, around what cannot be read; what refers to rows that are gone goes too, but for
memories. The cursor of a transcript of which anything is missing goes back to its beginning: it is read again, and what
is there already is known by its key.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import apsw

from howcome.domain import events, memories
from howcome.domain.sources import COUNTERS
from howcome.errors import StoreError
from howcome.log.database import GatedConnection, driver_errors
from howcome.log.event_rows import unpack
from howcome.log.place import database_path
from howcome.store.sqlite import SCHEMA_VERSION, create_database
from howcome.store.sqlite_backup import damage, open_existing, replace_database

KIND = "damaged"
"""The folder that damaged databases are kept in."""

CHECKS = 2
"""So often a database must fail its integrity check before anything is done about it."""

_UNREADABLE = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError, UnicodeDecodeError)
_PAUSE_S = 0.2
_LARGEST = 1 << 62
_BY_HAND = (
    "meta", "projects", "project_paths", "memories", "memory_evidence", "memory_said", "memory_reviews",
    "memory_projects", "consolidated", "spending",
)  # fmt: skip
"""What is kept when the store's key cannot be read: events are known by it, and would be there twice."""

_HEAD = {
    0: b"SQLite format 3\0", 16: (4096).to_bytes(2, "big"), 18: bytes((2, 2, 0, 64, 32, 32)),
    44: (4).to_bytes(4, "big"), 56: (1).to_bytes(4, "big"),
}  # fmt: skip
"""Bytes of the head of every database that we make (sqlite.org/fileformat2.html)."""

_TORN = (
    "accepted != (SELECT count(*) FROM events e WHERE e.source_id = sources.id)"
    " OR quarantined != (SELECT count(*) FROM quarantine q WHERE q.source_id = sources.id)"
)
_PLACES = ("offset", "head_bytes", "size_bytes", "mtime_ns", "tail_bytes", "order_ms")
_MARKS = (
    "distilled",
    "distilled_marks",
    "rationale_cursors",
    "rationale_marks",
    "distil_tails",
    "distil_batch_mark",
    "command_mark",
)
"""How far what is derived from events has come. It is told by row ids, which may be given anew, and of what was derived
some may be lost, too: all of it is looked through again, and is the same where nothing was lost."""


class Salvaged:
    """What a salvage did: rows kept by table, tables with a part that could not be, and where the old one is kept."""

    def __init__(self) -> None:
        self.aside = ""
        self.rows: dict[str, int] = {}
        self.torn: list[str] = []


def salvage(home: str) -> Salvaged | None:
    """Puts a new database with what can be read in the place of a damaged one; None when it is not damaged.

    It must fail two integrity checks, while nobody else has it open.

    Raises:
        StoreError: it is locked, or cannot be told to be damaged; nothing was changed.
    """
    path = database_path(home)
    report = Salvaged()

    def make(new: str) -> None:
        for _ in range(CHECKS):
            if not damage(path):
                raise _WholeError
            time.sleep(_PAUSE_S)
        with driver_errors(home):
            _Salvage(path, new, report).run()

    try:
        report.aside = replace_database(home, KIND, make)
    except _WholeError:
        return None
    return report


class _WholeError(Exception):
    """There is nothing to salvage."""


class _Salvage:
    def __init__(self, old: str, new: str, report: Salvaged) -> None:
        self._old_path, self._new_path, self._report = old, new, report
        self._old: apsw.Connection | None = None
        self._has_key = False

    def run(self) -> None:
        """Everything, in one transaction of the new database, which is whole then."""
        version = self._version()
        create_database(self._new_path, version or SCHEMA_VERSION)
        with closing(GatedConnection(self._new_path)) as self._new:
            with self._new:
                for table in self._tables() if version else ():
                    self._copy(table)
                self._mend()
            problems = [row[0] for row in self._new.execute("PRAGMA integrity_check(1)")]
            if problems != ["ok"]:
                raise StoreError(f"what can be read makes no whole database: {problems[0]}; nothing was changed")
            self._new.pragma("journal_mode", "wal")
        if self._old is not None:
            self._old.close()

    def _version(self) -> int:
        """The version of the old schema; 0 when nothing of it can be read."""
        for has_new_head in (False, True):
            try:
                self._old = open_existing(self._with_new_head() if has_new_head else self._old_path)
                self._old.execute("PRAGMA writable_schema = ON")  # one broken entry must not hide the others
                version = next(iter(self._old.execute("PRAGMA user_version")))[0]
                if next(iter(self._old.execute("SELECT 1 FROM sqlite_schema LIMIT 1"))):
                    is_known = not has_new_head or 0 < version <= SCHEMA_VERSION
                    return int(version) if is_known else SCHEMA_VERSION
            except (*_UNREADABLE, StopIteration):
                continue
        return 0

    def _with_new_head(self) -> str:
        """A copy whose first bytes are as every database of ours has them."""
        copy = self._new_path + ".old"
        for suffix in ("", "-wal"):
            if os.path.exists(self._old_path + suffix):
                shutil.copyfile(self._old_path + suffix, copy + suffix)
        with open(copy, "r+b") as stream:
            for offset, data in _HEAD.items():
                stream.seek(offset)
                stream.write(data)
        return copy

    def _tables(self) -> list[str]:
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        return [row[0] for row in self._new.execute(sql)]

    def _copy(self, table: str) -> None:
        if not (self._has_key or table in _BY_HAND) or table == "memory_words":  # those come with the memories
            return
        columns = [row[1] for row in self._new.execute(f"PRAGMA table_info({table})")]
        how = "REPLACE" if table == "meta" else "IGNORE"
        sql = f"INSERT OR {how} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of our schema
        before = self._new.total_changes()
        self._new.executemany(sql, self._sound(table, columns))
        self._report.rows[table] = self._new.total_changes() - before

    def _sound(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        is_sound = _SOUND.get(table, bool)
        for row in self._read(table, columns):
            values = dict(zip(columns, row, strict=True))
            self._has_key = self._has_key or (table == "meta" and values["name"] == "key")
            if is_sound(values):
                yield row
            else:
                self._tear(table)

    def _tear(self, table: str) -> None:
        if table not in self._report.torn:
            self._report.torn.append(table)

    def _read(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        names = ", ".join(columns)
        [(is_without_rowid,)] = self._new.execute("SELECT wr FROM pragma_table_list WHERE name = ?", (table,))
        if is_without_rowid:
            yield from self._read_by_key(table, names)
            return
        after, skipped = 0, 0  # row ids are given from 1 on
        while after < _LARGEST:
            sql = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"  # noqa: S608 - names of our schema
            try:
                for row in self._rows(sql, (after,)):
                    after, skipped = row[0], 0
                    yield row[1:]
            except _UNREADABLE:
                self._tear(table)
                after, skipped = self._behind(table, after, skipped)
            else:
                return

    def _behind(self, table: str, after: int, skipped: int) -> tuple[int, int]:
        """Where reading may go on behind what cannot be read: steps that double until one is answered, then back."""
        step = max(1, skipped)
        while after + step < _LARGEST and not self._answers(table, after + step):
            step *= 2
        low, high = after + step // 2, after + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._answers(table, middle) else (middle, high)
        return high, 2 * step

    def _answers(self, table: str, after: int) -> bool:
        sql = f"SELECT * FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT 1"  # noqa: S608 - names of our schema
        try:
            list(self._rows(sql, (after,)))
        except _UNREADABLE:
            return False
        return True

    def _read_by_key(self, table: str, names: str) -> Iterator[tuple[Any, ...]]:
        """A table that is kept by its key: from the beginning, and from the end, as far as both can be read."""
        order = [row[1] for row in self._new.execute(f"PRAGMA table_info({table})") if row[5]]
        for direction in ("ASC", "DESC"):
            by = ", ".join(f"{name} {direction}" for name in order)
            try:
                yield from self._rows(f"SELECT {names} FROM {table} ORDER BY {by}")  # noqa: S608 - names of our schema
            except _UNREADABLE:
                self._tear(table)
            else:
                return

    def _rows(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        if self._old is None:
            raise StoreError("the old database is not open")
        return iter(self._old.execute(sql, values))

    # -- what must hold of the new one -----------------------------------------------------------------------------
    def _mend(self) -> None:
        """Nothing refers to what is gone, and no cursor claims bytes whose rows are gone."""
        tables = set(self._tables())  # an older schema has not all of them
        if "memories" in tables:  # one whose project is gone gets one that nobody else has: it must not hold everywhere
            self._new.execute(
                "INSERT INTO projects (id, root, created_ms)"
                " SELECT DISTINCT project_id, '/lost/project-' || project_id, 0 FROM memories"
                " WHERE project_id IS NOT NULL AND project_id NOT IN (SELECT id FROM projects)"
            )
        while self._drop_orphans():
            pass
        self._set_cursors_back()
        for table in tables.intersection(_MARKS):
            self._new.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names
        if "marks" in tables:  # what was derived from all rows is not of those that are left
            self._new.execute("UPDATE marks SET mark = hex(randomblob(16))")
        if "unreconciled" in tables:
            self._new.execute("INSERT OR IGNORE INTO unreconciled SELECT id FROM projects")
        self._new.execute("DELETE FROM injections WHERE event_id NOT IN (SELECT id FROM events)")
        for table in tables.intersection(_SOUND):  # triggers wrote rows, too, and some rows are gone again
            [(self._report.rows[table],)] = self._new.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - fixed names

    def _drop_orphans(self) -> int:
        """Rows that refer to what is gone; in a memory only the reference goes."""
        before = self._new.total_changes()
        for table in self._tables():
            for _, _, parent, column, to, *_ in list(self._new.execute(f"PRAGMA foreign_key_list({table})")):
                what = f"UPDATE {table} SET {column} = NULL" if table == "memories" else f"DELETE FROM {table}"  # noqa: S608 - names of our schema
                known = f"SELECT {to or 'id'} FROM {parent}"  # noqa: S608 - names of our schema
                self._new.execute(f"{what} WHERE {column} IS NOT NULL AND {column} NOT IN ({known})")
        return self._new.total_changes() - before

    def _set_cursors_back(self) -> None:
        """Sources with rows that are gone, and those with copies of others' rows, are read from the beginning.

        A database of sessions has no rows of its own (its offset is 0), and its sessions' cursors may be among what is
        gone: it is looked into again.
        """
        parents = {"sources", "projects", "sessions", "memberships"}
        is_torn = bool(list(self._new.execute(f"SELECT 1 FROM sources WHERE {_TORN} LIMIT 1")))  # noqa: S608 - fixed text
        if not is_torn and not parents & set(self._report.torn):
            return
        back = f"SELECT id FROM sources WHERE duplicate OR offset = 0 OR {_TORN}"  # noqa: S608 - fixed text
        rows = [row[0] for row in self._new.execute(back)]
        zeros = ", ".join(f"{name} = 0" for name in (*COUNTERS, *_PLACES) if name != "accepted")
        for row in rows:
            self._new.execute("DELETE FROM quarantine WHERE source_id = ?", (row,))
            self._new.execute(
                f"UPDATE sources SET {zeros}, accepted = (SELECT count(*) FROM events WHERE source_id = ?1),"  # noqa: S608 - fixed text
                " head_digest = '', tail_digest = '', reader_state = '{}' WHERE id = ?1",
                (row,),
            )


def _is_event(row: dict[str, Any]) -> bool:
    """Whether a row can be shown: a flipped bit in a packed text is no error of the database's."""
    from zstandard import ZstdError

    try:
        unpack(row["payload"], row["excerpt"])
    except (ZstdError, ValueError, TypeError):
        return False
    is_known = row["kind"] in range(len(events.KINDS)) and row["origin"] in range(len(events.ORIGINS))
    return is_known and isinstance(row["key"], bytes) and isinstance(row["excerpt"], str)


def _is_memory(row: dict[str, Any]) -> bool:
    is_known = row["type"] in memories.TYPES and row["origin"] in range(len(events.ORIGINS))
    return is_known and isinstance(row["text"], str)


_SOUND: dict[str, Callable[[dict[str, Any]], bool]] = {"events": _is_event, "memories": _is_memory}
"""What a row must be to be kept, beside what the schema asks."""
