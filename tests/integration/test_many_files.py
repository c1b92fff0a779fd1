"""Very many small transcripts: committed together, each cursor with its rows, whatever else reads them meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.checks import account, assert_accounted, assert_indexed, assert_whole, keys
from tests.conftest import Ingest
from tests.processes import ask

from howcome.store.sqlite import SqliteStore

FILES = 300


def small_files(folder: Path, count: int = FILES) -> list[Path]:
    """Transcripts of one prompt and its answer each."""
    found = []
    for number in range(count):
        claude = Claude(f"session-{number}")
        records = [claude.user(f"prompt {number}"), claude.text(f"answer {number}")]
        found.append(write(folder / f"{number}.jsonl", *records))
    return found


def commits(store: SqliteStore) -> list[int]:
    """One entry for each transaction that is committed from now on."""
    seen: list[int] = []

    def noted() -> bool:
        seen.append(1)
        return False

    store.connection.set_commit_hook(noted)
    return seen


def test_small_files_share_transactions(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Rows and cursors of hundreds of files are committed together; reports are whole at the end."""
    paths, seen = small_files(tmp_path), commits(store)
    with ingest.ingester.in_bulk():
        reports = [ingest(path) for path in paths]
    assert len(seen) <= 4
    assert sum(report.counts["accepted"] for report in reports) == 2 * FILES
    assert [report.bytes_read for report in reports] == [path.stat().st_size for path in paths]
    for path in paths[:: FILES // 10]:
        assert_whole(store, path)
    assert_indexed(store)
    before = keys(store)
    with ingest.ingester.in_bulk():
        assert sum(ingest(path).bytes_read for path in paths) == 0
    assert keys(store) == before


def test_what_another_pass_read_meanwhile_is_read_once(
    tmp_path: Path, store_folder: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """A file that somebody else reads while it waits for its transaction does not hold up the others."""
    first, second, third = small_files(tmp_path, 3)
    other = SqliteStore(str(store_folder))
    with ingest.ingester.in_bulk():
        for path in (first, second, third):
            ingest(path)
        Ingest(other)(second)
        write(second, Claude("session-1", start=10).user("more"), append=True)
    assert store.accounts.counts()["events"] == 7
    for path in (first, second, third):
        assert_whole(store, path)
        assert account(store, path)["duplicate"] == 0
    assert_accounted(store)
    other.close()


def test_a_file_that_cannot_be_read_leaves_the_others_alone(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """What is gone when its turn comes again is left out."""
    first, second, third = small_files(tmp_path, 3)
    with ingest.ingester.in_bulk():
        for path in (first, second, third):
            ingest(path)
        store.connection.execute("INSERT INTO sources (path, client, generation) VALUES (?, ?, 1)", (str(second), "x"))
        second.unlink()
    assert store.accounts.counts()["events"] == 4
    assert_whole(store, third)


def test_who_is_killed_has_read_nothing_of_what_was_held(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Neither rows nor cursors of files that wait are in the store before their transaction."""
    paths = small_files(tmp_path, 3)

    def interrupted() -> None:
        with ingest.ingester.in_bulk():
            for path in paths:
                ingest(path)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (store.accounts.counts()["events"], store.accounts.counts()["sources"]) == (0, 0)
    for path in paths:
        ingest(path)
    assert store.accounts.counts()["events"] == 6


def test_a_renamed_file_is_looked_for_by_an_index(store: SqliteStore) -> None:
    """Each new file asks whether it is an old one under a new name: that must not read every cursor."""
    sql = "EXPLAIN QUERY PLAN SELECT id FROM sources WHERE is_current AND head_digest = ?"
    [plan] = [row[3] for row in store.connection.execute(sql, ("x",))]
    assert "USING INDEX sources_by_head" in plan


def test_import_reads_large_and_small_ones_in_their_order(tmp_path: Path, store_folder: Path) -> None:
    """A fork that is read after its original keeps only a membership, wherever transactions end."""
    claude = Claude("original")
    shared = claude.conversation(40)
    original, fork = tmp_path / "files" / "a.jsonl", tmp_path / "files" / "b.jsonl"
    write(original, *shared)
    write(fork, *({**record, "sessionId": "fork"} for record in shared))
    os.utime(original, (1_790_000_000, 1_790_000_000))
    report = ask("import", tmp_path / "files")
    assert (report["accepted"], report["duplicate"]) == (200, 200)
    store = SqliteStore(str(store_folder))
    owners = {name for (name,) in store.connection.execute(
        "SELECT DISTINCT s.name FROM events e JOIN sessions s ON s.id = e.session_id")}  # fmt: skip
    assert owners == {"original"}
    assert_accounted(store)
    store.close()
