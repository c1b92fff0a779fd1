"""Vectors on a server where rights, tables or room are missing, and where projects are joined meanwhile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from tests.batches import Transcript
from tests.builders import Claude, write
from tests.hashing import HashingEmbedder
from tests.integration.test_postgres_commands import address, ask_doctor
from tests.integration.test_postgres_vectors import EVERYTHING, machine, rows, say
from tests.processes import run
from tests.vectors import turn

from howcome.domain.stored import Filter, Scope
from howcome.errors import StoreLockedError
from howcome.index.postgres_vector_index import PostgresVectorIndex
from howcome.index.postgres_vector_tables import VectorTables
from howcome.index.postgres_vector_writer import PostgresVectorWriter
from howcome.retrieve.question import Question
from howcome.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SCHEMAS = "howcome", "howcome_search_1"


class Noted(psycopg.ClientCursor[tuple[object, ...]]):
    """Notes what is asked."""

    asked: tuple[str, ...] = ()

    def execute(self, query: object, *values: object, **named: object) -> Noted:  # type: ignore[override]
        """Notes it."""
        Noted.asked += (query.decode() if isinstance(query, bytes) else str(query),)
        return super().execute(query, *values, **named)  # type: ignore[arg-type]


@pytest.fixture
def store(postgres_dsn: str, tmp_path: Path) -> Iterator[PostgresStore]:
    """A store on a server, with turns."""
    store = PostgresStore(str(tmp_path / "store"), postgres_dsn)
    Transcript(store).say(*map(str, range(60)))
    yield store
    store.close()


@pytest.fixture
def role(postgres_dsn: str) -> Iterator[str]:
    """A role that may do nothing yet."""
    name = f"user_{os.getpid()}"
    owned(postgres_dsn, f"CREATE ROLE {name} LOGIN")
    yield name
    owned(postgres_dsn, f"DROP OWNED BY {name}; DROP ROLE {name}")


def owned(dsn: str, statements: str) -> None:
    """What the owner runs."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(statements.encode())


def grants(role: str, rights: str) -> str:
    """A role gets rights on all tables that are there."""
    return ";".join(
        f"GRANT USAGE ON SCHEMA {one} TO {role}; GRANT {rights} ON ALL TABLES IN SCHEMA {one} TO {role}"
        f"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA {one} TO {role}"
        for one in SCHEMAS
    )


def add(store: PostgresStore, numbers: Sequence[int], most_compared: int = 1000) -> PostgresVectorIndex:
    """Adds vectors of project 2."""
    server = store.turn_vectors._server  # type: ignore[attr-defined]
    with PostgresVectorWriter(VectorTables(server, "m", 8), most_compared) as writer:
        writer.append([turn(row, project_id=2) for row in numbers], np.ones((len(numbers), 8)))
        writer.commit(numbers[-1])
    return PostgresVectorIndex(server, "m", 8, most_compared)


def of_projects(store: PostgresStore) -> list[int]:
    """How many vectors are found of projects 2 and 3."""
    index = store.turn_vectors.open("m", 8)
    return [len(index.search(np.ones(8), Filter(Scope.project(project)), 100)) for project in (2, 3)]


def test_an_index_is_made_by_one_process_and_may_fail(store: PostgresStore) -> None:
    """Helpers share its memory in /dev/shm, which may be small; with no index all are compared."""
    store.index.server().cursor_factory = Noted  # type: ignore[attr-defined]
    index = add(store, range(1, 31), most_compared=10)
    [at] = [number for number, one in enumerate(Noted.asked) if one.startswith("CREATE INDEX vectors_1_near")]
    assert "SET LOCAL max_parallel_maintenance_workers = 0" in Noted.asked[at - 2 : at]
    owned(store.database.server.info.dsn, "DROP INDEX howcome_search_1.vectors_1_near")  # type: ignore[attr-defined]
    store.index.server().execute("SET lock_timeout = 50")  # type: ignore[attr-defined]
    with psycopg.connect(store.database.server.info.dsn) as other:  # type: ignore[attr-defined]
        other.execute("LOCK TABLE howcome_search_1.vectors_1 IN ROW EXCLUSIVE MODE")
        add(store, range(31, 61), most_compared=10)
    assert len(index.search(np.ones(8), EVERYTHING, 100)) == 30 + 30


def test_few_vectors_are_searched_once(store: PostgresStore) -> None:
    """Also where fewer pass the filter than were wanted."""
    index = add(store, range(1, 31))
    index.search(np.ones(8), EVERYTHING, 5)
    store.index.server().cursor_factory = Noted  # type: ignore[attr-defined]
    Noted.asked = ()
    assert len(index.search(np.ones(8), EVERYTHING, 100)) == 30
    assert len([one for one in Noted.asked if one.startswith("SELECT row")]) == 1


