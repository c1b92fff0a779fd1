"""An exchange as sources look at it: what was said, sentence by sentence, and what was done, call by call."""

from __future__ import annotations

import re

from howcome.domain import events
from howcome.domain.sentences import Sentence, sentences
from howcome.domain.stored import StoredEvent
from howcome.learn.actions import Action, actions_of
from howcome.learn.base import Exchange
from howcome.learn.shell import commands

MAX_TYPED_CHARS = 1_500
"""What a person types is short; a longer prompt is a plan, a paste or a dictation of several things."""

PLANNERS = frozenset(("exitplanmode", "exit_plan_mode"))
ASKING = frozenset(("askuserquestion", "ask_user_question", "ask_user", "request_user_input", "question"))
"""Tools that show a plan, and tools that ask the user, of every agent."""

_SAID = ((events.ASSISTANT_TEXT, events.ORIGIN_ASSISTANT), (events.USER_PROMPT, events.ORIGIN_USER))
_PUBLISHED = ("git commit", "gh pr create", "gh pr edit", "glab mr create")
MESSAGE = ("-m", "-am", "--message", "--body", "-b")
_BROKEN = re.compile(r"(?<=[\w,;:)`])\n(?=[a-z(`])")  # where a paragraph was broken at a width
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
        "_sentences", "event", "is_final", "is_plan", "is_published", "is_typed", "is_user", "lasting", "place", "text",
    )  # fmt: skip

    def __init__(
        self, event: StoredEvent, place: int, *, text: str | None = None, is_final: bool = False, is_plan: bool = False
    ) -> None:
        self.text = text = event.text or "" if text is None else text
        self.event, self.place, self.is_final = event, place, is_final
        self.is_published = is_final and event.kind == events.TOOL_CALL
        self.is_user = event.kind == events.USER_PROMPT
        self.is_plan = is_plan or (self.is_user and _PLAN.match(text) is not None)
        is_short = self.is_user and not self.is_plan and len(text) <= MAX_TYPED_CHARS
        may_be_paste = is_short and (_MAY_BE_PASTE.search(text) or any(word in text.lower() for word in _PASTE_WORDS))
        self.is_typed = is_short and not (may_be_paste and _PASTE.search(text))
        self.lasting: list[str] | None = None
        self._sentences: list[Sentence] | None = None

    @property
    def sentences(self) -> list[Sentence]:
        """Its sentences."""
        if self._sentences is None:
            self._sentences = sentences(self.text, is_typed=self.is_typed)
        return self._sentences


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
        all_events = exchange.all_events
        self.actions = actions_of(all_events)
        last_call = self.actions[-1].place if self.actions else -1
        for place, event in enumerate(all_events):
            if (event.kind, event.origin) in _SAID:
                self.said.append(Said(event, place, is_final=event.kind != events.USER_PROMPT and place > last_call))
        for action in self.actions:
            if action.has_succeeded and (action.is_shell or action.tool in PLANNERS):
                self.said += _written(action)
        self.said.sort(key=lambda said: said.place)
        edits = (action.call.file for action in self.actions if action.is_edit and not action.has_failed)
        self.edited = list(dict.fromkeys(filter(None, edits)))

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
    if not any(word in action.command for word in ("commit", " pr ", " mr ")):
        return []
    published = [one for one in commands(action.command) if one.name.startswith(_PUBLISHED)]
    found = [text for one in published for text in one.given or ["\n\n".join(one.option(*MESSAGE))] if text]
    unwrapped = (_BROKEN.sub(" ", text.replace("\\`", "`")) for text in found)
    return [Said(action.call, action.place, text=_TRAILER.sub("", text), is_final=True) for text in unwrapped]
