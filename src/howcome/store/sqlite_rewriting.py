"""Rewriting the texts of the SQLite store, and of a database that is a copy of one, and all that is derived of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import apsw

from howcome.index.lexical_search import LexicalSearch
from howcome.log.database import Database
from howcome.log.driver import driver_errors
from howcome.log.gated import GatedConnection
from howcome.log.purging import Purging
from howcome.store.rewriting import Progress, Texts

RULES_VERSION = "rules_version"
"""The name of the store's own value that says which rules for secrets its texts have been through."""


class Rewritings:
    """Makes the texts of rows what other rules want."""

    def __init__(self, db: Database, index: LexicalSearch, purging: Purging) -> None:
        self._db, self._index, self._purging = db, index, purging

    def rewrite(
        self, texts: Texts, version: int, on_change: Callable[[str, str], None]
    ) -> Iterator[tuple[Progress, int]]:
        """Makes every text of every row what it should be; how far that is, and of how many rows, step by step."""
        from howcome.index.vector_blanking import blank_vectors
        from howcome.store.rewriting import Rewriting

        index = os.path.join(self._db.folder, "index")
        rewriting = Rewriting(
            self._db.connection, texts, version, on_turns=lambda rows: blank_vectors(index, rows), on_change=on_change
        )
        total = rewriting.total()
        for progress in rewriting.run():
            yield progress, total

    def rewrite_copy(self, path: str, texts_of: Callable[[bytes], Texts], version: int) -> bool:
        """The same for a copy of a database; see `rewrite_database`."""
        return rewrite_database(path, texts_of, version)

    def renew_indexes(self) -> None:
        """Writes the lexical index anew: of what is gone from the rows nothing is left in its files.

        Raises:
            StoreLockedError: another process is writing it.
        """
        self._index.rebuild()
        self._index.release()

    def finish(self, version: int, *, is_changed: bool) -> None:
        """Takes what is left in unused parts of the database away, and notes the version.

        Raises:
            StoreLockedError: another process is in the way; run it again.
        """
        if is_changed:
            self._purging.vacuum()
        with self._db.transaction():
            _finish(self._db.connection, version)


def rewrite_database(path: str, texts_of: Callable[[bytes], Texts], version: int) -> bool:
    """Makes every text of a copy of a store what it should be; whether anything in it changed.

    Args:
        path: The database.
        texts_of: Gives what texts should be, by the database's own key.
        version: Of the rules; one that has been through these already is left alone.

    Raises:
        StoreError: it cannot be read or written.
    """
    from howcome.store.rewriting import Rewriting

    with driver_errors(os.path.dirname(path)):
        connection = GatedConnection(path, apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA secure_delete = ON")
            if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone():
                return False
            rows: list[Any] = list(connection.execute("SELECT name, value FROM meta"))
            meta = dict(rows)
            if meta.get(RULES_VERSION, 0) >= version:
                return False
            rewriting = Rewriting(connection, texts_of(meta["key"]), version)
            for _ in rewriting.run():
                pass
            connection.execute("VACUUM")
            _finish(connection, version)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return bool(rewriting.progress.changed)
        finally:
            connection.close()


def _finish(connection: GatedConnection, version: int) -> None:
    from howcome.store.rewriting import CURSOR

    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (RULES_VERSION, version))
    connection.execute("DELETE FROM meta WHERE name = ?", (CURSOR,))
