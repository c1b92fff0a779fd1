"""Notes of records that are being tried, and records that were set aside and are read after all."""

from __future__ import annotations

from howcome.domain.sources import COUNTERS, SET_ASIDE, Batch
from howcome.log.database import Database
from howcome.log.event_rows import path_text
from howcome.log.sqlite_batches import BatchWriter


class Quarantine:
    """Records that could not be read, or cost a pass its time."""

    def __init__(self, db: Database, writer: BatchWriter) -> None:
        self._db, self._writer = db, writer

    def trial(self, path: str, generation: int, offset: int) -> tuple[int, int] | None:
        """The process that tries (or tried) a record, and since when (UTC ms); None when nobody noted it."""
        sql = "SELECT pid, began_ms FROM trials WHERE path = ? AND generation = ? AND offset = ?"
        found: tuple[int, int] | None = self._db.row(sql, (path_text(path), generation, offset))
        return found

    def begin_trial(self, path: str, generation: int, offset: int, pid: int, now_ms: int) -> None:
        """Notes that a process tries a record; committing its rows takes the note away."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO trials (path, generation, offset, pid, began_ms) VALUES (?, ?, ?, ?, ?)",
                (path_text(path), generation, offset, pid, now_ms),
            )

    def end_trial(self, path: str, generation: int, offset: int) -> None:
        """Takes a note back."""
        with self._db.transaction():
            self._db.execute(
                "DELETE FROM trials WHERE path = ? AND generation = ? AND offset = ?",
                (path_text(path), generation, offset),
            )

    def set_aside(self) -> list[tuple[str, int, int, str]]:
        """Records that a pass died in: path, offset, size in bytes, digest; of what the files hold now, in order."""
        return self._db.rows(
            "SELECT s.path, q.offset, q.size_bytes, q.digest FROM quarantine q JOIN sources s ON s.id = q.source_id"
            " WHERE q.reason = ? AND s.is_current ORDER BY q.id",
            (SET_ASIDE,),
        )

    def readmit(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds the events of a record that was set aside, and moves its bytes to the account where they belong.

        Args:
            batch: The record, and the cursor of its source, which stays where it is.

        Returns:
            As `EventLog.append`; `records` is 0, and nothing is counted when somebody else has done it.
        """
        counts = dict.fromkeys(COUNTERS, 0)
        new_rows: dict[int, str] = {}
        [record], source_id = batch.records, batch.after.id or 0
        with self._db.transaction():
            sql = "DELETE FROM quarantine WHERE source_id = ? AND offset = ? AND reason = ?"
            self._db.execute(sql, (source_id, record.offset, SET_ASIDE))
            if not self._db.changes():
                return counts, new_rows
            self._writer.add_records([record], source_id, batch, counts, new_rows)
            counts["records"] -= 1
            counts["quarantined"] -= 1
            counts["quarantined_bytes"] -= record.size_bytes
            self._writer.count(source_id, counts)
        return counts, new_rows

    def reasons(self) -> dict[str, int]:
        """Quarantined records by reason."""
        return dict(self._db.rows("SELECT reason, count(*) FROM quarantine GROUP BY reason ORDER BY 2 DESC"))

    def newest(self, limit: int = 20) -> list[dict[str, object]]:
        """The newest quarantined records: where they are and why, never what they say."""
        names = ("path", "generation", "offset", "size_bytes", "reason", "digest")
        rows = self._db.rows(
            "SELECT s.path, s.generation, q.offset, q.size_bytes, q.reason, q.digest FROM quarantine q"
            " JOIN sources s ON s.id = q.source_id ORDER BY q.id DESC LIMIT ?",
            (limit,),
        )
        return [dict(zip(names, row, strict=True)) for row in rows]
