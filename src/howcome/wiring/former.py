"""What was wired under the product's former name: found by the records of that install, and taken out.

The former name, its folder and its variable are said here and nowhere else in the wiring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from howcome.clients.wiring import directory
from howcome.wiring.agents import recorded_part
from howcome.wiring.commands import howcome_home
from howcome.wiring.engine import FileReport, uninstall
from howcome.wiring.install_record import Owner, Records, owned_by

DATABASE_NAME = "recollect.db"


def former_home() -> Path:
    """The directory that held everything under the former name."""
    return directory("RECOLLECT_HOME", "~/.recollect")


def wired_owners() -> list[Owner]:
    """For whom an install under the former name is recorded."""
    if former_home() == howcome_home():
        return []
    return owned_by(Records(former_home()).all())


def disconnect(owners: Sequence[Owner], *, dry_run: bool = False) -> list[FileReport]:
    """Takes what was installed for some owners under the former name out of every file; the memory there stays.

    Raises:
        LifecycleError: A file cannot be edited safely; it is as it was, and so are those after it.
    """
    records = Records(former_home()).all()
    wired = [
        (owner, [recorded_part(owner, record) for record in records if owner in record.owners])
        for owner in wired_owners()
        if owner in owners
    ]
    return [report for report in uninstall(wired, former_home(), dry_run=dry_run) if report.outcome != "nothing"]


def planned(owners: Sequence[Owner], ours: Sequence[FileReport]) -> list[FileReport]:
    """What an install would do that takes the former wiring out first; `ours`: with it still there."""
    former = disconnect(owners, dry_run=True)
    cleared, places = {report.path for report in former}, {report.path for report in ours}
    after = [replace(one, outcome="changed") if one.path in cleared and one.outcome == "kept" else one for one in ours]
    return [*(report for report in former if report.path not in places), *after]
