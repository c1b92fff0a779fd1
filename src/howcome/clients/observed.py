"""Observations: what an agent without a transcript says about itself, one JSON object each, into events.

`check_observation` makes sure at the door that one can be kept; `read_observation` makes its events later. A result
that comes with its call's input (as hooks after a command see it) is both: the call and what came of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from howcome.clients.decode import clean
from howcome.clients.records import ORIGINS, as_exit_code, parse_time_ms, without_own_blocks
from howcome.domain import events
from howcome.domain.events import Event, call_file
from howcome.errors import RecordError, UsageError

Observation = dict[str, object]

VERSION = 1
EXAMPLE = '{"agent": "cursor", "session_id": "7f3a", "cwd": "/home/me/shop", "kind": "user_prompt", "text": "…"}'
MAX_NAME_CHARS = 1024
MAX_TEXT_CHARS = 4_000_000
"""Of a text, and of a call's input: a line of the spool stays below what a transcript's line may have."""

MAX_PATH_CHARS = 4096
MAX_TIME_MS = 10**14

_SYNONYMS = {
    "prompt": events.USER_PROMPT, "user": events.USER_PROMPT,
    "assistant": events.ASSISTANT_TEXT, "answer": events.ASSISTANT_TEXT,
    "thinking": events.ASSISTANT_THINKING, "thought": events.ASSISTANT_THINKING,
    "call": events.TOOL_CALL, "result": events.TOOL_RESULT,
}  # fmt: skip
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/") and len(value) <= MAX_PATH_CHARS and value.isprintable()


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cwd": (lambda cwd: cwd == "" or _is_folder(cwd), "the absolute path of a folder"),
    "text": (lambda text: isinstance(text, str), "a text"),
    "ts_ms": (lambda moment: type(moment) is int and 0 <= moment < MAX_TIME_MS, "milliseconds since 1970"),
    "failed": (lambda failed: isinstance(failed, bool), "true or false"),
    "exit_code": (lambda code: as_exit_code(code) is not None, "a whole number"),
    "tool_input": (lambda values: isinstance(values, dict | str), "an object, as the tool was given it"),
}
"""Field → what it must be, and how that is said."""


def check_observation(value: object, *, agent: str = "", cwd: str = "") -> Observation:
    """An observation as the spool keeps it: known fields only, a kind by its own name, times in milliseconds.

    Raises:
        UsageError: it cannot be kept; the message begins with the field that is wrong.
    """
    if not isinstance(value, dict):
        raise UsageError("not an object")
    try:
        given = {str(name): item for name, item in clean(value).items() if item is not None}  # type: ignore[attr-defined]
    except RecordError as error:
        raise UsageError(error.reason) from error
    if given.get("v", VERSION) != VERSION:
        raise UsageError(f"v: {given['v']!r} is not {VERSION}, the version that this howcome knows")
    given.setdefault("cwd", cwd)
    for field, (is_good, what) in _FORMS.items():
        if field in given and not is_good(given[field]):
            raise UsageError(f"{field}: {what}")
    code, number, values = given.get("exit_code"), given.get("id"), given.get("tool_input")
    kept: Observation = {
        "v": VERSION, "agent": _agent(given, agent), "session_id": _name(given, "session_id"),
        "cwd": os.path.normpath(str(given["cwd"])) if given["cwd"] else None,
        "kind": _kind(given), "text": _text(given), "ts_ms": _time_ms(given),
        "id": None if number is None else _name({"id": str(number) if type(number) is int else number}, "id"),
        "failed": given.get("failed", None if code is None else code != 0), "exit_code": code,
        "tool_input": values if isinstance(values, dict) else {"input": values} if values else None,
        **{name: _name(given, name) for name in ("tool", "file", "branch") if name in given},
    }  # fmt: skip
    _check_content(kept)
    return {name: item for name, item in kept.items() if item is not None}


def read_observation(kept: Mapping[str, object]) -> list[Event]:
    """The events of one checked observation: one, or a call and its result."""
    kind, text, values = str(kept["kind"]), str(kept.get("text") or ""), kept.get("tool_input")
    if not isinstance(values, dict):
        return [_event(kept, kind, text)]
    if kind == events.TOOL_RESULT:
        return [_event(kept, events.TOOL_CALL, "", values=values), _event(kept, kind, text, block=1)]
    return [_event(kept, kind, "", values={"text": text, **values} if text else values)]


def _event(
    kept: Mapping[str, object], kind: str, text: str, *, values: Mapping[str, object] | None = None, block: int = 0
) -> Event:
    fields: dict[str, object] = {name: kept.get(name) for name in ("ts_ms", "cwd", "branch", "tool")}
    if kind in (events.TOOL_CALL, events.TOOL_RESULT):
        fields["tool_use_id"] = str(kept["id"])
        fields["file"] = kept.get("file") or call_file(kept.get("tool_input"))  # type: ignore[arg-type]
    if kind == events.TOOL_RESULT:
        fields |= {"failed": kept.get("failed"), "exit_code": kept.get("exit_code")}
    return Event(
        client=str(kept["agent"]),
        kind=kind,
        record_id=f"{kept['session_id']}\0{kept['id']}",
        block=block,
        session_id=str(kept["session_id"]),
        text=without_own_blocks(text),
        input=values,
        origin=ORIGINS.get(kind, events.ORIGIN_ASSISTANT),
        **fields,  # type: ignore[arg-type]
    )


def _agent(given: Mapping[str, object], default: str) -> str:
    name = given.get("agent", default)
    name = name.strip().lower() if isinstance(name, str) else ""
    if not _AGENT.fullmatch(name):
        raise UsageError("agent: the agent's name, such as cursor (letters, digits, `.`, `_` and `-`)")
    return name


def _name(given: Mapping[str, object], field: str) -> str:
    name = given.get(field)
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{field}: a text that is not empty")
    if len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UsageError(f"{field}: at most {MAX_NAME_CHARS} characters, none of them a control character")
    return name


def _kind(given: Mapping[str, object]) -> str:
    kind = str(given.get("kind", events.ASSISTANT_TEXT))
    kind = _SYNONYMS.get(kind, kind)
    if kind not in events.KINDS:
        raise UsageError(f"kind: one of {', '.join(events.KINDS)}")
    return kind


def _text(given: Mapping[str, object]) -> str | None:
    text = str(given.get("text", ""))
    if len(text) > MAX_TEXT_CHARS:
        raise UsageError(f"text: {len(text)} characters; at most {MAX_TEXT_CHARS}")
    return text if text.strip() else None


def _time_ms(given: Mapping[str, object]) -> object:
    if "ts_ms" in given or "ts" not in given:
        return given.get("ts_ms")
    moment = parse_time_ms(given["ts"])
    if moment is None:
        raise UsageError("ts: ISO 8601 (2026-10-05T12:00:00Z), or seconds or milliseconds since 1970")
    return moment


def _check_content(kept: Observation) -> None:
    """What the fields say together."""
    kind, values = kept["kind"], kept["tool_input"]
    if values is not None and kind not in (events.TOOL_CALL, events.TOOL_RESULT):
        raise UsageError("tool_input: only a tool_call or a tool_result has one")
    if kind in (events.TOOL_CALL, events.TOOL_RESULT) and not kept.get("tool"):
        raise UsageError("tool: the name of the tool, such as shell")
    if kept["text"] is None and values is None and kind != events.TOOL_RESULT:
        raise UsageError("text: what was said; it is missing or empty")
