"""Searching vectors: what the plain way finds is found, under every filter, at every size."""

from __future__ import annotations

import re
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.vectors import DIMENSIONS, alone, clustered, expected, filled, is_wanted, open_index, turn, write

from howcome.domain import events
from howcome.domain.stored import Filter, Scope
from howcome.errors import IndexDamagedError, StoreError
from howcome.index.vector_files import (
    HEAD_NAME,
    PROJECT_AT,
    ROW_BYTES,
    blank_vectors,
    checksum_of,
    move_vectors,
    names,
    read_head,
)
from howcome.index.vector_index import EXACT_ROWS
from howcome.index.vector_snapshot import ROW, Snapshot, signs
from howcome.index.vector_writer import VectorWriter

if TYPE_CHECKING:
    from random import Random

EVERYTHING = Filter(Scope.everything())
NEAR = 1e-5
"""What is left of a half float's last bit in a sum of products."""

ids = st.integers(0, 6)
times = st.integers(-1, 7)
filters = st.builds(
    Filter,
    st.one_of(st.just(Scope.everything()), st.builds(Scope.project, st.one_of(st.none(), st.integers(0, 4)))),
    before_ms=st.none() | times,
    since_ms=st.none() | times,
    without=st.lists(ids, max_size=3),
    sessions=st.none() | st.lists(ids, max_size=4),
    kinds=st.none() | st.lists(st.sampled_from(events.KINDS), max_size=4),
    origins=st.none() | st.lists(st.sampled_from(events.ORIGINS), max_size=3),
    memory_types=st.none() | st.just(["decision"]),
    agent=st.none() | st.just("codex"),
)


def _bytes(count: int) -> st.SearchStrategy[np.ndarray]:
    """Numbers from 0 to 127, drawn at once: one by one they cost more than all that is tested with them."""
    drawn = st.binary(min_size=count, max_size=count)
    return drawn.map(lambda data: (np.frombuffer(data, np.uint8) & 127).astype(np.int8))


@st.composite
def collections(draw: st.DrawFn) -> tuple:
    """Turns of every kind with their vectors and a query."""
    count = draw(st.integers(1, 40))
    numbers = draw(_bytes(8 * count)).reshape(count, 8) % 7 - np.int8(3)
    query = draw(arrays.arrays(np.int8, (8,), elements=st.integers(-3, 3), fill=st.nothing()))
    gaps = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    turns = [
        turn(int(row), session_id=draw(ids), project_id=draw(st.integers(1, 3)), ts_ms=draw(st.integers(0, 6)),
             kind=draw(st.integers(0, 5)), origin=draw(st.integers(0, 4)))
        for row in np.cumsum(gaps)
    ]  # fmt: skip
    return turns, numbers.astype(np.float32), query.astype(np.float32)


@settings(deadline=None)
@given(collections(), filters, st.integers(0, 50))
def test_a_search_finds_what_the_plain_way_finds(collection: tuple, wanted: Filter, limit: int) -> None:
    """The best of the wanted rows and no others, with their scores, best first; what is of a row is of that row."""
    turns, vectors, query = collection
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(Path(folder), 8)
        write(index, turns, vectors)
        hits = index.search(query, wanted, limit)
    if not query.any():
        assert hits == []
        return
    scores = expected(turns, vectors, query, wanted)
    by_row = {one.row: one for one in turns}
    cosines, found = alone(turns, vectors, query, wanted), [hit.row for hit in hits]
    best = sorted(cosines.values(), reverse=True)[:limit]
    assert sorted((cosines[row] for row in found), reverse=True) == pytest.approx(best, abs=NEAR)
    assert [hit.score for hit in hits] == pytest.approx([scores[row] for row in found], abs=NEAR)
    assert len({hit.row for hit in hits}) == len(hits)
    for hit in hits:
        one = by_row[hit.row]
        assert (hit.session_id, hit.exchange, hit.ts_ms) == (one.session_id, one.exchange, one.ts_ms)
    assert [(-hit.score, hit.row) for hit in hits] == sorted((-hit.score, hit.row) for hit in hits)


