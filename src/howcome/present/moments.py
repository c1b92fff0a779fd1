"""Moments as people and agents write them: a date, a time, or how long ago."""

from __future__ import annotations

from datetime import UTC, datetime

from howcome.domain.times import ago_ms, spans
from howcome.errors import UsageError

MAX_SPOKEN_CHARS = 40
"""What is longer is no time in words ("the first week of february")."""


def ahead_of_utc_ms(now_ms: int) -> int:
    """How far the clock of where this process runs is ahead of UTC."""
    offset = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone().utcoffset()
    return int(offset.total_seconds() * 1000) if offset else 0


def moment_ms(text: str, name: str, now_ms: int, *, is_local: bool = False) -> int:
    """UTC milliseconds of `2026-10-01`, `2026-10-01T12:00`, `yesterday`, `7d`, `last week` (its beginning).

    Days and times without a zone are UTC's, or (`is_local`) those of where this process runs: a person's. A UsageError
    names the argument.
    """
    ahead_ms = ahead_of_utc_ms(now_ms) if is_local else 0
    ago = ago_ms(text, now_ms + ahead_ms)
    if ago is not None:
        return max(0, ago - ahead_ms)
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.astimezone() if is_local else moment.replace(tzinfo=UTC)
        return max(0, int(moment.astimezone(UTC).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        spoken = spans(text[:MAX_SPOKEN_CHARS], now_ms + ahead_ms)
        if len(spoken) == 1 and spoken[0].since_ms is not None:
            return max(0, spoken[0].since_ms - ahead_ms)
        raise UsageError(
            f"{name}: {text[:60]!r} is no time; write 2026-10-01, 2026-10-01T12:00:00Z (ISO 8601), today, yesterday,"
            " last week, or how long ago: 12h, 7d, 3w, 2 months"
        ) from error
