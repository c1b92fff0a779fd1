"""Every text of a database once more: each row is read, and written anew where a text should be another.

The tables and their columns are those of the database itself, so that none is forgotten. Rows are written in small
transactions, each with the place to go on from: whoever is killed goes on there, and what is done twice is done once.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import apsw

from howcome.domain import events
from howcome.index.search_index import SearchIndex
from howcome.index.vector_files import blank_vectors
from howcome.log.database import Database, GatedConnection, Kept, driver_errors
from howcome.log.event_rows import unpack
from howcome.log.memory_rows import NEXT_CHANGE
from howcome.log.purging import Purging

CURSOR = "redacting"
"""The name of the database's own value that holds the place to go on from."""

RULES_VERSION = "rules_version"
"""The name of the store's own value that says which rules for secrets its texts have been through."""

ROWS_A_STEP = 200
_LEFT = ("meta", "memory_words")
"""Tables without texts of their own: triggers write a memory's words anew with its text."""

_TURNS = tuple(events.KINDS.index(kind) for kind in events.TURN_KINDS)
_MARK = re.compile(r"\[redacted:([a-z0-9-]+):")


class Texts(Protocol):
    """What texts should be; all of it gives back what it gets where that may stay."""

    def text(self, table: str, column: str, text: str) -> str:
        """A text of a row."""

    def event(self, kind: int, tool: str | None, text: str, excerpt: str) -> tuple[str, str, bytes | str | None] | None:
        """The text, the excerpt and the payload of an event; None when they may stay."""

    def digest(self, text: str, type: str) -> bytes:
        """What equal memories have in common."""


class Progress:
    """How far it is: rows looked at and changed, and what was found in them, by rule."""

    def __init__(self, version: int, saved: str | None = None) -> None:
        values = json.loads(saved) if saved else {}
        values = values if values.get("version") == version else {}  # an older one's: from the beginning
        self.version = version
        self.table: str = values.get("table", "")
        self.last_row: int = values.get("last_row", 0)
        self.looked: int = values.get("looked", 0)
        self.changed: int = values.get("changed", 0)
        self.rules = Counter[str](values.get("rules", {}))

    def saved(self) -> str:
        """As it is kept."""
        return json.dumps(vars(self))

    def count(self, old: str, new: str) -> None:
        """What was found in a text that is changed."""
        self.rules.update(Counter(_MARK.findall(new)) - Counter(_MARK.findall(old)))


