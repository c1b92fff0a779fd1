"""Retrieval metrics over one ranked list, and their means with intervals. Definitions: docs/evaluation.md."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

from howcome.domain.text import STOP_WORDS

BOOTSTRAP_ROUNDS = 1000
_WORD = re.compile(r"\w+")


def score_ranking(ranked: Sequence[str], relevant: set[str]) -> dict[str, float]:
    """The metrics of one question: `ranked` best first, `relevant` what answers it."""
    places = [place for place, name in enumerate(ranked) if name in relevant]
    gain = sum(1 / math.log2(place + 2) for place in places if place < 10)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    scores = {f"any@{k}": float(any(place < k for place in places)) for k in (1, 5, 10, 20)}
    scores["R@10"] = sum(place < 10 for place in places) / len(relevant) if relevant else 0.0
    scores["MRR"] = 1 / (places[0] + 1) if places else 0.0
    scores["nDCG@10"] = gain / ideal if ideal else 0.0
    return scores


def mean(values: Sequence[float]) -> float:
    """The mean, 0 for nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean (percentiles of BOOTSTRAP_ROUNDS resamples)."""
    if len(values) < 2:
        return (mean(values), mean(values))
    chance = random.Random(7)  # noqa: S311 - resampling, not secrets
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(BOOTSTRAP_ROUNDS))
    return means[int(BOOTSTRAP_ROUNDS * 0.025)], means[int(BOOTSTRAP_ROUNDS * 0.975)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def coverage(answer: str, texts: Sequence[str]) -> float:
    """The share of an expected answer's telling words (no stop words) that stand in the texts; 1 when it has none."""
    wanted = words_of(answer)
    found = set().union(*(words_of(text) for text in texts)) if texts else set()
    return len(wanted & found) / len(wanted) if wanted else 1.0


def words_of(text: str) -> set[str]:
    """The words of a text, lower case, without stop words."""
    return {word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS}
