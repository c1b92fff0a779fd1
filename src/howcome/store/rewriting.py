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

import apsw

from howcome.domain import events
from howcome.log.driver import driver_errors
from howcome.log.gated import Kept
from howcome.log.memory_rows import NEXT_CHANGE
from howcome.log.sqlite_reads import unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from howcome.log.gated import GatedConnection

    class Texts(Protocol):
        """What texts should be; all of it gives back what it gets where that may stay."""

        def text(self, table: str, column: str, text: str) -> str:
            """A text of a row."""
            ...

        def event(
            self, kind: int, tool: str | None, text: str, excerpt: str
        ) -> tuple[str, str, bytes | str | None] | None:
            """The text, the excerpt and the payload of an event; None when they may stay."""
            ...

        def digest(self, text: str, type: str) -> bytes:
            """What equal memories have in common."""
            ...


CURSOR = "redacting"
"""The name of the database's own value that holds the place to go on from."""

ROWS_A_STEP = 200
_LEFT = ("meta", "memory_words")
"""Tables without texts of their own: triggers write a memory's words anew with its text."""

_TURNS = tuple(events.KINDS.index(kind) for kind in events.TURN_KINDS)
_MARK = re.compile(r"\[redacted:([a-z0-9-]+):")


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
        connection: To it; secure_delete must be on.
        texts: What texts should be.
        version: Of the rules.
        on_turns: Told the rows of turns that are about to change, before that is committed.
        on_change: Told each text that goes, and what takes its place.
    """

    def __init__(
        self,
        connection: GatedConnection,
        texts: Texts,
        version: int,
        *,
        on_turns: Callable[[list[int]], None] = lambda _rows: None,
        on_change: Callable[[str, str], None] = lambda _old, _new: None,
    ) -> None:
        self._connection, self._texts, self._on_turns, self._on_change = connection, texts, on_turns, on_change
        self._folder = os.path.dirname(connection.filename)
        saved = self._all("SELECT value FROM meta WHERE name = ?", (CURSOR,))
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
        return sum(self._all(sql)[0][0] for sql in counts)

    def _tables(self) -> dict[str, list[str]]:
        """The tables with texts, and the columns that hold them."""
        found = {}
        for (table,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if table in _LEFT:
                continue
            if columns := [row[1] for row in self._all(f"PRAGMA table_info({table})") if row[2] == "TEXT"]:
                found[table] = columns
        return found

    def _has_rows(self, table: str) -> bool:
        sql = "SELECT wr FROM pragma_table_list WHERE name = ?"
        return not self._all(sql, (table,))[0][0]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with driver_errors(self._folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # -- by row ----------------------------------------------------------------------------------------------------
    def _by_row(self, table: str, columns: list[str]) -> Iterator[Progress]:
        wanted = [*columns, "kind", "payload"] if table == "events" else columns
        sql = f"SELECT rowid, {', '.join(wanted)} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608 - the schema's names
        while rows := self._all(sql, (self.progress.last_row, ROWS_A_STEP)):
            found = [(row, dict(zip(wanted, values, strict=True))) for row, *values in rows]
            changes = [(row, old, new) for row, old in found if (new := self._anew(table, columns, old))]
            if table == "events" and (turns := [row for row, old, _ in changes if old["kind"] in _TURNS]):
                self._on_turns(turns)
            self.progress.last_row = rows[-1][0]
            self.progress.looked += len(rows)
            self.progress.changed += len(changes)
            with self._transaction():
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
            self._connection.execute(f"UPDATE {table} SET {sets} WHERE rowid = ?", (*new.values(), row))  # noqa: S608 - the schema's names
        except apsw.ConstraintError:
            self._merge(table, row, old | new)
        if table == "memories":
            self._write_memory(row, old | new)
        if table in ("memories", "candidates"):
            sql = f"DELETE FROM memory_vectors WHERE key = (SELECT key FROM {table} WHERE id = ?)"  # noqa: S608 - of two names
            self._connection.execute(sql, (row,))

    def _write_memory(self, row: int, now: dict[str, Any]) -> None:
        """Whoever has read it before finds out, and who says it again finds it."""
        digest = self._texts.digest(now["text"], now["type"])
        sql = f"UPDATE memories SET change = {NEXT_CHANGE}, digest = ? WHERE id = ? AND purged_ms IS NULL"  # noqa: S608 - fixed text
        self._connection.execute(sql, (digest, row))

    # -- by value: tables whose rows are known by their texts ------------------------------------------------------
    def _by_value(self, table: str, columns: list[str]) -> Iterator[Progress]:
        with self._transaction():
            for column in columns:
                for (text,) in self._all(f"SELECT DISTINCT {column} FROM {table}"):  # noqa: S608 - the schema's names
                    gated = self._texts.text(table, column, text) if isinstance(text, str) else text
                    if gated != text:
                        sql = f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?"  # noqa: S608 - the schema's names
                        self._connection.execute_gated(sql, (gated, text))
                        self._changed(text, gated)
                        self.progress.changed += self._connection.changes()
            self._save()
        yield self.progress

    # -- rows that become the same ---------------------------------------------------------------------------------
    def _merge(self, table: str, row: int, now: dict[str, Any]) -> None:
        """A row that is now another's twin (which was stored by the new rules already) becomes one with it."""
        if table == "sources":  # both stand: their bytes are accounted for
            sql = "UPDATE sources SET path = ?, client = ?, reader_state = ?, generation = -id, is_current = 0"
            values = (now["path"], now["client"], Kept(now["reader_state"]), row)
            self._connection.execute(sql + " WHERE id = ?", values)
            return
        same = {"projects": ("root",), "sessions": ("name", "client")}.get(table)
        if same is None:
            self._connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608 - derived, and there is another
            return
        clause = " AND ".join(f"{column} = ?" for column in same)
        sql = f"SELECT id FROM {table} WHERE {clause}"  # noqa: S608 - fixed names
        [(twin,)] = self._all(sql, tuple(now[column] for column in same))
        if table == "projects":  # derived from its files: built anew
            for derived in ("code_edges", "code_files", "code_graphs"):
                self._connection.execute(f"DELETE FROM {derived} WHERE project_id = ?", (row,))  # noqa: S608 - fixed names
        for (other,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            for link in self._all(f"PRAGMA foreign_key_list({other})"):
                if link[2] == table:
                    sql = f"UPDATE OR REPLACE {other} SET {link[3]} = ? WHERE {link[3]} = ?"  # noqa: S608 - the schema's names
                    self._connection.execute(sql, (twin, row))
        self._connection.execute(f"DELETE FROM {table} WHERE id = ?", (row,))  # noqa: S608 - fixed names

    def _settle_sources(self) -> None:
        """Of the generations of one path the last is the current one."""
        later = "SELECT 1 FROM sources o WHERE o.path = sources.path AND o.generation > sources.generation"
        with self._transaction():
            self._connection.execute(f"UPDATE sources SET is_current = 0 WHERE is_current AND EXISTS ({later})")  # noqa: S608 - fixed text

    def _all(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        with driver_errors(self._folder):
            return list(self._connection.execute(sql, values))

    # -- where it is -----------------------------------------------------------------------------------------------
    def _save(self) -> None:
        values = (CURSOR, Kept(self.progress.saved()))
        self._connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", values)