class Rewriting:
    """The rewriting of one database.

    Args:
        db: It; secure_delete must be on.
        texts: What texts should be.
        version: Of the rules.
        on_turns: Told the rows of turns that are about to change, before that is committed.
        on_change: Told each text that goes, and what takes its place.
    """

    def __init__(
        self,
        db: Database,
        texts: Texts,
        version: int,
        *,
        on_turns: Callable[[list[int]], None] = lambda _rows: None,
        on_change: Callable[[str, str], None] = lambda _old, _new: None,
    ) -> None:
        self._db, self._texts, self._on_turns, self._on_change = db, texts, on_turns, on_change
        saved = self._db.rows("SELECT value FROM meta WHERE name = ?", (CURSOR,))
        self.progress = Progress(version, saved[0][0] if saved else None)

    def run(self) -> Iterator[Progress]:
        """Every table, in the order of their names; what was done so far, after each transaction."""
        for table, columns in sorted(self._tables().items()):
            if table < self.progress.table:
                continue
            if table > self.progress.table:
                self.progress.table, self.progress.last_row = table, 0
            rewrite = self._by_row if self._has_rows(table) else self._by_value
            yield from rewrite(table, columns)
        self._settle_sources()

    def total(self) -> int:
        """How many rows there are to look at."""
        counts = (f"SELECT count(*) FROM {table}" for table in self._tables() if self._has_rows(table))  # noqa: S608 - the schema's names
        return sum(self._db.rows(sql)[0][0] for sql in counts)

    def _tables(self) -> dict[str, list[str]]:
        """The tables with texts, and the columns that hold them."""
        found = {}
        for (table,) in self._db.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if table in _LEFT:
                continue
            if columns := [row[1] for row in self._db.rows(f"PRAGMA table_info({table})") if row[2] == "TEXT"]:
                found[table] = columns
        return found

    def _has_rows(self, table: str) -> bool:
        sql = "SELECT wr FROM pragma_table_list WHERE name = ?"
        return not self._db.rows(sql, (table,))[0][0]

    # -- by row ----------------------------------------------------------------------------------------------------
    def _by_row(self, table: str, columns: list[str]) -> Iterator[Progress]:
        wanted = [*columns, "kind", "payload"] if table == "events" else columns
        sql = f"SELECT rowid, {', '.join(wanted)} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608 - the schema's names
        while rows := self._db.rows(sql, (self.progress.last_row, ROWS_A_STEP)):
            found = [(row, dict(zip(wanted, values, strict=True))) for row, *values in rows]
            changes = [(row, old, new) for row, old in found if (new := self._anew(table, columns, old))]
            if table == "events" and (turns := [row for row, old, _ in changes if old["kind"] in _TURNS]):
                self._on_turns(turns)
            self.progress.last_row = rows[-1][0]
            self.progress.looked += len(rows)
            self.progress.changed += len(changes)
            with self._db.transaction():
                for row, old, new in changes:
                    self._write(table, row, old, new)
                self._save()
            yield self.progress

    def _anew(self, table: str, columns: list[str], old: dict[str, Any]) -> dict[str, Any]:
        """The columns of a row that should be something else."""
        new: dict[str, Any] = {}
        for column in columns:
            text = old[column]
            if isinstance(text, str) and not (table == "events" and column == "excerpt"):
                gated = self._texts.text(table, column, text)
                if gated != text:
                    new[column] = gated
                    self._changed(text, gated)
        if table == "events":
            text = unpack(old["payload"], old["excerpt"])
            event = self._texts.event(old["kind"], old["tool"], text, old["excerpt"])
            if event is not None:
                self._changed(text, event[0])
                new |= {"text_chars": len(event[0]), "excerpt": Kept(event[1])}
                new["payload"] = Kept(event[2]) if isinstance(event[2], str) else event[2]
        return new

    def _changed(self, old: str, new: str) -> None:
        self.progress.count(old, new)
        self._on_change(old, new)

    def _write(self, table: str, row: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        sets = ", ".join(f"{column} = ?" for column in new)
        try:
            self._db.execute(f"UPDATE {table} SET {sets} WHERE rowid = ?", (*new.values(), row))  # noqa: S608 - the schema's names
        except apsw.ConstraintError:
            self._merge(table, row, old | new)
        if table == "memories":
            self._write_memory(row, old | new)
        if table in ("memories", "candidates"):
            sql = f"DELETE FROM memory_vectors WHERE key = (SELECT key FROM {table} WHERE id = ?)"  # noqa: S608 - of two names
            self._db.execute(sql, (row,))

    def _write_memory(self, row: int, now: dict[str, Any]) -> None:
        """Whoever has read it before finds out, and who says it again finds it."""
        digest = self._texts.digest(now["text"], now["type"])
        sql = f"UPDATE memories SET change = {NEXT_CHANGE}, digest = ? WHERE id = ? AND purged_ms IS NULL"  # noqa: S608 - fixed text
        self._db.execute(sql, (digest, row))

    # -- by value: tables whose rows are known by their texts ------------------------------------------------------
    def _by_value(self, table: str, columns: list[str]) -> Iterator[Progress]:
        with self._db.transaction():
            for column in columns:
                for (text,) in self._db.rows(f"SELECT DISTINCT {column} FROM {table}"):  # noqa: S608 - the schema's names
                    gated = self._texts.text(table, column, text) if isinstance(text, str) else text
                    if gated != text:
                        sql = f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?"  # noqa: S608 - the schema's names
                        self._db.connection.execute_gated(sql, (gated, text))
                        self._changed(text, gated)
                        self.progress.changed += self._db.changes()
            self._save()
        yield self.progress

    # -- rows that become the same ---------------------------------------------------------------------------------
    def _merge(self, table: str, row: int, now: dict[str, Any]) -> None:
        """A row that is now another's twin (which was stored by the new rules already) becomes one with it."""
        if table == "sources":  # both stand: their bytes are accounted for
            sql = "UPDATE sources SET path = ?, client = ?, reader_state = ?, generation = -id, is_current = 0"
            values = (now["path"], now["client"], Kept(now["reader_state"]), row)
            self._db.execute(sql + " WHERE id = ?", values)
            return
        same = {"projects": ("root",), "sessions": ("name", "client")}.get(table)
        if same is None:
            self._db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608 - derived, and there is another
            return
        clause = " AND ".join(f"{column} = ?" for column in same)
        sql = f"SELECT id FROM {table} WHERE {clause}"  # noqa: S608 - fixed names
        [(twin,)] = self._db.rows(sql, tuple(now[column] for column in same))
        if table == "projects":  # derived from its files: built anew
            for derived in ("code_edges", "code_files", "code_graphs"):
                self._db.execute(f"DELETE FROM {derived} WHERE project_id = ?", (row,))  # noqa: S608 - fixed names
        for (other,) in self._db.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            for link in self._db.rows(f"PRAGMA foreign_key_list({other})"):
                if link[2] == table:
                    sql = f"UPDATE OR REPLACE {other} SET {link[3]} = ? WHERE {link[3]} = ?"  # noqa: S608 - the schema's names
                    self._db.execute(sql, (twin, row))
        self._db.execute(f"DELETE FROM {table} WHERE id = ?", (row,))  # noqa: S608 - fixed names

    def _settle_sources(self) -> None:
        """Of the generations of one path the last is the current one."""
        later = "SELECT 1 FROM sources o WHERE o.path = sources.path AND o.generation > sources.generation"
        with self._db.transaction():
            self._db.execute(f"UPDATE sources SET is_current = 0 WHERE is_current AND EXISTS ({later})")  # noqa: S608 - fixed text

    # -- where it is -----------------------------------------------------------------------------------------------
    def _save(self) -> None:
        values = (CURSOR, Kept(self.progress.saved()))
        self._db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", values)


class Rewritings:
    """Makes the texts of rows what other rules want."""

    def __init__(self, db: Database, index: SearchIndex, purging: Purging) -> None:
        self._db, self._index, self._purging = db, index, purging

    def rewrite(
        self, texts: Texts, version: int, on_change: Callable[[str, str], None]
    ) -> Iterator[tuple[Progress, int]]:
        """Makes every text of every row what it should be; how far that is, and of how many rows, step by step."""
        index = os.path.join(self._db.folder, "index")
        rewriting = Rewriting(
            self._db, texts, version, on_turns=lambda rows: blank_vectors(index, rows), on_change=on_change
        )
        total = rewriting.total()
        for progress in rewriting.run():
            yield progress, total

    def rewrite_copy(self, path: str, texts_of: Callable[[bytes], Texts], version: int) -> bool:
        """The same for a database that is a copy of one; whether anything in it changed.

        `texts_of` gives what texts should be, by the copy's own key. One that has been through these rules stays.
        """
        folder = os.path.dirname(path)
        with driver_errors(folder), contextlib.closing(GatedConnection(path, apsw.SQLITE_OPEN_READWRITE)) as connection:
            db = Database(connection, folder, None, is_read_only=False)
            db.execute("PRAGMA secure_delete = ON")
            if not db.rows("SELECT 1 FROM sqlite_schema WHERE name = 'meta'"):
                return False
            meta = dict(db.rows("SELECT name, value FROM meta"))
            if meta.get(RULES_VERSION, 0) >= version:
                return False
            rewriting = Rewriting(db, texts_of(meta["key"]), version)
            for _ in rewriting.run():
                pass
            db.execute("VACUUM")
            _finish(db, version)
            db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            return bool(rewriting.progress.changed)

    def renew_indexes(self) -> None:
        """Writes the lexical index anew: of what is gone from the rows nothing is left in its files."""
        self._index.rebuild()
        self._index.release()

    def finish(self, version: int, *, is_changed: bool) -> None:
        """Takes what is left in unused parts of the database away, and notes the version."""
        if is_changed:
            self._purging.vacuum()
        with self._db.transaction():
            _finish(self._db, version)


def _finish(db: Database, version: int) -> None:
    db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (RULES_VERSION, version))
    db.execute("DELETE FROM meta WHERE name = ?", (CURSOR,))
