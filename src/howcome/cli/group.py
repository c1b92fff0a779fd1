"""The commands as click sees them: its help, its words for a mistake, and all that is read by it."""

from __future__ import annotations

import difflib
import io
import shlex
from itertools import takewhile

import click

from howcome import __version__
from howcome.cli.declared import SECTIONS, Declared, command_of, names
from howcome.domain.text import STOP_WORDS
from howcome.errors import UsageError
from howcome.present.files import is_file
from howcome.present.terminal import echo, echo_text

_ALIKE = 0.82
"""From here on a first word is a mistyped command, unless questions begin with it ("how" is nearly "show", and
"shadow" no command)."""

_UNDOING = (
    "each command is taken back by its own: `howcome restore ID` (after forget), `howcome learnt --undo`,"
    " `howcome consolidate undo`, `howcome graduate --remove`. After `remember` and `update` the way back is printed"
)


_OF_WHY = ("--json", "--project", "--all-projects", "-n", "--limit")
"""The options of `why`; with others words are searched for, whether or not somebody asked them."""


def _is_of_why(args: list[str]) -> bool:
    """Whether what follows `why` names a prompt or a session, or nothing: what is no id is asked."""
    words = list(takewhile(lambda arg: not arg.startswith("-"), args))
    return not words or (len(words) == 1 and (words[0] == "last" or any(map(str.isdigit, words[0]))))


class Sections(click.Group):
    """A group that imports a command when it is asked for, and lists all of them in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name."""
        return names()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word; a file is asked about; words that begin with neither are searched for."""
        word = args[0]
        if word == "why" and not _is_of_why(args[1:]):
            from howcome.cli.why import was_asked

            words = list(takewhile(lambda arg: not arg.startswith("-"), args[1:]))
            options = args[len(words) + 1 :]
            is_search = any(one.startswith("-") and one.partition("=")[0] not in _OF_WHY for one in options)
            if is_search or not was_asked(asked := " ".join(words)):
                return "search", self.get_command(ctx, "search"), args
            args = [word, asked, *options]
        if word in names() or word.startswith("-"):
            return super().resolve_command(ctx, args)
        if is_file(word) and all(arg.startswith("-") for arg in args[1:]):
            return "blame", self.get_command(ctx, "blame"), args
        if args == ["undo"]:
            raise UsageError(_UNDOING)
        meant = [] if word.lower() in STOP_WORDS else difflib.get_close_matches(word, names(), cutoff=_ALIKE)
        if meant:
            meant.sort(key=lambda name: sorted(name) != sorted(word))  # two letters the wrong way round are one slip
            did, search = shlex.join(["howcome", meant[0], *args[1:]]), shlex.join(["howcome", "search", *args])
            raise UsageError(f"no such command: {word}. Did you mean `{did}`? To search: {search}")
        return "search", self.get_command(ctx, "search"), args

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of a name, or None."""
        found = command_of(cmd_name)
        command = found.built() if isinstance(found, Declared) else found
        if command is not None:
            command.short_help = next(rows[cmd_name][1] for rows in SECTIONS.values() if cmd_name in rows)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Writes the sections."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, said) for name, (_, said) in commands.items()])


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


TAKE_WORDS = ("search", "try", "remember")
"""Commands that take words as they are typed."""


def run() -> int:
    """Runs what the arguments name: the exit code."""
    try:
        code = cli.main(prog_name="howcome", standalone_mode=False)  # what a command exits with, else None
    except click.ClickException as error:
        error.show(shown := io.StringIO())
        of_words = getattr(error, "ctx", None) is not None and error.ctx.info_name in TAKE_WORDS  # type: ignore[attr-defined]
        quote = " Quote words that begin with a dash." if of_words and isinstance(error, click.NoSuchOption) else ""
        echo_text(shown.getvalue().rstrip("\n") + quote, err=True)
        return error.exit_code
    except click.Abort as stop:
        is_interrupt = isinstance(stop.__cause__, KeyboardInterrupt)
        echo("interrupted" if is_interrupt else "nothing was changed", err=True)
        return 130 if is_interrupt else 1
    return code if isinstance(code, int) else 0
