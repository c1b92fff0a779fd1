"""Transcripts of a hostile grammar: no exception, every byte accounted for, the same rows wherever reading stopped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.checks import account, assert_accounted, keys, memberships
from tests.conftest import Ingest
from tests.hostile import scale
from tests.hostile.grammar import transcripts

from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = scale.rounds(25, 2000)
CUTS = scale.of(5, 10)
"""In each example: ten thousand and more in all."""

tried = settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=False, phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class Room:
    """A place for stores that name and redact alike, all copies of one empty store."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count, self.cuts = folder, 0, 0
        SqliteStore(str(folder / "empty")).close()

    def paths(self) -> tuple[Path, Path]:
        """A new transcript and a folder with an empty store."""
        shutil.rmtree(self.now, ignore_errors=True)  # a reader's thread may still be taking its lock in it
        self.count += 1
        self.now.mkdir()
        return self.now / "a.jsonl", self.now

    @property
    def now(self) -> Path:
        """The place of this example."""
        return self.folder / f"now{self.count}"

    def store(self, name: str) -> SqliteStore:
        """One of these stores."""
        shutil.copytree(self.folder / "empty", self.now / name)
        return SqliteStore(str(self.now / name))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Where the examples of a test are tried."""
    return Room(tmp_path)


def read(store: SqliteStore, path: Path) -> int:
    """Reads what is new, to the last complete line; where that ends."""
    Ingest(store)(path)
    whole = path.read_bytes().rfind(b"\n") + 1
    if whole:
        assert account(store, path)["offset"] == whole
    return whole


def test_every_byte_of_a_hostile_transcript_is_accounted_for(room: Room, figure: Callable[[str, object], None]) -> None:
    """Nothing raises; the offset is the end of the last line; its bytes are accepted, known, ignored or quarantined."""

    @tried
    @seed(scale.SEED)
    @given(transcripts)
    def check(data: bytes) -> None:
        path, _ = room.paths()
        path.write_bytes(data)
        store = room.store("whole")
        read(store, path)
        read(store, path)
        assert_accounted(store)
        store.index.catch_up()
        store.close()

    check()
    figure("transcripts", room.count)


def test_reading_may_stop_anywhere(room: Room, figure: Callable[[str, object], None]) -> None:
    """Read in pieces that end anywhere, within a line or a character, a file gives the rows that the whole gives."""

    @tried
    @seed(scale.SEED)
    @given(transcripts, st.lists(st.floats(0, 1), min_size=CUTS, max_size=CUTS))
    def check(data: bytes, places: list[float]) -> None:
        path, _ = room.paths()
        pieces = room.store("pieces")
        for cut in sorted({int(place * len(data)) for place in places}):
            path.write_bytes(data[:cut])
            read(pieces, path)
            room.cuts += 1
        path.write_bytes(data)
        read(pieces, path)
        whole = room.store("whole")
        read(whole, path)
        assert keys(pieces) == keys(whole)
        assert memberships(pieces) == memberships(whole)
        assert_accounted(pieces)
        for store in (pieces, whole):
            store.close()

    check()
    figure("cuts", f"{room.cuts} in {room.count} transcripts")
