"""The door for an agent's hooks: its payload on stdin, its answer (or nothing) on stdout, always exit 0.

Nothing a hook does may be felt: it keeps its own deadline (a watchdog thread ends the process, whatever C code is
busy), writes once at the very end, never to stderr, and fails open. The one `except Exception` of the package is here;
what it swallows is logged for `recollect status`, so failing open is never failing silently.
"""

from __future__ import annotations

import _thread
import gc
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.settings import Settings

    Payload = Mapping[str, object]

GUARD = "RECOLLECT_ACTIVE"
"""Set in the environment of every agent that recollect itself starts: its hooks must do nothing."""

LOG_NAME = "hook-errors.log"
MAX_LOG_BYTES = 256 << 10
MAX_PAYLOAD_BYTES = 32 << 20
MIN_PROMPT_CHARS = 4
_READ_BYTES = 1 << 16


def main(arguments: list[str]) -> int:
    """Answers one hook event. Always returns 0."""
    event = arguments[0] if arguments else ""
    home = ""
    try:
        if event not in HANDLERS or os.environ.get(GUARD):
            return 0
        from recollect.settings import home_folder, read_settings

        gc.disable()
        home = home_folder(os.environ)
        settings = read_settings(os.environ)
        if settings.disable:
            return 0
        handler, deadline_ms = HANDLERS[event]
        answer = _answer(event, handler, settings, time.monotonic() + getattr(settings, deadline_ms) / 1000)
        if answer:
            _write(answer)
    except Exception as error:  # noqa: BLE001 - the fail-open edge: a hook is never in the way
        _log(home, event, error)
    return 0


def _answer(event: str, handler: Callable[[Payload, Settings, float], str], settings: Settings, deadline: float) -> str:
    _thread.start_new_thread(_end_at, (deadline, settings.home, event))
    payload = _read_payload()
    if payload is None or payload.get("hook_event_name") != event:
        return ""
    return handler(payload, settings, deadline)


def _end_at(deadline: float, home: str, event: str) -> None:
    """The watchdog: ends the process at the deadline even while the main thread waits in C code."""
    time.sleep(max(0.0, deadline - time.monotonic()))
    _note(home, f"{event} reached its deadline")
    os._exit(0)


def _read_payload() -> Payload | None:
    """The JSON object on stdin, as soon as it is whole: a client may leave the pipe open."""
    data = b""
    while len(data) <= MAX_PAYLOAD_BYTES:
        part = os.read(0, _READ_BYTES)
        data += part
        if not part or (data.rstrip()[-1:] == b"}" and (len(part) < _READ_BYTES or not _is_more_waiting())):
            try:
                payload = json.loads(data.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                payload = None
            if isinstance(payload, dict):
                return payload
        if not part:
            break
    return None


def _is_more_waiting() -> bool:
    import select

    return bool(select.select([0], [], [], 0)[0])


def _write(answer: str) -> None:
    data = answer.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def recall(payload: Payload, settings: Settings, deadline: float) -> str:
    """UserPromptSubmit: what earlier sessions say about this prompt, or nothing."""
    prompt = _text(payload, "prompt").strip()
    if len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("<task-notification>", "<command-")) or _is_command(prompt):
        return ""
    from recollect.app import open_for_recall
    from recollect.capture.tail import recent_text
    from recollect.present.render import render_context

    app = open_for_recall(settings, deadline)
    if app is None:
        return ""
    session, cwd = _text(payload, "session_id"), _text(payload, "cwd")
    found = app.recall(prompt, cwd=cwd, session=session, recent=lambda: recent_text(_text(payload, "transcript_path")))
    context, said = render_context(found, settings.recall_chars)
    if not said:
        return ""
    app.record_said(session, "UserPromptSubmit", said)
    output = {"hookEventName": "UserPromptSubmit", "additionalContext": context}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False)


def _is_command(prompt: str) -> bool:
    """Whether a prompt is a slash command (`/review`, `/plugin:name arguments`) and not a path."""
    first = prompt.split(None, 1)[0]
    return first.startswith("/") and not set(first[1:]) & set("/.~")


def capture(payload: Payload, settings: Settings, deadline: float) -> str:
    """Stop, SubagentStop, PreCompact, SessionEnd: what this session's transcripts hold that the store does not."""
    from recollect.app import open_for_ingest

    paths = [path for name in ("transcript_path", "agent_transcript_path") if (path := _text(payload, name))]
    with open_for_ingest(settings) as app:
        app.ingest_session(paths, deadline - 0.1 * (deadline - time.monotonic()))
    return ""


def catch_up(payload: Payload, settings: Settings, deadline: float) -> str:
    """SessionStart: every transcript with unread bytes (kills, crashes, history from before the install)."""
    from recollect.app import open_for_ingest

    with open_for_ingest(settings) as app:
        app.catch_up([_text(payload, "transcript_path")], deadline - 0.2 * (deadline - time.monotonic()))
    return ""


HANDLERS: dict[str, tuple[Callable[[Payload, Settings, float], str], str]] = {
    "UserPromptSubmit": (recall, "prompt_deadline_ms"),
    "SessionStart": (catch_up, "start_deadline_ms"),
    "SessionEnd": (capture, "start_deadline_ms"),
    "PreCompact": (capture, "ingest_deadline_ms"),
    "Stop": (capture, "ingest_deadline_ms"),
    "SubagentStop": (capture, "ingest_deadline_ms"),
}
"""Event → what answers it, and the setting that bounds it."""


def _log(home: str, event: str, error: Exception) -> None:
    """One line on what went wrong: the kinds of the errors and the places in the code, never a payload's words."""
    places, cause = [], error.__traceback__
    while cause is not None:
        code = cause.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{cause.tb_lineno}")
        cause = cause.tb_next
    reason = type(error.__cause__).__name__ if error.__cause__ is not None else ""
    _note(home, f"{event} {type(error).__name__} {reason} {' '.join(places[-6:])}")


def _note(home: str, what: str) -> None:
    """Appends a line to the log that `recollect status` shows; a full log makes room for a new one."""
    line = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) + f" {what}\n"
    path = os.path.join(home, LOG_NAME)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
        os.write(descriptor, line.encode())
        is_full = os.fstat(descriptor).st_size > MAX_LOG_BYTES
        os.close(descriptor)
        if is_full:
            os.replace(path, path + ".old")
    except OSError:  # nowhere to write: there is nobody left to tell
        return
