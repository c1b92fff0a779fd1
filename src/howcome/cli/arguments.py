"""What commands have in common: what people type, as the store holds text, and questions before something changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from howcome.app import App, now_ms, open_app
from howcome.domain.memories import MAX_TEXT_CHARS
from howcome.domain.stored import Scope
from howcome.errors import MissingError, UsageError
from howcome.present.moments import moment_ms
from howcome.present.render import counted
from howcome.present.terminal import ask_person, echo
from howcome.settings import current_folder, read_settings

MAX_INPUT_BYTES = 1 << 20
SHOWN_PROBLEMS = 20
_STANDARD_INPUT = ("-",)
_ALL, _FOLDER = "or --all-projects", "or a folder that is there"
_EVERY = "or leave out --project: then it is every project's sessions"
UNKNOWN = "Nothing is stored of this project yet: `howcome import` reads its sessions."


def option_ms(text: str | None, name: str) -> int | None:
    """The moment that an option names; None where it is not given."""
    return None if text is None else moment_ms(text, name, now_ms(), is_local=True)


def clean_argument(argument: str) -> str:
    """An argument as the store holds text: bytes that are not UTF-8 are replaced, as they are in transcripts."""
    return os.fsencode(argument).decode("utf-8", "replace")


def here() -> str:
    """The folder that somebody is in."""
    return clean_argument(current_folder(os.environ))


def open_store() -> App:
    """The façade of a command that may keep something: there is a store afterwards."""
    return open_app(read_settings(os.environ))


def open_existing() -> App:
    """The façade of a command that keeps nothing new: StoreMissingError where there is no store, and none is left."""
    return open_app(read_settings(os.environ), create=False)


def require_extra(extra: str, what: str, *packages: str) -> None:
    """Refuses what needs packages that are not here (MissingError)."""
    from importlib.util import find_spec

    if missing := [name for name in packages if find_spec(name) is None]:
        from howcome.doctor.base import extra_remedy

        remedy = extra_remedy(extra, packages)
        raise MissingError(f"{what} needs {' and '.join(missing)}: install its extra `{extra}`: {remedy}", remedy)


def check_scope(project: str | None, *, all_projects: bool) -> None:
    """Nobody can mean both."""
    if all_projects and project is not None:
        import click

        raise click.UsageError("choose one of --all-projects and --project")


def scope_of(app: App, project: str | None = None, *, all_projects: bool = False, other: str = _ALL) -> Scope:
    """Whose events and memories a command reads: this folder's project's, a named one's (`other`: or else), or all."""
    if project is not None and not all_projects:
        return Scope.project(app.projects.named(clean_argument(project), here(), other)[0])
    app.projects.recognize(here())
    mine = app.projects.scope_of(here())
    return Scope.everything(mine.project_id) if all_projects else mine


def sessions_of(app: App, project: str | None) -> Scope:
    """Whose sessions a command works on: a named project's, or everybody's."""
    return Scope.everything() if project is None else scope_of(app, project, other=_EVERY)


def is_unknown(scope: Scope) -> bool:
    """Whether it is a folder's of which nothing is stored."""
    return not scope.is_everything and scope.project_id is None


def root_of(app: App, project: str | None) -> str:
    """The folder for what a command keeps: this one, a named project's root, or a folder that is there."""
    if project is None:
        return here()
    folder = os.path.normpath(os.path.join(here(), os.path.expanduser(project)))
    try:
        return app.projects.named(clean_argument(project), here(), _FOLDER)[1]
    except UsageError:
        if os.path.isdir(folder):
            return clean_argument(folder)
        raise


def memory_text(given: tuple[str, ...]) -> str:
    """The words of a memory: the arguments, or (`-`) standard input (UsageError: no text, or far too long)."""
    if given != _STANDARD_INPUT:
        return clean_argument(" ".join(given))
    if sys.stdin.isatty():
        echo("Type the memory, then end with Ctrl-D:", err=True)
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(f"a memory is at most {MAX_TEXT_CHARS} characters, not a whole file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start + 1})") from error


def complain(problems: Sequence[str], *more: str) -> None:
    """Says on standard error what went wrong; only the first of it, where `more` (as for `counted`) names the rest."""
    shown = problems[:SHOWN_PROBLEMS] if more else problems
    for problem in shown:
        echo(f"howcome: {problem}", err=True)
    if len(problems) > len(shown):
        echo(f"howcome: and {counted(len(problems) - len(shown), *more)}", err=True)


def confirm(*questions: str, yes: bool, err: bool) -> None:
    """Asks all `questions` (without their mark) before anything is done; with `yes` none.

    `err` is for a report that follows on standard output. Raises click.Abort: somebody said no; UsageError: nobody is
    there to ask.
    """
    import click

    for question in () if yes else questions:
        if sys.stdin is not None and sys.stdin.isatty():
            ask_person(f"{question}?", err=err)
            continue
        answer = _piped_answer()
        echo(f"{question}? [y/N]: {answer}", err=err)
        if answer.lower() not in ("y", "yes"):
            raise click.Abort


def _piped_answer() -> str:
    """A line of what is piped in, which may be answers; a terminal's prompt would wait for nobody."""
    try:
        line = sys.stdin.readline() if sys.stdin is not None else ""
    except (OSError, ValueError):  # closed, not to be read, not text
        line = ""
    if not line:
        raise UsageError("not a terminal, so nobody can be asked: add --yes")
    return line.strip()
