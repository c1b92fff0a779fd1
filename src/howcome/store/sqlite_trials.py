"""Notes of records that are being tried, and records that were set aside and are read after all."""

from __future__ import annotations

import contextlib

from howcome.domain.sources import SET_ASIDE
from howcome.store.sqlite_reads import SqliteReads, as_text

TYPE_CHECKING = False


class SqliteTrials(SqliteReads):
    """What the store knows of costly records; see `store.base.Store` for the contract."""

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """One write transaction."""
        raise NotImplementedError

    def trial(self, path: str, generation: int, offset: int) -> tuple[int, int] | None:
        """The process that tries (or tried) a record, and since when (UTC ms); None when nobody noted it."""
        sql = "SELECT pid, began_ms FROM trials WHERE path = ? AND generation = ? AND offset = ?"
        found: tuple[int, int] | None = self._row(sql, (as_text(path), generation, offset))
        return found

    def begin_trial(self, path: str, generation: int, offset: int, pid: int, now_ms: int) -> None:
        """Notes that a process tries a record; committing its rows takes the note away."""
        with self.transaction():
            self.connection.execute(
                "INSERT OR REPLACE INTO trials (path, generation, offset, pid, began_ms) VALUES (?, ?, ?, ?, ?)",
                (as_text(path), generation, offset, pid, now_ms),
            )

    def end_trial(self, path: str, generation: int, offset: int) -> None:
        """Takes a note back."""
        with self.transaction():
            self.connection.execute(
                "DELETE FROM trials WHERE path = ? AND generation = ? AND offset = ?",
                (as_text(path), generation, offset),
            )

    def set_aside(self) -> list[tuple[str, int, int, str]]:
        """Records that a pass died in: path, offset, size in bytes, digest; of what the files hold now, in order."""
        return self._rows(
            "SELECT s.path, q.offset, q.size_bytes, q.digest FROM quarantine q JOIN sources s ON s.id = q.source_id"
            " WHERE q.reason = ? AND s.is_current ORDER BY q.id",
            (SET_ASIDE,),
        )

    def quarantine_reasons(self) -> dict[str, int]:
        """Quarantined records by reason."""
        return dict(self._rows("SELECT reason, count(*) FROM quarantine GROUP BY reason ORDER BY 2 DESC"))

    def quarantined(self, limit: int = 20) -> list[dict[str, object]]:
        """The newest quarantined records: where they are and why, never what they say."""
        names = ("path", "generation", "offset", "size_bytes", "reason", "digest")
        rows = self._rows(
            "SELECT s.path, s.generation, q.offset, q.size_bytes, q.reason, q.digest FROM quarantine q"
            " JOIN sources s ON s.id = q.source_id ORDER BY q.id DESC LIMIT ?",
            (limit,),
        )
        return [dict(zip(names, row, strict=True)) for row in rows]
