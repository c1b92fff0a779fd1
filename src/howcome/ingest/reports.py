"""What passes over files say of what they did."""

from __future__ import annotations

from howcome.domain.sources import COUNTERS


class FileReport:
    """What one pass over one file did: counts by the names of COUNTERS, and whether it reached the end."""

    __slots__ = ("bytes_read", "counts", "is_complete")

    def __init__(self) -> None:
        self.bytes_read = 0
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.is_complete = False
