"""Other agents' hooks: their names for events and fields, and the shape of the answer that each wants.

| agent | what is its own | what is done |
|---|---|---|
| Codex CLI | nothing but that `transcript_path` may be null | recall, capture |
| Gemini CLI | the names of the events; stdout must be one JSON value | recall, capture |
| Cursor | names of events and fields, answers; no transcript that is read here | observations |

Built from these agents' public documentation; none of them was run here.
"""

from __future__ import annotations

import os
import time

from howcome.present.hook_handlers import (
    Reply,
    as_json,
    capture,
    catch_up,
    handled,
    is_from_cursor,
    recall,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.present.hook_handlers import Handler, Payload
    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.settings import Settings

    Shape = Callable[[str, str], str]


class Row:
    """How one event of one agent is served: by which handler, within which setting, answered in which shape."""

    __slots__ = ("deadline_setting", "handler", "shape")

    def __init__(self, handler: Handler, deadline_setting: str, shape: Shape) -> None:
        self.handler, self.deadline_setting, self.shape = handler, deadline_setting, shape


def prepare_foreign(
    event: str, payload: Payload, settings: Settings, deadline: float, agent: str,
    embedder: SharedEmbedder | None = None,
) -> Reply:  # fmt: skip
    """As `hook_handlers.prepare`, for an agent of DIALECTS."""
    row = DIALECTS.get(agent, {}).get(event)
    if row is None or payload.get("hook_event_name") != event or is_from_cursor(payload) != (agent == "cursor"):
        return Reply()
    reply = handled(row.handler, payload, settings, deadline, embedder)
    reply.text = row.shape(event, reply.context)
    return reply


# -- the shapes of answers -------------------------------------------------------------------------------------------
def _claude_like(event: str, context: str) -> str:
    """Nothing, or the context under the event's name."""
    if not context:
        return ""
    return as_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def _always_json(event: str, context: str) -> str:
    """The same, but an empty object for nothing."""
    return _claude_like(event, context) or "{}"


def _go_on(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """The prompt may be sent: all that Cursor wants to know before it does."""
    return as_json({"continue": True})


def _nothing(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """An event that nothing can be said to."""
    return "{}"


# -- capture without a transcript ------------------------------------------------------------------------------------
def capture_or_catch_up(payload: Payload, settings: Settings, deadline: float) -> Reply:
    """What the session's transcript holds; where none is named, every transcript with unread bytes."""
    is_named = os.path.isfile(text_of(payload, "transcript_path"))
    return (capture if is_named else catch_up)(payload, settings, deadline)


def observe(payload: Payload, settings: Settings, deadline: float) -> Reply:  # noqa: ARG001 - a handler's signature
    """What Cursor says as it happens, into the spool: redacted, the store stays closed."""
    from howcome.ingest.spool import take_in

    what = _OBSERVED[text_of(payload, "hook_event_name")](payload)
    if what:
        common = {"agent": "cursor", "session_id": _conversation(payload), "id": _identity(payload)}
        take_in(settings, [(1, {**common, "ts": time.time_ns() // 1_000_000, **what})], cwd=_folder(payload))
    return Reply()


def take_spool(payload: Payload, settings: Settings, deadline: float) -> Reply:  # noqa: ARG001 - a handler's signature
    """What was observed, into the store."""
    from howcome.app import open_for_ingest

    with open_for_ingest(settings) as app:
        end = deadline - 0.2 * (deadline - time.monotonic())
        app.ingest.spool(end)
        app.index.catch_up(end)
    return Reply()


def _prompt(payload: Payload) -> dict[str, object]:
    text = text_of(payload, "prompt")
    return {"kind": "user_prompt", "text": text} if text.strip() else {}


def _response(payload: Payload) -> dict[str, object]:
    text = text_of(payload, "text")
    return {"kind": "assistant_text", "text": text} if text.strip() else {}


def _shell(payload: Payload) -> dict[str, object]:
    command, code = text_of(payload, "command"), payload.get("exit_code")
    if not command.strip():
        return {}
    found: dict[str, object] = {"kind": "tool_result", "tool": "Shell", "tool_input": {"command": command}}
    found["text"] = text_of(payload, "output") or "(no output)"
    if isinstance(code, int) and not isinstance(code, bool):
        found |= {"exit_code": code, "failed": code != 0}
    return {**found, "cwd": text_of(payload, "cwd") or _folder(payload)}


_OBSERVED: dict[str, Callable[[Payload], dict[str, object]]] = {
    "beforeSubmitPrompt": _prompt,
    "afterAgentResponse": _response,
    "afterShellExecution": _shell,
}


def _conversation(payload: Payload) -> str:
    return text_of(payload, "conversation_id") or text_of(payload, "session_id")


def _folder(payload: Payload) -> str:
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) else ""


def _identity(payload: Payload) -> str:
    """The same for the same payload: hooks wired for the user and for a project are both run with it."""
    from hashlib import blake2b

    return blake2b(as_json(payload).encode("utf-8", "replace"), digest_size=16).hexdigest()


_PROMPT, _START, _INGEST = "prompt_deadline_ms", "start_deadline_ms", "ingest_deadline_ms"

DIALECTS: dict[str, dict[str, Row]] = {
    "codex": {
        "UserPromptSubmit": Row(recall, _PROMPT, _claude_like),
        "SessionStart": Row(catch_up, _START, _claude_like),
        "PreCompact": Row(capture_or_catch_up, _INGEST, _claude_like),
        "Stop": Row(capture_or_catch_up, _INGEST, _claude_like),
        "SubagentStop": Row(capture_or_catch_up, _INGEST, _claude_like),
    },
    "gemini": {
        "BeforeAgent": Row(recall, _PROMPT, _always_json),
        "SessionStart": Row(catch_up, _START, _always_json),
        "AfterAgent": Row(capture_or_catch_up, _INGEST, _always_json),
        "PreCompress": Row(capture_or_catch_up, _INGEST, _always_json),
        "SessionEnd": Row(capture_or_catch_up, _START, _always_json),
    },
    "cursor": {
        "beforeSubmitPrompt": Row(observe, _PROMPT, _go_on),
        "afterAgentResponse": Row(observe, _INGEST, _nothing),
        "afterShellExecution": Row(observe, _INGEST, _nothing),
        "sessionStart": Row(take_spool, _START, _nothing),
        "stop": Row(take_spool, _INGEST, _nothing),
        "sessionEnd": Row(take_spool, _START, _nothing),
    },
}
"""Agent → its event → how it is served. Claude Code's own events are `hook_handlers.HANDLERS`."""
