"""Many tiers' scores of one row into one score."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def fuse_weighted(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """One score from 0 to 1: the chance that not every tier is wrong, each tier's score believed at its weight.

    1 − ∏(1 − weight × score). A tier that agrees can only raise a score, never lower it (a weighted mean does not
    have this property, which is why it is not used).
    """
    doubt = 1.0
    for name, score in scores.items():
        doubt *= 1.0 - weights.get(name, 0.0) * min(max(score, 0.0), 1.0)
    return 1.0 - doubt
