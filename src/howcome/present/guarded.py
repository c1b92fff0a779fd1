"""The fail-open edge: what must not fail, does not; what went wrong is logged, so failing open is not failing silently.

The one `except Exception` of the package is here, for every door and thread that must not be in the way.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

LOG_NAME = "hook-errors.log"
REFUSED = "was given a file that is in no client's folder: it was not read"
MAX_LOG_BYTES = 256 << 10
TALLY_NAME = "prompts.log"
"""A line a prompt: when it was answered (in seconds), and whether in time."""

MAX_TALLY_BYTES = 8 << 10
IN_TIME, LATE = "in-time", "late"
NOTES = "HOWCOME_NOTES"
"""Names another folder for both: a hook that `howcome doctor` starts to see whether it works is none of the agent's."""


def guarded(what: str, work: Callable[[], T], home: str = "", told: set[str] | None = None) -> T | None:
    """What `work` gives; None, and a line in the log that begins with `what`, when it fails in whatever way.

    The log is in `home`, or where this process's environment says. Failures that were `told` are not logged again.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the fail-open edge: a hook is never in the way
        line = _described(what, error)
        if told is None or line not in told:
            note(home or home_of_process(), line)
        if told is not None:
            told.add(line)
        return None


def _described(what: str, error: Exception) -> str:
    """What went wrong: the kinds of the errors and the places in the code, never a payload's words."""
    places, trace = [], error.__traceback__
    while trace is not None:
        places.append(f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}")
        trace = trace.tb_next
    reason = type(error.__cause__).__name__ if error.__cause__ is not None else ""
    if isinstance(number := getattr(error, "number", None), int):  # what the machine refused: no room, no files
        import errno

        reason += f" {errno.errorcode.get(number, number)}"
    return f"{what} {type(error).__name__} {reason} {' '.join(places[-6:])}"


def home_of_process() -> str:
    """The folder of howcome's files, by this process's environment; '' where there is none."""
    from howcome.settings import home_folder

    try:
        return home_folder(os.environ)
    except OSError:  # a relative HOWCOME_HOME in a folder that is gone
        return ""


def note(home: str, what: str) -> None:
    """Appends a line to the log that `howcome status` shows; a full log makes room for a new one."""
    _append(home, LOG_NAME, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) + f" {what}\n", MAX_LOG_BYTES)


def tally(home: str, outcome: str) -> None:
    """Writes down whether a prompt's hook ended in time, for `howcome doctor` and `status`."""
    _append(home, TALLY_NAME, f"{time.time():.0f} {outcome}\n", MAX_TALLY_BYTES)


def _append(home: str, name: str, line: str, most_bytes: int) -> None:
    if not home:
        return
    path = os.path.join(os.environ.get(NOTES) or home, name)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
        os.write(descriptor, line.encode("utf-8", "backslashreplace"))
        is_full = os.fstat(descriptor).st_size > most_bytes
        os.close(descriptor)
        if is_full:
            os.replace(path, path + ".old")
    except OSError:  # nowhere to write: there is nobody left to tell
        return
