"""The store as a whole: `howcome backup` copies it or puts a copy back, `compact` and `migrate` write it anew."""

from __future__ import annotations

import os
import shlex
import time

import click

from howcome.app import open_app
from howcome.cli.arguments import confirm
from howcome.cli.declared import argument, click_command, option
from howcome.errors import StoreMissingError, UsageError
from howcome.log.place import database_path
from howcome.memory.backup import FOLDER
from howcome.present.render import counted, in_units
from howcome.present.screen import report
from howcome.settings import Settings, read_settings
from howcome.upkeep import back_up, move_store, put_back

_OLDER = "Shorten tool traffic that is older; else what the setting `tool_text_days` says."
_SHOWN = (("events", "event"), ("sessions", "session"), ("memories", "memory", "memories"))
"""Tables, with the words for one row of them and for more."""


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

    What no transcript holds (what you kept, changed or forgot, and settings) is backed up every day by itself, as text,
    in HOWCOME_HOME/backups: `howcome import-memories` reads it. What sessions taught can be learnt again from them.

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
    if file is None:
        folder = os.path.join(settings.home, FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        file = os.path.join(folder, time.strftime("howcome-%Y-%m-%d-%H%M%S.db"))
    path = os.path.realpath(file)
    if os.path.isdir(path):
        raise UsageError(f"{file}: a folder; name a file in it")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{file}: there already; name another file, or say --force")
    if not os.path.isdir(os.path.dirname(path)):
        raise UsageError(f"{file}: its folder is not there; make it first")
    size = back_up(settings.home, path)
    said = [f"{click.format_filename(path)}: {in_units(size)}, read back and whole"]
    said += [f"This is the embedded store, not {settings.store}, which commands use: pg_dump copies that"] * bool(
        settings.store
    )
    report({"file": path, "size_bytes": size}, said, as_json=as_json)


def _restore(settings: Settings, file: str | None, *, yes: bool, as_json: bool) -> None:
    if file is None:
        raise UsageError("--restore needs the FILE to put back")
    if not os.path.isfile(file):
        raise UsageError(f"{file}: there is no such file")
    confirm(f"Put {file} in the place of the database (which is kept aside)", yes=yes, err=as_json)
    aside, purged = put_back(settings, os.path.realpath(file))
    lines = [f"{file} is the database now; the one of before is in {aside}"]
    lines += [f"purged again, as they were since: {', '.join(purged)}"] if purged else []
    lines.append("Transcripts of since then are read by the next session, or now: howcome import")
    report({"file": file, "aside": aside, "purged_again": purged}, lines, as_json=as_json)


@click_command
def compact(
    days: int | None = option("--older-than", type=range(1, 36_501), metavar="DAYS", help=_OLDER),
    dry_run: bool = option(help="Say what would be shortened; change nothing."),
    yes: bool = option("-y", help="Do not ask for confirmation."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Make the database smaller, and say what it was before and is after.

    With an age, the whole texts of older tool calls and results are dropped first, with no way back here: of a result
    its first 600 and last 199 characters stay, of each field of a call 400. Summary, excerpt and what is searched stay
    as they are, and so does whatever a memory cites. Your words and the agent's are never shortened. `howcome show`
    says how much of a text went.

    \b
    Examples:
      howcome compact
      howcome compact --older-than 90 --dry-run
    """
    settings = read_settings(os.environ)
    days = days or settings.tool_text_days
    old = f"of tool traffic older than {counted(days, 'day')}"
    with open_app(settings, create=False) as app:
        count, saved, damaged = app.ingest.shorten(days, is_trial=True) if days else (0, 0, 0)
        before = app.health.place()[2][0]
        facts = {"days": days, "texts": count, "saved_bytes": saved, "damaged_texts": damaged}
        facts |= {"is_dry_run": dry_run, "before_bytes": before}
        if not dry_run:
            if count:
                what = f"{counted(count, 'whole text')} {old} ({saved / 1e6:.1f} MB)"
                confirm(f"Drop {what}, with no way back", yes=yes, err=as_json)
                app.ingest.shorten(days)
            app.ingest.vacuum()
            facts["after_bytes"] = app.health.place()[2][0]
    lines = []
    if days:
        done = "would be shortened" if dry_run else "shortened"
        lines.append(f"{counted(count, 'text')} {old} {done}: {saved / 1e6:.1f} MB")
        lines += [f"{counted(damaged, 'text')} cannot be unpacked: left whole"] if damaged else []
    elif dry_run:
        lines.append("nothing would be shortened: no age is given (--older-than DAYS, or the setting tool_text_days)")
    if not dry_run:
        lines.append(f"the database: {before / 1e6:.1f} MB before, {facts['after_bytes'] / 1e6:.1f} MB after")
    report(facts, lines, as_json=as_json)


@click_command
def migrate(
    to: str = option(required=True, metavar="STORE", help="`postgresql://user@host/name`, `sqlite`, `sqlite:FOLDER`."),
    as_json: bool = option("--json", help="Print counts and checksums, per project and table, as JSON."),
) -> None:
    """Copy the store to a PostgreSQL server, or the server's back to this machine, and compare both.

    Nothing is deleted, and nobody uses the copy before you say so (`howcome config set store …`). The copy must be an
    empty store, or one that this command began and did not end: it goes on there. Ids stay the same. Indexes are not
    copied; the next command that searches makes them.

    \b
    Examples:
      howcome migrate --to postgresql://me@db.example/howcome
      howcome migrate --to sqlite
      howcome migrate --to sqlite:/tmp/copy --json
    """
    from howcome.cli.progress import tqdm

    settings = read_settings(os.environ)
    with tqdm(unit="event", disable=as_json or None, leave=False) as bar:
        place, moved = move_store(settings, to, bar.update)
    sums = [
        {"project": project, "table": table, "rows": rows, "checksum": checksum}
        for (project, table), (rows, checksum) in sorted(moved.sums.items())
    ]
    lines = []
    for project in sorted({project for project, _ in moved.sums} - {""}):
        parts = [counted(moved.sums.get((project, name), (0, ""))[0], *words) for name, *words in _SHOWN]
        lines.append(f"{project}: {', '.join(parts)}: the same in both")
    lines.append(f"Copied to {place}: {counted(sum(moved.copied.values()), 'row')}, every one compared.")
    use = f"howcome config set store {shlex.quote(to)}" if "://" in to else "howcome config unset store"
    lines.append(f"Nobody uses the copy yet: {use}")
    if to.startswith("sqlite:"):  # the team, the sync and the settings of this machine stay where they are
        lines[-1] += f" && howcome backup --restore {shlex.quote(database_path(place))}"
        lines.append(
            f"That keeps the present embedded store aside. Or use the copy by itself: HOWCOME_HOME={shlex.quote(place)}"
        )
    report({"store": place, "copied": moved.copied, "compared": sums}, lines, as_json=as_json)
