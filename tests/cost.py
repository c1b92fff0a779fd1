"""What work costs: processor seconds, which neither a busy machine nor a pause of the whole process makes more."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3


def cpu_s(work: Callable[[], object]) -> float:
    """The least processor seconds that work took in a few tries: what else shares a core's caches only adds."""
    found = []
    for _ in range(TRIES):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def costs_less(limit_s: float, work: Callable[[], object]) -> bool:
    """Whether work takes less than so many processor seconds; asked again if it does not seem so."""
    for _ in range(TRIES):
        started = time.process_time()
        work()
        if time.process_time() - started < limit_s:
            return True
    return False
