"""The command line: each command is a thin door onto the façade; errors become one line and a useful exit code."""

from __future__ import annotations

import os
import sys

from howcome.cli.declared import Declared, command_of
from howcome.errors import HowcomeError, UsageError
from howcome.log.faults import refusal_of
from howcome.present.terminal import echo, echo_refusal


def main() -> int:
    """Runs the command line. Exit codes: 0 done, 1 it failed (the message says why), 2 wrong usage, 130 interrupted."""
    try:
        return _exit_code()
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        refused = refusal_of(error)
        if refused is None:
            raise
        echo_refusal(f"howcome: {refused}")
        return 1


def _exit_code() -> int:
    try:
        return _run(sys.argv[1:])
    except HowcomeError as error:
        from howcome.present.next_step import next_step

        echo(f"howcome: {error}{next_step(error)}", err=True)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        echo("interrupted", err=True)
        return 130


def _run(words: list[str]) -> int:
    """Runs a command whose words are plain; whatever else there is, click reads."""
    is_completion = "_HOWCOME_COMPLETE" in os.environ  # set by a shell: click answers it
    if words and not words[0].startswith("-") and not is_completion:
        found = command_of(words[0])
        if isinstance(found, Declared) and (values := found.read(words[1:])) is not None:
            try:
                found.run(**values)
            except getattr(sys.modules.get("click"), "UsageError", ()):  # said by click, with how the command is used
                pass
            else:
                return 0
    from howcome.cli.group import run

    return run()
