"""A whole store copied to another engine: the same rows under the same numbers and the same key, and then compared.

The source is read as it was when the copy began, and never changed. Events are only ever added, so that a copy that was
interrupted goes on behind the last one; all else is written anew, each table in one transaction.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from howcome.errors import StoreError, UsageError
from howcome.log.event_rows import is_packed
from howcome.log.postgres import PostgresDatabase, bindable
from howcome.store.parts import StoreParts
from howcome.store.postgres import PostgresStore
from howcome.store.sqlite import SqliteStore

MARK = "migrating"
"""The name of the target's own value that says that it is not whole yet."""

ROWS_A_STEP = 1000
_APART = ("meta", "memory_words")
"""The store's own values are copied one by one; the words of memories are made where they are written."""

Table: TypeAlias = tuple[str, list[str], list[str]]
Sums: TypeAlias = dict[tuple[str, str], tuple[int, str]]


class Moved:
    """What was copied: rows by table, and per project and table how many rows and which checksum both stores have."""

    def __init__(self) -> None:
        self.copied: dict[str, int] = {}
        self.sums: Sums = {}
        self.differing: list[tuple[str, str]] = []


def copy_store(source: StoreParts, target: StoreParts, on_progress: Callable[[int], object] = lambda _: None) -> Moved:
    """Copies everything and compares it; both stores are without a gate: what is copied has been through one.

    Raises:
        UsageError: the target holds something of its own.
        StoreError: one of them fails, or the copy is not the same; the source is as it was.
    """
    report = Moved()
    sqlite = next(store for store in (source, target) if isinstance(store, SqliteStore))
    tables = _tables(sqlite)
    with _snapshot(source):
        _claim(source, target, tables)
        for table in tables:
            report.copied[table[0]] = _copy(source, target, table, on_progress)
        report.sums, there = _sums(source, tables), _sums(target, tables)
        report.differing = sorted(key for key in report.sums | there if report.sums.get(key) != there.get(key))
    if report.differing:
        what = ", ".join(f"{table} of {project or 'no project'}" for project, table in report.differing[:5])
        raise StoreError(f"the copy differs from its source ({what}): empty that store, and copy again")
    with target.transaction():  # the copy is a store like any other from now on
        target.database.execute("DELETE FROM meta WHERE name = ?", (MARK,))
        if isinstance(target.database, PostgresDatabase):
            target.database.set_numbers()
    return report


def _tables(store: SqliteStore) -> list[Table]:
    """Every table that is copied, its columns, and those of its primary key."""
    found = []
    for (name,) in store.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"):
        if name not in _APART:
            columns = store.database.rows(f"PRAGMA table_info({name})")
            key = [row[1] for row in sorted(columns, key=lambda row: row[5]) if row[5]]
            found.append((name, [row[1] for row in columns], key))
    return found


@contextlib.contextmanager
def _snapshot(store: StoreParts) -> Iterator[None]:
    """Meanwhile a store is read as it was at the beginning."""
    if isinstance(store.database, PostgresDatabase):
        store.database.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        store.database.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # it waits for the other store
    else:
        store.database.execute("BEGIN")
    try:
        yield
    finally:
        with contextlib.suppress(StoreError):
            store.database.execute("ROLLBACK")


def _claim(source: StoreParts, target: StoreParts, tables: Sequence[Table]) -> None:
    """Makes the target this source's copy; refuses one that is anybody's already."""
    key, meta = source.meta("key"), source.database.rows("SELECT name, value FROM meta WHERE name != 'key'")
    is_begun = target.meta(MARK) is not None and target.meta("key") == key
    held = [name for name, _, _ in tables if target.database.rows(f"SELECT 1 FROM {name} LIMIT 1")]  # noqa: S608 - the schema's names
    if held and not is_begun:
        raise UsageError(
            f"{target.place} holds rows already ({', '.join(held[:3])}): copy into an empty store,"
            " such as sqlite:FOLDER (`howcome export` and `import-memories` carry memories to one that is used)"
        )
    with target.transaction():
        target.database.execute("DELETE FROM meta WHERE name != 'key'")
        target.database.executemany("INSERT INTO meta VALUES (?, ?)", [*meta, (MARK, 1)])
        is_server = isinstance(target, PostgresStore)
        sql = "UPDATE store_key SET key = ?" if is_server else "UPDATE meta SET value = ? WHERE name = 'key'"
        target.database.execute(sql, (key,))


