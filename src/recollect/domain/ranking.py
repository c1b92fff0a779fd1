"""Adjustments of a fused score. `now` is always a parameter."""

from __future__ import annotations

RECENCY_WEIGHT = 0.3
RECENCY_HALF_LIFE_MS = 7 * 24 * 3600 * 1000
"""Newer counts up to 1.3 times, half of it gone after a week: `branch` questions any@5 +3 points, the other kinds
unchanged (docs/evaluation.md)."""


def with_recency(score: float, ts_ms: int, now_ms: int) -> float:
    """A score from 0 to 1 with a little more for what is new; still from 0 to 1."""
    age = max(0, now_ms - ts_ms)
    boost: float = 1 + RECENCY_WEIGHT * 0.5 ** (age / RECENCY_HALF_LIFE_MS)
    return score * boost / (1 + RECENCY_WEIGHT)
