"""Moments as people and agents write them: a date, a time, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from recollect.errors import UsageError

_AGO = re.compile(r"\s*(\d{1,5})\s*(m|min|h|d|w|y|hours?|days?|weeks?|months?|years?)\s*(?:ago)?\s*", re.IGNORECASE)
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000, "y": 365 * 86_400_000}
_MONTH_MS = 30 * 86_400_000
_DAYS = {"today": 0, "yesterday": 1}


def moment_ms(text: str, name: str, now_ms: int) -> int:
    """UTC milliseconds of `2026-10-01`, `2026-10-01T12:00` (UTC when it has no zone), `yesterday`, `7d`, `3 weeks ago`.

    Raises:
        UsageError: it is none of these; `name` is the argument's.
    """
    days = _DAYS.get(text.strip().lower())
    if days is not None:  # midnight, UTC like every moment without a zone
        return max(0, now_ms - now_ms % _UNIT_MS["d"] - days * _UNIT_MS["d"])
    ago = _AGO.fullmatch(text)
    if ago is not None:
        unit = ago[2].lower()
        return max(0, now_ms - int(ago[1]) * (_MONTH_MS if unit.startswith("month") else _UNIT_MS[unit[0]]))
    try:
        moment = datetime.fromisoformat(text.strip())
        return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{name}: {text[:60]!r} is no time; write 2026-10-01, 2026-10-01T12:00:00Z (ISO 8601), today, yesterday, or"
            " how long ago: 12h, 7d, 3w, 2 months"
        ) from error
