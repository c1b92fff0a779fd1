"""An exchange as sources look at it: what was said, sentence by sentence, and what was done, call by call."""

from __future__ import annotations

import json
import re
from itertools import chain

from howcome.domain import events
from howcome.domain.sentences import Sentence, sentences
from howcome.learn.shell import commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.stored import StoredEvent
    from howcome.learn.base import Exchange

MAX_TYPED_CHARS = 1_500
"""What a person types is short; a longer prompt is a plan, a paste or a dictation of several things."""

MAX_RESULT_CHARS = 20_000
SHELLS = frozenset(
    ("bash", "shell", "run_shell_command", "local_shell", "exec_command", "execute", "terminal", "run_command")
)

PLANNERS = frozenset(("exitplanmode", "exit_plan_mode"))
ASKING = frozenset(("askuserquestion", "ask_user_question", "ask_user", "request_user_input", "question"))
"""Tools that show a plan, and tools that ask the user, of every agent."""

_PUBLISHED = ("git commit", "gh pr create", "gh pr edit", "glab mr create")
_MESSAGE = ("-m", "-am", "--message", "--body", "-b")
_TRAILER = re.compile(
    r"^(?:[A-Z][A-Za-z-]+-[Bb]y: .*|.*Generated with .*|[A-Z][A-Za-z]+-[A-Z][A-Za-z-]+: \S+)$", re.MULTILINE
)
_PLAN = re.compile(
    r"\s*(?:implement (?:the|this) (?:following )?plan|execute (?:the|this) (?:following )?plan|here(?:'s"
    r"| is) the plan)\b",
    re.IGNORECASE,
)
_PASTE = re.compile(
    r"^\s*(?:#{1,6} |```|diff --git|@@ |\*\*\w|\|.*\|\s*$|[-*] \[[ x]\] )|(?:high|medium|low) severity"
    r"|^\s*at \S+ \(|Traceback \(|^\w+Error:"
    r"|^On .{5,60} wrote:$|commented\b.{0,40}ago|^> ",
    re.MULTILINE | re.IGNORECASE,
)


_MAY_BE_PASTE = re.compile(r"[#`|*@\[(>:]")
_PASTE_WORDS = ("severity", "commented", "diff --git")
"""Every paste (`_PASTE`) has one of these; most of what is typed has none."""


class Said:
    """What a person or the agent said in one event.

    Attributes:
        is_user: Whether a person said it.
        is_published: Whether it was written to go with a commit or a pull request.
        is_plan: A plan that a person gave to be carried out: agents write those, a person approved of it.
        is_typed: Whether it is what a person types: short, without anything pasted.
        is_final: The agent's report of what was done: nothing was done in the exchange after it, or it is what it
            wrote to go with a commit.
        place: Its number among the events of the exchange.
        lasting: Those of its sentences that say something by themselves (`sources.seen`); None: nobody asked yet.
    """

    __slots__ = (
        "_sentences",
        "event",
        "is_final",
        "is_plan",
        "is_published",
        "is_typed",
        "is_user",
        "lasting",
        "place",
        "text",
    )

    def __init__(
        self, event: StoredEvent, place: int, *, text: str | None = None, is_final: bool = False, is_plan: bool = False
    ) -> None:
        self.text = text = event.text or "" if text is None else text
        self.event, self.place, self.is_final = event, place, is_final
        self.is_published = is_final and event.kind == events.TOOL_CALL
        self.is_user = event.kind == events.USER_PROMPT
        self.is_plan = is_plan or (self.is_user and _PLAN.match(text) is not None)
        is_short = self.is_user and not self.is_plan and len(text) <= MAX_TYPED_CHARS
        self.is_typed = is_short and not _is_paste(text)
        self.lasting: list[str] | None = None
        self._sentences: list[Sentence] | None = None

    @property
    def sentences(self) -> list[Sentence]:
        """Its sentences."""
        if self._sentences is None:
            self._sentences = sentences(self.text, is_typed=self.is_typed)
        return self._sentences


