"""The MCP tool `hook`: an agent's hook event, answered by the running server word for word as the command does."""

from __future__ import annotations

import os
import time

from howcome.clients.registry import DEFAULT, hook_of
from howcome.hooks.handlers import answer
from howcome.hooks.process import MAX_PAYLOAD_BYTES
from howcome.present.guarded import guarded
from howcome.settings import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.settings import Settings

_UNSET = "${"
"""What a client leaves of a field that its payload does not have."""


def hook_tool(arguments: Mapping[str, object], settings: Settings, embedder: SharedEmbedder | None = None) -> str:
    """The answer to a hook event, as JSON text; '' for nothing to say. Never raises; what goes wrong is logged.

    Args:
        arguments: The payload's fields, `hook_event_name` among them, as the client substituted them; `agent` when it
            is not the default one.
        settings: Of the server.
        embedder: Of the server.
    """
    event, agent = arguments.get("hook_event_name"), arguments.get("agent", DEFAULT)
    if not isinstance(event, str) or not isinstance(agent, str) or settings.disable or os.environ.get(ACTIVE):
        return ""
    hook = hook_of(agent, event)
    payload = {name: value for name, value in arguments.items() if _is_given(value)}
    if hook is None or sum(len(value) for value in payload.values() if isinstance(value, str)) > MAX_PAYLOAD_BYTES:
        return ""
    deadline = time.monotonic() + getattr(settings, hook.deadline_setting) / 1000
    return guarded(event, lambda: answer(event, payload, settings, deadline, agent, embedder), settings.home) or ""


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, str) and value.startswith(_UNSET) and value.endswith("}"))
