"""An exchange as rules look at it: what was said, sentence by sentence, and what was done, call by call."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import json
import re

from howcome.domain import events
from howcome.learn.quick import Cues
from howcome.learn.sentences import Sentence, sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from howcome.domain.candidates import Candidate, Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.learn.base import Exchange

MAX_TYPED_CHARS = 1_500
"""What a person types is short; a longer prompt is a plan, a paste or a dictation of several things."""

MIN_CHARS = 12
"""Who says less says nothing that a rule looks for."""

NEXT = 3
"""Exchanges after one that may go on with what was begun in it; what is taken back later still is taken back."""

MAX_RESULT_CHARS = 20_000
SHELLS = frozenset(
    ("bash", "shell", "run_shell_command", "local_shell", "exec_command", "execute", "terminal", "run_command")
)
EDITORS = frozenset((
    "edit", "write", "multiedit", "notebookedit", "str_replace_based_edit_tool", "str_replace_editor", "replace",
    "write_file",
    "apply_patch", "patch", "create_file", "edit_file",
))  # fmt: skip

PLANNERS = frozenset(("exitplanmode", "exit_plan_mode"))

_PUBLISHED = ("git commit", "gh pr create", "gh pr edit", "glab mr create")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\1\b", re.DOTALL)
_MESSAGE = re.compile(r"(?:-m|--message|--body|-b)[ =](?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')")
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
        low: Its text in lower case, for a quick look whether a rule has anything to find in it.
        is_final: The agent's report of what was done: nothing was done in the exchange after it, or it is what it
            wrote to go with a commit.
        place: Its number among the events of the exchange.
        is_provisional: Whether who says it goes on looking; None: nobody asked yet (`trust`).
    """

    __slots__ = (
        "_cues",
        "_sentences",
        "event",
        "is_final",
        "is_plan",
        "is_provisional",
        "is_published",
        "is_typed",
        "is_user",
        "low",
        "place",
        "text",
    )

    def __init__(
        self, event: StoredEvent, place: int, *, text: str | None = None, is_final: bool = False, is_plan: bool = False
    ) -> None:
        self.text = text = event.text or "" if text is None else text
        self.low = text.lower() if text.isascii() else text.lower().replace("’", "'")
        self.event, self.place, self.is_final = event, place, is_final
        self.is_published = is_final and event.kind == events.TOOL_CALL
        self.is_user = event.kind == events.USER_PROMPT
        self.is_plan = is_plan or (self.is_user and _PLAN.match(text) is not None)
        is_short = self.is_user and not self.is_plan and len(text) <= MAX_TYPED_CHARS
        self.is_typed = is_short and not _is_paste(text, self.low)
        self.is_provisional: bool | None = None
        self._sentences: list[Sentence] | None = None
        self._cues: Collection[int] | None = None

    def has_any(self, cues: Cues) -> bool:
        """Whether any of some words is in it."""
        if self._cues is None:
            self._cues = () if len(self.low) < MIN_CHARS else Cues.numbers_in(self.low)
        return cues.number in self._cues

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
        change: What it changed in a file, made by who first asks (`record.Change`).
    """

    __slots__ = (
        "_command",
        "_input",
        "_output",
        "call",
        "change",
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
        self.change: object = None
        self._input: Mapping[str, object] | None = None
        self._command: str | None = None
        self._output: str | None = None
        self.tool = (call.tool or "").lower()
        self.is_shell, self.is_edit = self.tool in SHELLS, self.tool in EDITORS

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
            except ValueError:
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
    """An exchange with everything said and done in it, and those that follow it.

    Attributes:
        last_correction: Where the agent last said that it had been wrong, -1 for never; None: nobody looked yet.
        admissions: What it said there, and next.
        record: What was changed from it on, made by who first asks.
        taught: What was found in it when an earlier exchange was distilled, with what followed it then.
    """

    __slots__ = (
        "_by_agent",
        "_by_user",
        "_folded",
        "_following",
        "_next",
        "actions",
        "admissions",
        "edited",
        "exchange",
        "last_correction",
        "record",
        "said",
        "taught",
    )

    def __init__(self, exchange: Exchange, following: Sequence[Exchange] = ()) -> None:
        self.exchange, self._following = exchange, following
        self._next: list[Scene] | None = None
        self._folded: dict[int, str] = {}
        self.last_correction: int | None = None
        self.admissions: list[str] | None = None
        self.record: object = None
        self.taught: tuple[Sequence[Exchange], Distilled, list[Candidate]] | None = None
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
        self._by_user = [said for said in self.said if said.is_user]
        self._by_agent = [said for said in self.said if not said.is_user]
        self.edited = list(
            dict.fromkeys(action.call.file for action in self.actions if action.is_edit and action.call.file)
        )

    @property
    def following(self) -> list[Scene]:
        """The next exchanges."""
        return self.later[:NEXT]

    @property
    def later(self) -> list[Scene]:
        """All exchanges after it that are seen."""
        if self._next is None:
            self._next = [scene_of(exchange) for exchange in self._following]
        return self._next

    def follow(self, following: Sequence[Exchange]) -> None:
        """Takes other exchanges as the next ones."""
        self._following, self._next, self.record = following, None, None

    def folded(self, place: int, event: StoredEvent) -> str:
        """The text of an event of the exchange, whatever its case."""
        if place not in self._folded:
            self._folded[place] = (event.text or "").casefold()
        return self._folded[place]

    def agent_said(self) -> list[Said]:
        """What the agent said."""
        return self._by_agent

    def user_said(self) -> list[Said]:
        """What a person said."""
        return self._by_user

    def edits_after(self, place: int) -> list[Action]:
        """Changes of files that were made after an event of the exchange."""
        return [action for action in self.actions if action.is_edit and action.place > place and not action.has_failed]


def scene_of(exchange: Exchange, following: Sequence[Exchange] | None = None) -> Scene:
    """The scene of an exchange, made once: the ones before it look at it, too."""
    if not isinstance(exchange.view, Scene):
        exchange.view = Scene(exchange, following or ())
    elif following is not None:
        exchange.view.follow(following)
    return exchange.view


def _written(action: Action) -> list[Said]:
    """What the agent wrote with a commit or a pull request, and plans that a person approved of."""
    if action.tool in PLANNERS:
        return [Said(action.call, action.place, text=str(action.input.get("plan") or ""), is_plan=True)]
    called = action.call.text or ""
    may_be = "git commit" in called or "gh pr " in called or "glab mr create" in called
    if not may_be or not any(word in called for word in _PUBLISHED):
        return []
    found = [text for _, text in _HEREDOC.findall(action.command)] or [
        one or two for one, two in _MESSAGE.findall(action.command)
    ]
    return [Said(action.call, action.place, text=_TRAILER.sub("", _unwrapped(text)), is_final=True) for text in found]


def _unwrapped(text: str) -> str:
    """A message whose lines were broken at a width, with each paragraph on one line."""
    return re.sub(r"(?<=[\w,;:)`])\n(?=[a-z(`])", " ", text.replace("\\`", "`"))


def _is_paste(text: str, low: str) -> bool:
    may_be = _MAY_BE_PASTE.search(text) is not None or any(word in low for word in _PASTE_WORDS)
    return may_be and _PASTE.search(text) is not None


def _last_call(all_events: Sequence[StoredEvent]) -> int:
    """The place of the last call of a tool, -1 where there is none."""
    for place in range(len(all_events) - 1, -1, -1):
        if all_events[place].kind == events.TOOL_CALL:
            return place
    return -1


def _answer(waiting: list[Action] | None, result: StoredEvent, place: int) -> None:
    """Gives a result to the oldest call of its tool that waits for one, first of all to one about the same file."""
    if not waiting:
        return
    chosen = waiting[0]
    if len(waiting) == 1 or chosen.call.file == result.file:
        del waiting[0]
    else:
        chosen = next((action for action in waiting if action.call.file == result.file), chosen)
        waiting.remove(chosen)
    chosen.answer(result, place)
