"""The baseline that every figure stands beside: SQLite's FTS5 with the Porter stemmer over single turns."""

from __future__ import annotations

import re
from collections.abc import Iterable

import apsw

from howcome.app import App
from howcome.domain import events
from howcome.domain.stored import StoredEvent
from howcome.domain.text import STOP_WORDS

ROWS_A_STEP = 5000
_WORD = re.compile(r"\w+")


class Baseline:
    """Every turn of a store in an FTS5 table in memory; any telling word of a question may match."""

    def __init__(self, app: App) -> None:
        self._database = apsw.Connection(":memory:")
        self._database.execute(
            "CREATE TABLE turns (id INTEGER PRIMARY KEY, session TEXT, project TEXT, order_ms INTEGER, ts_ms INTEGER);"
            "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61', content = '')"
        )
        with self._database:
            for event in _turns(app):
                values = (event.row, event.session, event.project, event.order_ms, event.ts_ms or 0)
                self._database.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", values)
                self._database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (event.row, event.text))

    def ranked(self, text: str, project: str, before_ms: int) -> list[tuple[int, str, int]]:
        """The turns of a project that match, best first, as row, session and time."""
        words = [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in STOP_WORDS]
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        found = self._database.execute(
            "SELECT turns.id, session, ts_ms FROM words JOIN turns ON turns.id = words.rowid WHERE words MATCH ?"
            " AND project = ? AND order_ms < ? ORDER BY bm25(words)",
            (query, project, before_ms),
        )
        return [(int(row), str(session), int(ts_ms)) for row, session, ts_ms in found]


def _turns(app: App) -> Iterable[StoredEvent]:
    for first in range(0, app.events.last_row() + 1, ROWS_A_STEP):
        for event in app.events.of_rows(range(first, first + ROWS_A_STEP)).values():
            if event.kind in events.TURN_KINDS:
                yield event
