"""Files of exported memories: JSON Lines, written at once, read line by line whatever is in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from howcome.clients.decode import decode_record
from howcome.errors import HowcomeError, RecordError, UsageError
from howcome.files import write_whole
from howcome.memory.markdown import HEAD

MAX_LINE_BYTES, MAX_TEXT_BYTES = 1 << 20, 64 << 20
"""Many times what a memory may be: a longer line is none, and is not read into memory."""


def write_lines(file: str | None, lines: Iterable[str], *, force: bool) -> None:
    """Writes lines to a file (0600, in one step; UsageError: not there, or something is lost) or to stdout."""
    data = b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)
    if file in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = os.path.realpath(str(file))
    if os.path.isdir(path):
        raise UsageError(f"{file}: a folder; name a file in it")
    if os.path.exists(path) and not force and not _is_export(path):
        raise UsageError(f"{file}: holds something else; name another file, or say --force")
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error


def read_text(file: str) -> list[str]:
    """A file's lines (UsageError: it cannot be read)."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read(MAX_TEXT_BYTES).splitlines()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


def _is_export(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            head = stream.readline(1000)
        return not head or head.strip() == HEAD.encode() or "howcome" in decode_record(head, None)
    except (OSError, RecordError):
        return False


def read_export(file: str, bad: list[tuple[int, str]]) -> Iterator[tuple[int, object]]:
    """The lines of a file (`-`: standard input) as decoded JSON with their numbers; `bad` gets those that are none.

    Raises UsageError: there is no such file, its first line is no JSON; HowcomeError: it cannot be read on.
    """
    if file == "-":
        yield from _values(sys.stdin.buffer, bad)
        return
    try:
        with open(file, "rb") as stream:
            yield from _values(stream, bad)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        raise HowcomeError(f"{file}: cannot be read: {error}") from error


def _values(stream: BinaryIO, bad: list[tuple[int, str]]) -> Iterator[tuple[int, object]]:
    is_first = True
    for number, line in enumerate(_lines(stream), 1):
        if line.isspace():
            continue
        try:
            value = _decoded(line)
        except UsageError as error:
            if is_first:
                raise UsageError("this is no export of memories: `howcome export` writes one") from error
            bad.append((number, str(error)))
        else:
            yield number, value
        is_first = False


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Each line; of one that is too long only so much as shows that it is."""
    while line := stream.readline(MAX_LINE_BYTES + 2):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(MAX_LINE_BYTES)):
            pass
        yield line


def _decoded(line: bytes) -> object:
    if len(line) > MAX_LINE_BYTES + 1:
        raise UsageError(f"longer than {MAX_LINE_BYTES >> 20} MB")
    try:
        line.decode()
        return decode_record(line, None)
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 (byte {error.start + 1})") from error
    except RecordError as error:
        raise UsageError(error.reason) from error
