"""What was wired under the product's former name: found by the records of that install, and taken out.

The former name, its folder and its variable are said here and nowhere else in the wiring.
"""

from __future__ import annotations

from pathlib import Path

from howcome.present.lifecycle.agents import recorded_part
from howcome.present.lifecycle.commands import directory
from howcome.present.lifecycle.engine import FileReport, uninstall
from howcome.present.lifecycle.install_record import Records, owned_by

DATABASE_NAME = "recollect.db"


def former_home() -> Path:
    """The directory that held everything under the former name."""
    return directory("RECOLLECT_HOME", "~/.recollect")


def is_wired() -> bool:
    """Whether an install under the former name is recorded."""
    return bool(owned_by(Records(former_home()).all()))


def disconnect(*, dry_run: bool = False) -> list[FileReport]:
    """Takes what was installed under the former name out of every file; the memory there stays.

    Raises:
        LifecycleError: A file cannot be edited safely; it is as it was, and so are those after it.
    """
    records = Records(former_home()).all()
    wired = [
        (owner, [recorded_part(owner, record) for record in records if owner in record.owners])
        for owner in owned_by(records)
    ]
    return [report for report in uninstall(wired, former_home(), dry_run=dry_run) if report.outcome != "nothing"]
