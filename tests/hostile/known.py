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


_INDEX = "an error of the index while it is written or let go reaches the command line as a traceback"
_THREAD = "the index panics where no thread can be started, and says so on standard error by itself"
_BYTES = "the index panics on some bytes that are not what was written, and a search shows the traceback"
_SMALL = "SQLite maps pages that a full disk with blocks of 1 KB has no room for: a bus error ends everything"
_SLOW = "names of secrets, many of them in a row, are searched again and again"


def _of(test: str, why: str, where: str, *cases: str) -> dict[str, Known]:
    return {f"{test}[{case}]": Known(why, where) for case in cases}


_FAULTS = "test_hostile_faults.py::test_a_call_that_fails_is_survived"
_LIMITS = "test_hostile_limits.py::test_too_little_of_anything_is_survived"
_DISKS = "test_hostile_disks.py::test_a_disk_that_fills_up_loses_nothing"
_DOORS = "Stop UserPromptSubmit SessionStart import search remember doctor status distil".split()

KNOWN: dict[str, Known] = {
    **_of(_FAULTS, _INDEX, "both", "import-fsync", "search-mmap"),
    **_of(_FAULTS, _INDEX, "full", "import-open", "import-create", "import-write", "import-mmap", "search-open"),
    **_of(_DISKS, _INDEX, "both", "tmpfs"),
    **_of(_DISKS, _INDEX, "full", "ext4"),
    **_of(_DISKS, _SMALL, "full", "ext4 in small blocks"),
    **_of(_LIMITS, _INDEX, "full", "import-NOFILE", "import-AS"),
    **_of(_LIMITS, _THREAD, "full", *(f"{door}-NPROC" for door in _DOORS)),
    **_of(
        "test_hostile_flips.py::test_damage_is_healed_or_said", _BYTES, "full", "derived 1", "derived 2", "derived 3"
    ),
    "test_hostile_slowest.py::test_no_text_takes_redaction_out_of_proportion": Known(_SLOW, "full"),
}


def reason(nodeid: str) -> str:
    """Why this test has to fail in this run; '' when it must not."""
    for name, known in KNOWN.items():
        if nodeid.endswith(name) and known.where in ("both", "full" if IS_FULL else "slice"):
            return known.why
    return ""
