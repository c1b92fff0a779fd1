"""Many tiers' scores of one row into one score."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def fuse_weighted(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """One score from 0 to 1: the chance that not every tier is wrong, each tier's score believed at its weight.

    1 − ∏(1 − weight × score). A tier that agrees can only raise a score, never lower it (a weighted mean does not
    have this property, which is why it is not used).
    """
    doubt = 1.0
    for name, score in scores.items():
        doubt *= 1.0 - weights.get(name, 0.0) * min(max(score, 0.0), 1.0)
    return 1.0 - doubt


def blend(words: float, meaning: float, weight: float) -> float:
    """What the words say and what the meaning says, on one scale, as one score; either can only raise it.

    A sum, because cosines are never 0: a product of doubts would let every near miss count.
    """
    return (1.0 - weight) * words + weight * meaning


LEAST_MEANING_SCALE = 0.5
"""What a cosine counts at least, however little the words found: paraphrases share few of them (docs/evaluation.md)."""


LEAST_COSINE = 1e-6
"""Below it a cosine is rounding: to divide by it would be to rank by chance."""


def meaning_scale(words: Iterable[float], cosines: Iterable[float]) -> float:
    """What a question's cosines are multiplied with to stand on the scale of its words: the best of both are equal.

    How far cosines reach depends on the model and on how a question is put, not on how good an answer is. Where words
    find little, cosines count more than that: LEAST_MEANING_SCALE of themselves. 0 when no cosine says anything.
    """
    best = max(cosines, default=0.0)
    if best < LEAST_COSINE:
        return 0.0
    return max(max(words, default=0.0) / best, LEAST_MEANING_SCALE)


RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""


def fuse_ranks(scores: Mapping[int, Mapping[str, float]], weights: Mapping[str, float]) -> dict[int, float]:
    """Reciprocal ranks: Σ weight / (k + rank), as a share of what a row reaches that is first in every tier; 0 to 1.

    Equal scores share the better rank, so that the order of the rows does not matter.
    """
    fused = dict.fromkeys(scores, 0.0)
    tiers = {name for found in scores.values() for name in found if weights.get(name)}
    for name in tiers:
        offered = sorted((found[name] for found in scores.values() if name in found), reverse=True)
        rank = {score: place for place, score in reversed(list(enumerate(offered, 1)))}
        for row, found in scores.items():
            if name in found:
                fused[row] += weights[name] / (RANK_CONSTANT + rank[found[name]])
    full = sum(weights[name] for name in tiers) / (RANK_CONSTANT + 1)
    return {row: score / full for row, score in fused.items()} if full else fused