@settings(deadline=None)
@given(collections(), st.none() | times, st.lists(st.integers(-3, 130), max_size=30), st.randoms(use_true_random=False))
def test_rows_score_what_a_search_scores_them(
    collection: tuple, before_ms: int | None, more: list[int], chance: Random
) -> None:
    """To the last bit, in whatever order they are asked for; rows without a vector are left out."""
    turns, vectors, query = collection
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(Path(folder), 8)
        write(index, turns, vectors)
        found = {
            hit.row: hit.score
            for hit in index.search(query, Filter(Scope.everything(), before_ms=before_ms), len(turns))
        }
        unknown = set(more) - {one.row for one in turns}
        asked = [*found, *unknown, *list(found)[:3]]
        chance.shuffle(asked)
        assert index.cosines(query, asked, before_ms) == found
        part = asked[::2]
        assert index.cosines(query, part, before_ms) == {row: found[row] for row in part if row in found}


def test_rows_that_no_vector_can_have_are_left_out(tmp_path: Path) -> None:
    """Below the first, behind the last, beyond what a row's number can be; and none asked for are none."""
    index, vectors = filled(tmp_path, 40)
    for rows in ([], [0], [-1], [41], [2**32 + 1], [2**62], [1 - 2**32]):
        assert index.cosines(vectors[0], rows) == {}
    assert set(index.cosines(vectors[0], [2**32 + 1, 40, 0, 1])) == {1, 40}
    for nowhere in (0, np.nan, np.inf):
        assert index.cosines(np.full(DIMENSIONS, nowhere), [1, 2]) == {}
    with pytest.raises(StoreError, match=f"{DIMENSIONS} dimensions"):
        index.cosines(np.ones(3), [1])


def test_rows_among_which_some_need_no_vector_are_found(tmp_path: Path) -> None:
    """The last row that was considered has none."""
    index = open_index(tmp_path, 3)
    write(index, [turn(row) for row in (3, 9)], np.eye(3)[:2], last_row=50)
    assert index.cosines(np.ones(3), [2, 3, 4, 9, 10, 50, 51]) == pytest.approx({3: 3**-0.5, 9: 3**-0.5}, abs=1e-3)


def test_equal_ones_are_in_the_order_of_their_rows(tmp_path: Path) -> None:
    """Also where the limit cuts through them, and where there are too many to compare all exactly."""
    index = open_index(tmp_path)
    count = EXACT_ROWS + 5000
    vectors = np.zeros((count, DIMENSIONS), np.float32)
    vectors[:, 0], vectors[-1, 1] = 1, 1
    write(index, [turn(row) for row in range(1, count + 1)], vectors)
    assert [hit.row for hit in index.search(np.eye(DIMENSIONS)[0], EVERYTHING, 7)] == list(range(1, 8))
    few = Filter(Scope.everything(), since_ms=3000, before_ms=100_000)
    assert [hit.row for hit in index.search(np.eye(DIMENSIONS)[0], few, 7)] == list(range(3, 10))


@settings(deadline=None)
@given(
    arrays.arrays(np.int16, (9, 16), elements=st.integers(-(2**15), 2**15 - 1)).filter(
        lambda bits: np.isfinite(bits.view(np.float16)).all()
    ),
    st.none() | st.lists(st.integers(0, 8), max_size=9),
)
def test_every_half_float_is_read_for_what_it_is(bits: np.ndarray, places: list[int] | None) -> None:
    """Tiny, negative and huge ones: the quick way of widening them gives what the slow one gives."""
    values = bits.view(np.float16)
    query = np.linspace(-1, 1, 16, dtype=np.float32)
    chosen = None if places is None else np.array(places, np.intp)
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.values = values
    plain = values.astype(np.float64)[slice(None) if chosen is None else chosen] @ query.astype(np.float64)
    scale = np.abs(values.astype(np.float64)).max() if values.size else 1
    assert snapshot.cosines(query, chosen) == pytest.approx(plain, rel=1e-5, abs=1e-6 * max(scale, 1e-3))


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 130), st.integers(1, 90), st.booleans())
def test_the_nearest_by_signs_are_what_sorting_gives(seed: int, dimensions: int, wanted: int, is_part: bool) -> None:
    """By the number of signs that differ, then by place; in any number of dimensions."""
    chance = np.random.default_rng(seed)
    values, query = chance.integers(-1, 2, (60, dimensions)), chance.integers(-1, 2, dimensions)
    chosen = np.flatnonzero(chance.random(60) < 0.5) if is_part else None
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.codes = signs(values)
    with tempfile.TemporaryDirectory() as folder:
        snapshot.head = open_index(Path(folder), dimensions)._snapshot().head
    places = range(60) if chosen is None else chosen.tolist()
    plain = sorted(places, key=lambda place: (int(((values[place] > 0) != (query > 0)).sum()), place))
    assert snapshot.nearest_codes(query.astype(np.float32), chosen, wanted).tolist() == sorted(plain[:wanted])


