"""Cursor: no transcript that is read here, so its hooks are observed; the server in mcp.json, hooks in hooks.json.

Its own are the names of events and fields, and the answers. Built from its public documentation.
"""

from __future__ import annotations

from howcome.clients.base import Client, Wiring
from howcome.clients.hook import INGEST, OBSERVE, PROMPT, START, TAKE_SPOOL, Hook, as_json, is_cursors, nothing, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.clients.hook import Payload
    from howcome.clients.wiring import Install, Wired


class _Cursor(Client):
    def heard(self, event: str, payload: Payload) -> Payload | None:
        return payload if payload.get("hook_event_name") == event and is_cursors(payload) else None

    def observation(self, payload: Payload) -> dict[str, object]:
        event = text_of(payload, "hook_event_name")
        kind, field = _SAYINGS.get(event, ("", ""))
        said = {"kind": kind, "text": text_of(payload, field)}
        what = _shell(payload) if event == _SHELL else said if kind and said["text"].strip() else {}
        if not what:
            return {}
        from hashlib import blake2b

        session = text_of(payload, "conversation_id") or text_of(payload, "session_id")
        # The same for the same payload: hooks wired for the user and for a project are both run with it.
        identity = blake2b(as_json(payload).encode("utf-8", "replace"), digest_size=16).hexdigest()
        roots = payload.get("workspace_roots")
        folder = what.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
        return {"session_id": session, "id": identity, **what, "cwd": folder if isinstance(folder, str) else ""}


_SHELL = "afterShellExecution"
_SAYINGS = {"beforeSubmitPrompt": ("user_prompt", "prompt"), "afterAgentResponse": ("assistant_text", "text")}
"""Events → the kind of an observation, and the field with its words."""


def _shell(payload: Payload) -> dict[str, object]:
    command, code = text_of(payload, "command"), payload.get("exit_code")
    if not command.strip():
        return {}
    found: dict[str, object] = {"kind": "tool_result", "tool": "Shell", "tool_input": {"command": command}}
    found["text"] = text_of(payload, "output") or "(no output)"
    if isinstance(code, int) and not isinstance(code, bool):
        found |= {"exit_code": code, "failed": code != 0}
    return {**found, "cwd": text_of(payload, "cwd")}


def _go_on(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """The prompt may be sent: all that it wants to know before it does."""
    return as_json({"continue": True})


class _Wiring(Wiring):
    programs = ("cursor", "cursor-agent")
    settings = ("HOME", "~", ".cursor")
    says_version = False  # it may open a window
    is_grouped = False
    try_this = "restart Cursor; its settings list the server"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        from howcome.clients.wiring import HOOK, NEEDED, Entry, SettingsFile

        hooks = [Entry(HOOK, ("hooks", event), {"command": install.hook_command(event)}) for event in CLIENT.hooks]
        version = Entry(NEEDED, ("version",), 1)  # the file must say it
        return [
            SettingsFile(self.folder() / "mcp.json", (install.server("mcpServers"),)),
            SettingsFile(self.folder() / "hooks.json", (version, *hooks)),
        ]


CLIENT = _Cursor(
    "cursor",
    "Cursor",
    wiring=_Wiring(),
    hooks={  # without a timeout: sources disagree on its unit, and a hook of ours ends by itself
        "sessionStart": Hook(TAKE_SPOOL, START, shape=nothing),
        "beforeSubmitPrompt": Hook(OBSERVE, PROMPT, shape=_go_on),
        "afterAgentResponse": Hook(OBSERVE, INGEST, shape=nothing),
        _SHELL: Hook(OBSERVE, INGEST, shape=nothing),
        "stop": Hook(TAKE_SPOOL, INGEST, shape=nothing),
        "sessionEnd": Hook(TAKE_SPOOL, START, shape=nothing),
    },
)
