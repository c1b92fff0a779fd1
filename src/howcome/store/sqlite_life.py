"""What becomes of memories in the SQLite store: pinned, said again, faded, contradicted."""

from __future__ import annotations

from howcome.domain.events import ORIGIN_USER
from howcome.domain.memories import IMPORTED, KEY_BYTES, Review
from howcome.domain.stored import ID_HEX_CHARS
from howcome.store.kept import vanished
from howcome.store.sqlite_memories import LIVE, ORIGIN_NUMBERS, SqliteMemories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.memories import Memory, NewMemory
    from howcome.domain.stored import Scope

_REVIEW = "SELECT r.id, r.older, r.newer, r.reason, r.found_ms, r.settled_ms FROM memory_reviews r"


class SqliteLife(SqliteMemories):
    """The life of memories; see `store.memory_rows.MemoryRows` for the contract."""

    def vanished_memories(self) -> list[str]:
        """Ids of memories that were kept by hand in this folder and are not in this database."""
        return vanished(self.folder, self._kept_keys())

    def set_memory_pinned(self, row: int, pinned_ms: int | None) -> None:
        """Pins a memory, or (None) lets it go."""
        with self.transaction():
            self._change(row, "pinned_ms = ?", pinned_ms)

    def memory_said(self, row: int) -> list[tuple[int, str]]:
        """Every time (UTC ms, event id) a memory was said, in order."""
        sql = "SELECT ts_ms, event FROM memory_said WHERE memory_id = ? ORDER BY ts_ms, event"
        return list(self._rows(sql, (row,)))

    def evidence_sessions(self, row: int) -> dict[str, str]:
        """The events (ids) that bear a memory out, as far as they are here, with their sessions (client's ids)."""
        sql = (
            "SELECT m.event, s.name FROM memory_evidence m JOIN events e ON e.key"
            " BETWEEN unhex(substr(m.event, 4) || ?2) AND unhex(substr(m.event, 4) || ?3)"
            " JOIN sessions s ON s.id = e.session_id WHERE m.memory_id = ?1"
        )
        rest = 2 * KEY_BYTES - ID_HEX_CHARS
        return dict(self._rows(sql, (row, "0" * rest, "f" * rest)))

    def memory_wordings(self, row: int) -> list[str]:
        """The other words in which sessions said what a memory says, in order."""
        sql = (
            "SELECT c.text FROM candidates c JOIN memories m ON m.key = c.memory_key AND m.text != c.text"
            " WHERE m.id = ? GROUP BY c.text ORDER BY min(c.ts_ms), c.text"
        )
        return [text for (text,) in self._rows(sql, (row,))]

    def fading_memories(self, scope: Scope, max_reads: int) -> list[Memory]:
        """Live memories of a scope, not pinned and read at most so often, those said longest ago first."""
        where = "" if scope.is_everything else " AND (project_id IS NULL OR project_id = ?2)"
        sql = (
            f"SELECT id FROM memories WHERE {LIVE} AND pinned_ms IS NULL AND access_count <= ?1{where}"  # noqa: S608 - fixed text
            " ORDER BY coalesce(said_ms, created_ms), id"
        )
        rows = [row for (row,) in self._rows(sql, (max_reads, *([] if scope.is_everything else [scope.project_id])))]
        found = self.memories_by_row(rows)
        return [found[row] for row in rows if row in found]

    def reviews(self, scope: Scope, limit: int) -> list[Review]:
        """Pairs of live memories of a scope that nobody settled, newest first; of imported ones the newer lives."""
        older, newer = (" AND ".join(f"{name}.{part}" for part in LIVE.split(" AND ")) for name in ("o", "n"))
        where = "" if scope.is_everything else " AND (n.project_id IS NULL OR ?2 IN (o.project_id, n.project_id))"
        sql = (
            f"{_REVIEW} JOIN memories o ON o.id = r.older JOIN memories n ON n.id = r.newer"
            f" WHERE r.settled_ms IS NULL AND {newer} AND ({older} OR r.reason = '{IMPORTED}'){where}"
            " ORDER BY coalesce(n.said_ms, n.created_ms) DESC, r.id LIMIT ?1"
        )
        values = (limit, *([] if scope.is_everything else [scope.project_id]))
        return [review for row in self._rows(sql, values) if (review := self._review(row))]

    def review(self, row: int) -> Review | None:
        """One pair, by its row id."""
        found = self._row(f"{_REVIEW} WHERE r.id = ?", (row,))
        return self._review(found) if found else None

    def settle_review(self, row: int, now_ms: int) -> None:
        """Somebody has looked at a pair."""
        with self.transaction():
            self.connection.execute("UPDATE memory_reviews SET settled_ms = ? WHERE id = ?", (now_ms, row))

    def accept_memory(self, review: Review, now_ms: int, *, supersedes: bool) -> None:
        """Makes an imported memory the user's, with its pin; with `supersedes` it takes the older one's place."""
        older, newer = review.older, review.newer
        with self.transaction():
            pin = "pinned_ms = (SELECT pinned_ms FROM memory_reviews WHERE id = ?)"
            self._change(newer.row, f"origin = ?, {pin}", ORIGIN_NUMBERS[ORIGIN_USER], review.row)
            if supersedes and older.row != newer.row and older.is_live:
                self._change(newer.row, "supersedes = ?", older.row)
                self._change(older.row, "superseded_by = ?", newer.row)
            self.connection.execute("UPDATE memory_reviews SET settled_ms = ? WHERE id = ?", (now_ms, review.row))

    def _add(self, new: NewMemory) -> tuple[Memory, bool]:
        """As `add_memory`, within a transaction; what comes from outside is put on the review list."""
        if new.replaces is not None:
            self.remove_memory(new.replaces)
        memory, is_new = super()._add(new)
        if is_new and new.claims is not None:
            claims = new.claims
            self.connection.execute(
                "INSERT INTO memory_reviews (older, newer, reason, found_ms, pinned_ms) VALUES (?, ?, ?, ?, ?)",
                (claims.supersedes or memory.row, memory.row, IMPORTED, claims.found_ms, claims.pinned_ms),
            )
        return memory, is_new

    def remove_memory(self, row: int) -> None:
        """Takes a memory and all that hangs on it away, as if it had never been; within a transaction."""
        for sql in (
            "UPDATE OR REPLACE memory_reviews SET older = newer WHERE older = ? AND reason = 'imported'",
            "DELETE FROM memory_evidence WHERE memory_id = ?", "DELETE FROM memory_said WHERE memory_id = ?",
            "DELETE FROM memory_reviews WHERE ? IN (older, newer)",
            "UPDATE memories SET supersedes = NULL WHERE supersedes = ?",
            "UPDATE memories SET superseded_by = NULL WHERE superseded_by = ?",
            "DELETE FROM memories WHERE id = ?",
        ):  # fmt: skip
            self.connection.execute(sql, (row,))

    def _review(self, row: tuple[int, int, int, str, int, int | None]) -> Review | None:
        ident, older, newer, reason, found_ms, settled_ms = row
        found = self.memories_by_row([older, newer])
        if older not in found or newer not in found:
            return None
        return Review(ident, found[older], found[newer], reason, found_ms, settled_ms)