class Action:
    """A tool call with its result, where one came.

    Attributes:
        tool: What was called, in lower case.
        is_shell: Whether it ran a command; `is_edit`: whether it changed a file.
        has_failed: Whether its result says that it failed; `has_succeeded`: whether one came that does not.
        place: Number of the call among the events of the exchange; `result_place`: of its result, or of the call.
    """

    __slots__ = (
        "_command",
        "_input",
        "_output",
        "call",
        "has_failed",
        "has_succeeded",
        "is_edit",
        "is_shell",
        "place",
        "result",
        "result_place",
        "tool",
    )

    def __init__(self, call: StoredEvent, place: int) -> None:
        self.call, self.place, self.result_place = call, place, place
        self.result: StoredEvent | None = None
        self.has_failed = self.has_succeeded = False
        self._input: Mapping[str, object] | None = None
        self._command: str | None = None
        self._output: str | None = None
        self.tool = (call.tool or "").lower()
        self.is_shell, self.is_edit = self.tool in SHELLS, self.tool in events.EDITORS

    def answer(self, result: StoredEvent, place: int) -> None:
        """Takes the result that came of it."""
        self.result, self.result_place = result, place
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
    def command(self) -> str:
        """The command that it ran, "" when it ran none."""
        if self._command is None:
            self._command = self._said() if self.is_shell else ""
        return self._command

    def _said(self) -> str:
        value = self.input.get("command") or self.input.get("cmd") or ""
        if isinstance(value, list):
            value = (
                " ".join(str(part) for part in value[2:] if part)
                if value[:1] in (["bash"], ["sh"], ["zsh"])
                else " ".join(map(str, value))
            )
        return str(value)

    @property
    def output(self) -> str:
        """What its result said, its beginning and its end where it is long."""
        if self._output is None:
            text = (self.result.text or "") if self.result is not None else ""
            is_short = len(text) <= MAX_RESULT_CHARS
            half = MAX_RESULT_CHARS // 2
            self._output = text if is_short else f"{text[:half]}\n{text[-half:]}"
        return self._output


class Scene:
    """An exchange with everything said and done in it.

    Attributes:
        said: What a person and the agent said, in their order; `actions`: what the agent did.
        edited: The files that it changed.
    """

    __slots__ = ("actions", "edited", "exchange", "said")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.said: list[Said] = []
        self.actions: list[Action] = []
        waiting: dict[str | None, list[Action]] = {}
        all_events = exchange.all_events
        last_call = _last_call(all_events)
        for place, event in enumerate(all_events):
            kind = event.kind
            if kind == events.TOOL_CALL:
                action = Action(event, place)
                self.actions.append(action)
                waiting.setdefault(event.tool, []).append(action)
            elif kind == events.TOOL_RESULT:
                _answer(waiting.get(event.tool), event, place)
            elif (kind == events.ASSISTANT_TEXT and event.origin == events.ORIGIN_ASSISTANT) or (
                kind == events.USER_PROMPT and event.origin == events.ORIGIN_USER
            ):
                self.said.append(Said(event, place, is_final=kind != events.USER_PROMPT and place > last_call))
        for action in self.actions:
            if action.has_succeeded and (action.is_shell or action.tool in PLANNERS):
                self.said += _written(action)
        self.said.sort(key=lambda said: said.place)
        self.edited = list(
            dict.fromkeys(
                action.call.file
                for action in self.actions
                if action.is_edit and action.call.file and not action.has_failed
            )
        )

    def agent_said(self) -> list[Said]:
        """What the agent said."""
        return [said for said in self.said if not said.is_user]

    def user_said(self) -> list[Said]:
        """What a person said."""
        return [said for said in self.said if said.is_user]


def scene_of(exchange: Exchange) -> Scene:
    """The scene of an exchange, made once: those before and after it look at it, too."""
    if not isinstance(exchange.view, Scene):
        exchange.view = Scene(exchange)
    return exchange.view


def _written(action: Action) -> list[Said]:
    """What the agent wrote with a commit or a pull request, and plans that a person approved of."""
    if action.tool in PLANNERS:
        return [Said(action.call, action.place, text=str(action.input.get("plan") or ""), is_plan=True)]
    command = action.command
    if not any(word in command for word in ("commit", " pr ", " mr ")):
        return []
    published = [one for one in commands(command) if one.name.startswith(_PUBLISHED)]
    found = [text for one in published for text in one.given or ["\n\n".join(one.option(*_MESSAGE))] if text]
    return [Said(action.call, action.place, text=_TRAILER.sub("", _unwrapped(text)), is_final=True) for text in found]


def _unwrapped(text: str) -> str:
    """A message whose lines were broken at a width, with each paragraph on one line."""
    return re.sub(r"(?<=[\w,;:)`])\n(?=[a-z(`])", " ", text.replace("\\`", "`"))


def _is_paste(text: str) -> bool:
    may_be = _MAY_BE_PASTE.search(text) is not None or any(word in text.lower() for word in _PASTE_WORDS)
    return may_be and _PASTE.search(text) is not None


def _last_call(all_events: Sequence[StoredEvent]) -> int:
    """The place of the last call of a tool, -1 where there is none."""
    for place in range(len(all_events) - 1, -1, -1):
        if all_events[place].kind == events.TOOL_CALL:
            return place
    return -1


def _answer(waiting: list[Action] | None, result: StoredEvent, place: int) -> None:
    """Gives a result to its call: the one with its id, else the oldest about the same file, else the oldest."""
    if not waiting:
        return
    by_id = (action for action in waiting if result.tool_use_id and action.call.tool_use_id == result.tool_use_id)
    by_file = (action for action in waiting if action.call.file == result.file)
    chosen = next(chain(by_id, by_file, waiting))
    waiting.remove(chosen)
    chosen.answer(result, place)
