"""The other doors, from the command line: `howcome hook` and `mcp` for agents, `howcome view` for a browser."""

from __future__ import annotations

import os
import sys

from howcome.cli.arguments import open_existing, require_extra
from howcome.cli.declared import argument, click_command, option
from howcome.clients.registry import DEFAULT
from howcome.present.render import json_line
from howcome.present.terminal import echo
from howcome.settings import current_folder


@click_command
def hook(event: str = argument(), agent: str = option(default=DEFAULT, help="Whose hook it is.")) -> None:
    """Answer an agent's hook EVENT: its payload on stdin, its answer (or nothing) on stdout; always exit code 0.

    \b
    Example:
      echo '{"hook_event_name": "UserPromptSubmit", "prompt": "…", "cwd": "'$PWD'"}' | howcome hook UserPromptSubmit
    """
    from howcome.hooks.process import main as hook_main

    sys.exit(hook_main([event, "--agent", agent]))


@click_command
def mcp(silent: bool = option(help="Offer nothing: another server of the same agent does.")) -> None:
    """Serve memory to an agent over the Model Context Protocol, on standard input and output.

    `howcome init` writes this into the agent's settings; it ends with the agent. While it runs, one server of the
    machine also reads what other sessions have written.

    \b
    Example:
      claude mcp add howcome -- howcome mcp
    """
    from howcome.mcp.server import main as serve

    sys.exit(serve(["--silent"] if silent else []))


@click_command
def view(
    idle: int = option(
        type=range(1, 24 * 60 + 1), default=30, metavar="MINUTES", help="End when nobody has looked for so long."
    ),
    as_json: bool = option("--json", help="Print the link as JSON."),
) -> None:
    """Show in a browser what is known, what was said, what it cost, and take back what is wrong.

    Prints a link that only this machine can open; whoever has the link may look and change. It runs until Ctrl-C,
    until its terminal is closed, or until nobody has looked for a while, and leaves nothing behind. It needs howcome's
    extra `view`.

    \b
    Examples:
      howcome view
      howcome view --idle 5
    """
    require_extra("view", "the viewer", "jinja2", "starlette", "uvicorn")
    open_existing().close()  # only what writes makes a store
    from howcome.web.server import serve

    def started(link: str) -> None:
        echo(json_line({"link": link}) if as_json else f"Open {link}")
        if not as_json:
            echo("It ends with Ctrl-C, with this terminal, or when nobody has looked for a while.", err=True)

    ended = serve(os.environ, current_folder(os.environ), idle * 60, started)
    if not as_json:
        echo(f"The viewer has ended: {ended}.", err=True)
