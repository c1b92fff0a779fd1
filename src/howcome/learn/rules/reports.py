"""Reports of what was wrong and what was done about it, where somebody complained and something was changed."""

from __future__ import annotations

import re

from howcome.domain import candidates, events
from howcome.learn import anchors
from howcome.learn.fitness import fault
from howcome.learn.quick import Words
from howcome.learn.rewriting import impersonal, unframed
from howcome.learn.rules import commands
from howcome.learn.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.rules.scene import Said, Scene

_I = re.IGNORECASE
_COMPLAINT = Words(
    r"\b(?:errors?|exception|fail(?:s|ed|ing|ure)?|crash\w*|broken|breaks?|bug|blocked|refus\w+|time(?:s"
    r"|d)? ?out|timeout|hangs?|stuck|restarts?|wrong|red\b|not work\w*|doesn't work|can't|cannot|denied"
    r"|invalid\w*|mismatch|leak\w*|flak\w+|deadlock\w*|oom\w*|empty|duplicate\w*|twice|limit of)\b"
    r"|`[^`]*:[^`]*`",
)
_WAS = re.compile(
    r"\b(?:because|since|as|was|were|had|has|failed|fails|stopped|refuses|ignores?|still|never|not|no"
    r"|depended|borrowed|formatted|broke|pickled|compares|differs|only|while|expects?|left|missing|due to"
    r"|caused|lacks?|needs?)\b",
    _I,
)
_MENDED = re.compile(
    r"\b(?:now|fixed|removed|added|raised|replaced|maps|makes|moves?|reads|passes|is green|works|runs|set"
    r"|exporting|pinned|changed|always|renamed|once|with (?:`|a limit))\b",
    _I,
)
_ON_THE_WAY = re.compile(
    r"\b(?:let me|i'll|i will|want me to|would you|let me know|please (?:run|check|verify)|next(?: step)?"
    r"|todo|summary|all (?:\d+ )?tests|tests? (?:all )?pass|lint)\b|\?",
    _I,
)
_ACTION = re.compile(
    r"^(?:added|removed|updated?|changed|renamed|need|move[ds]?|replaced?|fixed the|fixes|adjusted|no "
    r"|there (?:is|are)|yes|all |both )\b",
    _I,
)
_PLEASE = re.compile(r"[;,] (?:please|let me know|can you|could you)\b.*$", _I)
_TASK = re.compile(
    r"\b(?:implement|refactor|add (?:a|an|the|support)|rename|create|write|update|review|document|plan"
    r"|merge|rebase|commit|push)\b",
    _I,
)
_RED = Words(r"(?m)\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^\s*(?:✗|✕|--- FAIL|FAILED?\b)|\bnpm ERR!")
"""What the end of an output says that went wrong: a pipe hides it from the exit code."""

MAX_TAIL_CHARS = 2_000
MAX_SENTENCES = 5
MAX_PROMPT_CHARS = 600


def find(scene: Scene) -> list[Draft]:
    """What the report of an exchange says was wrong and mended, when that is what somebody had asked for."""
    asked = [said for said in scene.user_said() if said.is_user and len(said.text) <= MAX_PROMPT_CHARS]
    if not asked or not scene.edited or not _is_complaint(scene, asked[0].text):
        return []
    changed = [action for action in scene.actions if action.is_edit and not action.has_failed]
    if not changed or _ends_red(scene):
        return []
    for said in reversed(scene.agent_said()):
        if said.is_final and said.event.kind == events.ASSISTANT_TEXT:
            text = _report(said)
            if text:
                witnesses = [asked[0].event, *[action.call for action in changed[:5]]]
                return [
                    Draft(
                        "failure", text, [said.event], witnesses=witnesses, said=said.text[:400], topic=_topic(asked[0])
                    )
                ]
    return []


def _is_complaint(scene: Scene, text: str) -> bool:
    if _TASK.search(text) and not re.search(r"\b(?:error|fail\w*|crash\w*|bug)\b", text, _I):
        return False
    return _COMPLAINT.found(text) or any(
        action.has_failed or (commands.is_check(action.command) and _RED.found(action.output[-MAX_TAIL_CHARS:]))
        for action in scene.actions
        if action.is_shell
    )


def _ends_red(scene: Scene) -> bool:
    runs = [action for action in scene.actions if action.is_shell and action.result is not None]
    return bool(runs) and runs[-1].has_failed


def _report(said: Said) -> str:
    sentences = said.sentences
    if not 1 <= len(sentences) <= MAX_SENTENCES:
        return ""
    for place, sentence in enumerate(sentences):
        text = _worded(f"{sentence.label}: {sentence.text}" if anchors.has_strong(sentence.label) else sentence.text)
        if not text or _ACTION.match(text) or not anchors.has_strong(text) or not _WAS.search(text):
            continue
        if _MENDED.search(text) and "should never" not in text:
            return text
        after = _worded(sentences[place + 1].text) if place + 1 < len(sentences) else ""
        if (
            after
            and _MENDED.search(after)
            and fault(after) in ("", candidates.NOT_SELF_CONTAINED, candidates.TOO_SHORT, candidates.NOT_TECHNICAL)
        ):
            return f"{text} {after}"
    return ""


def _worded(sentence: str) -> str:
    if _ON_THE_WAY.search(_PLEASE.sub(".", sentence)):
        return ""
    return impersonal(unframed(_PLEASE.sub(".", sentence)))


def _topic(said: Said) -> str:
    """The error that a person quoted."""
    quoted = re.search(r"`([^`\n]{10,160})`", said.text)
    return f"“{quoted[1]}”" if quoted else ""
