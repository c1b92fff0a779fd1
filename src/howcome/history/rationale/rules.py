"""The rationale of an exchange by rules, without a model: a pure function of it and of those before it.

What was asked is one line: its essential sentence, or the proposal that it agrees to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from howcome.domain import events
from howcome.domain.events import squeeze
from howcome.domain.rationales import MAX_TEXT_CHARS, Rationale
from howcome.domain.sentences import Sentence, without_markdown
from howcome.domain.stored import StoredEvent
from howcome.history.rationale.done import Deeds, deed_in_words
from howcome.history.rationale.reasons import why
from howcome.learn import anchors
from howcome.learn.base import Exchange
from howcome.learn.prose import Prose
from howcome.learn.scene import Said, Scene

_P = Prose("asked")

MAX_ASKED_CHARS = 190
SHORT_CHARS = 160
"""A prompt of one line that is no longer is quoted as it is."""

LEAST_SECOND = 2.0
"""A second sentence is quoted when it weighs so much, and both are short."""

MIN_TASK_CHARS = 12
MAX_BARE_CHARS = 50
MAX_BACK = 4
"""So many prompts back is looked for the task when one after the other only says to go on."""

_AGREEING = _P.words("agreeing")
"""Words that say to go on, not with what."""

_WORD = re.compile(r"[A-Za-z][\w'\u2019./-]*|#?\d+")
MAX_AGREEING_CHARS = 400
MAX_AGREEING_WORDS = 14
_TITLE = re.compile(r"^#{1,3}\s+(.+)$", re.MULTILINE)
_PLAN_WORD = re.compile(r"(?:(?:implementation |fix |refactoring )?plan\s*[:\u2014\u2013-]\s*)", re.IGNORECASE)
_PASTED = re.compile(r"\[[yY]/[nN]\]|\w+:\d+:\d+|^\W*\w+Error\b|\bexit(?:ed)? (?:code|status)\b")


def asked(scene: Scene, before: Sequence[Exchange]) -> str:
    """What was asked for, '' when nothing can be told; `before` is what a prompt points at that only agrees."""
    prompt = scene.exchange.prompt
    text = _typed(prompt.text or "") if prompt is not None else ""
    if not text:
        return ""
    if not _only_agrees(text):
        wish = _essence(text, scene.exchange)
        return wish if len(text) > MAX_BARE_CHARS or anchors.is_technical(text) else _with_what_it_follows(wish, before)
    said = squeeze(without_markdown(text), 60)
    for place, earlier in enumerate(reversed(before[-MAX_BACK:])):
        task = (_proposal(Scene(earlier)) if place == 0 else "") or _own(earlier)
        if task:
            return squeeze(f"{said} ({task.rstrip('.?')})", MAX_ASKED_CHARS)
    return said


def _with_what_it_follows(wish: str, before: Sequence[Exchange]) -> str:
    """A few words that name nothing, with the task that they were said after."""
    for earlier in reversed(before[-MAX_BACK:]):
        task = _own(earlier)
        if len(task) > MAX_BARE_CHARS or anchors.is_technical(task):
            return f"{wish} (after: {squeeze(task, 110).rstrip('.?')})"
    return wish


def _own(exchange: Exchange) -> str:
    """What a prompt asked for by itself."""
    text = _typed((exchange.prompt.text if exchange.prompt else "") or "")
    return _essence(text, exchange) if len(text) >= MIN_TASK_CHARS and not _only_agrees(text) else ""


def _typed(text: str) -> str:
    """What somebody typed, without what the client put around it."""
    return _P.noise.sub(" ", text).strip()


def _only_agrees(text: str) -> bool:
    """Whether it is a few words, at most one of which names anything."""
    words = [word.lower().strip("'\u2019./-") for word in _WORD.findall(text[:MAX_AGREEING_CHARS])]
    if len(words) > MAX_AGREEING_WORDS or any("/" in word or "_" in word for word in words):
        return False
    return sum(word not in _AGREEING and not word.lstrip("#").isdigit() for word in words) <= 1


def _essence(text: str, exchange: Exchange) -> str:
    """A prompt on one line: as it is when it is short, else the title of a plan, or the sentences that ask."""
    if _P.plan.match(text):
        return _plan_title(text)
    line = without_markdown(" ".join(text.split()))
    if len(line) <= SHORT_CHARS:
        return line
    prompt = exchange.prompt
    found = Said(prompt, 0, text=text).sentences if prompt is not None else []
    if not found:
        return squeeze(line, MAX_ASKED_CHARS)
    has_log = _P.log.search(text) is not None
    weights = [_weight(sentence, place, len(found), has_log=has_log) for place, sentence in enumerate(found)]
    order = sorted(range(len(found)), key=lambda place: (-weights[place], place))
    chosen = [order[0]]
    if len(order) > 1 and not has_log and weights[order[1]] >= LEAST_SECOND:
        both = sorted(order[:2])
        chosen = both if sum(len(found[place].text) for place in both) < MAX_ASKED_CHARS else chosen
    return squeeze(" ".join(found[place].text for place in chosen), MAX_ASKED_CHARS)


def _weight(sentence: Sentence, place: int, count: int, *, has_log: bool) -> float:
    """How much a sentence of a prompt looks like what it wants."""
    text = sentence.text
    weight = 2.0 * bool(_P.request.search(text)) + 2.5 * bool(_P.imperative.match(text)) + 1.0 * text.endswith("?")
    weight -= 2.0 * (text.endswith(":") and not _P.imperative.match(text)) + 2.0 * (len(text.split()) < 3)
    weight -= 0.5 * (not anchors.is_technical(text))
    weight += (3.0 if has_log else 1.5) * (place == 0) + 0.5 * (place == count - 1)
    weight -= min(1.5, 0.15 * place) + 3.0 * bool(_PASTED.search(text))
    return weight - 2.0 * (len(text) < 20) - 1.0 * (len(text) > 300) - 1.0 * (sentence.kind == "item" and place > 0)


def _plan_title(text: str) -> str:
    title = _TITLE.search(text)
    if title is None:
        return "implement a plan"
    name = _PLAN_WORD.sub("", without_markdown(title[1]), count=1).strip()
    return squeeze(f'implement the plan "{name}"', MAX_ASKED_CHARS)


def _proposal(scene: Scene) -> str:
    """What the agent proposed last in an exchange."""
    for said in reversed(scene.agent_said()):
        if said.is_plan:
            return _plan_title(said.text)
        for sentence in reversed(said.sentences):
            match = _P.proposal.search(sentence.text)
            if match and not _P.asks_nothing.match(match["what"]):
                return squeeze(match["what"], MAX_ASKED_CHARS)
        if said.sentences:
            return ""
    return ""


NAME = "rules"
VERSION = 1
"""Grows with every change to what the rules say: rationales of an older one are written anew."""

AUTHOR = f"{NAME} {VERSION}"
_CHANGING = {*events.EDITORS, *events.SHELLS}
LOOKBACK = 4
"""Exchanges before one that it may point at ("yes, do that")."""


def may_have(exchange: Exchange) -> bool:
    """Whether an exchange may have a rationale, as far as can be told without its texts."""
    return any((event.tool or "").lower() in _CHANGING for event in exchange.events if event.kind == events.TOOL_CALL)


def by_rules(exchange: Exchange, before: Sequence[Exchange]) -> Rationale | None:
    """What was asked, what was done and why in an exchange of the main agent's; None where nothing was done or decided.

    It and those `before` it (at most LOOKBACK, the nearest last) have whole texts; those of results are not read.
    """
    if exchange.prompt is None:
        return None
    scene = Scene(exchange)
    deeds = Deeds(scene)
    if not deeds.is_substantial:
        return None
    wish = asked(scene, before[-LOOKBACK:])
    done = deeds.told("" if deeds.commits else deed_in_words(scene))
    parts = [("Asked", wish), ("Done", done), ("Why", why(scene, f"{wish} {done}", deeds.files))]
    text = " ".join(f"{name}: {_sentence(said)}" for name, said in parts if said)
    return Rationale(squeeze(text, MAX_TEXT_CHARS), least_trusted(exchange.prompt), AUTHOR)


def _sentence(text: str) -> str:
    """A text with its end, and with a capital letter, unless it begins with a name."""
    first, text = text.split(" ", 1)[0], text.rstrip(" .,;:")
    text = text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
    return text if text.endswith(("?", "!", "…", "?)")) else text + "."


def least_trusted(prompt: StoredEvent) -> str:
    """The least trusted origin of what is quoted: of tools' output nothing is."""
    return events.ORIGIN_ASSISTANT if prompt.origin in events.PUSHED_ORIGINS else prompt.origin
