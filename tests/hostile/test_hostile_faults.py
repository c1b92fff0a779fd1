"""Every system call that can fail, failing: at every nth of its kind, for every door.

A store and its transcripts grow by an exchange before each try, so that there is work; the nth call on the store's
files fails; the door has to end as promised. Every few tries an import heals the store, and its rows have to be those
of a store to which nothing happened. The count goes on until a run has no nth call any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import scale, shim
from tests.hostile.doors import DOORS
from tests.hostile.shim import FAULTS, Fault
from tests.hostile.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hostile.doors import Door
    from tests.hostile.stage import Stage

CHECKED_EVERY = 20
LAST, STEP = scale.of((15, 7), (3000, scale.STRIDE))
IN_SLICE = ("Stop-write", "import-fsync", "UserPromptSubmit-open", "search-mmap")
CASES = [
    pytest.param(door, fault, id=f"{door.name}-{fault.calls}")
    for door in DOORS.values() for fault in FAULTS if scale.IS_FULL or f"{door.name}-{fault.calls}" in IN_SLICE
]  # fmt: skip


@pytest.mark.parametrize(("door", "fault"), CASES)
def test_a_call_that_fails_is_survived(
    door: Door, fault: Fault, template: Stage, tmp_path: Path, library: str, figure: Callable[[str, object], None]
) -> None:
    """No traceback, no word of a hook, and afterwards the rows of an undisturbed store."""
    trials = Trials(template, tmp_path, door, CHECKED_EVERY)
    for nth in range(1, LAST + 1, STEP):
        armed = shim.armed(library, trials.stage.home, trials.trace, nth, fault)
        if not trials.attempt(f"call {nth}, {fault.told(nth)}", armed):
            break
    trials.check("the last one")
    figure("calls that failed", trials.hits)
    trials.assert_survived()
