"""What others said and how they failed: short-lived notes that spare asking them again."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping

from howcome.errors import StoreError
from howcome.log.database import Database, Kept

MAX_REASON_CHARS = 500
PAUSE_MS, MAX_PAUSE_MS = 5 * 60_000, 3_600_000
"""Of an endpoint that asks to be left alone for longer; a pause that ends later is of a clock that was wrong."""


class Answers:
    """Answers of language models, and pauses of whoever failed.

    A store that cannot be written keeps nothing new, and raises nothing for it.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def said(self, key: bytes, since_ms: int, now_ms: int) -> dict[str, object] | None:
        """What was said under a key between these times; None when nothing was."""
        sql = "SELECT answer FROM model_answers WHERE key = ? AND said_ms BETWEEN ? AND ?"
        row = self._db.row(sql, (key, since_ms, now_ms))
        found: dict[str, object] | None = json.loads(row[0]) if row else None
        return found

    def keep(self, key: bytes, answer: Mapping[str, object], since_ms: int, now_ms: int) -> None:
        """Keeps what was said now under a key; what is older than `since_ms` goes, and what is dated later than now."""
        gated = answer if self._db.gate is None else self._db.gate.value(answer)
        self._note(
            ("DELETE FROM model_answers WHERE said_ms < ? OR said_ms > ?", (since_ms, now_ms)),
            ("INSERT OR REPLACE INTO model_answers VALUES (?, ?, ?)", (key, Kept(json.dumps(gated)), now_ms)),
        )

    def pause_of(self, name: str, now_ms: int) -> tuple[int, str] | None:
        """Until when (UTC ms) nobody should ask somebody, and why; None when it may be asked."""
        row = self._db.row("SELECT until_ms, reason FROM pauses WHERE name = ? AND until_ms > ?", (name, now_ms))
        return (row[0], row[1]) if row else None

    def pause(self, name: str, now_ms: int, until_ms: int, reason: str) -> None:
        """From now until then nobody should ask somebody."""
        self._note(
            ("DELETE FROM pauses WHERE until_ms <= ?", (now_ms,)),
            ("INSERT OR REPLACE INTO pauses VALUES (?, ?, ?)", (name, until_ms, reason[:MAX_REASON_CHARS])),
        )

    def left_alone(self, name: str, now_ms: int) -> tuple[int, str] | None:
        """The same of whoever failed (`leave_alone`); a longer pause than such a one does not count."""
        pause = self.pause_of(name, now_ms)
        return pause if pause is not None and pause[0] - now_ms <= MAX_PAUSE_MS else None

    def leave_alone(self, name: str, now_ms: int, wait_s: float, reason: str) -> int:
        """From now on nobody should ask one who failed, for as long as that one wants within limits; how long (ms)."""
        pause_ms = min(MAX_PAUSE_MS, max(PAUSE_MS, int(1000 * wait_s)))
        self.pause(name, now_ms, now_ms + pause_ms, reason)
        return pause_ms

    def _note(self, *statements: tuple[str, tuple[object, ...]]) -> None:
        """Writes, in one transaction; what cannot be written now is asked for again the next time."""
        if self._db.is_read_only:
            return
        with contextlib.suppress(StoreError), self._db.transaction():
            for sql, values in statements:
                self._db.execute(sql, values)