def test_of_many_rows_nearly_all_of_the_best_are_found(tmp_path: Path) -> None:
    """More than are compared exactly: .99 of the best ten, with the scores that they have, and within a filter."""
    count, dimensions = 2 * EXACT_ROWS + 500, 384
    index, vectors = open_index(tmp_path, dimensions), clustered(count, dimensions, 1)
    turns = [turn(row, project_id=1 + (row % 10 == 0), kind=1) for row in range(1, count + 1)]
    write(index, turns, vectors)
    queries = clustered(20, dimensions, 2)
    cosines = queries @ vectors.astype(np.float16).astype(np.float32).T
    for wanted in (EVERYTHING, Filter(Scope.project(1)), Filter(Scope.project(2))):
        places, found = [place for place, one in enumerate(turns) if is_wanted(one, wanted)], 0
        for query, scores in zip(queries, cosines, strict=True):
            best = sorted(places, key=lambda place, scores=scores: -scores[place])[:10]  # type: ignore[misc]
            hits = index.search(query, wanted, 10)
            found += len({hit.row for hit in hits} & {place + 1 for place in best})
            assert [hit.score for hit in hits] == pytest.approx([scores[hit.row - 1] for hit in hits], abs=NEAR)
            assert all(is_wanted(turns[hit.row - 1], wanted) for hit in hits)
        assert found >= 0.99 * 200, wanted.scope.project_id


