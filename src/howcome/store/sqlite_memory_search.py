"""Searching memories in the SQLite store: their index, and keeping it up to their rows."""

from __future__ import annotations

import contextlib
import os

from howcome.errors import IndexDamagedError, MachineError
from howcome.store.memory_index import MemoryDocument, MemoryIndex
from howcome.store.sqlite_memory_rows import LIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.memories import MemoryHit
    from howcome.domain.stored import Filter
    from howcome.store.database import Database
    from howcome.store.memory_rows import MemorySearch


class SqliteMemorySearch:
    """See `store.memory_rows.MemorySearch`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lexical: MemoryIndex | None = None

    @property
    def lexical(self) -> MemoryIndex:
        """The memories' lexical index, opened on first use."""
        if self._lexical is None:
            self._lexical = MemoryIndex(os.path.join(self._db.folder, "index"), self._mark_of_change)
        return self._lexical

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        if self._lexical is not None:
            self._lexical.refresh()

    def _mark_of_change(self, change: int) -> str:
        """What tells memories up to a change from others of the same numbers; "" where there is no such change."""
        return self._db.mark("memories", change)

    def search(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[MemoryHit]:
        """Live memories that hold the terms, best first."""
        return self.lexical.search(weights, wanted, limit, required)

    def catch_up(self, *, wait_s: float = 0.2) -> bool:
        """Makes new memories searchable; False when that is left to the next pass.

        Another process is at it for longer than `wait_s`, or the machine has no room for it. An index of other rows (an
        older database was put back) is made anew, as a damaged one is.
        """
        if self._db.is_read_only:
            return True
        try:
            lag = self.lag()
        except IndexDamagedError:
            lag = None
        except MachineError:  # the rows are written, and whoever comes next adds them
            return False
        with contextlib.suppress(MachineError):
            return lag == 0 or self.write(wait_s, anew=lag is None)
        return False

    def write(self, wait_s: float, *, anew: bool) -> bool:
        """Brings the index up to the rows, or makes it anew; False when another process is at it for so long."""
        try:
            return self.lexical.catch_up(self.documents, wait_s, anew=anew)
        except IndexDamagedError:  # everything in it comes from the rows
            self.lexical.drop()
            self._lexical = None
            return self.lexical.catch_up(self.documents, wait_s)

    def lag(self) -> int | None:
        """How many changes to memories their index has not seen; None when it is of other rows than these.

        It is asked before the rows, which are always written first: it is ahead of them only when it is not theirs.

        Raises:
            IndexDamagedError: the index cannot be read.
        """
        self.lexical.refresh()
        if self.lexical.is_foreign:
            return None
        indexed, documents = self.lexical.last_change(), self.lexical.size()
        [(change, rows)] = self._db.rows("SELECT coalesce(max(change), 0), count(*) FROM memories")
        lag = int(change) - indexed
        return None if lag < 0 or (lag == 0 and documents != rows) else lag

    def documents(self, after_change: int, limit: int) -> list[MemoryDocument]:
        """The memories that were written after a change number, as their index needs them."""
        sql = (
            "SELECT id, change, type, text, coalesce(project_id, 0), coalesce(agent, ''), origin, created_ms,"  # noqa: S608 - fixed text
            f" {LIVE} FROM memories WHERE change > ? ORDER BY change LIMIT ?"
        )
        return [MemoryDocument(row) for row in self._db.rows(sql, (after_change, limit))]


if TYPE_CHECKING:
    _: type[MemorySearch] = SqliteMemorySearch
