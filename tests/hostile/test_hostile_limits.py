"""Every door with too few files, too small ones, too little memory, no processes, no time: as promised; and it heals.

Hooks that run out of memory or of time are started as agents start them, by a shell that hides what a library says
when it aborts: no code of theirs is asked then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import limits, scale
from tests.hostile.doors import DOORS
from tests.hostile.limits import LIMITS, Limit
from tests.hostile.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hostile.doors import Door
    from tests.hostile.stage import Stage

IN_SLICE = ("import-FSIZE", "UserPromptSubmit-NOFILE")
CASES = [
    pytest.param(door, limit, id=f"{door.name}-{limit.name}")
    for door in DOORS.values() for limit in LIMITS if scale.IS_FULL or f"{door.name}-{limit.name}" in IN_SLICE
]  # fmt: skip
MUCH = 400
"""Exchanges to read: more than a second of work."""


def tried(limit: Limit) -> list[int]:
    """The amounts with which a process can start at all."""
    amounts = [amount for amount in limit.amounts if limits.is_enough_to_start(limit, amount)]
    return amounts[:: scale.of(3, scale.STRIDE)]


@pytest.mark.parametrize(("door", "limit"), CASES)
def test_too_little_of_anything_is_survived(
    door: Door, limit: Limit, template: Stage, tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    """No traceback, hooks silent, and with enough of it again an import gives the rows of an undisturbed store."""
    amounts = tried(limit)
    if not amounts:
        pytest.skip(f"no process starts with any of RLIMIT_{limit.name} = {limit.amounts}")
    with limits.room_for(limit, tmp_path) as room:
        trials = Trials(template, room, door, len(amounts), limit.deaths)
        for amount in amounts:
            attempt(trials, limit, amount, installed=limit.installed and door.is_hook)
    figure("amounts", ", ".join(map(str, amounts)))
    trials.assert_survived()


def attempt(trials: Trials, limit: Limit, amount: int, *, installed: bool) -> None:
    """One door with so much, and something to do for it."""
    if limit.name == "CPU":
        trials.stage.grow(MUCH)
    if limits.is_somebody(limit):
        limits.give_to_somebody(trials.stage.root)
    trials.attempt(f"{limit.name} = {amount}", {}, limits.limited(limit, amount), installed=installed)
