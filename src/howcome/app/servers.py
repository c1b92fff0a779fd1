"""Stores on servers: which one the settings mean, and where this machine keeps what is derived of it."""

from __future__ import annotations

import hashlib
import os

from howcome.errors import SettingsError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.log.database import Gate
    from howcome.settings import Settings
    from howcome.store.base import Store
    from howcome.store.moving import Moved
    from howcome.store.postgres import PostgresStore

FOLDER = "servers"
EXTRA = "postgres"
PACKAGES = ("psycopg[binary]",)


class DriverMissingError(StoreError):
    """The packages of the extra are not here."""


def open_on_server(settings: Settings, *, busy_ms: int, create: bool, gate: Gate | None) -> PostgresStore:
    """The store on the server of the settings.

    Raises:
        DriverMissingError: the extra is not installed.
        SettingsError: the variable with the password is not set.
        StoreError: it cannot be opened.
    """
    try:
        from howcome.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("psycopg"):
            raise
        what = f"a store on a server needs the package psycopg: pip install 'howcome[{EXTRA}]'"
        raise DriverMissingError(what) from error
    name = settings.store_password_env
    if name and name not in os.environ:
        raise SettingsError(f"store_password_env: the variable {name} is not set")
    # where this machine keeps vectors of what is on a server
    folder = os.path.join(settings.home, FOLDER, hashlib.blake2b(settings.store.encode(), digest_size=6).hexdigest())
    password = os.environ.get(name, "")
    return PostgresStore(folder, settings.store, password=password, busy_ms=busy_ms, create=create, gate=gate)


def move(source: Store, target: Store, on_progress: Callable[[int], object]) -> Moved:
    """See `store.moving.copy_store`, which needs the extra as well."""
    from howcome.store.moving import copy_store

    return copy_store(source, target, on_progress)
