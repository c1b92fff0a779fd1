"""Faults that somebody names together with what mends them, and conventions that a report says were laid down."""

from __future__ import annotations

import re
from itertools import pairwise

from howcome.ingest.distil import anchors
from howcome.ingest.distil.fitness import fault
from howcome.ingest.distil.quick import Cues
from howcome.ingest.distil.rewriting import impersonal, lowered
from howcome.ingest.distil.rules.causes import ASKED_WHY, NAMED
from howcome.ingest.distil.rules.draft import Draft
from howcome.ingest.distil.rules.proposals import is_agreed
from howcome.ingest.distil.rules.trust import is_guessed, is_taken_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.ingest.distil.rules.scene import Scene
    from howcome.ingest.distil.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues("fix is to", "fixed by", "fixed via", "fixed with", "resolved by", "solved by", "convention")
_FAULT = re.compile(r"\b(?:bug|issue|error|crash|leak|race|deadlock|regression|failure|problem)\b", _I)
_NUMBER = re.compile(r"\b(?:bug|issue|error|problem) #?\d+$|^(?:the )?(?:first|second|third|this|that|\d+)\b", _I)
_BY = re.compile(r"(?:was |were |is )?(?:fixed|resolved|solved) (?:by|via|with) (?P<how>.{20,})", _I)
_HANGS = re.compile(r"\b(?:before|after|until|since|with|once) (?:that|this|it)\b|^If .*\b(?:they|it)\b")
_FIX = re.compile(
    r"^(?:the |a )?(?:simplest |right |real |best |proper |clean )?fix (?:here )?is to (?P<fix>.{12,})", _I
)
_CONVENTION = re.compile(
    r"^(?:(?:we )?(?:established|adopted|agreed on|settled on|introduced) )?(?:the |an? |our )?"
    r"(?!(?:standard|usual|common|existing) )(?P<what>[\w -]{0,30}\b(?:naming|messages?|error|commit"
    r"|branch|files?|style|format|migration|test|log\w*)"
    r" (?:naming )?convention)(?: is(?: now)?|:) (?:that )?(?P<rule>.{10,})", _I,
)  # fmt: skip
_DASH = re.compile(r"(?P<label>[^.:]{6,60}?) [—–-] (?=(?:was |were |is )?(?:fixed|resolved|solved) )", _I)  # noqa: RUF001
MIN_LABEL_WORDS = 2


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """What the reports of an exchange say was mended, and how; and what they say is the convention from now on."""
    drafts: list[Draft] = []
    for said in scene.agent_said():
        if not said.is_final or said.is_published or not said.has_any(CUES):
            continue
        for sentence in said.sentences:
            if not sentence.has_any(CUES) and not _CONVENTION.match(f"{sentence.label}: {sentence.text}"):
                continue
            text = _mended(sentence) if scene.edited or any(one.edited for one in scene.following) else ""
            if text:
                drafts.append(
                    Draft("failure", text, [said.event], said=sentence.text, is_known_whole=True, is_answer=True)
                )
            rule = _convention(sentence)
            if rule:
                drafts.append(Draft("pattern", rule, [said.event], said=sentence.text, is_wish=True))
    return drafts + _fixes(scene)


def _fixes(scene: Scene) -> list[Draft]:
    """What "the fix is to …" is said of, where that was carried out: at once, or when a person had agreed."""
    drafts: list[Draft] = []
    is_answer = any(said.is_typed and ASKED_WHY.found(said.text) for said in scene.user_said())
    for said in scene.agent_said():
        if said.is_published or not said.has_any(CUES) or is_taken_back(said, scene):
            continue
        is_done = scene.edits_after(said.place) or (said.is_final and is_agreed(scene) and scene.following[0].edited)
        for before, sentence in pairwise(said.sentences) if is_done else ():
            fix = _FIX.match(sentence.plain)
            cause = _cause(before) if fix else ""
            if fix and cause and not is_guessed(said, scene):
                text = f"{cause} Fix: {impersonal(fix['fix'])}"
                drafts.append(Draft("failure", text, [said.event], said=sentence.text, is_answer=is_answer))
    return drafts


def _cause(sentence: Sentence) -> str:
    """What a sentence before a fix says is wrong, "" when it says nothing that stands by itself."""
    named = NAMED.match(sentence.plain)
    text = f"Root cause: {lowered(impersonal(named['what']))}" if named else impersonal(sentence.plain)
    is_left = sentence.text.endswith(("?", ":")) or _HANGS.search(text)
    return "" if is_left or fault(text) or not anchors.has_strong(text) else text


def _mended(sentence: Sentence) -> str:
    """A fault that an entry of a list names, with what mended it."""
    label, told = sentence.label, sentence.text
    dash = _DASH.match(told) if not label else None
    if dash:
        label, told = dash["label"], told[dash.end() :]
    if sentence.place or len(label.split()) < MIN_LABEL_WORDS or not _FAULT.search(label) or _NUMBER.search(label):
        return ""
    match = _BY.match(told)
    if match is None or not anchors.has_strong(match["how"]):
        return ""
    how = impersonal(match["how"])
    return f"{label}: fixed by {how[0].lower() if match['how'][0].islower() else how[0]}{how[1:]}"


def _convention(sentence: Sentence) -> str:
    """The convention that a sentence states."""
    told = f"{sentence.label}: {sentence.text}" if sentence.label else sentence.text
    match = _CONVENTION.match(told)
    if match is None or not anchors.has_strong(match["rule"]) or sentence.text.endswith("?"):
        return ""
    what = match["what"][0].upper() + match["what"][1:]
    return f"{what}: {impersonal(match['rule'])}"
