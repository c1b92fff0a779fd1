"""Every store that the contract suite runs against: a new adapter is one more row of STORES."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.contract.toys import open_toys
from tests.postgres_servers import NotHereError, fresh_database

from howcome.index.postgres_search import PostgresSearchIndex
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from howcome.store.base import Store

SERVERS: dict[str, str] = {"search-on-pypi": "pypi", "search-on-debian": "debian", "search-on-given": "given"}
"""Name → the server that has the search index of an SQLite store."""

_databases: dict[Path, str] = {}


class SearchedOnServer(SqliteStore):
    """A store whose search index is on a server of the tests: each folder has a database of its own there."""

    def __init__(self, folder: Path, server: str) -> None:
        if folder not in _databases:
            try:
                _databases[folder] = fresh_database(server)
            except NotHereError as error:
                pytest.skip(str(error))
        super().__init__(str(folder))
        self.index = PostgresSearchIndex(lambda: psycopg.connect(_databases[folder], autocommit=True), self.log)

    def close(self) -> None:
        """Closes the index, too."""
        self.index.close()
        super().close()


STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(str(folder)),
    "toys": open_toys,
    **{name: functools.partial(SearchedOnServer, server=server) for name, server in SERVERS.items()},
}
"""Name → what opens the store of a folder; opening it twice gives two stores over the same rows."""

ON_EVERY_LOG = ("test_store", "test_store_turns", "test_positions")
"""Modules about the log of events: the toys have nothing else of their own, and count no words."""


ABOUT_SEARCH = ("test_store_search", "test_store_index")
ABOUT_FILES = (
    "test_the_index_stays_in_few_pieces",
    "test_a_crash_between_two_projects_heals",
    "test_a_rebuild_leaves_no_older_index_on_disk",
)
"""Tests about the lexical index's files, which a server has not."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test against the stores that it is about."""
    module = metafunc.module.__name__.rpartition(".")[2]
    names = ("sqlite", "toys") if module in ON_EVERY_LOG else ("sqlite",)
    if module in ABOUT_SEARCH and metafunc.function.__name__ not in ABOUT_FILES:
        given = [] if "HOWCOME_TEST_POSTGRES" in os.environ else ["given"]
        names += tuple(name for name, server in SERVERS.items() if server not in given)
    for fixture in {"open_store", "shared_store"} & set(metafunc.fixturenames):
        metafunc.parametrize(fixture, names, indirect=True, scope="module" if fixture == "shared_store" else None)


@pytest.fixture
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the test's store, as often as a test wants: as another process would."""
    opened: list[Store] = []

    def open_it() -> Store:
        opened.append(STORES[request.param](tmp_path / "store"))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    """An open, empty store."""
    return open_store()


@pytest.fixture(scope="module")
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all generated examples of a module's tests."""
    opened = STORES[request.param](tmp_path_factory.mktemp("shared"))
    yield opened
    opened.close()
