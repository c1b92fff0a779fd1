"""Vectors of turns wherever a store keeps them: on a server the answers are those of the files, under every filter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.batches import Transcript
from tests.contract.postgres_stores import open_postgres
from tests.vectors import MODEL, alone, clustered, is_wanted, turn

from howcome.domain.stored import Filter, Scope
from howcome.errors import StoreError, StoreLockedError
from howcome.index.postgres_vector_index import PostgresVectorIndex
from howcome.index.postgres_vector_tables import VectorTables
from howcome.index.postgres_vector_writer import PostgresVectorWriter
from howcome.store.postgres import PostgresStore
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from howcome.domain.stored import Turn
    from howcome.index.turn_vectors import VectorRows
    from howcome.store.base import Store

DIMENSIONS, ROWS, LIMIT = 96, 3000, 10
NEAR = 1e-5
EVERYTHING = Filter(Scope.everything())
FILTERS = {
    "everything": EVERYTHING,
    "a project": Filter(Scope.project(2)),
    "a small project": Filter(Scope.project(9)),
    "a project's prompts before a time": Filter(Scope.project(1), kinds=("user_prompt",), before_ms=1_000_000),
    "a span of time": Filter(Scope.everything(), since_ms=500_000, before_ms=600_000),
    "what the agent said": Filter(Scope.everything(), origins=("assistant",)),
    "two sessions": Filter(Scope.everything(), sessions=(7, 30)),
    "not a session": Filter(Scope.project(3), without=(1, 2, 3, 4, 5)),
    "another kind": Filter(Scope.everything(), kinds=("tool_call",)),
    "no kind": Filter(Scope.everything(), kinds=()),
    "no session": Filter(Scope.project(1), sessions=()),
    "no origin": Filter(Scope.everything(), origins=()),
    "no time": Filter(Scope.everything(), since_ms=5, before_ms=5),
    "an unknown project": Filter(Scope.project(None)),
}


def turns_of(count: int) -> list[Turn]:
    """Three projects and one of 25 rows; conversations, and sessions of one turn at the end."""
    last = count - 20
    return [
        turn(row, project_id=1 + row // 8 % 3 if row % 120 else 9, session_id=row // 8 if row < last else row)
        for row in range(1, count + 1)
    ]


@pytest.fixture(params=["pypi", "debian", "given"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SqliteStore, PostgresStore]]:
    """A store beside its files and one on a server, with as many rows each; Debian's server has no pgvector."""
    if request.param == "given" and "HOWCOME_TEST_POSTGRES" not in os.environ:
        pytest.skip("HOWCOME_TEST_POSTGRES is not set")
    server = open_postgres(tmp_path / "server", request.param)
    files = SqliteStore(str(tmp_path / "files"))
    assert isinstance(server, PostgresStore)
    for store in (files, server):
        Transcript(store).say(*(f"turn {number}" for number in range(ROWS)))
    yield files, server
    files.close()
    server.close()


@pytest.fixture
def vectors() -> np.ndarray:
    """Of the rows, and behind them of questions; one has no direction."""
    found = clustered(ROWS + 40, DIMENSIONS, 5)
    found[77] = 0
    return found


def write(store: Store, turns: list[Turn], vectors: np.ndarray, piece: int = 500) -> None:
    """Adds vectors, a commit a piece."""
    with store.turn_vectors.writer(MODEL, DIMENSIONS) as writer:
        assert writer.is_open
        for start in range(0, len(turns), piece):
            writer.append(turns[start : start + piece], vectors[start : start + piece])
            writer.commit(turns[start : start + piece][-1].row)


