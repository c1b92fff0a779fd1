"""`howcome compact`: the database written anew without gaps; with an age, old tool traffic is shortened first."""

from __future__ import annotations

import os

from howcome.app import open_app
from howcome.cli.asking import confirm
from howcome.cli.declared import click_command, option
from howcome.present.render import counted, json_line
from howcome.present.terminal import echo
from howcome.settings import read_settings


@click_command
def compact(
    days: int | None = option(
        "--older-than",
        type=range(1, 36_501),
        metavar="DAYS",
        help="Shorten tool traffic that is older; else what the setting `tool_text_days` says.",
    ),
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
    with open_app(settings, create=False) as app:
        count, saved = app.ingest.shorten(days, is_trial=True) if days else (0, 0)
        report = {
            "days": days,
            "texts": count,
            "saved_bytes": saved,
            "is_dry_run": dry_run,
            "before_bytes": app.health.place()[2][0],
        }
        if not dry_run:
            if count:
                what = counted(count, "whole text") + f" of tool traffic older than {counted(days, 'day')}"
                confirm(f"Drop {what} ({saved / 1e6:.1f} MB), with no way back", yes=yes, err=as_json)
                app.ingest.shorten(days)
            app.ingest.vacuum()
            report["after_bytes"] = app.health.place()[2][0]
    if as_json:
        echo(json_line(report))
        return
    if days:
        done = "would be shortened" if dry_run else "shortened"
        echo(f"{counted(count, 'text')} of tool traffic older than {counted(days, 'day')} {done}: {saved / 1e6:.1f} MB")
    elif dry_run:
        echo("nothing would be shortened: no age is given (--older-than DAYS, or the setting tool_text_days)")
    if not dry_run:
        echo(f"the database: {report['before_bytes'] / 1e6:.1f} MB before, {report['after_bytes'] / 1e6:.1f} MB after")
