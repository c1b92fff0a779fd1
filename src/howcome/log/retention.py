"""Retention: of old tool traffic whole texts are dropped, for good; what is searched, listed and cited stays.

A shortened result is its beginning and its end, a shortened call has its fields cut: each gives the same search text as
before, so no index changes. How long a text was stays known (`text_chars`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import zstandard

from howcome.domain import events
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.log.database import Database
from howcome.log.event_rows import unpack

ROWS_A_STEP = 500
_CALL, _RESULT = (events.KINDS.index(kind) for kind in (events.TOOL_CALL, events.TOOL_RESULT))
_OLD = (
    "SELECT id, key, kind, excerpt, payload FROM events WHERE id > ? AND kind IN (?, ?) AND order_ms < ?"  # noqa: S608 - fixed text
    f" AND text_chars > {events.SEARCH_TEXT_CHARS} AND payload IS NOT NULL ORDER BY id LIMIT ?"
)


class Retention:
    """Shortens what is old."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def shorten(
        self, before_ms: int, rest: Callable[[], bool] = lambda: True, *, is_trial: bool = False
    ) -> tuple[int, int, int]:
        """Shortens tool traffic from before a moment that no memory cites.

        How many texts, by how many bytes as stored, and how many texts stay because they cannot be unpacked.
        A text that changes meanwhile (redacted again) stays as it became.
        Whoever is killed goes on the next time; `rest` is asked between steps, and ends it.
        """
        pack = zstandard.ZstdCompressor(level=3, write_content_size=True).compress
        cited = {event for (event,) in self._db.rows("SELECT DISTINCT event FROM memory_evidence")}
        count, saved, damaged, row = 0, 0, 0, 0
        while found := self._db.rows(_OLD, (row, _CALL, _RESULT, before_ms, ROWS_A_STEP)):
            row, changed = found[-1][0], []
            for ident, key, kind, excerpt, payload in found:
                try:
                    text = unpack(payload, excerpt)
                except zstandard.ZstdError:  # one damaged text must not keep the others whole
                    damaged += 1
                    continue
                short = shortened(text, is_call=kind == _CALL)
                if len(short) < len(text) and ID_PREFIX + key.hex()[:ID_HEX_CHARS] not in cited:
                    changed.append((packed := pack(short.encode("utf-8", "replace")), ident, payload))
                    saved += len(payload) - len(packed)
            count += len(changed)
            if changed and not is_trial:
                with self._db.transaction():
                    self._db.executemany("UPDATE events SET payload = ? WHERE id = ? AND payload = ?", changed)
            if not rest():
                break
        return count, saved, damaged


def shortened(text: str, *, is_call: bool) -> str:
    """What is left of a text: what its search text is made from."""
    if is_call and text.startswith("{"):
        with suppress(ValueError, RecursionError):  # what was observed may look like JSON and be a command
            return json.dumps(_cut(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
    return events.head_and_tail(text)


def _cut(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    """A value whose texts are no longer than what a call is found by; a long list has lost its end."""
    if isinstance(value, str):
        return value[: events.CALL_FIELD_CHARS] if value[: events.CALL_FIELD_CHARS].strip() else value
    if isinstance(value, list):
        return [_cut(one) for one in value[:20]]
    return {name: _cut(one) for name, one in value.items()} if isinstance(value, dict) else value