def test_a_table_that_is_gone_is_told_and_made_anew(postgres_dsn: str, tmp_path: Path) -> None:
    """Also where nobody asks before the next pass."""
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder()) as app:
        say(app, 12)
        assert app.index.embed_all() == 12
        owned(postgres_dsn, "DROP TABLE howcome_search_1.vectors_1")
        assert app.index.turns_to_embed() == 12
        [problem] = app.index.verify()
        assert "its table is gone" in problem
        assert app.index.verify() == []
        assert app.index.embed_all() == 12
        owned(postgres_dsn, "DROP TABLE howcome_search_1.vectors_2")
        say(app, 3, "two")
        assert app.index.embed_all() == 15
        assert app.index.verify() == []


def test_joined_projects_keep_their_vectors_where_the_table_is_locked(store: PostgresStore) -> None:
    """As it is while an index is made: they are made anew. Otherwise they go along."""
    add(store, range(1, 31))
    store.turn_vectors.move(2, 3)
    assert of_projects(store) == [0, 30]
    store.index.server().execute("SET lock_timeout = 50")  # type: ignore[attr-defined]
    with psycopg.connect(store.database.server.info.dsn) as other:  # type: ignore[attr-defined]
        other.execute("LOCK TABLE howcome_search_1.vectors_1 IN SHARE MODE")
        store.turn_vectors.move(3, 2)
    assert of_projects(store) == [0, 0]
    assert [one.count for one in store.turn_vectors.held()] == [0]
    add(store, range(1, 31))
    assert of_projects(store) == [30, 0]


def test_what_waits_while_projects_are_joined_is_not_committed(store: PostgresStore, postgres_dsn: str) -> None:
    """It may be of the project that is no more; the next pass does it."""
    other = PostgresStore(store.folder, postgres_dsn)
    with store.turn_vectors.writer("m", 8) as writer:
        writer.append([turn(row, project_id=2) for row in range(1, 11)], np.ones((10, 8)))
        writer.commit(10)
        writer.append([turn(row, project_id=2) for row in range(11, 21)], np.ones((10, 8)))
        other.turn_vectors.move(2, 3)
        with pytest.raises(StoreLockedError):
            writer.commit(20)
    other.close()
    assert of_projects(store) == [0, 10]
    with store.turn_vectors.writer("m", 8) as writer:
        assert writer.last_row == 10


@pytest.mark.usefixtures("store_folder")
def test_a_role_without_rights_on_vectors_searches_words(
    postgres_dsn: str, tmp_path: Path, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` says what its owner has to run."""
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder()) as app:
        say(app, 12)
        owned(
            postgres_dsn, f"DROP TABLE howcome_search_1.vector_models; {grants(role, 'SELECT, INSERT, UPDATE, DELETE')}"
        )
        assert app.index.embed_all() == 12
    dsn = psycopg.conninfo.make_conninfo(postgres_dsn, user=role)
    with machine(tmp_path / "two", dsn, HashingEmbedder()) as app:
        assert app.search.find(Question("gauge", Scope.everything(), limit=3))
        assert (app.index.vectors(), app.index.verify()) == ([], [])
    monkeypatch.setenv("HOWCOME_STORE", address(dsn))
    monkeypatch.setenv("HOWCOME_EMBEDDING", "auto")
    [found] = [one for one in ask_doctor() if "may not read the vectors" in one["what"]]
    assert f"TO {role}" in found["remedy"]


def test_a_role_that_may_only_read_is_told_what_is_so(postgres_dsn: str, tmp_path: Path, role: str) -> None:
    """Nothing where nothing is wrong; else what is, though it cannot give it up."""
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder()) as app:
        say(app, 12)
        assert app.index.embed_all() == 12
    owned(postgres_dsn, grants(role, "SELECT"))
    with machine(tmp_path / "two", psycopg.conninfo.make_conninfo(postgres_dsn, user=role)) as app:
        assert app.index.verify() == []
        owned(postgres_dsn, "DELETE FROM howcome_search_1.vectors_1 WHERE row = 7")
        assert len(app.index.verify()) == 1
    assert len(rows(postgres_dsn)) == 11


@pytest.mark.usefixtures("store_folder")
def test_what_is_imported_is_found_where_the_vectors_cannot_be_looked_at(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are locked: words are indexed all the same."""
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder()) as app:
        say(app, 12)
        assert app.index.embed_all() == 12
    monkeypatch.setenv("HOWCOME_STORE", address(postgres_dsn))
    with psycopg.connect(postgres_dsn) as other:
        other.execute("LOCK TABLE howcome_search_1.vectors_1")
        run("import", write(tmp_path / "talk.jsonl", *Claude("talk").conversation(3, "lantern")))
    with machine(tmp_path / "one", postgres_dsn) as app:
        assert app.index.lag() == 0
