"""The command line: each command is a thin door onto the façade; errors become one line and a useful exit code."""

from __future__ import annotations

import signal
import sys

import click

from recollect import __version__
from recollect.errors import RecollectError, UsageError
from recollect.present.commands.evaluate import evaluate
from recollect.present.commands.importing import import_
from recollect.present.commands.lifecycle import init, uninstall
from recollect.present.commands.searching import search, show, timeline
from recollect.present.commands.status import status


@click.group(context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="recollect")
def cli() -> None:
    """Long-term memory for coding agents.

    recollect reads the transcripts that your agent already writes, keeps every event searchable, and brings the right
    past words into the next prompt. Everything stays on this machine, in RECOLLECT_HOME (default: ~/.recollect).

    \b
    First steps:
      recollect init      connect Claude Code
      recollect import    read the sessions that are already there
      recollect search "why did we pick the queue"
    """


@cli.command(short_help="Answer an agent's hook (payload on stdin).")
@click.argument("event")
def hook(event: str) -> None:
    """Answer an agent's hook EVENT: its payload on stdin, its answer (or nothing) on stdout.

    \b
    Example:
      echo '{"hook_event_name": "UserPromptSubmit", "prompt": "…", "cwd": "'$PWD'"}' | recollect hook UserPromptSubmit
    """
    from recollect.present.hooks import main as hook_main

    sys.exit(hook_main([event]))


for command in (init, uninstall, import_, search, show, timeline, status, evaluate):
    cli.add_command(command)


def main() -> int:
    """Runs the command line. Exit codes: 0 done, 1 it failed (the message says why), 2 wrong usage, 130 interrupted."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `recollect timeline … | head` ends as any other command does
    try:
        cli.main(prog_name="recollect", standalone_mode=False)
    except RecollectError as error:
        click.echo(f"recollect: {error}", err=True)
        return 2 if isinstance(error, UsageError) else 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as stop:
        is_interrupt = isinstance(stop.__cause__, KeyboardInterrupt)
        click.echo("interrupted" if is_interrupt else "nothing was changed", err=True)
        return 130 if is_interrupt else 1
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0
