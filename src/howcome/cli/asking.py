"""Questions before something is changed."""

from __future__ import annotations

import sys

import click

from howcome.errors import UsageError
from howcome.present.terminal import confirm as ask_person
from howcome.present.terminal import echo


def confirm(*questions: str, yes: bool, err: bool) -> None:
    """Asks all of them, before anything is done; with `yes` none.

    Args:
        questions: What will be done, as questions without their mark.
        yes: They are answered already.
        err: Ask on standard error, because a report follows on standard output.

    Raises:
        click.Abort: Somebody said no.
        UsageError: There is nobody to ask.
    """
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
