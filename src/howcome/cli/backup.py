"""`howcome backup`: a whole copy of the database, read back; and putting one back."""

from __future__ import annotations

import os
import time

import click

from howcome.cli.asking import confirm
from howcome.cli.declared import argument, click_command, option
from howcome.errors import StoreMissingError, UsageError
from howcome.log.place import database_path
from howcome.memory.backup import FOLDER
from howcome.present.render import in_units, json_line
from howcome.present.terminal import echo
from howcome.settings import Settings, read_settings
from howcome.upkeep import back_up, put_back


@click_command
def backup(
    file: str | None = argument(required=False, type=click.Path()),
    is_restore: bool = option("--restore", help="Put FILE in the place of the database (kept aside)."),
    force: bool = option(help="Replace FILE if there is one."),
    yes: bool = option("-y", help="Do not ask."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Copy the whole database to FILE (nothing: a new file in HOWCOME_HOME/backups), while it is used.

    The copy counts when it was read back and its integrity check found nothing. With --restore, FILE becomes the
    database: end the agents' sessions first. The present one is kept in HOWCOME_HOME/replaced; what was purged since
    is purged again, and the indexes are built anew.

    Memories and settings are backed up every day by themselves, as text, in HOWCOME_HOME/backups:
    `howcome import-memories` reads them.

    \b
    Examples:
      howcome backup
      howcome backup /media/stick/howcome.db
      howcome backup --restore ~/.howcome/backups/howcome-2026-11-22-180000.db
    """
    settings = read_settings(os.environ)
    if is_restore:
        _restore(settings, file, yes=yes, as_json=as_json)
        return
    if not os.path.lexists(database_path(settings.home)):
        raise StoreMissingError(f"there is no memory in {settings.home}: nothing to back up")
    path = os.path.realpath(file) if file else _new_file(settings.home)
    if os.path.isdir(path):
        raise UsageError(f"{file}: a folder; name a file in it")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{file}: there already; name another file, or say --force")
    size = back_up(settings.home, path)
    said = f"{click.format_filename(path)}: {in_units(size)}, read back and whole"
    echo(json_line({"file": path, "size_bytes": size}) if as_json else said)


def _new_file(home: str) -> str:
    folder = os.path.join(home, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, time.strftime("howcome-%Y-%m-%d-%H%M%S.db"))


def _restore(settings: Settings, file: str | None, *, yes: bool, as_json: bool) -> None:
    if file is None:
        raise UsageError("--restore needs the FILE to put back")
    if not os.path.isfile(file):
        raise UsageError(f"{file}: there is no such file")
    confirm(f"Put {file} in the place of the database (which is kept aside)", yes=yes, err=as_json)
    aside, purged = put_back(settings, os.path.realpath(file))
    if as_json:
        echo(json_line({"file": file, "aside": aside, "purged_again": purged}))
        return
    echo(f"{file} is the database now; the one of before is in {aside}")
    if purged:
        echo(f"purged again, as they were since: {', '.join(purged)}")
    echo("Transcripts of since then are read by the next session, or now: howcome import")
