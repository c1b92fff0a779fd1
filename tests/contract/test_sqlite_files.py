"""What the SQLite store promises about its files: private, never replaced, never half understood."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import apsw
import pytest
from tests.batches import Transcript, find

from howcome.errors import StoreDamagedError, StoreError, StoreLockedError, StoreMissingError, StoreNewerError
from howcome.store.sqlite import SqliteStore


def everything_below(folder: Path) -> dict[str, int]:
    """Every file and folder of a store with its permission bits."""
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")]}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_a_store(tmp_path: Path, umask: int) -> None:
    """The folder is 0700 and its files 0600, with the write-ahead log and the index, whatever the umask."""
    before = os.umask(umask)
    try:
        store = SqliteStore(str(tmp_path / "deep" / "store"))
        Transcript(store).say("private words")
        store.index.catch_up()
        modes = everything_below(tmp_path / "deep" / "store")
        assert {f"howcome.db{suffix}" for suffix in ("", "-wal", "-shm")} <= set(modes)
        store.close()
    finally:
        os.umask(before)
    assert modes["."] == 0o700
    databases = {name: mode for name, mode in modes.items() if name.startswith("howcome.db")}
    assert set(databases.values()) == {0o600}
    assert modes["index"] & 0o077 == 0


def test_a_store_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    """Its numbers may mean something else: nothing is read or written, and the message says what to do."""
    SqliteStore(str(tmp_path)).close()
    connection = apsw.Connection(str(tmp_path / "howcome.db"))
    connection.pragma("user_version", 99)
    connection.close()
    before = (tmp_path / "howcome.db").read_bytes()
    with pytest.raises(StoreNewerError, match="upgrade"):
        SqliteStore(str(tmp_path))
    assert (tmp_path / "howcome.db").read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"this is not a database, but somebody's file\n" * 100, os.urandom(8192), b"SQLite format 3\0" + b"\xff" * 8176],
)
def test_a_damaged_store_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    """What is no database is left byte for byte as it is, with nothing put beside it."""
    path = tmp_path / "howcome.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        SqliteStore(str(tmp_path))
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["howcome.db"]
    assert isinstance(caught.value, StoreDamagedError) or "failed" in str(caught.value)


def test_a_torn_page_is_reported(tmp_path: Path) -> None:
    """A database with overwritten pages is never called whole, and never replaced."""
    store = SqliteStore(str(tmp_path))
    Transcript(store).say(*("some words " * 50 for _ in range(200)))
    store.close()
    path = tmp_path / "howcome.db"
    data = bytearray(path.read_bytes())
    data[8192 : len(data) - 4096] = b"\xa5" * (len(data) - 12288)
    path.write_bytes(data)
    try:
        opened = SqliteStore(str(tmp_path))
        assert opened.check_integrity()
        opened.close()
    except (StoreDamagedError, apsw.CorruptError):
        pass
    assert path.stat().st_size == len(data)


def test_the_accounts_of_a_source_must_add_up(tmp_path: Path) -> None:
    """The database itself refuses a cursor that is not the sum of its accounts."""
    store = SqliteStore(str(tmp_path))
    Transcript(store).say("one")
    for change in ("offset = offset + 1", "accepted_bytes = 0", "quarantined_bytes = 5"):
        with pytest.raises(apsw.ConstraintError, match="CHECK"):
            store.connection.execute(f"UPDATE sources SET {change}")  # noqa: S608 - fixed words
    store.close()


def test_a_locked_store_says_so_and_writes_nothing(tmp_path: Path) -> None:
    """While another process holds the write lock: an error in the time given, no half batch, and reading goes on."""
    store, other = SqliteStore(str(tmp_path)), SqliteStore(str(tmp_path), busy_ms=20)
    rows = Transcript(store).say("before")
    late = Transcript(other, "/t/two.jsonl", session="two")
    with store.transaction():
        with pytest.raises(StoreLockedError, match="nothing was written"):
            late.say("late")
        assert other.log.events(rows)
    assert other.accounts.counts()["events"] == 1
    late.number = 0
    late.say("late")
    assert other.accounts.counts()["events"] == 2
    store.close()
    other.close()


def test_a_store_can_be_moved_to_another_folder(tmp_path: Path) -> None:
    """No path of the store itself is kept in it."""
    store = SqliteStore(str(tmp_path / "a"))
    Transcript(store).say("the median it is")
    store.index.catch_up()
    store.close()
    shutil.move(tmp_path / "a", tmp_path / "b")
    store = SqliteStore(str(tmp_path / "b"))
    assert find(store, "median") == [1]
    store.close()


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    """A file in the way of the folder is named in the message."""
    tmp_path.joinpath("store").write_text("in the way")
    with pytest.raises(StoreError, match="store"):
        SqliteStore(str(tmp_path / "store"))
    assert tmp_path.joinpath("store").read_text() == "in the way"


def test_a_store_that_must_not_be_created_is_not(tmp_path: Path) -> None:
    """Nothing is left behind, not even its folder; one that is there is opened."""
    folder = tmp_path / "deep" / "store"
    with pytest.raises(StoreMissingError, match="howcome init"):
        SqliteStore(str(folder), create=False)
    assert not folder.parent.exists()
    SqliteStore(str(folder)).close()
    SqliteStore(str(folder), create=False).close()


def test_what_only_reads_leaves_a_folder_without_a_store_as_it_is(tmp_path: Path) -> None:
    """It may be anybody's; a store that is made there closes it."""
    tmp_path.chmod(0o755)
    with pytest.raises(StoreMissingError):
        SqliteStore(str(tmp_path), create=False)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_looked_for_is_not_missing(tmp_path: Path) -> None:
    """A store that "is not there" would be a guess: a file in the folder's place, a folder that may not be entered."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="Not a directory") as failed:
        SqliteStore(str(tmp_path / "file"), create=False)
    assert not isinstance(failed.value, StoreMissingError)


def test_who_has_a_replaced_database_open_writes_no_index(tmp_path: Path) -> None:
    """The index in the folder is another database's by then: it must not be made anew from rows that are gone."""
    for name, words in (("mine", "sluice"), ("theirs", "lantern")):
        store = SqliteStore(str(tmp_path / name))
        Transcript(store).say(f"why does the {words} fail?")
        store.index.catch_up()
        store.close()
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    old = SqliteStore(str(mine))
    Transcript(old, "/t/two.jsonl", session="two").say("and the pump?")
    for path in mine.glob("howcome.db*"):
        path.unlink()
    shutil.rmtree(mine / "index")
    shutil.copytree(theirs / "index", mine / "index")
    shutil.copy(theirs / "howcome.db", mine)
    assert old.index.catch_up() is None
    with pytest.raises(StoreLockedError):
        old.index.rebuild()
    old.close()
    new = SqliteStore(str(mine))
    assert (new.index.lag(), len(find(new, "lantern")), find(new, "sluice")) == (0, 1, [])
    new.close()
