"""Stores on a real server for the contract suite: each folder has a database of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.postgres_servers import NotHereError, fresh_database

from howcome.store.postgres import PostgresStore

if TYPE_CHECKING:
    from howcome.store.base import Store

_databases: dict[Path, str] = {}


def open_postgres(folder: Path, server: str = "pypi", **options: int) -> Store:
    """The store on a server of the tests: each folder has a database of its own there."""
    if folder not in _databases:
        try:
            _databases[folder] = fresh_database(server)
        except NotHereError as error:
            pytest.skip(str(error))
    return PostgresStore(str(folder), _databases[folder], **options)


def opening(store: Store) -> str:
    """The lines of Python that open the same store in another process."""
    if isinstance(store, PostgresStore):
        made = f"PostgresStore({store.folder!r}, {_databases[Path(store.folder)]!r})"
        return f"from howcome.store.postgres import PostgresStore\nstore = {made}\n"
    return f"from howcome.store.sqlite import SqliteStore\nstore = SqliteStore({store.folder!r})\n"
