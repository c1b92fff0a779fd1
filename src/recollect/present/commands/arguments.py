"""What people type, as the store holds text."""

from __future__ import annotations

import os
import sys

import click

from recollect.domain.memories import MAX_TEXT_CHARS
from recollect.errors import UsageError

MAX_INPUT_BYTES = 1 << 20
_STANDARD_INPUT = ("-",)


def clean_argument(argument: str) -> str:
    """An argument as the store holds text: bytes that are not UTF-8 are replaced, as they are in transcripts."""
    return os.fsencode(argument).decode("utf-8", "replace")


def memory_text(given: tuple[str, ...]) -> str:
    """The words of a memory: the arguments, or (`-`) standard input.

    Raises:
        UsageError: standard input is no text, or far too long.
    """
    if given != _STANDARD_INPUT:
        return clean_argument(" ".join(given))
    if sys.stdin.isatty():
        click.echo("Type the memory, then end with Ctrl-D:", err=True)
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(f"a memory is at most {MAX_TEXT_CHARS} characters, not a whole file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start + 1})") from error