def compare(files: VectorRows, server: VectorRows, turns: list[Turn], vectors: np.ndarray) -> float:
    """The same scores, rows of the filter only, as many as there are; how many of ten answers both have."""
    own, questions = vectors[: len(turns)], vectors[len(turns) :]
    shared = asked = 0
    for name, wanted in FILTERS.items():
        possible = [one.row for one in turns if is_wanted(one, wanted)]
        for query in questions:
            ours, theirs = (rows.search(query, wanted, LIMIT) for rows in (files, server))
            found = [hit.row for hit in theirs]
            assert len(set(found)) == len(found) == min(LIMIT, len(possible)), name
            assert set(found) <= set(possible), name
            assert [(-hit.score, hit.row) for hit in theirs] == sorted((-hit.score, hit.row) for hit in theirs)
            scores = files.cosines(query, found, wanted.before_ms)
            assert {hit.row: hit.score for hit in theirs} == pytest.approx(scores, abs=NEAR)
            by_row = {one.row: one for one in turns}
            assert all((hit.session_id, hit.exchange, hit.ts_ms) == (by_row[hit.row].session_id,
                        by_row[hit.row].exchange, by_row[hit.row].ts_ms) for hit in theirs)  # fmt: skip
            shared, asked = shared + len({hit.row for hit in ours} & set(found)), asked + len(ours)
        assert server.level(questions[0], wanted) == pytest.approx(files.level(questions[0], wanted), abs=1e-4), name
    assert alone(turns, own, questions[0], EVERYTHING)
    return shared / asked


