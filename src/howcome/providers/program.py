"""A program that is asked something: words on its standard input, the answer on its standard output, and then its end.

It is no part of the session that howcome runs in: an empty folder to work in, and a variable that keeps howcome's own
hooks and worker still should it run them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from howcome.errors import ProviderError
from howcome.providers.http_post import MAX_ANSWER_BYTES, TryLaterError
from howcome.settings import ACTIVE

_OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR",
)  # fmt: skip
"""Variables of the session that howcome runs in: the process is no part of it."""

COMPLAINT_BYTES = 1 << 12
LOOK_S = 0.5
"""How often the size of its answer is looked at."""


def find_program(command: str, llm: str) -> str:
    """The path of a program."""
    found = shutil.which(os.path.expanduser(command))
    if found is None:
        what = f'llm = "{llm}" needs the program {command!r}'
        raise ProviderError(f"{what}: install it, or set llm_command to its path")
    return os.path.abspath(found)


def run_program(
    words: Sequence[str], given: str, home: str, deadline: float, variables: Mapping[str, str] | None = None
) -> tuple[int, bytes, str]:
    """Exit code, the beginning of standard output, and that of standard error.

    The files have no names, so that nothing of the words is left on disk when this process is killed.

    Args:
        words: The program and its arguments.
        given: Its standard input.
        home: HOWCOME_HOME: the empty folder is made there, where nobody else writes.
        deadline: `time.monotonic()` by which it has ended.
        variables: Of the environment, beside ours.

    Raises:
        TryLaterError: it cannot be started; or it took too long, and was ended with all that it started.
        ProviderError: so it was when it said too much.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_SESSION}
    with (
        tempfile.TemporaryDirectory(prefix=".asking-", dir=home) as folder,
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as complaint,
    ):
        stdin.write(given.encode("utf-8", "replace"))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                words,
                stdin=stdin,
                stdout=said,
                stderr=complaint,
                cwd=folder,
                env={**environment, **(variables or {}), ACTIVE: "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise TryLaterError(f"{words[0]} cannot be run ({error.strerror or error})") from error
        try:
            code = _wait(process, words[0], said, deadline)
        finally:
            _end(process)
        complained = _from_start(complaint, COMPLAINT_BYTES).decode("utf-8", "replace")
        return code, _from_start(said, MAX_ANSWER_BYTES), complained


def _wait(process: subprocess.Popen[bytes], name: str, said: IO[bytes], deadline: float) -> int:
    """The exit code of a program that ends in time, and says no more than an answer may have."""
    limit_s = max(0.0, deadline - time.monotonic())
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(LOOK_S, max(0.0, deadline - time.monotonic())))
        if os.fstat(said.fileno()).st_size > MAX_ANSWER_BYTES:
            raise ProviderError(f"{name} says more than {MAX_ANSWER_BYTES >> 20} MB")
        if time.monotonic() >= deadline:
            what = f"{name} does not answer in time (it was given {limit_s:.0f} s)"
            raise TryLaterError(what) from TimeoutError(str(limit_s))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program with all that it started, also what it left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _from_start(stream: IO[bytes], most_bytes: int) -> bytes:
    stream.seek(0)
    return stream.read(most_bytes)
