"""Killed between any two changes of a file: before the nth, after it, or in the middle of writing.

Every writing door is killed at its 1st change of a file, at its 2nd, and so on; then again after each and within each.
Each kill falls on the store that the last one left. Every few rounds one clean pass has to leave exactly the rows of a
store that nobody killed: nothing lost, nothing twice, the index as long as the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import scale, shim
from tests.hostile.doors import DOORS
from tests.hostile.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.hostile.stage import Stage

ROUNDS = scale.rounds(5, 252)
"""Of each door: more than a thousand in all."""

CHECKED_EVERY = 20
MOMENTS = ("before", "torn", "after")
KILLED = ("import", "Stop", "remember", "distil")


def places(step: int) -> Generator[tuple[str, int], bool, None]:
    """Every moment of every change, for ever; whoever finds that there is no nth goes on to the next moment."""
    while True:
        for moment in MOMENTS:
            nth = 1
            while (yield moment, nth):
                nth += step


@pytest.mark.parametrize("name", KILLED)
def test_a_kill_between_any_two_changes_loses_and_doubles_nothing(
    name: str, template: Stage, tmp_path: Path, library: str, figure: Callable[[str, object], None]
) -> None:
    """So many rounds of one door."""
    trials, walk = Trials(template, tmp_path, DOORS[name], CHECKED_EVERY), places(scale.of(23, scale.STRIDE))
    place = next(walk)
    while trials.tries < ROUNDS:
        moment, nth = place
        armed = shim.deadly(library, trials.stage.home, trials.trace, nth, moment)
        place = walk.send(trials.attempt(f"{moment} change {nth}", armed))
    trials.check("the last one")
    figure("kills", f"{trials.hits} in {trials.tries} rounds")
    trials.assert_survived()
