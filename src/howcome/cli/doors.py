"""`howcome hook` and `howcome mcp`: the doors for agents, for whoever looks at them from the command line."""

from __future__ import annotations

import sys

from howcome.cli.declared import argument, click_command, option
from howcome.clients.registry import DEFAULT


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
