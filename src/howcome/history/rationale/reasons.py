"""Why something was done: the sentence of an exchange that gives the reason, of several the one nearest a change."""

from __future__ import annotations

import re

from howcome.domain.events import squeeze
from howcome.domain.sentences import Sentence
from howcome.history.rationale.done import unframed
from howcome.learn import anchors
from howcome.learn.prose import Prose
from howcome.learn.scene import Said, Scene

_P = Prose("reasons")

MAX_WHY_CHARS = 230
LEAST_WEIGHT = 3.0
"""A sentence that weighs less gives no reason: nothing is better than a wrong one."""

LEAST_SIGN = 1.0
LEAST_CHARS, MOST_CHARS, LONG_CHARS = 30, 420, 300
MAX_SENTENCES = 120
CAUSE = 4.0
"""What a label that names a cause weighs: nothing else has to say so."""

LATE = 0.7
"""What is said after the first change and before the report is mostly about a detail."""

_LABELS = {
    re.compile(r"(?i)(?:the )?(?:root )?cause|why\b.*|(?:the )?reason(?:ing)?|rationale|motivation"): CAUSE,
    re.compile(
        r"(?i)(?:the )?(?:actual |real |key )?(?:problem|issue|bug|context|background|before|current (?:state"
        r"|behaviou?r)|goal|purpose|what went wrong|what happened)\b.*"
    ): 2.6,
}
_BECAUSE = re.compile(r"\b(?:because|since|due to|so that|root cause|otherwise)\b", re.IGNORECASE)
_RUNS = re.compile(r"(?:re-?)?(?:run|verify|check|test|open|click|start)\b", re.IGNORECASE)
_HEADLINE = re.compile(r"why\b(?!.*\b(?:is|are|was|were) because)", re.IGNORECASE)
_ABOUT_A_TEST = re.compile(r"\b(?:Test\w+|tests?|assertion|linter|lint)\b")
_WORD = re.compile(r"[A-Za-z_][\w-]{3,}")


def why(scene: Scene, told: str, files: list[str]) -> str:
    """The reason, '' when none was given."""
    wanted = {word.lower() for word in _WORD.findall(told)}
    names = {file.rpartition("/")[2].partition(".")[0].lower() for file in files}
    is_no_test = not _ABOUT_A_TEST.search(told.split(" ran `", maxsplit=1)[0])
    best, best_weight = "", LEAST_WEIGHT - 0.01
    for said in scene.said:
        near = _nearness(scene, said)
        for sentence in said.sentences[:MAX_SENTENCES]:
            text = unframed(sentence.text)
            weight = _weight(text, sentence, said)
            if not weight or text[:60].rstrip(".:") in told or _is_step(said, sentence, text):
                continue
            words = {word.lower() for word in _WORD.findall(text)}
            weight += near + min(1.5, 0.3 * len(words & wanted)) + 0.5 * bool(names & words) - 0.6
            weight -= 1.0 * (is_no_test and _ABOUT_A_TEST.search(text) is not None)
            if weight > best_weight:
                best, best_weight = text, weight
    return squeeze(best, MAX_WHY_CHARS).rstrip(".:;, ")


def _is_step(said: Said, sentence: Sentence, text: str) -> bool:
    """Whether a sentence says what to do, or only how a plan does it."""
    is_of_plan = said.is_user and not said.is_typed and sentence.heading and not _named((sentence.heading,))
    is_detail = sentence.kind == "item" and _P.detail.match(text) and not _BECAUSE.search(text)
    is_step = _P.step.match(text) and not _P.strong.search(text)
    return bool(is_of_plan or is_detail or is_step or _RUNS.match(text))


def _named(names: tuple[str, ...]) -> float:
    """What a sentence's label and heading say of it: how much they sound like a reason."""
    found = (value for pattern, value in _LABELS.items() for name in names if name and pattern.fullmatch(name))
    return max(found, default=0.0)


def _weight(text: str, sentence: Sentence, said: Said) -> float:
    """How much a sentence says a reason."""
    if text.rstrip().endswith(("?", ":")) or not LEAST_CHARS <= len(text) <= MOST_CHARS or _P.about_checks.search(text):
        return 0.0
    named = _named((sentence.label, sentence.heading)) * (1.0 if sentence.place == 0 else 0.6)
    weight = named + 3.0 * bool(_P.strong.search(text) or _P.since.search(text))
    weight += 1.5 * bool(_P.weak.search(text)) + 1.0 * bool(_P.trouble.search(text))
    if weight < LEAST_SIGN or (weight == named < CAUSE and not _P.lack.search(text)) or _HEADLINE.match(text):
        return 0.0
    weight -= (
        3.5 * bool(_P.planning.match(text)) + 2.0 * bool(_P.unsure.search(text)) + 1.0 * bool(_P.stays.search(text))
    )
    weight -= 1.0 * (len(text) > LONG_CHARS) + 0.7 * (not anchors.is_technical(text)) + 0.8 * bool(_P.hangs.match(text))
    return weight + (0.3 if said.is_user and not said.is_typed else 0.6 if said.is_user else 0.0)


def _nearness(scene: Scene, said: Said) -> float:
    """What was said right before a change, or in the report of it, is about it."""
    if said.is_final:
        return 0.8
    if said.is_user:
        return 1.0 if said.is_plan else 0.0
    changes = [action.place for action in scene.actions if action.is_edit and not action.has_failed]
    following = next((place for place in changes if place > said.place), None)
    late = LATE if changes and said.place > changes[0] else 0.0
    if following is None:
        return -late
    return (0.8 if following - said.place <= 2 else 0.4) - late
