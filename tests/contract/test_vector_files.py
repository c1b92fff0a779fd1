"""What the files of a vector index promise: whole after any crash, one writer, readers undisturbed, no wrong answer."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples
from tests.vectors import DIMENSIONS, MODEL, clustered, filled, first_answers, open_index, turn, write

from howcome.domain.stored import Filter, Scope
from howcome.errors import IndexDamagedError, StoreError
from howcome.index.vector_files import FORMAT
from howcome.index.vector_index import VectorIndex
from howcome.index.vector_writer import VectorWriter

EVERYTHING = Filter(Scope.everything())
ROWS = 40


def data_files(index: VectorIndex) -> dict[str, bytes]:
    """The index's files but the lock, by name."""
    return {path.name: path.read_bytes() for path in Path(index.folder).iterdir() if path.name != "lock"}


def parts(index: VectorIndex) -> dict[str, bytes]:
    """The index's data, by what it is."""
    return {name.split("-")[0]: data for name, data in data_files(index).items() if name != "head"}


def test_an_open_reader_goes_on_and_sees_more_when_refreshed(tmp_path: Path) -> None:
    """After more was added, after everything was begun anew, and after the folder is gone."""
    index, vectors = filled(tmp_path)
    reader = open_index(tmp_path)
    rows = list(range(1, ROWS + 1))
    assert first_answers(reader, vectors) == rows
    more = clustered(5, DIMENSIONS, 6)
    with VectorWriter(index) as writer:
        writer.append([turn(100 + row) for row in range(5)], more)
        assert (reader.count, open_index(tmp_path).count) == (ROWS, ROWS)
        writer.commit(200)
        assert (reader.count, reader.last_row) == (ROWS, ROWS)
        reader.refresh()
        assert (reader.count, reader.last_row, first_answers(reader, more)[0]) == (ROWS + 5, 200, 100)
        writer.clear()
        assert open_index(tmp_path).count == ROWS + 5
        writer.append([turn(1)], vectors[:1])
        writer.commit(1)
        assert first_answers(reader, vectors) == rows
    assert len([name for name in data_files(index) if name != "head"]) == 3
    reader.refresh()
    assert (reader.count, reader.last_row) == (1, 1)
    shutil.rmtree(index.folder)
    assert first_answers(reader, vectors[:1]) == [1]
    reader.refresh()
    assert reader.count == 0


