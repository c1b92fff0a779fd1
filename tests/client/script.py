"""What the scripted model says: turns, and which request gets which turn."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Body = dict[str, Any]

COMPACTION_PROMPT = "create a detailed summary"
SPAWNERS = ("Agent", "Task")
DEFAULT_SUMMARY = "<analysis>scripted</analysis>\n<summary>The conversation so far, in one scripted sentence.</summary>"


@dataclass(frozen=True)
class Call:
    """One tool call of a turn."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """One answer of the model: thinking, text and tool calls, in that order."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    delay: float = 0.0
    status: int = 200

    @property
    def stop_reason(self) -> str:
        """Name the reason that the API gives for the end of such a turn."""
        return "tool_use" if self.calls else "end_turn"


def say(text: str, *, thinking: str = "", delay: float = 0.0, **usage: int) -> Turn:
    """Build a turn that is only text; keyword numbers override the reported usage."""
    return Turn(text=text, thinking=thinking, usage=usage, delay=delay)


def call(name: str, text: str = "", *, thinking: str = "", **arguments: Any) -> Turn:
    """Build a turn that calls one tool with the given arguments."""
    return Turn(text=text, thinking=thinking, calls=(Call(name, arguments),))


@dataclass(frozen=True)
class Rule:
    """Answers for requests that a predicate picks out before the built-in routes are tried."""

    name: str
    matches: Callable[[Body], bool]
    turns: Sequence[Turn]


class Script:
    """Chooses the turn for each request; safe under the server's threads.

    Routes, in this order: the rules given, `compact` (a compaction request), `subagent`, `side` (a request without
    tools, such as a title), `main`, and `spent` once the main turns have run out.
    """

    def __init__(
        self,
        main: Iterable[Turn] = (),
        *,
        subagent: Iterable[Turn] = (),
        summary: str = DEFAULT_SUMMARY,
        rules: Iterable[Rule] = (),
    ) -> None:
        self._queues = {"main": list(main), "subagent": list(subagent)}
        self._summary = Turn(text=summary)
        self._rules = [(rule, list(rule.turns)) for rule in rules]
        self._spawned: list[str] = []
        self._lock = threading.Lock()

    def answer(self, body: Body, *, from_subagent: bool = False) -> tuple[str, Turn]:
        """Return the name of the route taken and the turn to send."""
        with self._lock:
            route, turn = self._choose(body, from_subagent)
            self._spawned += [str(c.input["prompt"]) for c in turn.calls if c.name in SPAWNERS]
        return route, turn

    def _choose(self, body: Body, from_subagent: bool) -> tuple[str, Turn]:
        """Try the routes in order."""
        for rule, turns in self._rules:
            if rule.matches(body):
                return rule.name, _next(turns)
        if COMPACTION_PROMPT in latest_user_text(body):
            return "compact", self._summary
        if from_subagent or self._is_spawned(body):
            return "subagent", _next(self._queues["subagent"])
        if not body.get("tools"):
            return "side", Turn(text="OK")
        queue = self._queues["main"]
        return ("main" if queue else "spent"), _next(queue)

    def _is_spawned(self, body: Body) -> bool:
        """Tell a subagent's request by its first message, for clients that send no header."""
        messages = body.get("messages") or [{}]
        opening = plain_text(messages[0].get("content"))
        return any(opening.rstrip().endswith(prompt.rstrip()) for prompt in self._spawned)


def _next(turns: list[Turn]) -> Turn:
    """Take the first turn of a queue, or a plain word when it is empty."""
    return turns.pop(0) if turns else Turn(text="OK")


def plain_text(content: Any) -> str:
    """Join all text of a message's content, tool results included."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        elif block.get("type") == "tool_result":
            parts.append(plain_text(block.get("content")))
    return "\n".join(parts)


def latest_user_text(body: Body) -> str:
    """Return the text of the last message with the role `user`."""
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            return plain_text(message.get("content"))
    return ""
