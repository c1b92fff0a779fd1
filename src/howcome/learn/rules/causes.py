"""Root causes that were found: what is wrong, in the words of the one who found it."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re
from functools import lru_cache

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.dates import day_spoken_of, has_relative_date
from howcome.learn.fitness import dangles, fault
from howcome.learn.quick import Cues, Words
from howcome.learn.rewriting import finished, impersonal, lowered
from howcome.learn.rules.aftermath import BY_COMMIT, Aftermath
from howcome.learn.rules.draft import Draft, context_of
from howcome.learn.rules.soundness import is_gap
from howcome.learn.rules.symptoms import lacks_symptom, symptom_before
from howcome.learn.rules.trust import is_disputed, is_guessed, is_provisional, is_taken_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.learn.rules.scene import Said, Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "because", "since ", "due to", "cause", "turns out", "turned out", "the issue", "the problem", "the bug",
    "culprit", "reason", "come from", "comes from", "came from", "stem", "fixed", "fixes", " as ", "that is why",
    "that's why", "traced", "found", "what happened", "figured",
)  # fmt: skip
"""A text without any of these (lower case) names no cause."""

WORKING_CUES = Cues(
    "root cause", "the cause", "the issue", "the problem", "the bug", "culprit", "the reason", "turns out",
    "turned out", "found",
)  # fmt: skip
"""The same for what the agent says while it works."""

_CONNECTIVES = ("because", "since ", "due to", " as ")

_LABEL = re.compile(
    r"(?:the |actual |real |underlying |technical )*(?:root cause|cause|why(?: (?:it|the|this) .{3,40})?"
    r"|underlying (?:issue|problem)|bug|problem|the (?:bug|problem|issue)|reason|what (?:went wrong"
    r"|happened|was wrong)|found (?:it|the cause)|postmortem.{0,20})"
    r"(?: (?:analysis|found|identified|confirmed|summary|of .{3,40}))?$",
    _I,
)
_HEADED = re.compile(
    r"(?:the |actual |real |underlying |technical )*(?:root causes?|cause|what went wrong|why (?:it"
    r"|this) (?:failed|broke|happened|fails|happens))(?: (?:analysis|found|identified|confirmed|summary))?$",
    _I,
)
_PROBLEM = re.compile(
    r"(?:the |current |root )*(?:problem|bug|issue|cause|context|background|motivation|current (?:state"
    r"|issue|behaviou?r))s?(?: statement| summary| description)?$",
    _I,
)
_FIX_LABEL = re.compile(r"(?:the |actual |real )*(?:fix|solution|fixed|resolution|what changed|fix applied)$", _I)
_FOUND = re.compile(
    r"^(?:(?:i|we)(?:'ve| have)? )?(?:finally )?(?:found|traced|tracked|figured|nailed|bisected"
    r"|diagnosed)(?: (?:it|this|that|the (?:root )?(?:cause|problem|bug|issue|reason|culprit)))?(?: down"
    r"| out)?(?: this \w+)?[:!—] ?(?P<what>.{12,})",
    _I,
)
NAMED = re.compile(
    r"(?:the|a) (?:actual |real |underlying |core |main |primary |true |key )*(?:root cause|cause|culprit"
    r"|issue|problem|bug|reason)"
    r"(?P<of> (?:of|for|behind|with|in) [^:.]{3,90}?)?(?: here)? (?:is|was|turned out to be|lies in"
    r"|comes down to)(?: actually| simply| just)?(?::| that(?=\s)|,)? (?P<what>.+)",
    _I,
)
_NAMED_COLON = re.compile(
    r"(?:the )?(?:actual |real |underlying )*(?:root cause|culprit)(?P<of> (?:of|for"
    r"|behind) [^:.]{3,90}?)?\s*(?::|—|–) (?P<what>.+)",
    _I,
)
_COMES = re.compile(
    r"^(?P<what>(?:the |our |all |most |these |some )?[\w`'’()./ -]{3,80}?) (?:(?:comes?|came|stem(?:s"
    r"|med)?|result(?:s|ed)?|arises?|arose|originates?) from|(?:is|are|was|were|being) (?:caused by|due to"
    r"|the result of|a result of|triggered by)) (?P<why>.{12,})",
    _I,
)
_MISHAP = (
    r"fail(?:s|ed|ing)?|br(?:eaks|oke|oken)|crash(?:es|ed|ing)?|hang(?:s|ing)?|hung|stuck|deadlock(?:s|ed)?"
    r"|leak(?:s|ed|ing)?|los(?:es|t|ing)|went down|goes down|flickers?|duplicated?|twice|slow(?:er|ly)?"
    r"|grows|grew|drift(?:s|ed)?|undefined|null"
    r"|is (?:empty|wrong|missing|never|always|not|lost|stale|slow|specific)|(?:was|were|are) (?:empty|wrong"
    r"|missing|never|always|not|lost|stale|slow|being|broken)|became|becomes"
    r"|isn't|aren't|wasn't|weren't|doesn't|does not|didn't|did not|don't|never|times? out|timed out"
    r"|errors?(?: out)?|panics?|panicked|return(?:s|ed) (?:nil|null|none|undefined|\d{3}|an? empty)"
    r"|happen(?:s|ed)|occur(?:s|red)|silently|no longer|stopped working|can't|cannot|couldn't|throws?|threw"
    r"|rejected|refused|ignored|skipped|dropped|overwrit(?:es|ten)|overwrote|swallow(?:s|ed|ing)?|OOM\w*"
    r"|killed|strips|redeliver\w*|delivered again"
)
_BECAUSE = re.compile(
    rf"(?P<what>.*?\b(?:{_MISHAP})\b.{{0,140}}?),? (?P<because>because"
    r"|since(?! (?:the )?(?:last|first|then|start)\b)|due to|as(?= `|(?= \w+ (?:is"
    r"|was|are|were|has|have))))(?: of)? (?P<why>.+)",
    _I,
)
_THEREFORE = re.compile(
    rf"^(?P<why>.{{15,200}}?)(?:[;,—–] |, and )?(?:so(?: that)?|that is why|that's why|which is why"
    rf"|therefore|hence|which (?:makes|means|causes|made|caused|lets)|so that) (?P<what>.*?\b(?:{_MISHAP}"
    r"|not used|again and again)\b.*)",
    _I,
)
_OVERRIDES = re.compile(
    r"^.{5,200}\b(?:overrid(?:es|den)|shadow(?:s|ed)|win(?:s)? over|break(?:s)?|broke|are lost|is lost"
    r"|drops|strips|answers \d{3}|mounted on both)\b.{8,}",
    _I,
)
_THEREFORE_CUES = ("so ", "why ", "therefore ", "hence ", "which ")
_OVERRIDES_CUES = ("overrid", "shadow", "win", "break", "broke", "lost", "drops", "strips", "answers ", "mounted")
"""Whatever `_THEREFORE` and `_OVERRIDES` find has one of these."""

ASKED_WHY = Words(
    r"\b(?:why|how come|what causes|what is causing|find (?:out|the|why)|figure out|investigate|debug"
    rf"|bisect|root cause)\b|\b(?:{_MISHAP}|ignores?|wrong|off by|restarts?|more than|negative|drops?"
    r"|takes? \d|two numbers|memory|flak(?:y|es))\b",
)
_FIXED = re.compile(
    r"fix(?:ed|es)? (?:an? |the )?(?P<what>.{0,120}?(?:bug|issue|problem|race(?: condition)?|crash|leak"
    r"|deadlock|regression|panic|error|loop)) (?:where|in which|when|that|caused by|because|by) .{12,}",
    _I,
)
_WHY_ASKED = re.compile(r"^(?:so |but |and |ok,? )?(?:why|how come)\b", _I)
_I_OR_YOU = re.compile(r"\b(?:i|me|my|we|us|our|you|your|please|can|could)\b", _I)
MAX_ACTIONS_TO_EDIT = 4
MAX_TOPIC_CHARS = 110
MAX_ANSWERS = 4
"""Only the first sentences of a report answer the question that was asked."""

_IT_DOES = re.compile(r"it \w+s ", _I)
"""What is said next of what was found."""

_NOW_MENDED = re.compile(r"[;,—–] (?:and )?(?:it|they|the \w+|`[^`]+`) (?:is |are )?now ", _I)
_FRAGMENT = re.compile(
    r"(?:in|on|at|with|from|for|inside|about) (?![^:]{1,60}: ?.{20,})|(?:currently )?\w+ed (?:to|in|by|for|on)\b"
    r"|in all\b",
    _I,
)
MIN_PROBLEM_WORDS = 6
"""A shorter "problem" ("X calls Y") leaves open what is wrong with it, unless it says so."""

_SHOWS = Words(
    r"\b(?:because|since|so|but|when|while|instead of|without|only|before|after|too|causes?|causing|leads?|not|wrong"
    r"|requires?|interfer\w+|cycle|mismatch|missing|no|conflicts?)\b"
)
"""A problem without a mishap and without any of these is only a statement of what the code does."""

_GOES_WRONG = Words(rf"\b(?:{_MISHAP})\b")
_I_HAVE = re.compile(r"^(?:i|we)(?:'ve| have)? (?:also |then |now )?", _I)
_GIVES_CAUSE = Words(
    r"\b(?:because|since|due to|caused by|comes? from|came from|root cause|causes|broke|reason|while)\b"
)
_TURNED_OUT = re.compile(r"\bturn(?:s|ed) out\b", _I)
_ABANDONED = re.compile(
    r"^(?:actually|wait|hmm|no[,.]|that's not|but wait|scratch that|on second thought|never ?mind"
    r"|that wasn't)\b",
    _I,
)
_MIDWORK = re.compile(
    r"\b(?:let me|i need to|i'll|i should|let's|need to (?:check|fix|see|verify|look|find)|going to|i'd)\b", _I
)
_ORDER = re.compile(
    r"^(?:add|fix|use|update|remove|change|make|ensure|move|replace|check|skip|set|pass|call|create|keep"
    r"|run|store|track|handle|return|removed|added|updated|changed|kept|moved|replaced|renamed|switched"
    r"|merged|reverted|extracted|trusting|using|clear -)\b",
    _I,
)
_ELSEWHERE = re.compile(
    r"(?:why|how) (?:this|it|that) (?:works?|is (?:safe|ok|fine|correct))|changes|design"
    r"|(?:the |current |here(?:'s| is) the )*(?:\w+ )?(?:flow|call (?:chain|path|stack)|sequence)\b"
    r"|propos|options|behavio",
    _I,
)
"""A heading under which nothing is told that went wrong."""

_WORK = Words(
    r"\b(?:tests? (?:is|are|was|were)? ?(?:failing|failed|fails?|pass\w*)|unused|lint(?:er)?|compil\w+"
    r"|import cycle|gopls|lsp|diagnostics?|expects?|assertions?|todo|mock|helper|nolint|worktree|staged"
    r"|merge conflict|commit(?:ted)? yet)\b",
)


_DECIDED = re.compile(
    r"(?:(?:we|i|it was) )?(?:decided|chose|chosen|opted|agreed) (?:to|on|for|against|not)\b", re.IGNORECASE
)
"""Gives its reason in the words of a cause, and is no finding."""


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """Causes that the agent or a person stated as found."""
    drafts: list[Draft] = []
    is_asked = any(said.is_typed and ASKED_WHY.found(said.text) for said in scene.user_said())
    for said in scene.said:
        if said.is_user and not (said.is_typed or said.is_plan):
            continue
        is_report = said.is_final or said.is_user or said.is_plan
        if not ((is_asked and said.is_final) or said.has_any(CUES if is_report else WORKING_CUES)):
            continue
        if not is_report and (is_provisional(said) or not _is_acted_on(said, scene)):
            continue
        told = _of(said, scene, is_asked=is_asked)
        if told and (is_report or not is_taken_back(said, scene)) and not is_guessed(said, scene):
            drafts += [draft for draft in told if said.is_published or not is_disputed(draft.text, scene)]
    return drafts


def _is_acted_on(said: Said, scene: Scene) -> bool:
    """Whether something is changed so soon after what was said on the way that it was changed because of it."""
    after = [action for action in scene.actions if action.place > said.place][:MAX_ACTIONS_TO_EDIT]
    return any(action.is_edit and not action.has_failed for action in after)


def _of(said: Said, scene: Scene, *, is_asked: bool) -> list[Draft]:
    drafts: list[Draft] = []
    sentences = said.sentences
    is_answer = is_asked and said.is_final
    for place, sentence in enumerate(sentences):
        is_first = place == 0 or sentences[place - 1].heading != sentence.heading
        has_cue = sentence.label or is_first or sentence.has_any(CUES)
        text = _cause(sentence, said, is_first=is_first) if has_cue else ""
        if not text and is_answer and place < MAX_ANSWERS:
            text = _answer(sentence.plain)
        if not text or sentence.text.endswith(("?", ":")) or _MIDWORK.search(sentence.text) or _DECIDED.match(text):
            continue
        after = sentences[place + 1].text if place + 1 < len(sentences) else ""
        if any(_ABANDONED.match(other.text) for other in sentences[place + 1 : place + 4]):
            continue
        is_found = _FOUND.match(f"{sentence.label}: {sentence.text}" if sentence.label else sentence.text)
        is_joined = said.is_final and is_found is not None and _IT_DOES.match(after) is not None
        if is_joined:
            text = f"{text} {impersonal(after)}"
        symptom = symptom_before(sentences, place) if lacks_symptom(text) else ""
        if lacks_symptom(text) and not symptom:
            continue
        topic = _topic(scene) if is_answer and place < MAX_ANSWERS else ""
        draft = _draft(text, place, said, scene, topic=topic, is_whole=is_joined)
        draft.text = f"{symptom} {draft.text}".strip() if draft.text else ""
        gives = is_found is not None or _GIVES_CAUSE.found(text)
        is_bare = draft.type == "discovery" and not draft.witnesses and not said.is_published
        if is_bare and is_gap(text) and not (_GIVES_CAUSE.found(text) or said.is_user):
            continue
        draft.is_answer = said.is_typed or (is_answer and place < MAX_ANSWERS and gives)
        drafts.append(draft)
    return drafts


def _draft(text: str, place: int, said: Said, scene: Scene, *, topic: str, is_whole: bool) -> Draft:
    """The memory of a cause: a failure where what mended it is told, with what became of it else."""
    sentence = said.sentences[place]
    if has_relative_date(sentence.text) and not has_relative_date(text):
        text = f"{text} Identified {day_spoken_of(sentence.text, said.event.ts_ms or said.event.order_ms)}."
    fix = _fix(said.sentences, place)
    is_mended = bool(fix or text.startswith(("Fixed ", "Fixes ")) or (scene.edited and _NOW_MENDED.search(text)))
    witnesses: list[StoredEvent] = []
    if not is_mended:
        text, witnesses = Aftermath(scene).told(text, said, is_problem=True)
        is_mended = BY_COMMIT in text
    return Draft(
        "failure" if is_mended else "discovery",
        f"{text} Fix: {fix}" if fix else text,
        [said.event],
        witnesses=witnesses,
        said=sentence.text,
        context=context_of(sentence, scene),
        topic=topic,
        is_known_whole=is_whole,
    )


@lru_cache(maxsize=1024)
def _is_elsewhere(heading: str) -> bool:
    return _ELSEWHERE.match(heading) is not None


def _cause(sentence: Sentence, said: Said, *, is_first: bool) -> str:
    """The cause that a sentence states, as a sentence of its own; "" when it states none."""
    plain = sentence.plain
    if _ORDER.match(plain) or (sentence.heading and _is_elsewhere(sentence.heading)):
        return ""
    is_labelled = sentence.place == 0 and (
        _LABEL.match(sentence.label)
        or (is_first and sentence.kind == "text" and not sentence.label and _HEADED.match(sentence.heading))
    )
    if is_labelled or _FOUND.match(sentence.text):
        return impersonal(plain) if anchors.has_strong(plain) else ""
    match = NAMED.match(plain) or _NAMED_COLON.match(plain)
    if match:
        return _named(match)
    is_problem = (
        (said.is_plan or said.is_published)
        and sentence.kind == "text"
        and _PROBLEM.match(sentence.heading)
        and _GOES_WRONG.found(plain)
    )
    is_fix = said.is_final and "fix" in sentence.low
    fixed = is_fix and _FIXED.match(_I_HAVE.sub("", plain)) and not _WORK.found(plain)
    has_turned_out = plain != sentence.text and _TURNED_OUT.search(sentence.text)
    is_told = is_problem or fixed or has_turned_out or _states(plain, said)
    return impersonal(plain) if is_told and anchors.has_strong(plain) else ""


def _named(match: re.Match[str]) -> str:
    """What "the issue is that …" names, said to be that."""
    what = impersonal(match["what"])
    if match["of"]:
        return finished(f"The cause{match['of']}: {what}")
    noun = match[0][: match.start("what") - match.start()].lower()
    is_cause = "cause" in noun or "culprit" in noun
    is_telling = _GOES_WRONG.found(what) or (
        len(what.split()) >= MIN_PROBLEM_WORDS and (is_cause or _SHOWS.found(what))
    )
    if _FRAGMENT.match(what) or not is_telling:
        return ""
    if not anchors.has_strong(what) or dangles(what) or _ORDER.match(what):
        return ""
    return f"{'Root cause' if 'cause' in noun else 'Problem'}: {lowered(what)}"


def _states(plain: str, said: Said) -> bool:
    """Whether a sentence says that something goes wrong, and why."""
    if not (said.is_final or said.is_user or said.is_plan):
        return False
    low = plain.lower()
    return bool(_is_explained(plain, low) or _comes(plain, low)) and not _WORK.found(plain)


def _comes(plain: str, low: str) -> re.Match[str] | None:
    may_come = " from " in low or " by " in low or "due to " in low or "result of " in low
    return _COMES.match(plain) if may_come else None


def _is_explained(plain: str, low: str) -> re.Match[str] | None:
    for word in _CONNECTIVES:
        if word in low:
            return _BECAUSE.match(plain) if _GOES_WRONG.found(plain) else None
    return None


def _answer(plain: str) -> str:
    """What a short report answers to somebody who asked why: a sentence that gives a reason for what happens."""
    low = plain.lower()
    told = _comes(plain, low) or _is_explained(plain, low)
    if told is None and any(word in low for word in _THEREFORE_CUES):
        told = _THEREFORE.match(plain)
    if told is None and any(word in low for word in _OVERRIDES_CUES):
        told = _OVERRIDES.match(plain)
    if told is None or _ORDER.match(plain) or _WORK.found(plain) or not anchors.has_strong(plain):
        return ""
    return impersonal(plain)


def _topic(scene: Scene) -> str:
    """What a person complained of, in a few impersonal words; "" when it takes many."""
    first = next((said for said in scene.user_said() if said.is_typed and len(said.text) <= MAX_TOPIC_CHARS), None)
    if first is None or not first.sentences or _I_OR_YOU.search(first.sentences[0].text):
        return ""
    asked = first.sentences[0].text
    why = _WHY_ASKED.match(asked)
    if asked.endswith("?") and not why:
        return ""
    return f"“{asked.rstrip('.!? ')}”"


def _fix(sentences: list[Sentence], place: int) -> str:
    """What the next lines of the same text say the fix is; "" when they do not."""
    for sentence in sentences[place + 1 : place + 4]:
        if _FIX_LABEL.match(sentence.label) and sentence.place == 0:
            fix = impersonal(sentence.text)
            return (
                fix if fault(fix) in ("", candidates.NOT_TECHNICAL, candidates.TOO_SHORT) and not dangles(fix) else ""
            )
    return ""
