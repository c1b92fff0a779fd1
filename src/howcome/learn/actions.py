"""What was done in a session: each call of a tool with its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain

from howcome.domain import events
from howcome.domain.commands import line_of
from howcome.domain.stored import StoredEvent

MAX_RESULT_CHARS = 20_000
WRITTEN = ("content", "file_text", "new_string", "new_str")
_REPLACED = ("old_string", "old_str")


class Action:
    """A tool call with its result, where one came.

    Attributes:
        tool: What was called, in lower case.
        is_shell: Whether it ran a command; `is_edit`: whether it changed a file.
        has_failed: Whether its result says that it failed; `has_succeeded`: whether one came that does not.
        place: Number of the call among the events of the exchange.
    """

    __slots__ = (
        "_command", "_input", "_output", "call", "has_failed", "has_succeeded", "is_edit", "is_shell", "place",
        "result", "tool",
    )  # fmt: skip

    def __init__(self, call: StoredEvent, place: int) -> None:
        self.call, self.place = call, place
        self.result: StoredEvent | None = None
        self.has_failed = self.has_succeeded = False
        self._input: Mapping[str, object] | None = None
        self._command: str | None = None
        self._output: str | None = None
        self.tool = (call.tool or "").lower()
        self.is_shell, self.is_edit = self.tool in events.SHELLS, self.tool in events.EDITORS

    def answer(self, result: StoredEvent) -> None:
        """Takes the result that came of it."""
        self.result = result
        self.has_failed = bool(result.failed or (result.exit_code or 0) != 0)
        self.has_succeeded = not self.has_failed

    @property
    def input(self) -> Mapping[str, object]:
        """What the tool was called with; {} where that is no object."""
        if self._input is None:
            try:
                values = json.loads(self.call.text or "")
            except (ValueError, RecursionError):
                values = None
            self._input = values if isinstance(values, dict) else {}
        return self._input

    @property
    def changes(self) -> list[tuple[str, str]]:
        """What an edit replaced and what it wrote, of each place that its input names."""
        several = self.input.get("edits")
        places = several if isinstance(several, list) else [self.input]
        return [(_field(values, _REPLACED), _field(values, WRITTEN)) for values in places if isinstance(values, dict)]

    @property
    def command(self) -> str:
        """The command that it ran, "" when it ran none."""
        if self._command is None:
            self._command = line_of(self.input) if self.is_shell else ""
        return self._command

    @property
    def output(self) -> str:
        """What its result said, its beginning and its end where it is long."""
        if self._output is None:
            text = (self.result.text or "") if self.result is not None else ""
            is_short = len(text) <= MAX_RESULT_CHARS
            half = MAX_RESULT_CHARS // 2
            self._output = text if is_short else f"{text[:half]}\n{text[-half:]}"
        return self._output


def _field(values: Mapping[str, object], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := values.get(name), str)), "")


def actions_of(told: Sequence[StoredEvent]) -> list[Action]:
    """The calls among some events of one agent, in their order, each with its result."""
    found: list[Action] = []
    waiting: dict[str | None, list[Action]] = {}
    for place, event in enumerate(told):
        if event.kind == events.TOOL_CALL:
            found.append(Action(event, place))
            waiting.setdefault(event.tool, []).append(found[-1])
        elif event.kind == events.TOOL_RESULT and (among := waiting.get(event.tool)):
            _answer(among, event)
    return found


def actions_by_agent(told: Sequence[StoredEvent]) -> list[list[Action]]:
    """The calls among some events of a session, each agent's apart."""
    agents = dict.fromkeys(event.agent_id for event in told)
    return [actions_of([event for event in told if event.agent_id == agent]) for agent in agents]


def _answer(waiting: list[Action], result: StoredEvent) -> None:
    """Gives a result to its call: the one with its id, else the oldest about the same file, else the oldest."""
    by_id = (action for action in waiting if result.tool_use_id and action.call.tool_use_id == result.tool_use_id)
    by_file = (action for action in waiting if action.call.file == result.file)
    chosen = next(chain(by_id, by_file, waiting))
    waiting.remove(chosen)
    chosen.answer(result)
