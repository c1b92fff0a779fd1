"""`howcome view`: pages that show what is known, said and spent, in a browser on this machine."""

from __future__ import annotations

import os

from howcome.cli.arguments import open_existing, require_extra
from howcome.cli.declared import click_command, option
from howcome.present.render import json_line
from howcome.present.terminal import echo
from howcome.settings import current_folder

IDLE_MINUTES = 30


@click_command
def view(
    idle: int = option(
        type=range(1, 24 * 60 + 1),
        default=IDLE_MINUTES,
        metavar="MINUTES",
        help="End when nobody has looked for so long.",
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
