"""What tests ask of a store after an ingest: is everything there, once, and is every byte accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tantivy

if TYPE_CHECKING:
    from pathlib import Path

    from howcome.store.sqlite import SqliteStore

Row = tuple[str, str, str]


def timeline(store: SqliteStore, session: str) -> list[tuple[str, str]]:
    """A session's events in their order, as (kind, whole text)."""
    found = [row for row, name, _ in store.sessions.find(session) if name == session]
    return [(event.kind, event.text or "") for row in found for event in store.log.session(row, with_text=True)]


def keys(store: SqliteStore) -> list[bytes]:
    """The keys of all events, sorted."""
    return sorted(row[0] for row in store.connection.execute("SELECT key FROM events"))


def memberships(store: SqliteStore) -> set[tuple[str, bytes]]:
    """Which session holds which event, as its own or as a fork's."""
    sql = (
        "SELECT s.name, e.key FROM events e JOIN sessions s ON s.id = e.session_id"
        " UNION ALL SELECT s.name, e.key FROM memberships m"
        " JOIN sessions s ON s.id = m.session_id JOIN events e ON e.id = m.event_id"
    )
    found = [(str(name), bytes(key)) for name, key in store.connection.execute(sql)]
    assert len(found) == len(set(found)), "an event is twice in a session"
    return set(found)


def account(store: SqliteStore, path: Path) -> dict[str, int]:
    """The account of the current generation of a file."""
    (found,) = [row for row in store.accounts.sources() if row["path"] == str(path) and row["is_current"]]
    return {name: value for name, value in found.items() if isinstance(value, int)}


def assert_accounted(store: SqliteStore) -> None:
    """Every byte of every generation is accounted for, and nothing hangs in the air."""
    for row in store.accounts.sources():
        parts = sum(int(str(row[f"{fate}_bytes"])) for fate in ("accepted", "duplicate", "ignored", "quarantined"))
        assert row["offset"] == parts, row
    quarantined = store.connection.execute(
        "SELECT s.id, s.quarantined, s.quarantined_bytes FROM sources s WHERE s.quarantined != (SELECT count(*)"
        " FROM quarantine q WHERE q.source_id = s.id) OR s.quarantined_bytes != (SELECT coalesce(sum(size_bytes), 0)"
        " FROM quarantine q WHERE q.source_id = s.id)"
    ).fetchall()
    assert quarantined == []
    assert store.connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert store.check_integrity() == []
    accepted = sum(int(str(row["accepted"])) for row in store.accounts.sources())
    assert accepted == store.accounts.counts()["events"]


def assert_whole(store: SqliteStore, path: Path, size: int | None = None) -> None:
    """The file was read to its end, and every byte of it is accounted for."""
    assert account(store, path)["offset"] == (path.stat().st_size if size is None else size)
    assert_accounted(store)


def assert_indexed(store: SqliteStore) -> None:
    """The index holds every row that can be searched, each once, in the index of its project."""
    store.index.catch_up()
    assert store.index.lag() == 0
    sql = "SELECT id, project_id FROM events WHERE kind IN (0, 1, 3, 4) ORDER BY id"
    wanted = list(store.connection.execute(sql))
    rows: list[tuple[int, int]] = []
    for path in store.index.folders:
        project, name = path.split("/")[-2:]
        if name == "events":
            searcher = store.index.open(path).searcher()
            hits = searcher.search(tantivy.Query.all_query(), len(wanted) + 10, count=False).hits
            found = searcher.fast_field_values("row", [place for _, place in hits])
            rows += [(row, int(project)) for row in found]
    assert sorted(rows) == wanted
