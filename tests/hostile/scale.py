"""How much is tried: a slice within `make test`, everything by `make hostile`; and the seed that repeats a failure.

HOWCOME_TEST_HOSTILE=full is everything (`make hostile` sets it), HOWCOME_TEST_SEED the seed (`make hostile
SEED=7`), HOWCOME_TEST_STRIDE a part of everything: only every nth call, round and second (`make hostile STRIDE=5`).
"""

from __future__ import annotations

import os
import random
from typing import TypeVar

T = TypeVar("T")

IS_FULL = os.environ.get("HOWCOME_TEST_HOSTILE") == "full"
STRIDE = int(os.environ.get("HOWCOME_TEST_STRIDE") or "1") if IS_FULL else 1
SEED = int(os.environ.get("HOWCOME_TEST_SEED") or "20261122")


def of(in_slice: T, in_full: T) -> T:
    """The number for this run."""
    return in_full if IS_FULL else in_slice


def rounds(in_slice: int, in_full: int) -> int:
    """How many rounds of something this run has."""
    return max(in_slice, of(in_slice, in_full) // STRIDE)


def examples(in_full: int) -> int:
    """How many generated examples a test has that asks for so many: a fourth, at least 25 of them."""
    return of(max(min(25, in_full), in_full // 4), in_full)


def chooser(name: str) -> random.Random:
    """Random choices of one test: the same for the same seed, whatever other tests run."""
    return random.Random(f"{SEED} {name}")
