"""A busy day in minutes: twelve sessions write, five servers answer and work, hooks run; and all is as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import scale
from tests.hostile.soak import Soak, left_running
from tests.hostile.trials import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.stage import Stage

SECONDS = scale.rounds(4, 600)
MAX_DESCRIPTORS = 120
MAX_MEGABYTES = 400
MAX_GROWTH = 1.5
"""What a server takes in the last third over the second: it has read all that there is, and the store has doubled."""


def test_a_busy_day(stage: Stage, figure: Callable[[str, object], None]) -> None:
    """Nothing left running, nothing lost or twice, and no server that grows."""
    soak = Soak(stage, SECONDS)
    soak.run()
    assert left_running(stage.home) == []
    figure("written", f"{soak.sessions.written} records in {SECONDS} s; runs {dict(sorted(soak.runs.items()))}")
    failures = soak.complaints + stage.wounds()
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:SHOWN])
    if not soak.held:
        pytest.skip("no /proc: what the servers held cannot be seen here")
    descriptors, megabytes, growth = soak.growth()
    figure("a server held at most", f"{descriptors} descriptors, {megabytes} MB; last third over second {growth:.2f}")
    assert descriptors <= MAX_DESCRIPTORS
    assert megabytes <= MAX_MEGABYTES
    assert growth <= scale.of(10, MAX_GROWTH)
