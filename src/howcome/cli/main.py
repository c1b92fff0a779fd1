"""The command line: each command is a thin door onto the façade; errors become one line and a useful exit code."""

from __future__ import annotations

import difflib
import importlib
import io
import shlex
from itertools import takewhile

import click

from howcome import __version__
from howcome.domain.text import STOP_WORDS
from howcome.errors import HowcomeError, UsageError
from howcome.log.faults import refusal_of
from howcome.present.files import is_file
from howcome.present.next_step import next_step
from howcome.present.terminal import echo, echo_refusal, echo_text

SECTIONS: dict[str, dict[str, str]] = {
    "Set up": {
        "init": "lifecycle", "upgrade": "lifecycle", "doctor": "doctor", "status": "status", "backup": "backup",
        "uninstall": "lifecycle", "config": "config",
    },
    "Read transcripts": {"import": "importing", "observe": "observing", "projects": "projects"},
    "Find and read": {"search": "searching", "show": "searching", "timeline": "searching", "rationale": "rationale",
        "blame": "lines", "history": "lines"},
    "What was said": {"why": "why", "receipt": "receipt"},
    "Memories": {
        "distil": "distilling", "learnt": "learnt", "memories": "memories",
        "remember": "remembering", "update": "remembering", "forget": "remembering", "restore": "remembering",
        "purge": "remembering", "export": "carrying", "import-memories": "carrying",
    },
    "Search by meaning": {"model": "model"},
    "Code": {"graph": "graph"},
    "Spend": {"spending": "spending"},
    "Measure": {"eval": "evaluate", "replay": "replaying"},
    "For agents": {"mcp": "doors", "hook": "doors"},
}  # fmt: skip
"""Every command by section, with the module in `commands` that holds it: only the one that is asked for is imported."""


_ALIKE = 0.75
"""From here on a first word is a mistyped command, unless questions begin with it ("how" is nearly "show")."""

WHY, LAST = "why", "last"


def is_of_why(args: list[str]) -> bool:
    """Whether what follows `why` names a prompt or a session, or nothing: what is no id is asked."""
    words = list(takewhile(lambda arg: not arg.startswith("-"), args))
    return not words or (len(words) == 1 and (words[0] == LAST or any(map(str.isdigit, words[0]))))


class Sections(click.Group):
    """A group that imports a command when it is asked for, and lists all of them in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name."""
        return [name for commands in SECTIONS.values() for name in commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word; a file is asked about; words that begin with neither are searched for."""
        word = args[0]
        if word == WHY and not is_of_why(args[1:]):
            return "search", self.get_command(ctx, "search"), args
        names = self.list_commands(ctx)
        if word in names or word.startswith("-"):
            return super().resolve_command(ctx, args)
        if is_file(word) and all(arg.startswith("-") for arg in args[1:]):
            return "blame", self.get_command(ctx, "blame"), args
        meant = [] if word.lower() in STOP_WORDS else difflib.get_close_matches(word, names, n=1, cutoff=_ALIKE)
        if meant:
            did = shlex.join(["howcome", meant[0], *args[1:]])
            message = (
                f"no such command: {word}. Did you mean `{did}`? To search: {shlex.join(['howcome', 'search', *args])}"
            )
            raise UsageError(message)
        return "search", self.get_command(ctx, "search"), args

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of a name, or None."""
        for commands in SECTIONS.values():
            if cmd_name in commands:
                module = importlib.import_module(f"howcome.cli.{commands[cmd_name]}")
                found = vars(module).values()
                return next(one for one in found if isinstance(one, click.Command) and one.name == cmd_name)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the sections."""
        for title, names in SECTIONS.items():
            commands = [command for name in names if (command := self.get_command(ctx, name))]
            with formatter.section(title):
                formatter.write_dl([(command.name or "", command.get_short_help_str(80)) for command in commands])


@click.group(cls=Sections, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="howcome")
def cli() -> None:
    """Long-term memory for coding agents.

    howcome reads the transcripts that your agent already writes, keeps every event searchable, and brings the right
    past words into the next prompt. Everything stays on this machine, in HOWCOME_HOME (default: ~/.howcome).

    \b
    First steps:
      howcome init      connect Claude Code and read the sessions that are already there
      howcome why did we pick the queue     searches (short for: howcome search)
      howcome src/cart.py:42                why the line is there (short for: howcome blame)
      howcome doctor    whenever something seems wrong
    """


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
        code = cli.main(prog_name="howcome", standalone_mode=False)  # what a command exits with, else None
    except HowcomeError as error:
        echo(f"howcome: {error}{next_step(error)}", err=True)
        return 2 if isinstance(error, UsageError) else 1
    except click.ClickException as error:
        error.show(shown := io.StringIO())
        echo_text(shown.getvalue().rstrip("\n"), err=True)
        return error.exit_code
    except click.Abort as stop:
        is_interrupt = isinstance(stop.__cause__, KeyboardInterrupt)
        echo("interrupted" if is_interrupt else "nothing was changed", err=True)
        return 130 if is_interrupt else 1
    return code if isinstance(code, int) else 0
