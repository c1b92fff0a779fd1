"""The hooks' process: a payload on stdin, its answer (or nothing) on stdout, always exit 0.

Nothing a hook does may be felt: it keeps its own deadline (a watchdog thread ends the process, whatever C code is
busy), writes once at the very end, never to stderr, and fails open. The one `except Exception` of the package is here,
for every door and thread that must not fail; what it swallows is logged for `howcome status`, so failing open is
never failing silently. What an event is answered is `hook_handlers`' affair.
"""

from __future__ import annotations

import _thread
import gc
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from howcome.clients.base import Hook, Payload
    from howcome.settings import Settings

    T = TypeVar("T")

GUARD = "HOWCOME_ACTIVE"
"""Set in the environment of every agent that howcome itself starts: its hooks must do nothing."""

LOG_NAME = "hook-errors.log"
REFUSED = "was given a file that is in no client's folder: it was not read"
MAX_LOG_BYTES = 256 << 10
TALLY_NAME = "prompts.log"
"""A line a prompt: when it was answered (in seconds), and whether in time."""

MAX_TALLY_BYTES = 8 << 10
IN_TIME, LATE = "in-time", "late"
PROMPT_SETTING = "prompt_deadline_ms"
MAX_PAYLOAD_BYTES = 32 << 20
_READ_BYTES = 1 << 16


def main(arguments: list[str]) -> int:
    """Answers one hook event, `EVENT [--agent NAME]`. Always returns 0: to some clients another code means to block."""
    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 2)  # the index's binding writes there what panics
    event, agent = _parsed(arguments)
    if event:
        guarded(event, lambda: _serve(event, agent))
    else:  # wired by hand, and wrongly: nobody sees what a hook writes to stderr
        note(_home(), "hook wrong arguments: expected EVENT [--agent NAME]")
    return 0


def _parsed(arguments: list[str]) -> tuple[str, str]:
    """The event and the agent ('' where none is named); the event is '' when the arguments cannot be understood."""
    match arguments:
        case [event] if not event.startswith("-"):
            return event, ""
        case [event, "--agent", agent] if not event.startswith("-"):
            return event, agent
    return "", ""


def guarded(what: str, work: Callable[[], T], home: str = "", told: set[str] | None = None) -> T | None:
    """What `work` gives; None, and a line in the log, when it fails in whatever way: the fail-open edge.

    Args:
        what: Names it in the log.
        work: Anything.
        home: Where the log is, when it is not where this process's environment says.
        told: Failures that are logged already and are not logged again; None logs each.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the fail-open edge: a hook is never in the way
        line = _described(what, error)
        if told is None or line not in told:
            note(home or _home(), line)
        if told is not None:
            told.add(line)
        return None


def _serve(event: str, agent: str) -> None:
    from howcome.clients.registry import DEFAULT, hook_of

    agent = agent or DEFAULT
    hook = hook_of(agent, event)
    if hook is None:
        return
    from howcome.settings import read_settings

    gc.disable()
    is_guarded = os.environ.get(GUARD)
    settings = None if is_guarded else read_settings(os.environ)
    if settings is None or settings.disable:
        _write(hook.shape(event, "").encode())  # some agents want a JSON value from every hook
        return
    deadline = time.monotonic() + getattr(settings, hook.deadline_setting) / 1000
    is_prompt = hook.deadline_setting == PROMPT_SETTING
    _thread.start_new_thread(_end_at, (deadline, settings.home, event, is_prompt))
    _write(_answer(event, agent, hook, settings, deadline))
    if is_prompt:
        tally(settings.home, IN_TIME)


def _write(answer: bytes) -> None:
    while answer:
        answer = answer[os.write(1, answer) :]


def _end_at(deadline: float, home: str, event: str, is_prompt: bool) -> None:
    """The watchdog: ends the process at the deadline even while the main thread waits in C code."""
    time.sleep(max(0.0, deadline - time.monotonic()))
    note(home, f"{event} reached its deadline")
    if is_prompt:
        tally(home, LATE)
    os._exit(0)


def _answer(event: str, agent: str, hook: Hook, settings: Settings, deadline: float) -> bytes:
    """The warm process's answer, where there is one and the event is worth asking; else this process's own."""
    from howcome.present import warm_client

    may_ask = warm_client.is_worth_asking(hook) and os.path.exists(os.path.join(settings.home, warm_client.SOCKET_NAME))
    for data in _readings():
        if may_ask:
            may_ask = False
            found = warm_client.ask(settings.home, event, agent, data, (deadline - time.monotonic()) / 2)
            if found is not None:
                return found
        payload = decode_payload(data)
        if payload is not None:
            from howcome.present.hook_handlers import answer

            return answer(event, payload, settings, deadline, agent).encode("utf-8", "replace")
    return b""


def _readings() -> Iterator[bytes]:
    """What there is on stdin, each time that it may be a whole JSON object: a client may leave the pipe open."""
    data = b""
    while len(data) <= MAX_PAYLOAD_BYTES:
        part = os.read(0, _READ_BYTES)
        data += part
        if not part or (data.rstrip()[-1:] == b"}" and (len(part) < _READ_BYTES or not _is_more_waiting())):
            yield data
        if not part:
            break


def _is_more_waiting() -> bool:
    import select

    return bool(select.select([0], [], [], 0)[0])


def decode_payload(data: bytes) -> Payload | None:
    """A payload as the client wrote it; None when it is no (or not yet a whole) JSON object."""
    import json

    try:
        payload = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _described(what: str, error: Exception) -> str:
    """What went wrong: the kinds of the errors and the places in the code, never a payload's words."""
    places, cause = [], error.__traceback__
    while cause is not None:
        code = cause.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{cause.tb_lineno}")
        cause = cause.tb_next
    reason = type(error.__cause__).__name__ if error.__cause__ is not None else ""
    if isinstance(number := getattr(error, "number", None), int):  # what the machine refused: no room, no files
        import errno

        reason += f" {errno.errorcode.get(number, number)}"
    return f"{what} {type(error).__name__} {reason} {' '.join(places[-6:])}"


def _home() -> str:
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
    path = os.path.join(home, name)
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
