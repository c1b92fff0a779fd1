"""Every store that the contract suite runs against: a new adapter is one more row of STORES."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import pytest
from tests.contract.postgres_indexes import ABOUT_FILES, ABOUT_SEARCH, SEARCHED_ON_SERVERS
from tests.contract.postgres_stores import open_postgres
from tests.contract.toys import open_toys

from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from howcome.store.base import Store

STORES: dict[str, Callable[..., Store]] = {
    "sqlite": lambda folder, **options: SqliteStore(str(folder), **options),
    "toys": open_toys,
    **SEARCHED_ON_SERVERS,
    "postgres": open_postgres,
    "given": functools.partial(open_postgres, server="given"),
}
"""Name → what opens the store of a folder; opening it twice gives two stores over the same rows."""

ON_EVERY_LOG = ("test_store", "test_store_turns", "test_positions")
"""Modules about the log of events: the toys have nothing else of their own, and count no words."""


ROWS_ELSEWHERE = "the rows are on the server: no file of ours holds them"
_NOT_ON_A_SERVER = {
    "test_purging_leaves_no_byte": ROWS_ELSEWHERE,
    "test_a_text_of_several_pages_is_seen_where_it_lies": ROWS_ELSEWHERE,
    "test_a_part_of_a_long_text_is_enough": ROWS_ELSEWHERE,
    "test_a_purge_that_failed_looks_when_it_is_done_again": "readers of an older state keep no writer waiting there",
    "test_roots_that_become_one_by_redacting_again_are_one": "UPDATE OR REPLACE is SQLite's, as is redacting again",
}
"""Tests of what a server does not have, and why."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test against the stores that it is about."""
    name = metafunc.module.__name__.rpartition(".")[2]
    is_searched = name in ABOUT_SEARCH and metafunc.function.__name__ not in ABOUT_FILES
    names = [store for store in STORES if is_searched or store not in SEARCHED_ON_SERVERS]
    names = [store for store in names if store != "toys" or name in ON_EVERY_LOG]
    names = [store for store in names if store != "given" or "HOWCOME_TEST_POSTGRES" in os.environ]
    function = metafunc.function.__name__
    why = _NOT_ON_A_SERVER.get(function) or ("its index has no files of ours" if function in ABOUT_FILES else None)
    skipped = [pytest.mark.skip(reason=why)] if why else []
    rows = [pytest.param(name, marks=skipped if name in ("postgres", "given") else []) for name in names]
    for fixture in {"open_store", "shared_store"} & set(metafunc.fixturenames):
        metafunc.parametrize(fixture, rows, indirect=True, scope="module" if fixture == "shared_store" else None)


@pytest.fixture
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens the test's store, as often as a test wants: as another process would."""
    opened: list[Store] = []

    def open_it(**options: int) -> Store:
        opened.append(STORES[request.param](tmp_path / "store", **options))
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