def test_a_head_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Who has just opened it reads what it was; nobody sees it half-written."""
    index, vectors = filled(tmp_path)
    with Path(index.folder, "head").open("rb") as stream:
        before = Path(index.folder, "head").read_bytes()
        write(index, [turn(ROWS + 1)], vectors[:1])
        assert stream.read() == before
    assert Path(index.folder, "head").read_bytes() != before


def test_files_that_go_while_an_index_is_opened_are_looked_for_again(tmp_path: Path) -> None:
    """Between a look at the head and one at its files somebody else has begun anew."""
    index, vectors = open_index(tmp_path, key_of=lambda _: "mark"), clustered(ROWS, DIMENSIONS, 5)
    write(index, [turn(row) for row in range(1, ROWS + 1)], vectors)
    is_first = True

    def key_of(_: int) -> str:
        nonlocal is_first
        if is_first:
            is_first = False
            with VectorWriter(index) as writer:
                writer.clear()
                writer.append([turn(77)], vectors[:1])
                writer.commit(77)
        return "mark"

    assert first_answers(open_index(tmp_path, key_of=key_of), vectors[:1]) == [77]


def test_refreshing_keeps_what_is_current(tmp_path: Path) -> None:
    """Nothing is opened again where nothing was committed."""
    index, _ = filled(tmp_path)
    before = index._snapshot()
    index.refresh()
    assert index._snapshot() is before


def test_rows_that_need_no_vector_are_considered_once(tmp_path: Path) -> None:
    """They move the last row without a vector, also when there are no vectors at all."""
    index = open_index(tmp_path)
    for last_row in (7, 12):
        with VectorWriter(index) as writer:
            writer.commit(last_row)
            assert writer.last_row == last_row
        assert (index.count, index.last_row, open_index(tmp_path).last_row) == (0, last_row, last_row)


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_batches_make_no_difference_to_the_files(sizes: list[int], commits: list[bool]) -> None:
    """The same bytes, however they came: in pieces, in several sittings, or at once."""
    count = sum(sizes)
    turns, vectors = [turn(row) for row in range(1, count + 1)], clustered(count, DIMENSIONS, 7)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        write(open_index(Path(first)), turns, vectors)
        index, place = open_index(Path(second)), 0
        for size, is_committed in zip(sizes, commits, strict=False):
            with VectorWriter(index) as writer:
                here = slice(place, place + size)
                if not is_committed:  # what is never committed leaves nothing behind
                    writer.append(turns[here], -vectors[here])
                    continue
            write(index, turns[here], vectors[here])
            place += size
        if place < count:
            write(index, turns[place:], vectors[place:])
        assert parts(index) == parts(open_index(Path(first)))


def test_a_damaged_head_is_told_and_begun_anew(tmp_path: Path) -> None:
    """Whichever byte is another one, wherever it ends; the vectors are not believed."""
    index, vectors = filled(tmp_path)
    assert index.count == ROWS
    head = Path(index.folder, "head")
    good = head.read_bytes()
    damages = [good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :] for place in range(len(good) - 1)]
    damages += [good[:place] for place in range(len(good) - 1)]
    damages += [b"\0" * len(good), b"\xff" * 9]
    for data in damages:
        head.write_bytes(data)
        with pytest.raises(IndexDamagedError, match="made anew"):
            first_answers(open_index(tmp_path), vectors[:1])
    with VectorWriter(open_index(tmp_path)) as writer:
        assert (writer.is_open, writer.last_row) == (True, 0)
        assert open_index(tmp_path).count == 0
        writer.append([turn(1)], vectors[:1])
        writer.commit(1)
    assert first_answers(open_index(tmp_path), vectors[:1]) == [1]
    assert first_answers(index, vectors) == list(range(1, ROWS + 1))  # it was open before


@pytest.mark.parametrize("part", ["rows", "codes", "values"])
@pytest.mark.parametrize("damage", ["gone", "short", "empty", "zeros", "another's"])
def test_damaged_data_is_told_and_begun_anew(tmp_path: Path, part: str, damage: str) -> None:
    """A file that is gone, shorter than it was, or not the one that belongs here."""
    index, vectors = filled(tmp_path)
    [path] = Path(index.folder).glob(f"{part}-*")
    good = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "another's":
        other, _ = filled(tmp_path / "other", ROWS + 3)
        with VectorWriter(other) as writer:
            writer.clear()
            writer.append([turn(1000 + row) for row in range(ROWS)], -vectors)
            writer.commit(5000)
        shutil.copy(next(Path(other.folder).glob(f"{part}-*")), path)
    else:
        path.write_bytes({"short": good[:-1], "empty": b"", "zeros": b"\0" * len(good)}[damage])
    with pytest.raises(IndexDamagedError, match="made anew"):
        open_index(tmp_path).search(vectors[0], EVERYTHING, 3)
    with pytest.raises(IndexDamagedError, match="made anew"):
        open_index(tmp_path).cosines(vectors[0], [1])
    with VectorWriter(open_index(tmp_path)) as writer:
        assert (writer.is_open, writer.last_row) == (True, 0)
    assert open_index(tmp_path).search(vectors[0], EVERYTHING, 3) == []
    assert open_index(tmp_path).cosines(vectors[0], [1]) == {}


def test_what_a_crash_left_behind_the_committed_is_nobodys(tmp_path: Path) -> None:
    """Torn rows at the ends, a half-written head, files of a beginning that was never committed."""
    index, vectors = filled(tmp_path)
    good = data_files(index)
    for path in Path(index.folder).glob("*.bin"):
        with path.open("ab") as stream:
            stream.write(b"\x7f" * 777)
    Path(index.folder, "head.999999999-00ff00ff.part").write_bytes(b"12")
    for part in ("rows", "values"):
        Path(index.folder, f"{part}-9.bin").write_bytes(b"half")
    assert first_answers(open_index(tmp_path), vectors) == list(range(1, ROWS + 1))
    write(index, [turn(ROWS + 1)], vectors[:1])
    found = data_files(index)
    assert found.keys() == good.keys()
    del found["head"]
    assert all(data.startswith(good[name]) and b"\x7f" * 8 not in data for name, data in found.items())


def test_vectors_of_another_model_are_never_compared(tmp_path: Path) -> None:
    """Another model is another folder; one whose head says otherwise is damaged."""
    index, vectors = filled(tmp_path)
    assert VectorIndex(str(tmp_path), "another-2", DIMENSIONS).count == 0
    with pytest.raises(IndexDamagedError, match=f"{MODEL} with {DIMENSIONS} dimensions"):
        open_index(tmp_path, 64).search(np.ones(64), EVERYTHING, 3)
    moved = VectorIndex(str(tmp_path), "another-2", DIMENSIONS)
    shutil.copytree(index.folder, moved.folder)
    with pytest.raises(IndexDamagedError, match=MODEL):
        moved.search(vectors[0], EVERYTHING, 3)
    for other in (moved, open_index(tmp_path, 64)):
        with VectorWriter(other) as writer:
            assert writer.last_row == 0
        assert other.count == 0


def test_a_head_of_another_format_is_not_read(tmp_path: Path) -> None:
    """Even if its checksum is right."""
    index, _ = filled(tmp_path)
    text = json.dumps({"format": FORMAT + 1}).encode()
    Path(index.folder, "head").write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(IndexDamagedError, match="format"):
        _ = open_index(tmp_path).count


def test_vectors_of_other_rows_count_as_none(tmp_path: Path) -> None:
    """Another database, or an older copy of this one that has grown since: what the last row is known by tells."""
    keys = {row: f"key {row}" for row in range(1, ROWS + 1)}
    index, vectors = open_index(tmp_path, key_of=lambda row: keys.get(row, "")), clustered(ROWS, DIMENSIONS, 5)
    write(index, [turn(row) for row in keys], vectors)
    assert index.count == ROWS
    for others in ({}, {row: key for row, key in keys.items() if row < ROWS}, {**keys, ROWS: "another"}):
        other = open_index(tmp_path, key_of=lambda row, others=others: others.get(row, ""))  # type: ignore[misc]
        assert (other.count, other.last_row, other.search(vectors[0], EVERYTHING, 3)) == (0, 0, [])
    index.refresh()
    assert index.count == ROWS
    keys[ROWS] = "put back"
    index.refresh()
    assert index.count == 0
    with VectorWriter(index) as writer:
        assert (writer.is_open, writer.last_row) == (True, 0)
    keys[ROWS] = f"key {ROWS}"
    assert open_index(tmp_path, key_of=index.key_of).count == 0


def test_files_are_their_owners(tmp_path: Path) -> None:
    """Vectors tell what texts were about."""
    os.umask(0)
    index, _ = filled(tmp_path / "index")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(index.folder).iterdir()}
    assert set(modes.values()) == {0o600}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "index", Path(index.folder))] == [0o700, 0o700]


def test_an_index_that_cannot_be_read_now_is_not_begun_anew(tmp_path: Path) -> None:
    """Vectors take hours: only what is damaged is given up."""
    index, _ = filled(tmp_path)
    head = Path(index.folder, "head")
    kept = head.read_bytes()
    head.unlink()
    head.mkdir()  # reading it is refused by the system
    with pytest.raises(StoreError) as caught, VectorWriter(open_index(tmp_path)):
        pass
    assert not isinstance(caught.value, IndexDamagedError)
    head.rmdir()
    head.write_bytes(kept)
    with VectorWriter(index) as writer:
        assert writer.is_open
    assert index.count == ROWS
