"""Bringing the search index on a PostgreSQL server up to the log: a step is one transaction, with rows and counts."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import psycopg

from howcome.index.documents import Document, documents
from howcome.index.lexical import SCHEMAS
from howcome.index.postgres_query import SCHEMA, vector
from howcome.log.event_log import EventLog
from howcome.log.terms import analyzer

ROWS_A_STEP = 10_000
ROWS_A_SHORT_STEP = 1000
"""Under a deadline."""

LOCK_WAIT_S = 0.2
MAX_TERMS = 12_000
"""Of a vector: it may have 1 MB, and a term has 80 bytes at most."""

_LOCK = f"hashtextextended('{SCHEMA}', 0)"
_DDL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "postgres_schema.sql")
_COLUMNS = ("row", "project_id", "session_id", "exchange", "ts_ms", "kind", "origin")

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
_Terms: TypeAlias = "Counter[tuple[int, str, str]]"
"""Documents by project, field and term."""

_Totals: TypeAlias = "Counter[tuple[int, str]]"
"""Documents of an index, or words of a field, by project."""


class PostgresWriter:
    """Adds documents to the index. One writer at a time in a database: a lock of the connection sees to it."""

    def __init__(self, log: EventLog, connection: Connection) -> None:
        self._log, self._connection = log, connection
        self._analyzer = analyzer()
        self._is_new = False
        self.last_row = 0

    def open(self) -> bool:
        """Takes the writers' lock and finds how far the index is; False when another process writes."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while not self._connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})").fetchone()[0]:  # type: ignore[index]
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        if self._connection.execute("SELECT to_regclass('exchanges')").fetchone() == (None,):
            make_tables(self._connection)
        last = last_of(self._connection, self._log)
        self._is_new, self.last_row = last is None, last or 0
        return True

    def close(self) -> None:
        """Gives the lock back."""
        self._connection.execute(f"SELECT pg_advisory_unlock({_LOCK})")

    def rebuild(self) -> int:
        """Begins anew and adds everything, in one transaction: others find what was there until it ends."""
        with self._connection.transaction():
            self._clear()
            self._is_new, self.last_row = False, 0
            return self.add_new_rows({})

    def add_new_rows(self, texts: Mapping[int, str], deadline: float | None = None) -> int:
        """Adds documents for rows after the last one; `texts` are search texts already at hand, by row id."""
        added, step = 0, ROWS_A_STEP if deadline is None else ROWS_A_SHORT_STEP
        while rows := self._log.after(self.last_row, step):
            with self._connection.transaction():
                if self._is_new:
                    self._clear()
                self._write(list(documents(self._log, rows, texts)))
                state = (rows[-1].row, self._log.mark_at(rows[-1].row))
                self._connection.execute("UPDATE state SET last = %s, mark = %s", state)
            self._is_new, self.last_row = False, rows[-1].row
            added += len(rows)
            if deadline is not None and time.monotonic() > deadline:
                break
        return added

    def _clear(self) -> None:
        for table in ("events", "exchanges", "terms", "projects", "state"):
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names
        self._connection.execute("INSERT INTO state (last, mark) VALUES (0, '')")

    def _write(self, found: list[Document]) -> None:
        """The documents of a step, and what they change in the counts of terms and of projects."""
        terms: _Terms = Counter()
        totals: _Totals = Counter()
        for name, fields in SCHEMAS.items():
            these = [one for one in found if one.name == name]
            gone = [row for one in these for row, _ in one.replaced]
            self._take_out(name, gone, terms, totals)
            columns = (*_COLUMNS, *(f"{field}_length" for field in fields), *fields)
            statement = f"COPY {name} ({', '.join(columns)}) FROM STDIN"
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                for one in these:
                    copy.write_row(self._row(one, fields, terms, totals))
                    totals[one.row.project_id, name] += 1
        self._count(terms, totals)

    def _row(self, one: Document, fields: Iterable[str], terms: _Terms, totals: _Totals) -> tuple[object, ...]:
        row, lengths, vectors = one.row, [], []
        for field in fields:
            counts = self._counted(field, one.fields.get(field, ""))
            terms.update((row.project_id, field, term) for term in counts)
            lengths.append(counts.total())
            totals[row.project_id, field] += lengths[-1]
            vectors.append(vector(row.project_id, counts))
        place = (row.row, row.project_id, row.session_id, one.exchange, one.ts_ms, row.kind, row.origin)
        return (*place, *lengths, *vectors)

    def _counted(self, field: str, text: str) -> Counter[str]:
        """How often each term stands in a text; of very many terms the most frequent."""
        if field == "names":
            return Counter(text.lower().replace("\0", "").split())
        counts = Counter(self._analyzer.analyze(text))
        return counts if len(counts) <= MAX_TERMS else Counter(dict(counts.most_common(MAX_TERMS)))

    def _take_out(self, name: str, rows: list[int], terms: _Terms, totals: _Totals) -> None:
        """Removes documents that others take the place of."""
        if not rows:
            return
        one, other = SCHEMAS[name]
        statement = (
            f"DELETE FROM {name} WHERE row = ANY(%s) RETURNING project_id,"  # noqa: S608 - fixed names
            f" tsvector_to_array({one}), tsvector_to_array({other}), {one}_length, {other}_length"
        )
        for project_id, *held in self._connection.execute(statement.encode(), (rows,)):
            totals[project_id, name] -= 1
            for field, lexemes, length in zip((one, other), held[:2], held[2:], strict=True):
                terms.subtract((project_id, field, each.partition(":")[2]) for each in lexemes)
                totals[project_id, field] -= length

    def _count(self, terms: _Terms, totals: _Totals) -> None:
        changed = sorted((*key, count) for key, count in terms.items() if count)
        self._connection.execute(
            "INSERT INTO terms SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[])"
            " ON CONFLICT (project_id, field, term) DO UPDATE SET documents = terms.documents + excluded.documents",
            [[one[place] for one in changed] for place in range(4)],
        )
        names = [*SCHEMAS, *(field for fields in SCHEMAS.values() for field in fields)]
        sums = ", ".join(f"{name} = projects.{name} + excluded.{name}" for name in names)
        statement = (
            f"INSERT INTO projects (project_id, {', '.join(names)}) VALUES (%s{', %s' * len(names)})"  # noqa: S608 - fixed names
            f" ON CONFLICT (project_id) DO UPDATE SET {sums}"
        )
        for project_id in sorted({key[0] for key in totals}):
            self._connection.execute(statement.encode(), (project_id, *(totals[project_id, name] for name in names)))


def make_tables(connection: Connection) -> None:
    """Makes the tables that are not there, those of vectors, too: of several clients at once one."""
    with open(_DDL, encoding="utf-8") as stream, connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock(hashtextextended('{SCHEMA} tables', 0))")
        connection.execute(stream.read().encode())


def last_of(connection: Connection, log: EventLog) -> int | None:
    """The last position that the index has seen; None where it is not one of this log."""
    try:
        found = connection.execute("SELECT last, mark FROM state").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return None
    return found[0] if found and found[1] and found[1] == log.mark_at(found[0]) else None
