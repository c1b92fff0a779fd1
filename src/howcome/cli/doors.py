"""`howcome hook` and `howcome mcp`: the doors for agents, for whoever looks at them from the command line."""

from __future__ import annotations

import sys

import click

from howcome.clients.registry import DEFAULT


@click.command()
@click.argument("event")
@click.option("--agent", default=DEFAULT, show_default=True, help="Whose hook it is.")
def hook(event: str, agent: str) -> None:
    """Answer an agent's hook EVENT: its payload on stdin, its answer (or nothing) on stdout; always exit code 0.

    \b
    Example:
      echo '{"hook_event_name": "UserPromptSubmit", "prompt": "…", "cwd": "'$PWD'"}' | howcome hook UserPromptSubmit
    """
    from howcome.hooks.process import main as hook_main

    sys.exit(hook_main([event, "--agent", agent]))


@click.command()
@click.option("--silent", is_flag=True, help="Offer nothing: another server of the same agent does.")
def mcp(*, silent: bool) -> None:
    """Serve memory to an agent over the Model Context Protocol, on standard input and output.

    `howcome init` writes this into the agent's settings; it ends with the agent. While it runs, one server of the
    machine also reads what other sessions have written.

    \b
    Example:
      claude mcp add howcome -- howcome mcp
    """
    from howcome.mcp.server import main as serve

    sys.exit(serve(["--silent"] if silent else []))
