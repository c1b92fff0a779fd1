"""The only way to a person's terminal: nothing that is printed moves the cursor, or makes a line of its own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from howcome.present.render import plain, plain_line


def echo(line: str = "", *, err: bool = False) -> None:
    """Prints one line: control, direction and zero-width characters are left out, line breaks in names are blanks.

    What goes to the error stream may quote what was given, and says no secrets of it.
    """
    _print(plain_line(_unsaid(line) if err else line), err=err)


def _print(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Writes at once, so that what goes to both streams stands in order; nothing where the stream is closed."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    try:
        stream.write(text + end)
    except UnicodeEncodeError:  # an old locale: what it cannot show is a question mark
        stream.write((text + end).encode(stream.encoding, "replace").decode(stream.encoding))
    stream.flush()


def echo_text(text: str, *, err: bool = False) -> None:
    """Prints a text of several lines: the words of howcome itself, or a whole text that was asked for."""
    _print(plain(_unsaid(text) if err else text), err=err)


def _unsaid(text: str) -> str:
    from howcome.present.unsaid import without_secrets  # its patterns are for errors only

    return without_secrets(text)


def echo_refusal(sentence: str) -> None:
    """Prints a sentence of our own that quotes nothing: what is printed otherwise is looked at with rules first.

    Where memory is short, compiling those fails as well.
    """
    _print(sentence, err=True)


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Gives libraries the error stream back for a while: Python's own `input` shows its question there."""
    try:
        hushed = os.dup(2)
    except OSError:  # there is no error stream
        yield
        return
    with contextlib.suppress(OSError):
        os.dup2(error_stream(), 2)
    try:
        yield
    finally:
        os.dup2(hushed, 2)
        os.close(hushed)


def error_stream() -> int:
    """The descriptor of the error stream, for programs that are started and may say something: 2 is not it any more."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):  # a stream that is no file, or none
        return 2


def hush_libraries() -> None:
    """Keeps what libraries write to the error stream by themselves away from it (the index's binding: what panics).

    Our own words go on to where it led; what a library means by its words is said in a sentence. A program that is
    started afterwards has no error stream unless it is given `error_stream`.
    """
    with contextlib.suppress(OSError):  # there may be no error stream
        own = os.fdopen(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 2)
        sys.stderr = own


def screen_size() -> tuple[int, int]:
    """Columns and lines of the terminal that is printed to, or as COLUMNS and LINES say."""
    shown = os.get_terminal_size(sys.stdout.fileno())
    columns, lines = (os.environ.get(name, "") for name in ("COLUMNS", "LINES"))
    width = int(columns) if columns.isdecimal() else shown.columns or 80
    return max(20, width), int(lines) if lines.isdecimal() else shown.lines or 24


def echo_page(text: str) -> None:
    """Prints a text of `present/screen`, which may have colours; through a pager where it is longer than the screen."""
    is_asked = sys.stdin is not None and sys.stdin.isatty()
    if text.count("\n") < screen_size()[1] or not is_asked or not _is_paged(text):
        _print(text, end="")


def _is_paged(text: str) -> bool:
    """Shows a text in the pager; False where there is none."""
    import shlex
    import signal

    chosen = shlex.split(os.environ.get("PAGER", "")) or ([] if os.environ.get("TERM") == "dumb" else ["less"])
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_DUP2, error_stream(), 2)]
    try:
        # Not by subprocess, which takes as long to load as a Python.
        pager = os.posix_spawnp(
            *(chosen[0], chosen, {"LESS": "-R", **os.environ}), file_actions=actions, setsigdef=[signal.SIGPIPE]
        )
    except (OSError, IndexError):
        return False
    os.close(reading)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # it may be left before the end
    with contextlib.suppress(BrokenPipeError), open(writing, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # which is the pager's to answer
            os.waitpid(pager, 0)
            return True


def ask_person(question: str, *, err: bool = False) -> None:
    """Asks at a terminal (click.Abort: somebody said no)."""
    import click

    with _heard():
        click.confirm(plain_line(question), abort=True, err=err)
