"""Whether what was said held until the end."""

from __future__ import annotations

import re
from functools import lru_cache

from howcome.domain import events
from howcome.learn import anchors
from howcome.learn.quick import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.rules.scene import Said, Scene

_CONTRADICTED = Words(
    r"(?m)\b(?:real|actual) (?:root )?(?:cause|issue|problem|bug|culprit)\b|^(?:wait|actually|hmm+|no,|uh oh|oh,)\b"
    r"|\b(?:wasn't|isn't|is not|was not) (?:actually )?(?:the|a) (?:cause|issue|problem|bug|root)\b"
    r"|false (?:lead|alarm|positive)|\bi was wrong\b|\bmy mistake\b|\bi misread\b|\bi misunderstood\b"
    r"|reverting (?:that|this|my)|\bactually,|\bbut actually\b|\bcorrection:",
)
_MAY_ADMIT = Words(
    r"(?m)\byou're (?:absolutely |completely )?right\b|\byou are right\b|\bi was wrong\b|\b(?:i'm )?sorry\b"
    r"|\bapologi[sz]e\b"
    r"|\bmy mistake\b|\bi misread\b|\bi misunderstood\b|^(?:actually|uh oh|hmm+)\b"
    r"|\bactually,"
    r"|\bright to question\b|\bfound the (?:real |actual )?(?:bug|issue|problem|cause)\b|\bi overlooked\b"
    r"|\bnot (?:quite )?right\b",
)
_ADMITTED = re.compile(_MAY_ADMIT.source, re.IGNORECASE)
_PROVISIONAL = re.compile(
    r"\b(?:let me|i'll|i need to|need to) (?:first )?(?:verify|check|re-?read|look|confirm|see|trace|test|debug"
    r"|investigate"
    r"|double-check|understand|find out)\b|(?:^|[.!?] )(?:wait|actually|hmm)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Who goes on looking has not found it yet."""

_MAY_BE_PROVISIONAL = Words(f"(?m){_PROVISIONAL.pattern}")
"""The same in one pass, but for letters beyond ASCII."""

_DOUBTED = re.compile(
    r"\s*(?:huh|hmm+|really|are you sure|no\b|nope|wrong|that's (?:wrong|not)|that is (?:wrong|not)|try again"
    r"|i don't think"
    r"|i doubt|but (?:why|how|isn't|doesn't|that)|wait|not (?:true|right|correct)|can (?:we"
    r"|you) (?:double[- ]?check|verify)"
    r"|isn't|double[- ]?check|you're wrong|still (?:fails|broken|not|the same|seeing|getting))\b",
    re.IGNORECASE,
)
MAX_DOUBT_CHARS = 400
MAX_ADMISSION_CHARS = 400
_FAILS_STILL = re.compile(
    r"\bstill (?:fails?|failing|get|getting|see|seeing|not|broken|the same|happens)\b|^fatal: "
    r"|\bpermission (?:to \S+ )?denied"
    r"|\bdenied to\b|\b(?:doesn't|does not|didn't) work\b",
    re.IGNORECASE | re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-z_][\w-]{4,}")
_TURNS = re.compile(
    r"(?:^|[.!?—] ?)(?:actually|wait|hmm+)\b|\breconsider\w*|\blet me re-?think\b", re.IGNORECASE | re.MULTILINE
)
_SETTLES = Words(r"\b(?:most likely|simplest fix|might (?:actually )?be|could (?:also )?be|or maybe)\b")
MIN_TURNS = 3
"""Who turns so often before naming a cause names the last of several guesses."""


def is_taken_back(said: Said, scene: Scene) -> bool:
    """Whether what was found on the way was a guess that something said later in its exchange corrects."""
    if scene.last_correction is None:
        places = [
            other.place
            for other in scene.agent_said()
            if not other.is_published and (_CONTRADICTED.found(other.text) or _MAY_ADMIT.found(other.text))
        ]
        scene.last_correction = max(places, default=-1)
    return scene.last_correction > said.place or is_provisional(said)


def is_provisional(said: Said) -> bool:
    """Whether who says it goes on looking: then it is taken back, whatever is said later."""
    if said.is_provisional is None:
        said.is_provisional = _MAY_BE_PROVISIONAL.found(said.text) and _PROVISIONAL.search(said.text) is not None
    return said.is_provisional


def is_guessed(said: Said, scene: Scene) -> bool:
    """Whether the agent's thoughts right before what it said tried several causes and settled for a likely one."""
    before = scene.exchange.all_events[said.place - 1] if said.place else None
    if before is None or before.kind != events.ASSISTANT_THINKING or said.is_user or said.is_published:
        return False
    thought = before.text or ""
    return _SETTLES.found(thought) and len(_TURNS.findall(thought)) >= MIN_TURNS


def is_disputed(text: str, scene: Scene) -> bool:
    """Whether a person doubted it in the next prompt, or the agent took it back in one of the next exchanges."""
    names: frozenset[str] | set[str] | None = None
    for number, after in enumerate(scene.following):
        asked = after.user_said()[:1]
        is_doubted = bool(asked) and (
            (number == 0 and len(asked[0].text) <= MAX_DOUBT_CHARS and _DOUBTED.match(asked[0].text) is not None)
            or _fails_still(asked[0].text[:MAX_DOUBT_CHARS])
        )
        told = [said.text for said in after.agent_said()] if is_doubted else _admissions(after)
        if is_doubted and not told:
            return True
        names = (_joined_names(text) or names_of(text)) if told and names is None else names
        if names and any(names & names_of(one) for one in told):
            return True
    return False


@lru_cache(maxsize=256)
def _fails_still(text: str) -> bool:
    return _FAILS_STILL.search(text) is not None


def _admissions(scene: Scene) -> list[str]:
    """Where the agent says that it was wrong, and what it says next."""
    if scene.admissions is None:
        scene.admissions = []
        for said in scene.agent_said():
            match = _ADMITTED.search(said.text) if not said.is_published and _MAY_ADMIT.found(said.text) else None
            if match:
                scene.admissions.append(said.text[match.start() : match.start() + MAX_ADMISSION_CHARS])
    return scene.admissions


def _joined_names(text: str) -> set[str]:
    """The names in a text that are no plain words, in lower case."""
    words = (word for found in anchors.STRONG.findall(text) for word in _NAME.findall(found))
    return {word.lower() for word in words if not word.islower()}


@lru_cache(maxsize=512)
def names_of(text: str) -> frozenset[str]:
    """The coined names in a text, in lower case, without what joins them."""
    return frozenset(word.lower() for found in anchors.STRONG.findall(text) for word in _NAME.findall(found))