def test_answers_are_those_of_the_files(
    stores: tuple[SqliteStore, PostgresStore], vectors: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what is asked of single rows and of sessions."""
    turns = turns_of(ROWS)
    for store in stores:
        write(store, turns, vectors[:ROWS])
    files, server = (store.turn_vectors.open(MODEL, DIMENSIONS) for store in stores)
    overlap = compare(files, server, turns, vectors)
    with capsys.disabled():
        print(f" overlap@{LIMIT} {overlap:.4f}", end="")
    assert overlap >= 0.99
    query, rows = vectors[-1], [0, -1, 2**62, 5, 6, 77, 78, ROWS, ROWS + 1]
    for before_ms in (None, 6000):
        assert server.cosines(query, rows, before_ms) == pytest.approx(files.cosines(query, rows, before_ms), abs=NEAR)
    assert server.cosines(query, [], None) == {}
    assert server.lone_sessions(range(ROWS + 5)) == files.lone_sessions(range(ROWS + 5)) != set()
    assert (server.count, files.count) == (ROWS, ROWS)
    for nowhere in (0, np.nan, np.inf):
        assert server.search(np.full(DIMENSIONS, nowhere), EVERYTHING, 5) == []
    with pytest.raises(StoreError, match=f"{DIMENSIONS} dimensions"):
        server.search(np.ones(3), EVERYTHING, 5)


def test_an_index_of_near_ones_leaves_no_filter_short(
    stores: tuple[SqliteStore, PostgresStore], vectors: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is used for every question: the server may sort nothing and read no table from its beginning."""
    turns, (files_store, server_store) = turns_of(ROWS), stores
    write(files_store, turns, vectors[:ROWS])
    tables = VectorTables(server_store.turn_vectors._server, MODEL, DIMENSIONS)  # type: ignore[arg-type]
    with PostgresVectorWriter(tables, most_compared=100) as writer:
        writer.append(turns, vectors[:ROWS])
        writer.commit(ROWS)
    if tables.state is not None and not tables.state.extension:
        pytest.skip("this server has no pgvector")
    tables.refresh()
    connection = tables.connection()
    server_store.turn_vectors._server.prepare()  # type: ignore[attr-defined]
    connection.execute("SET enable_seqscan = off; SET enable_sort = off; SET hnsw.ef_search = 40")
    assert tables.state is not None
    asked = f"SELECT row FROM vectors_{tables.state.number} WHERE project_id = 9 ORDER BY vector OPERATOR(public.<#>) %s LIMIT 9"  # noqa: S608, E501
    plan = str(connection.execute(b"EXPLAIN " + asked.encode(), (str(vectors[0].tolist()),)).fetchall())
    assert f"vectors_{tables.state.number}_near" in plan
    files = files_store.turn_vectors.open(MODEL, DIMENSIONS)
    server = PostgresVectorIndex(server_store.turn_vectors._server, MODEL, DIMENSIONS, most_compared=100)  # type: ignore[attr-defined]
    overlap = compare(files, server, turns, vectors)
    with capsys.disabled():
        print(f" overlap@{LIMIT} {overlap:.4f}", end="")
    assert overlap >= 0.95


@pytest.fixture
def server(stores: tuple[SqliteStore, PostgresStore]) -> PostgresStore:
    """The store on the server alone."""
    return stores[1]


def test_a_store_without_tables_has_none(server: PostgresStore) -> None:
    """And reading makes none."""
    rows = server.turn_vectors.open(MODEL, DIMENSIONS)
    assert (rows.count, rows.search(np.ones(DIMENSIONS), EVERYTHING, 5)) == (0, [])
    assert (rows.cosines(np.ones(DIMENSIONS), [1], None), rows.level(np.ones(DIMENSIONS), EVERYTHING)) == ({}, 0.0)
    assert rows.lone_sessions([1]) == set()
    assert (server.turn_vectors.has_any(), server.turn_vectors.held()) == (False, [])
    assert server.turn_vectors.give_up_broken() == []
    server.turn_vectors.move(1, 2)


def test_what_there_is_is_told_by_model(server: PostgresStore, vectors: np.ndarray) -> None:
    """With the turns that have none, and what removes them."""
    write(server, turns_of(ROWS)[:1200], vectors[:1200])
    with server.turn_vectors.writer("another", 3) as writer:
        writer.append([turn(5)], np.ones((1, 3)))
        writer.commit(9)
    another, ours = server.turn_vectors.held()
    assert (another.model, another.dimensions, another.count, another.turns_behind) == ("another", 3, 1, ROWS - 9)
    assert (ours.model, ours.count, ours.turns_behind, ours.problem) == (MODEL, 1200, ROWS - 1200, "")
    assert min(another.size_bytes, ours.size_bytes) > 0
    assert server.turn_vectors.has_any()
    for statement in another.removal[-1].split("; "):
        server.database.execute(statement)
    assert [one.model for one in server.turn_vectors.held()] == [MODEL]


def test_vectors_of_other_dimensions_or_rows_are_begun_anew(server: PostgresStore, vectors: np.ndarray) -> None:
    """Whoever had them open is told nothing that is not so."""
    write(server, turns_of(ROWS), vectors[:ROWS])
    old = server.turn_vectors.open(MODEL, DIMENSIONS)
    assert old.search(vectors[0], EVERYTHING, 1)
    with server.turn_vectors.writer(MODEL, 3) as writer:
        assert writer.last_row == 0
        writer.append([turn(1)], np.ones((1, 3)))
        writer.commit(1)
    with pytest.raises(StoreError, match="made anew"):
        old.search(vectors[0], EVERYTHING, 1)
    assert (old.search(vectors[0], EVERYTHING, 1), old.count) == ([], 0)
    assert server.turn_vectors.open(MODEL, 3).count == 1
    server.log.renew_marks()
    assert server.turn_vectors.open(MODEL, 3).count == 0
    [held] = server.turn_vectors.held()
    assert (held.count, held.turns_behind) == (0, ROWS)
    write(server, turns_of(ROWS), vectors[:ROWS])
    assert server.turn_vectors.open(MODEL, DIMENSIONS).count == ROWS


def test_vectors_that_went_are_noticed_and_made_anew(server: PostgresStore, vectors: np.ndarray) -> None:
    """By counting them."""
    write(server, turns_of(ROWS), vectors[:ROWS])
    assert server.turn_vectors.give_up_broken() == []
    with psycopg.connect(server.database.server.info.dsn) as other:  # type: ignore[attr-defined]
        other.execute("DELETE FROM howcome_search_1.vectors_1 WHERE row = 70")
    [problem] = server.turn_vectors.give_up_broken()
    assert "vector index" in problem
    assert server.turn_vectors.open(MODEL, DIMENSIONS).count == 0
    assert [one.turns_behind for one in server.turn_vectors.held()] == [ROWS]
    assert server.turn_vectors.give_up_broken() == []
    write(server, turns_of(ROWS), vectors[:ROWS])
    assert server.turn_vectors.give_up_broken() == []


def test_a_project_that_became_part_of_another_takes_its_vectors_along(
    server: PostgresStore, vectors: np.ndarray
) -> None:
    """All of them."""
    write(server, turns_of(ROWS)[:300], vectors[:300])
    rows = server.turn_vectors.open(MODEL, DIMENSIONS)
    before = {hit.row for project in (2, 3) for hit in rows.search(vectors[0], Filter(Scope.project(project)), 300)}
    server.turn_vectors.move(joined=2, kept=3)
    assert rows.search(vectors[0], Filter(Scope.project(2)), 300) == []
    assert {hit.row for hit in rows.search(vectors[0], Filter(Scope.project(3)), 300)} == before


def test_what_does_not_fit_is_refused(server: PostgresStore) -> None:
    """As the files refuse it; what was not committed is nobody's."""
    with server.turn_vectors.writer(MODEL, 3) as writer:
        writer.append([turn(5)], np.ones((1, 3)))
        for turns, wrong in (
            ([turn(6)], np.ones((1, 4))),
            ([turn(6), turn(7)], np.ones((1, 3))),
            ([turn(6)], np.full((1, 3), np.nan)),
            ([turn(5)], np.ones((1, 3))),
            ([turn(7), turn(6)], np.ones((2, 3))),
        ):
            with pytest.raises(StoreError):
                writer.append(turns, wrong)
        writer.commit(9)
        with pytest.raises(StoreError, match="rows up to 9"):
            writer.append([turn(8)], np.ones((1, 3)))
        writer.append([turn(10)], np.ones((1, 3)))
    assert server.turn_vectors.open(MODEL, 3).count == 1


def test_one_of_two_writes(server: PostgresStore, tmp_path: Path) -> None:
    """The other is told so; one whose lock was lost commits nothing over what was written since."""
    other = open_postgres(tmp_path / "server")
    try:
        with server.turn_vectors.writer(MODEL, 3) as first, other.turn_vectors.writer(MODEL, 3) as second:
            assert (first.is_open, second.is_open) == (True, False)
            with pytest.raises(StoreLockedError):
                second.commit(3)
        with server.turn_vectors.writer(MODEL, 3) as first:
            server.index.server().execute("SELECT pg_advisory_unlock_all()")  # type: ignore[attr-defined]
            with other.turn_vectors.writer(MODEL, 3) as second:
                assert second.is_open
                second.append([turn(4)], np.ones((1, 3)))
                second.commit(8)
            first.append([turn(2), turn(4)], np.ones((2, 3)))
            with pytest.raises(StoreLockedError):
                first.commit(8)
        with server.turn_vectors.writer(MODEL, 3) as writer:
            assert writer.last_row == 8
        assert server.turn_vectors.open(MODEL, 3).count == 1
    finally:
        other.close()


def test_a_role_that_owns_nothing_adds_and_searches(server: PostgresStore, tmp_path: Path, vectors: np.ndarray) -> None:
    """It can make no index of near ones: all are compared then. Another model's table is not its to make."""
    write(server, turns_of(ROWS)[:100], vectors[:100])
    role, dsn = f"writer_{os.getpid()}", server.database.server.info.dsn  # type: ignore[attr-defined]
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        for schema in ("howcome", "howcome_search_1"):
            owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
    other = PostgresStore(str(tmp_path / "role"), psycopg.conninfo.make_conninfo(dsn, user=role))
    try:
        tables = VectorTables(other.turn_vectors._server, MODEL, DIMENSIONS)  # type: ignore[attr-defined]
        with PostgresVectorWriter(tables, most_compared=10) as writer:
            assert writer.last_row == 100
            writer.append(turns_of(ROWS)[100:200], vectors[100:200])
            writer.commit(200)
        assert len(other.turn_vectors.open(MODEL, DIMENSIONS).search(vectors[0], EVERYTHING, 200)) == 200
        with pytest.raises(StoreError, match="may not do that"), other.turn_vectors.writer("another", 3):
            pass
        with server.turn_vectors.writer(MODEL, DIMENSIONS) as writer:
            assert writer.is_open
    finally:
        other.close()
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