def test_vectors_of_any_length_are_compared_by_their_directions(tmp_path: Path) -> None:
    """A score is a cosine; what has no direction scores 0, and a question without one finds nothing."""
    index = open_index(tmp_path, 3)
    write(index, [turn(row) for row in (1, 2, 3)], np.array([[5, 0, 0], [0.01, 0.01, 0], [0, 0, 0]], np.float32))
    hits = index.search(np.array([200, 0, 0]), EVERYTHING, 10)
    assert [hit.row for hit in hits] == [1, 2, 3]
    assert [hit.score for hit in hits] == pytest.approx([1, 2**-0.5, 0], abs=1e-3)
    for nowhere in ([0, 0, 0], [np.nan, 0, 0], [np.inf, 1, 0]):
        assert index.search(np.array(nowhere), EVERYTHING, 10) == []


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Questions and vectors of other dimensions, vectors that are no numbers, rows out of order or known already."""
    index = open_index(tmp_path, 3)
    one = np.ones((1, 3), np.float32)
    with VectorWriter(index) as writer:
        writer.append([turn(5)], one)
        for turns, vectors in (
            ([turn(6)], np.ones((1, 4))),
            ([turn(6), turn(7)], one),
            ([], one),
            ([turn(6)], one * np.nan),
            ([turn(5)], one),
            ([turn(7), turn(6)], np.ones((2, 3))),
        ):
            with pytest.raises(StoreError):
                writer.append(turns, vectors)
        writer.append([], np.empty((0, 3)))
        writer.commit(9)
        with pytest.raises(StoreError, match="rows up to 9"):
            writer.append([turn(8)], one)
    assert (index.count, index.last_row) == (1, 9)
    with pytest.raises(StoreError, match="3 dimensions"):
        index.search(np.ones(4), EVERYTHING, 1)


def test_sessions_of_a_single_turn_are_told(tmp_path: Path) -> None:
    """By how many vectors they have, also after there are more."""
    index = open_index(tmp_path, 3)
    assert index.lone_sessions([1, 2]) == set()
    write(index, [turn(row, session_id=session) for row, session in enumerate((1, 2, 2, 7), 1)], np.ones((4, 3)))
    assert index.lone_sessions([1, 2, 3, 7, 70_000]) == {1, 7}
    write(index, [turn(5, session_id=7), turn(6, session_id=3)], np.ones((2, 3)))
    assert index.lone_sessions(range(9)) == {1, 3}


def test_any_number_can_be_a_session(tmp_path: Path) -> None:
    """No table of all numbers below it is made."""
    index, last = open_index(tmp_path, 3), 2**32 - 1
    sessions = (last, 7, last - 1, 7, last)
    write(index, [turn(row, session_id=session) for row, session in enumerate(sessions, 1)], np.ones((5, 3)))
    assert index.lone_sessions([7, last, last - 1, last + 1, -1, 2**40]) == {last - 1}
    hits = index.search(np.ones(3), Filter(Scope.everything(), sessions=[last, 2**40, -1], without=[7]), 9)
    assert [hit.row for hit in hits] == [1, 5]


def test_an_index_that_is_not_there_finds_nothing(tmp_path: Path) -> None:
    """And reading makes no folder."""
    index = open_index(tmp_path / "nowhere")
    assert (index.count, index.last_row, index.search(np.ones(DIMENSIONS), EVERYTHING, 5)) == (0, 0, [])
    assert index.cosines(np.ones(DIMENSIONS), [1, 2], 3) == {}
    index.refresh()
    assert index.lone_sessions([1]) == set()
    assert not (tmp_path / "nowhere").exists()


def test_a_project_that_became_part_of_another_takes_its_vectors_along(tmp_path: Path) -> None:
    """Only whose they are changes; numpy is not needed for it, so a join works where nothing embeds."""
    _, vectors = filled(tmp_path / "index")
    move_vectors(str(tmp_path), joined=2, kept=3)
    index = open_index(tmp_path / "index")
    assert (ROW.itemsize, ROW.fields["project"][1]) == (ROW_BYTES, PROJECT_AT)  # type: ignore[index]
    found = {
        project: {hit.row for vector in vectors for hit in index.search(vector, Filter(Scope.project(project)), 40)}
        for project in WHOSE
    }
    assert found == {project: {row for row in range(1, 41) if row % 3 in rest} for project, rest in WHOSE.items()}
    move_vectors(str(tmp_path / "nowhere"), joined=2, kept=3)


def test_vectors_that_were_changed_in_place_are_whole(tmp_path: Path) -> None:
    """Who checks them finds them as they were written."""
    filled(tmp_path / "index")
    move_vectors(str(tmp_path), joined=2, kept=3)
    blank_vectors(str(tmp_path / "index"), [7, 8])
    [name] = names(str(tmp_path / "index"))
    folder = str(tmp_path / "index" / name)
    head = read_head(folder)
    assert head is not None
    assert {part: checksum_of(folder, head, part) for part in head.checksums} == head.checksums


@pytest.mark.parametrize("checksums", ['"checksums": null', '"sums": {}'])
def test_a_head_without_checksums_is_damaged(tmp_path: Path, checksums: str) -> None:
    """Its own checksum may be right."""
    filled(tmp_path / "index")
    [name] = names(str(tmp_path / "index"))
    head = tmp_path / "index" / name / HEAD_NAME
    text = re.sub(rb'"checksums": \{[^}]*\}', checksums.encode(), head.read_bytes().partition(b" ")[2].rstrip(b"\n"))
    head.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(IndexDamagedError):
        read_head(str(head.parent))


WHOSE = {1: {0}, 2: set[int](), 3: {1, 2}}
"""Project → what its rows leave when divided by three: those of 2 are 3's now."""
