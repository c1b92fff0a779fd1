"""Moments as people and agents write them: a date, a time, or how long ago."""

from __future__ import annotations

from datetime import UTC, datetime

from howcome.domain.times import ago_ms
from howcome.errors import UsageError


def moment_ms(text: str, name: str, now_ms: int) -> int:
    """UTC milliseconds of `2026-10-01`, `2026-10-01T12:00` (UTC when it has no zone), `yesterday`, `7d`, `3 weeks ago`.

    Raises:
        UsageError: it is none of these; `name` is the argument's.
    """
    ago = ago_ms(text, now_ms)
    if ago is not None:
        return ago
    try:
        moment = datetime.fromisoformat(text.strip())
        return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{name}: {text[:60]!r} is no time; write 2026-10-01, 2026-10-01T12:00:00Z (ISO 8601), today, yesterday, or"
            " how long ago: 12h, 7d, 3w, 2 months"
        ) from error
