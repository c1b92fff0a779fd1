"""Choices put before a person: what was asked, what was answered, what was turned down."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.learn import anchors
from howcome.learn.fitness import is_personal
from howcome.learn.rewriting import finished, impersonal
from howcome.learn.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Action, Scene

ASKING = frozenset(("askuserquestion", "ask_user_question", "ask_user", "request_user_input", "question"))
MAX_OTHERS = 3
_ANSWER = re.compile(r'"((?:[^"\\]|\\.)+)"="((?:[^"\\]|\\.)*)"')
_PROCESS = re.compile(
    r"\b(?:ready (?:to|for)|what would you like|how would you like|would you like me|proceed|continue with"
    r"|go ahead|which (?:pr|branch|issue|ticket|task|plan)\b|where should i|what should i|how should i"
    r"|should i\b"
    r"|shall i|want me to|can i|may i|clarify|what do you mean|update the plan|write the plan|does this"
    r"|is this|fixups|pr split|be committed\?|what.s next|next step|happy with|look(?:s)? (?:good|right)"
    r"|approve|in this (?:pr|session)|part of this pr|separate (?:pr|concern)|delete|remove it\b"
    r"|force[- ]push|test this|try (?:it|this))",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:so |ok(?:ay)?,? |and )?(?:do|would|did) you (?:want|prefer|like)(?: us"
    r"| the \w+)?(?: to)?(?: (?:use|have|see))? ",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"^which (.+?) (?:do|would|should) (?:you|we) (?:want|prefer|like)(?: to (?:use|have))?(?: (?:for"
    r"|to use for) (.+))?$",
    re.IGNORECASE,
)
_ACRONYMS = re.compile(r"\b[A-Z]{2,}s?\b")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]\w+")
MAX_VAGUE_WORDS = 11
"""A longer question says what it is about."""

_LEANING = re.compile(
    r"(?:with|given|since|if) (?:['\"“‘]|(?:that|this|the) (?:approach|choice|option|decision))", re.IGNORECASE
)
"""What a question begins with that takes another answer for known."""

_RECOMMENDED = re.compile(r"\s*\((?:recommended|default|current)\)", re.IGNORECASE)


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """Answers that a person chose from options, with the option's own reason."""
    drafts: list[Draft] = []
    for action in scene.actions:
        if (action.call.tool or "").lower() in ASKING and action.has_succeeded:
            drafts += _of(action)
    return drafts


def _of(action: Action) -> list[Draft]:
    answers = dict(_ANSWER.findall(action.output))
    drafts: list[Draft] = []
    asked = action.input.get("questions")
    for one in asked if isinstance(asked, list) else []:
        if not isinstance(one, dict) or one.get("multiSelect"):
            continue
        question = str(one.get("question") or "")
        text = _decided(one, question, answers.get(question, ""))
        if text:
            sources = [action.call]
            drafts.append(
                Draft(
                    "decision",
                    text,
                    sources,
                    witnesses=[action.result] if action.result else [],
                    said=question,
                    subject=" ".join(re.findall(r"[a-z0-9]+", question.lower()))[:120],
                    is_known_whole=True,
                )
            )
    return drafts


def _decided(one: Mapping[str, object], question: str, answer: str) -> str:
    if _PROCESS.search(question) or not answer:
        return ""
    options = [option for option in (one.get("options") or []) if isinstance(option, dict)]  # type: ignore[attr-defined]
    chosen = next((option for option in options if str(option.get("label")) == answer), None)
    if chosen is None:
        return ""
    label = _RECOMMENDED.sub("", answer).strip(" .")
    others = [
        _RECOMMENDED.sub("", str(option.get("label") or "")).strip(" .") for option in options if option is not chosen
    ]
    reason = impersonal(str(chosen.get("description") or "").strip())
    if not reason or "?" in reason:
        return ""
    over = f", chosen over {'; '.join(others[:MAX_OTHERS])}" if others else ""
    topic = _topic(question)
    if is_personal(f"{topic} {label} {reason}") or _is_vague(topic):
        return ""
    return f"Decision on “{topic}”: {label}{over}. {finished(reason)}"


def _is_vague(topic: str) -> bool:
    """Whether a short question speaks of "the message", or of things that it does not name."""
    if _LEANING.match(topic):
        return True
    is_short = len(topic.split()) <= MAX_VAGUE_WORDS
    return is_short and not (anchors.has_strong(_ACRONYMS.sub("", topic)) or _NAMED.search(topic))


def _topic(question: str) -> str:
    """What a question asks about, without the one who is asked."""
    topic = " ".join(question.replace("?", " ").split()).strip(" .")
    which = _WHICH.match(topic)
    topic = f"{which[1]}{' for ' + which[2] if which[2] else ''}" if which else _ASKED.sub("", topic)
    return impersonal(topic)[:-1]
