"""A damaged database: what is lost with it, and putting a whole one in its place."""

from __future__ import annotations

import os

from howcome.doctor.base import Finding, Machine, counted
from howcome.domain.stored import Scope
from howcome.errors import StoreError
from howcome.memory.backup import FOLDER, newest_backup
from howcome.present.memory_files import read_export
from howcome.upkeep import mend_database

QUESTION = "The database is damaged: put a new one in its place, with all that can be read (the damaged one is kept)"


def damaged(machine: Machine, check: str, what: str) -> Finding:
    """The finding of a damaged database; its repair makes a whole one, and is asked for first."""
    number = _readable_memories(machine)
    backup = newest_backup(machine.home)
    kept = (
        f"memories kept by hand that can still be read: {number}"
        if number is not None
        else ("memories kept by hand are in no transcript: what can be read of them is saved")
    )
    if backup is not None:
        kept += f"; the last backup of them is {os.path.basename(backup)}"
    what = f"{what.partition('; ')[0]}; {kept}"
    return Finding("error", check, what, "howcome doctor --fix", lambda: _mend(machine), QUESTION)


def check_backup(machine: Machine) -> list[Finding]:
    """What no transcript holds is backed up every day by itself."""
    app = machine.app
    if app is None or not app.health.is_backup_overdue():
        return []

    def write() -> str:
        is_written = app.health.back_up_memories()
        return "wrote today's backup of memories" if is_written else "there is a backup of today by now"

    what = f"memories kept by hand are in no backup: nothing was written into {machine.home}/{FOLDER} for days"
    return [Finding("warning", "backup", what, "howcome doctor --fix", write)]


def _readable_memories(machine: Machine) -> int | None:
    """How many memories, of whatever state, a damaged store still gives away; None when nobody knows."""
    if machine.app is None:
        return None
    try:
        return sum("text" in line for line in machine.app.memories.export(Scope.everything()))
    except StoreError:
        return None


def _mend(machine: Machine) -> str:
    machine.close()
    report = mend_database(machine.settings, machine.transcripts, lambda path: read_export(path, []))
    if report is None:
        return "the database passed its integrity check this time: it was left as it is"
    saved = report.rows
    parts = [
        f"saved {counted(saved.get('events', 0), 'event')} and {saved.get('memories', 0)} memories",
        f"{report.from_backup} memories came from the last backup" if report.from_backup else "",
        f"{counted(report.added, 'event')} from transcripts",
        f"{counted(len(report.unread), 'transcript')} could not be read" if report.unread else "",
        f"the damaged database is in {report.aside}",
    ]
    return ", ".join(part for part in parts if part)
