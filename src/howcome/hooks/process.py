"""The hooks' process: a payload on stdin, its answer (or nothing) on stdout, always exit 0.

Nothing a hook does may be felt: it keeps its own deadline (a watchdog thread ends the process, whatever C code is
busy), writes once at the very end, never to stderr, and fails open (`guarded`). What an event is answered is
`hooks/handlers`' affair.
"""

from __future__ import annotations

import _thread
import gc
import os
import time

from howcome.present.guarded import IN_TIME, LATE, guarded, home_of_process, note, tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.clients.hook import Hook, Payload
    from howcome.settings import Settings

MAX_PAYLOAD_BYTES = 32 << 20
_READ_BYTES = 1 << 16


def main(arguments: list[str]) -> int:
    """Answers one hook event, `EVENT [--agent NAME]`. Always returns 0: to some clients another code means to block."""
    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 2)  # the index's binding writes there what panics
    event, agent = _parsed(arguments)
    if event:
        guarded(event, lambda: _serve(event, agent))
    else:  # wired by hand, and wrongly: nobody sees what a hook writes to stderr
        note(home_of_process(), "hook wrong arguments: expected EVENT [--agent NAME]")
    return 0


def _parsed(arguments: list[str]) -> tuple[str, str]:
    """The event and the agent ('' where none is named); the event is '' when the arguments cannot be understood."""
    match arguments:
        case [event] if not event.startswith("-"):
            return event, ""
        case [event, "--agent", agent] if not event.startswith("-"):
            return event, agent
    return "", ""


def _serve(event: str, agent: str) -> None:
    from howcome.clients.registry import DEFAULT, client_of

    agent = agent or DEFAULT
    client = client_of(agent)
    hook = client.hooks.get(event) if client is not None and client.is_called(os.environ) else None
    if hook is None:
        return
    from howcome.clients.hook import PROMPTS
    from howcome.settings import ACTIVE, read_settings

    gc.disable()
    is_guarded = os.environ.get(ACTIVE)
    settings = None if is_guarded else read_settings(os.environ)
    if settings is None or settings.disable:
        _write(hook.shape(event, "").encode())  # some agents want a JSON value from every hook
        return
    deadline = time.monotonic() + getattr(settings, hook.deadline_setting) / 1000
    is_prompt = hook.handler in PROMPTS
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
    from howcome.clients.hook import PROMPTS
    from howcome.settings import SOCKET_NAME

    may_ask = hook.handler in PROMPTS and os.path.exists(os.path.join(settings.home, SOCKET_NAME))
    for data in _readings():
        if may_ask:
            from howcome.present import warm_client

            may_ask = False
            found = warm_client.ask(settings.home, event, agent, data, (deadline - time.monotonic()) / 2)
            if found is not None:
                return found
        payload = decode_payload(data)
        if payload is not None:
            from howcome.hooks.handlers import answer

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
