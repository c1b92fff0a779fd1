"""A disk that fills up in the middle of everything: every door as promised; and with room again, nothing is missing."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.hostile import scale
from tests.hostile.disks import KINDS, mounted
from tests.hostile.doors import DOORS, complaints, opened
from tests.hostile.trials import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hostile.disks import Disk
    from tests.hostile.stage import Stage

MEGABYTES = 8
EXCHANGES = 40
LEFT = scale.of((300_000,), (0, 20_000, 100_000, 300_000, 500_000, 1_000_000))
"""How many bytes are left when the doors are opened."""


def opened_one_by_one(stage: Stage, label: str) -> list[str]:
    """Every door once, with something to read; what is wrong with how each ended."""
    failures = []
    for door in DOORS.values():
        stage.grow(EXCHANGES)
        outcome = opened(door, stage)
        failures += [f"{label}: {one}" for one in complaints(door, outcome)]
        if door.name == "remember" and outcome.code == 0:
            stage.kept.append(stage.note)
    return failures


def with_room_again(stage: Stage, disk: Disk, label: str) -> list[str]:
    """What an import does not heal once there is room."""
    disk.make_room()
    return [f"{label}, with room again: {one}" for one in stage.wounds()]


@pytest.mark.parametrize("kind", list(KINDS)[: scale.of(1, len(KINDS))])
def test_a_disk_that_fills_up_loses_nothing(
    kind: str, template: Stage, tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    """Less and less room: each time all doors are opened, then there is room again."""
    failures: list[str] = []
    with mounted(kind, MEGABYTES, tmp_path) as disk:
        for left in LEFT:
            stage = template.copied(tmp_path / f"stage{left}")
            stage.home = disk.place / "store"
            shutil.copytree(stage.root / "store", stage.home)
            disk.leave(left)
            label = f"{left} bytes free"
            failures += opened_one_by_one(stage, label) + with_room_again(stage, disk, label)
            shutil.rmtree(stage.home)
    figure("filled", f"{len(LEFT)} times, {len(failures)} complaints")
    assert not failures, f"{len(failures)} failures:\n" + "\n".join(failures[:SHOWN])
