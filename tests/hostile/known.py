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


KNOWN: dict[str, Known] = {}


def reason(nodeid: str) -> str:
    """Why this test has to fail in this run; '' when it must not."""
    for name, known in KNOWN.items():
        if nodeid.endswith(name) and known.where in ("both", "full" if IS_FULL else "slice"):
            return known.why
    return ""
