"""A hook of an agent: who answers an event, within which time, in which shape."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Payload = Mapping[str, object]
    Shape = Callable[[str, str], str]
    """An event and what is to be said → what the hook writes."""

RECALL, FIRST_RECALL, CAPTURE, CATCH_UP, MEET = "recall", "first_recall", "capture", "catch_up", "meet"
CAPTURE_OR_CATCH_UP, OBSERVE, TAKE_SPOOL, FLUSH = "capture_or_catch_up", "observe", "take_spool", "flush"
ABOUT_TO, FAILED, END_TURN, BEGIN_AGENT = "about_to", "failed", "end_turn", "begin_agent"
"""Who answers an event, by their names in `hooks/handlers`."""

PROMPTS = (RECALL, FIRST_RECALL)
"""Those that answer a prompt: a person waits."""

PROMPT, START, INGEST = "prompt_deadline_ms", "start_deadline_ms", "ingest_deadline_ms"
"""The settings that bound an answer."""


class Hook:
    """How one event of an agent is served.

    Args:
        handler: Who answers it: RECALL, CAPTURE, …
        deadline_setting: The setting that bounds the answer.
        timeout: What the agent's settings say, in the agent's own unit; None where they say nothing.
        shape: How the answer looks.
        is_wired: Whether `init` installs it as a command; all are answered.
        matcher: Which tools it is for, in the agent's own words; '' for an event that is of no tool, or for all.
    """

    def __init__(
        self,
        handler: str,
        deadline_setting: str,
        *,
        timeout: int | None = None,
        shape: Shape | None = None,
        is_wired: bool = True,
        matcher: str = "",
    ) -> None:
        self.handler, self.deadline_setting, self.timeout = handler, deadline_setting, timeout
        self.shape, self.is_wired, self.matcher = shape or as_context, is_wired, matcher


class Called:
    """A tool call of a running session: its id, the tool, what it was called with, and its error, None for none."""

    def __init__(self, ident: str, tool: str, values: Mapping[str, object], error: str | None) -> None:
        self.id, self.tool, self.input, self.error = ident, tool, values, error


def is_cursors(payload: Payload) -> bool:
    """Whether Cursor sent a payload: it can run the hooks in other agents' settings, too."""
    return "cursor_version" in payload or "conversation_id" in payload


def text_of(payload: Payload, name: str) -> str:
    """A field of a payload that is a text; '' for any other."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def is_command(prompt: str) -> bool:
    """Whether a prompt is a slash command (`/review`, `/plugin:name arguments`) and not a path."""
    first = prompt.split(None, 1)[0]
    return first.startswith("/") and not set(first[1:]) & set("/.~")


def as_json(answer: Mapping[str, object]) -> str:
    """An answer as agents read it."""
    import json

    return json.dumps(answer, ensure_ascii=False)


# -- the shapes of answers -------------------------------------------------------------------------------------------
def as_context(event: str, context: str) -> str:
    """Nothing, or the context under the event's name."""
    if not context:
        return ""
    return as_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def always_json(event: str, context: str) -> str:
    """The same, but an empty object for nothing."""
    return as_context(event, context) or "{}"


def at_the_top(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """The context by itself; an empty object for nothing."""
    return as_json({"additionalContext": context}) if context else "{}"


def as_text(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """The context as it stands, where an event's plain output is read."""
    return context


def as_message(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """A line for the person at the screen, which no model sees; nothing for nothing."""
    return as_json({"systemMessage": context}) if context else ""


def nothing(event: str, context: str) -> str:  # noqa: ARG001 - a shape's signature
    """An event that nothing can be said to."""
    return "{}"
