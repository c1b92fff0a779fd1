"""Shares with their intervals."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Draw = Callable[[Sequence[Any]], list[Any]]

_Z95 = 1.96
DRAWS = 1_000


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    of: int

    @classmethod
    def among(cls, flags: Iterable[bool]) -> Share:
        """Of some things those that are so."""
        found = list(flags)
        return cls(sum(found), len(found))

    def __add__(self, other: Share) -> Share:
        return Share(self.count + other.count, self.of + other.of)

    @property
    def value(self) -> float:
        """The share; 0 of nothing."""
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval (Wilson 1927)."""
        if not self.of:
            return 0.0, 0.0
        square = _Z95**2
        middle = self.value + square / (2 * self.of)
        reach = _Z95 * sqrt(self.value * (1 - self.value) / self.of + square / (4 * self.of**2))
        low, high = ((middle + sign * reach) / (1 + square / self.of) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)


NONE = Share(0, 0)


def pooled(parts: Sequence[tuple[int, int]]) -> Share:
    """The share of several parts (so many of so many) together."""
    return Share(sum(count for count, _ in parts), sum(of for _, of in parts))


def difference_interval(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """The 95 % interval of the difference of two pooled shares.

    A bootstrap over the parts (the same draws each time), or Newcombe's (1998) where that reaches further: parts that
    are few or all alike look too sure in a bootstrap.
    """
    a, b = pooled(one), pooled(other)
    (low_a, high_a), (low_b, high_b) = a.interval, b.interval
    middle = a.value - b.value
    low = middle - sqrt((a.value - low_a) ** 2 + (high_b - b.value) ** 2)
    high = middle + sqrt((high_a - a.value) ** 2 + (b.value - low_b) ** 2)
    drawn = drawn_interval(lambda draw: pooled(draw(one)).value - pooled(draw(other)).value) if one and other else None
    return (min(low, drawn[0]), max(high, drawn[1])) if drawn else (-1.0, 1.0)


def drawn_interval(figure: Callable[[Draw], float]) -> tuple[float, float]:
    """The 95 % interval of a figure by bootstrap: it is asked DRAWS times, and draws its samples anew each time."""
    source = random.Random(1)  # noqa: S311 - no secret
    found = sorted(figure(lambda sample: source.choices(sample, k=len(sample))) for _ in range(DRAWS))
    return found[DRAWS // 40], found[-DRAWS // 40 - 1]
