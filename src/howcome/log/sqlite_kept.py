"""Which memories were kept by hand in the SQLite store: written down beside it, and looked for in it."""

from __future__ import annotations

from howcome.domain.memories import HAND
from howcome.log.kept import note_kept, vanished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.log.database import Database
    from howcome.log.memory_rows import KeptMemories


class SqliteKept:
    """See `log.memory_rows.KeptMemories`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def note(self) -> None:
        """Writes down which there are; where that cannot be done now, the next one that is kept does."""
        note_kept(self._db.folder, self._keys())

    def vanished(self) -> list[str]:
        """Ids of those that are written down and are not in this database."""
        return vanished(self._db.folder, self._keys())

    def _keys(self) -> list[str]:
        return [key for (key,) in self._db.rows("SELECT hex(key) FROM memories WHERE source = ? ORDER BY id", (HAND,))]


if TYPE_CHECKING:
    _: type[KeptMemories] = SqliteKept
