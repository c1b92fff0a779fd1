"""Why something was done: the sentence of an exchange that gives the reason, of several the one nearest a change."""

from __future__ import annotations

import re

from howcome.domain.events import squeeze
from howcome.domain.sentences import Sentence
from howcome.learn import anchors, rewriting
from howcome.learn.scene import Said, Scene

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

_STRONG = re.compile(
    r"\bbecause\b|\broot cause\b|\bthe (?:actual |real |underlying )?(?:cause|reason|culprit)\b|\bcaused by\b"
    r"|\bdue to\b|\bso that\b(?!['\u2019]s| works| is | was )|\bin order to\b|\bto (?:avoid|prevent|ensure"
    r"|guard against|make sure)\b|\botherwise\b"
    r"|\bwhich (?:broke|breaks|caused?s?|means|meant|led|leads|made|makes|results?)\b|\bthat's why\b"
    r"|\bthis is why\b|\bthe (?:issue|problem|bug) (?:is|was)\b|\bthe (?:point|goal|aim|purpose|idea) (?:is|was|of)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"(?:^|,\s|\s)since (?!\d|v?\d|the (?:last|beginning|start|first)|then\b|yesterday|last\b|commit\b|when\b"
    r"|my\b)\S+ .{0,40}?\b(?:is|are|was|were|has|have|had|do|does|did|can|can't|cannot|isn't|aren't|doesn't|don't"
    r"|won't|will|would|uses?|needs?|only|already|never|no longer|\w+s)\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:prevents?|ensures?|avoids?|leading to|leads to|results? in|resulting in|meaning|would (?:fail|break|lose"
    r"|leak|hang|crash|cause|be lost)|so (?:it|they|the|that|we|users?|callers?|tests?)\b|instead of|rather than"
    r"|no longer|without (?:this|it)|makes? (?:it|the|this) (?:easier|harder|possible|impossible|clear)|needed (?:to"
    r"|for|because)|required (?:by|for|because))\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:doesn't|don't|didn't|isn't|wasn't|aren't|can't|cannot|never|fails?|failed|failing|missing|wrong"
    r"|incorrect(?:ly)?|broken|stale|duplicat\w+|conflict\w*|leak\w*|race|too (?:slow|large|long|many|wide|strict|big"
    r"|small)|hardcoded|brittle|confusing|redundant|unused|outdated|inconsistent\w*|crash\w*|lost|silently"
    r"|mismatch\w*)\b",
    re.IGNORECASE,
)
_LABELS = (
    (
        re.compile(
            r"(?:the )?(?:root )?cause|why\b.*|(?:the )?reason(?:ing)?|rationale|motivation",
            re.IGNORECASE,
        ),
        CAUSE,
    ),
    (
        re.compile(
            r"(?:the )?(?:actual |real |key )?(?:problem|issue|bug|context|background|before|current (?:state"
            r"|behaviou?r)|goal|purpose|what went wrong|what happened)\b.*",
            re.IGNORECASE,
        ),
        2.6,
    ),
)
_PLANNING = re.compile(
    r"(?:now,? )?(?:let me|let's|i'll|i will|i need to|i should|i'm going to|we need to|first,|next,|wait|hmm"
    r"|actually, (?:let|wait)|now i|now let)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|might|could be|i think|i guess|not sure|seems?|possibly|likely|if you|want me"
    r"|would you|should i|shall i|suggest\w*|option [a-d\d]|alternatively)\b",
    re.IGNORECASE,
)
_ABOUT_CHECKS = re.compile(
    r"\b(?:test(?:s|ing)? pass\w*|lint\w* (?:is )?(?:clean|pass\w*)|pre-existing|unrelated|sandbox"
    r"|permission denied)\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?:add|adjust|change|reduce|remove|replace|move|rename|update|use|create|make|extract|fix|write|set|put|keep"
    r"|line \d+|had|checked|see)\b",
    re.IGNORECASE,
)
_DETAIL = re.compile(
    r"(?:[a-z]{3,}ed|made|kept|built|wrote|set|put|verif(?:y|ies)|detects?|don't|do not|shows?|includes?|uses?"
    r"|handles?|tests?|checks?|ensures?|returns?|adds?|removes?|calls?|now)\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|due to|so that|root cause|otherwise)\b", re.IGNORECASE)
_RUNS = re.compile(r"(?:re-?)?(?:run|verify|check|test|open|click|start)\b", re.IGNORECASE)
_LACK = re.compile(
    r"\b(?:currently|only|but|however|no|not|need\w*|wants?|lacks?|without|instead|unclear|hard|harder|costs?|slow"
    r"|manual\w*|static|already|still|never|should|would)\b|n't\b",
    re.IGNORECASE,
)
_HEADLINE = re.compile(r"why\b(?!.*\b(?:is|are|was|were) because)", re.IGNORECASE)
_HANGS = re.compile(
    r"(?:this|that|these|those|it|it's|its|they|they're|their|he|she|both|neither|which|here|there|the (?:first"
    r"|second|third|other|same))\b",
    re.IGNORECASE,
)
_ABOUT_A_TEST = re.compile(r"\b(?:Test\w+|tests?|assertion|linter|lint)\b")
_STAYS = re.compile(
    r"\b(?:remains?|necessary|fine|no issues?|correct(?:ly)?|expected|unaffected|still (?:needed|used|works?"
    r"|required)|unchanged|stays?|kept|left (?:as|in)|keep(?:s|ing)?|no (?:changes?|fix|action) (?:is |are )?needed"
    r"|already)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_][\w-]{3,}")


def why(scene: Scene, told: str, files: list[str]) -> tuple[str, bool]:
    """The reason, '' when none was given, and whether a person said it.

    Args:
        scene: The exchange.
        told: What was asked and done, in words: the reason is about the same things.
        files: The files that were changed.
    """
    wanted = {word.lower() for word in _WORD.findall(told)}
    names = {file.rpartition("/")[2].partition(".")[0].lower() for file in files}
    is_no_test = not _ABOUT_A_TEST.search(told.split(" ran `", maxsplit=1)[0])
    best, best_weight, is_users = "", LEAST_WEIGHT - 0.01, False
    for said in scene.said:
        near = _nearness(scene, said)
        for sentence in said.sentences[:MAX_SENTENCES]:
            text = rewriting.unframed(sentence.text)
            weight = _weight(text, sentence, said)
            if not weight or text[:60].rstrip(".:") in told or _is_step(said, sentence, text):
                continue
            weight += near + _likeness(text, wanted, names)
            weight -= 1.0 * (is_no_test and _ABOUT_A_TEST.search(text) is not None)
            if weight > best_weight:
                best, best_weight, is_users = text, weight, said.is_user
    return (squeeze(best, MAX_WHY_CHARS).rstrip(".:;, "), is_users) if best else ("", False)


def _is_step(said: Said, sentence: Sentence, text: str) -> bool:
    """Whether a sentence says what to do, or only how a plan does it."""
    if said.is_user and not said.is_typed and sentence.heading and not _named((sentence.heading,)):
        return True
    if sentence.kind == "item" and _DETAIL.match(text) and not _BECAUSE.search(text):
        return True
    is_step = _STEP.match(text) is not None and not _STRONG.search(text)
    return is_step or _RUNS.match(text) is not None


def _named(names: tuple[str, ...]) -> float:
    """What a sentence's label and heading say of it: how much they sound like a reason."""
    found = (value for pattern, value in _LABELS for name in names if name and pattern.fullmatch(name))
    return max(found, default=0.0)


def _weight(text: str, sentence: Sentence, said: Said) -> float:
    """How much a sentence says a reason."""
    if text.rstrip().endswith(("?", ":")) or not LEAST_CHARS <= len(text) <= MOST_CHARS or _ABOUT_CHECKS.search(text):
        return 0.0
    named = _named((sentence.label, sentence.heading)) * (1.0 if sentence.place == 0 else 0.6)
    weight = named + 3.0 * bool(_STRONG.search(text) or _SINCE.search(text))
    weight += 1.5 * bool(_WEAK.search(text)) + 1.0 * bool(_TROUBLE.search(text))
    if weight < LEAST_SIGN or (weight == named < CAUSE and not _LACK.search(text)) or _HEADLINE.match(text):
        return 0.0
    weight -= 3.5 * bool(_PLANNING.match(text)) + 2.0 * bool(_UNSURE.search(text)) + 1.0 * bool(_STAYS.search(text))
    weight -= 1.0 * (len(text) > LONG_CHARS) + 0.7 * (not anchors.is_technical(text)) + 0.8 * bool(_HANGS.match(text))
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


def _likeness(text: str, wanted: set[str], names: set[str]) -> float:
    words = {word.lower() for word in _WORD.findall(text)}
    shared = len(words & wanted)
    return min(1.5, 0.3 * shared) + 0.5 * bool(names & words) - 0.6
