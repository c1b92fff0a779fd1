"""Stores on a real server for the contract suite: each folder has a database of its own."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.postgres_servers import NotHereError, fresh_database

from howcome.store.postgres import PostgresStore

if TYPE_CHECKING:
    from howcome.store.base import Store

_databases: dict[Path, str] = {}


def open_postgres(folder: Path, server: str = "pypi", **options: int) -> Store:
    """The store on a server of the tests: each folder has a database of its own there."""
    if folder not in _databases:
        try:
            _databases[folder] = fresh_database(server, _template(server))
        except NotHereError as error:
            pytest.skip(str(error))
        with psycopg.connect(_databases[folder]) as connection:  # every store has a key of its own
            connection.execute(
                "UPDATE howcome.store_key SET key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())"
            )
    return PostgresStore(str(folder), _databases[folder], **options)


@functools.cache
def _template(server: str) -> str:
    """The name of a database with the tables of an empty store: making them takes longer than copying them."""
    dsn = fresh_database(server)
    with tempfile.TemporaryDirectory() as folder:
        PostgresStore(folder, dsn).close()
    return str(conninfo_to_dict(dsn)["dbname"])


def opening(store: Store) -> str:
    """The lines of Python that open the same store in another process."""
    if isinstance(store, PostgresStore):
        made = f"PostgresStore({store.folder!r}, {_databases[Path(store.folder)]!r})"
        return f"from howcome.store.postgres import PostgresStore\nstore = {made}\n"
    return f"from howcome.store.sqlite import SqliteStore\nstore = SqliteStore({store.folder!r})\n"
