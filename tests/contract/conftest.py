"""Every store that the contract suite runs against: a new adapter is one more row of STORES."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from howcome.store.base import Store

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(str(folder)),
}
"""Name → what opens the store of a folder; opening it twice gives two stores over the same rows."""


@pytest.fixture(params=STORES)
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


@pytest.fixture(params=STORES, scope="module")
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all generated examples of a module's tests."""
    opened = STORES[request.param](tmp_path_factory.mktemp("shared"))
    yield opened
    opened.close()
