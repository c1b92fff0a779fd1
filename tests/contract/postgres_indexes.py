"""Stores on SQLite whose search index is on a server of the tests: each folder has a database of its own there."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.postgres_servers import NAMES, NotHereError, fresh_database

from howcome.index.postgres_search import PostgresSearchIndex
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

ABOUT_SEARCH = ("test_store_search", "test_store_index")
"""Modules that these stores are for."""

ABOUT_FILES = (
    "test_the_index_stays_in_few_pieces",
    "test_a_crash_between_two_projects_heals",
    "test_a_rebuild_leaves_no_older_index_on_disk",
)
"""Tests about the lexical index's files, which a server has not."""

_databases: dict[Path, str] = {}


class SearchedOnServer(SqliteStore):
    """A store whose words are searched on a server."""

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


SEARCHED_ON_SERVERS = {
    f"search-on-{name}": functools.partial(SearchedOnServer, server=name)
    for name in NAMES
    if name != "given" or "HOWCOME_TEST_POSTGRES" in os.environ
}
"""Name → what opens the store of a folder."""
