"""`recollect init` and `recollect uninstall`: connect an agent to its memory, and disconnect it without a trace."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from recollect.present import lifecycle

_Command = TypeVar("_Command", bound=Callable[..., object])


def _common(command: _Command) -> _Command:
    """The options of both commands."""
    agent = click.Choice(["claude-code"])
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output."),
        click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
        click.option("--agent", type=agent, default="claude-code", show_default=True, help="The agent to set up."),
    ):
        command = option(command)
    return command


@click.command("init", epilog="\b\nExample:\n  recollect init\n  recollect import")
@_common
def init(*, agent: str, yes: bool, as_json: bool) -> None:
    """Connect an agent to its memory.

    Adds hooks to the agent's user settings ($CLAUDE_CONFIG_DIR or ~/.claude). Everything else in the file stays as it
    is, and `recollect uninstall` puts it back byte for byte. Running it again changes nothing.
    """
    config, home = lifecycle.claude_config_dir(), lifecycle.recollect_home()
    _announce(
        f"recollect will connect {agent} to its memory:",
        ("settings", _shown(config / "settings.json")),
        ("hooks", ", ".join(lifecycle.EVENT_TIMEOUTS)),
        ("memory", _shown(home)),
        err=as_json,
    )
    _confirm(yes=yes, err=as_json)
    report = lifecycle.install(config, home, lifecycle.hook_command)
    if as_json:
        _print_json({"agent": agent, "home": home, **asdict(report)})
        return
    click.echo("Connected." if report.changed else "It was connected already; nothing was changed.")
    if report.backup:
        click.echo(f"The original settings are kept in {_shown(report.backup)}.")
    if report.hooks_disabled:
        click.echo("Note: these settings say `disableAllHooks`, so the agent will not run them.")
    click.echo("\nNow try:\n  recollect import    reads the sessions that you already have\nthen start the agent.")


@click.command("uninstall", epilog="\b\nExample:\n  recollect uninstall --yes")
@_common
def uninstall(*, agent: str, yes: bool, as_json: bool) -> None:
    """Disconnect an agent from its memory; the memory itself stays.

    Takes recollect's hooks out of the agent's settings. A file that nobody else changed gets its original bytes back;
    otherwise only recollect's entries are removed.
    """
    config, home = lifecycle.claude_config_dir(), lifecycle.recollect_home()
    _announce(
        f"recollect will disconnect {agent} from its memory:",
        ("settings", _shown(config / "settings.json")),
        ("memory", f"{_shown(home)} (stays)"),
        err=as_json,
    )
    _confirm(yes=yes, err=as_json)
    report = lifecycle.uninstall(config, home)
    if as_json:
        _print_json({"agent": agent, "home": home, **asdict(report)})
        return
    outcomes = {
        "restored": "The settings have their original content back.",
        "removed": "The settings file was made by recollect, so it is gone.",
        "edited": "recollect's hooks are out; all that was changed in the settings since then is kept.",
        "nothing": "Nothing was installed there; nothing was changed.",
    }
    click.echo(outcomes[report.outcome])
    if report.backup:
        click.echo(f"The settings from before recollect are kept in {_shown(report.backup)}.")
    click.echo(f"Your memory stays in {_shown(home)}. Delete that directory if you do not want it any more.")


def _announce(title: str, *lines: tuple[str, str], err: bool) -> None:
    """Say what will be done; on standard error when a report follows on standard output."""
    click.echo(title, err=err)
    for name, value in lines:
        click.echo(f"  {name:<10}{value}", err=err)


def _confirm(*, yes: bool, err: bool) -> None:
    if not yes:
        click.confirm("Continue?", abort=True, err=err)


def _shown(path: Path) -> str:
    return click.format_filename(path)


def _print_json(report: dict[str, object]) -> None:
    click.echo(json.dumps(report, indent=2, default=str))
