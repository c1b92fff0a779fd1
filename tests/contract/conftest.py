"""Every store that the contract suite runs against: a new adapter is one more row of STORES."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.contract.postgres_indexes import ABOUT_FILES, ABOUT_SEARCH, SEARCHED_ON_SERVERS
from tests.contract.toys import open_toys

from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from howcome.store.base import Store

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(str(folder)),
    "toys": open_toys,
    **SEARCHED_ON_SERVERS,
}
"""Name → what opens the store of a folder; opening it twice gives two stores over the same rows."""

ON_EVERY_LOG = ("test_store", "test_store_turns", "test_positions")
"""Modules about the log of events: the toys have nothing else of their own, and count no words."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test against the stores that it is about."""
    module = metafunc.module.__name__.rpartition(".")[2]
    names = ("sqlite", "toys") if module in ON_EVERY_LOG else ("sqlite",)
    if module in ABOUT_SEARCH and metafunc.function.__name__ not in ABOUT_FILES:
        names += tuple(SEARCHED_ON_SERVERS)
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
