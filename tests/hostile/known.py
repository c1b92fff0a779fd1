"""What is known to fail: each name with its reason. A case listed here has to fail; when it is mended, the line goes.

A name is the end of a test's id, as pytest prints it: `test_hostile_faults.py::test_…[case]`. `where` says in which
runs it fails: both, or only `full` (the slice is too small to meet it) or only `slice`.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.hostile.scale import IS_FULL


class Known(NamedTuple):
    """Why a case fails today, and in which runs."""

    why: str
    where: str = "both"


_SMALL = "SQLite maps pages that a full disk with blocks of 1 KB has no room for: a bus error ends everything"


def _of(test: str, why: str, where: str, *cases: str) -> dict[str, Known]:
    return {f"{test}[{case}]": Known(why, where) for case in cases}


_DISKS = "test_hostile_disks.py::test_a_disk_that_fills_up_loses_nothing"

KNOWN: dict[str, Known] = {
    **_of(_DISKS, _SMALL, "full", "ext4 in small blocks"),
}


def reason(nodeid: str) -> str:
    """Why this test has to fail in this run; '' when it must not."""
    for name, known in KNOWN.items():
        if nodeid.endswith(name) and known.where in ("both", "full" if IS_FULL else "slice"):
            return known.why
    return ""