def _copy(source: StoreParts, target: StoreParts, table: Table, on_progress: Callable[[int], object]) -> int:
    """Copies a table; how many rows were written."""
    name, _, _ = table
    count = 0
    if name == "events":
        for rows in _rows(source, table, target.log.last_position()):
            with target.transaction():
                _write(target, table, rows)
            count += len(rows)
            on_progress(len(rows))
        return count
    with target.transaction():
        target.database.execute(f"DELETE FROM {name}")  # noqa: S608 - the schema's names
        for rows in _rows(source, table):
            _write(target, table, rows)
            count += len(rows)
    return count


def _rows(store: StoreParts, table: Table, after: int = 0) -> Iterator[list[tuple[Any, ...]]]:
    """A table's rows in the order of its key, some at a time, as both engines can have them."""
    name, columns, key = table
    place = [columns.index(column) for column in key]
    last: tuple[object, ...] | None = (after,) if after else None
    while True:
        where = "" if last is None else f" WHERE ({', '.join(key)}) > ({', '.join('?' * len(key))})"
        sql = f"SELECT {', '.join(columns)} FROM {name}{where} ORDER BY {', '.join(key)} LIMIT {ROWS_A_STEP}"  # noqa: S608 - the schema's names
        rows = store.database.rows(sql, last or ())
        if not rows:
            return
        last = tuple(rows[-1][number] for number in place)
        yield [_portable(table, row) for row in rows]


def _portable(table: Table, row: Sequence[object]) -> tuple[object, ...]:
    """A row without what only one engine has: characters 0 in texts (an event keeps them in its payload), booleans."""
    values = [bindable(value) for value in row]
    if table[0] == "events":
        payload, said = table[1].index("payload"), row[table[1].index("excerpt")]
        whole = row[payload] if row[payload] is not None or "\0" not in str(said) else said
        values[payload] = whole.encode() if isinstance(whole, str) else whole
    return tuple(values)


def _write(target: StoreParts, table: Table, rows: list[tuple[Any, ...]]) -> None:
    name, columns, _ = table
    if isinstance(target, PostgresStore) and name == "events":
        target.batches.take(columns, rows)
    elif isinstance(target.database, PostgresDatabase):
        target.database.copy(name, columns, rows)
    else:
        payload = columns.index("payload") if name == "events" else -1
        if payload >= 0:  # plain texts are texts there
            rows = [(*row[:payload], _plain(row[payload]), *row[payload + 1 :]) for row in rows]
        marks = ", ".join("?" * len(columns))
        target.database.executemany(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - the schema's names


def _plain(payload: bytes | None) -> bytes | str | None:
    return payload if payload is None or is_packed(payload) else payload.decode()


def _sums(store: StoreParts, tables: Sequence[Table]) -> Sums:
    """How many rows each project has in each table, and their checksum in order."""
    roots = dict(store.projects.roots())
    found: Sums = {}
    for table in tables:
        name, columns, _ = table
        place = columns.index("project_id") if "project_id" in columns else None
        hashes: dict[str, tuple[int, Any]] = {}
        for rows in _rows(store, table):
            for row in rows:
                root = "" if place is None else roots.get(row[place], "")
                count, one = hashes.get(root) or (0, hashlib.blake2b(digest_size=16))
                one.update(repr(row).encode("utf-8", "backslashreplace"))
                hashes[root] = count + 1, one
        found |= {(root, name): (count, one.hexdigest()) for root, (count, one) in hashes.items()}
    return found
