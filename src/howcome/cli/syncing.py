"""`howcome sync`: one person's memories on all of their machines."""

from __future__ import annotations

import os
from dataclasses import asdict

import click

from howcome.app import open_app
from howcome.cli.asking import confirm
from howcome.cli.declared import argument, click_command, option
from howcome.errors import UsageError
from howcome.memory.syncing import FROM_OUTSIDE, NO_KEY, NOT_SET_UP, SyncReport
from howcome.present.render import counted, iso_time, json_line, plain
from howcome.present.terminal import echo
from howcome.settings import read_settings

MAX_KEY_CHARS = 1000
_SET_UP = """This machine syncs with {remote}. Your key (fingerprint {key}) is in {key_file}
Keep a copy of it: nobody opens the files without it.
Now run: howcome sync
On each other machine, with a copy of that file:
  howcome sync init --remote '{remote}' --key FILE"""
_STATUS = "{remote}  {shared} shared  last run {run}  key {key}"
_OUTSIDE = " (fetched pages, tools' output, imports to review)"
_REMOVED = "This machine syncs with none. The memories stay here, and what is shared stays where it is."


@click_command
def sync(
    action: str | None = argument(type=("init", "status", "remove"), required=False),
    remote: str | None = option(metavar="URL|FOLDER", help="init: a git remote, or a folder that is shared."),
    key_file: str | None = option(
        "--key", metavar="FILE", help="init: the key of your first machine (`-`: standard input)."
    ),
    yes: bool = option("-y", help="remove: do not ask."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Bring your memories to your other machines, and theirs here.

    They meet in a private git repository (a branch `howcome` of it) or in any folder that is shared (Syncthing,
    Dropbox, a disk). Each memory is a file there that only your key opens. Run it as often as you like, on every
    machine: forgetting and purging travel, too, and of two changes the later one holds. What is from outside the
    conversation, of excluded projects, or holds a secret stays here. Sessions and their events are not sent.

    \b
    Examples:
      howcome sync init --remote git@example.org:me/memories.git
      ssh laptop cat .howcome/sync/key | howcome sync init --remote git@example.org:me/memories.git --key -
      howcome sync
      howcome sync status
      howcome sync remove
    """
    if (remote or key_file) and action != "init":
        raise click.UsageError("--remote and --key belong to init")
    if action == "init" and not remote:
        raise click.UsageError("init needs --remote URL|FOLDER")
    if action == "remove":
        confirm("Disconnect this machine, and delete its copy of the key", yes=yes, err=as_json)
    with open_app(read_settings(os.environ), create=action not in ("status", "remove")) as app:
        work = app.sharing.sync()
        if action == "init":
            _print(work.set_up(str(remote), _key_of(key_file)), _SET_UP, as_json=as_json)
        elif action == "status":
            facts = work.status()
            run_ms = facts.get("run_ms")
            facts |= {"run": iso_time(run_ms)} if isinstance(run_ms, int) else {}
            _print(facts, _STATUS if facts["remote"] else NOT_SET_UP, as_json=as_json)
        elif action == "remove":
            work.remove()
            _print({"remote": None}, _REMOVED, as_json=as_json)
        else:
            _print_run(work.run(), as_json=as_json)


def _key_of(file: str | None) -> str:
    """The key that a file holds."""
    if file is None:
        return ""
    try:
        with click.open_file(file, errors="replace") as stream:
            return str(stream.read(MAX_KEY_CHARS)).strip() or NO_KEY
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


def _print(facts: dict[str, object], text: str, *, as_json: bool) -> None:
    said = [line.format_map({"run": "not yet", **facts}) for line in text.splitlines()]
    for line in [json_line(facts)] if as_json else said:
        echo(line)


def _print_run(report: SyncReport, *, as_json: bool) -> None:
    if as_json:
        echo(json_line(asdict(report)))
    else:
        echo(f"{report.brought} came, {report.changed} changed, {report.purged} purged here; {report.sent} sent")
        for reason, count in report.kept_back.items():
            echo(f"kept back: {count} {reason}{_OUTSIDE if reason == FROM_OUTSIDE else ''}")
        if report.unreadable:
            echo(f"{counted(report.unreadable, 'file')} there cannot be opened (not whole yet, or damaged): left alone")
        for problem in report.problems:
            echo(plain(f"howcome: {problem}"), err=True)
    if report.problems:
        raise click.exceptions.Exit(1)
