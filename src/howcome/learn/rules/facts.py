"""Facts that the agent stated as found: what a tool, a library or the code does, needs, ignores or cannot do."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re
from functools import lru_cache

from howcome.learn import anchors
from howcome.learn.quick import Cues, Words
from howcome.learn.rewriting import impersonal, without_lines
from howcome.learn.rules.aftermath import BY_COMMIT, Aftermath
from howcome.learn.rules.draft import Draft, context_of
from howcome.learn.rules.soundness import NEGATIVE, is_gap
from howcome.learn.rules.trust import is_disputed, is_provisional, is_taken_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Said, Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "only ", " not ", "n't ", "because", "so ", "always ", "never ", "silently", "automatically", "cannot",
    "require", "needs", "expect", "must ", "ignore", "reject", "swallow", "return", "default", "falls", "fall back",
    "relies", "depends", "assumes", "overrid", "preceden", "bypass", "since", "due to", "even though", "although",
    "whereas", "unless", "as a result", "which ", "meaning", "otherwise", " but ", " while ", "instead of",
    "rather than", "turn", "note", "caveat", "gotcha", "aware", "interesting", "intentional", "deliberate",
    "case-sensitive", "deprecated", "dead code", "ignored", "generated", "shared", "read-only", "idempotent",
    "immutable", "hard", "cached", "no-op", "by design",
)  # fmt: skip
"""A sentence without any of these states no limit, gives no reason and draws no conclusion."""

WORKING_CUES = Cues(
    "because", "require", "expect", "ignore", "reject", "default", "fall", "overrid", "relies", "assumes", "only ",
    "preceden", "bypass", "swallow", "n't ", "not ", "cannot", "since ", "even though", "although", "turns out",
    "note that", "interesting", "gotcha", "caveat", "unless", "meaning", "otherwise",
)  # fmt: skip
"""The same for what the agent says while it works."""

_LIMIT = Words(
    r"\b(?:(?:only|always|never|silently|automatically|intentionally|deliberately)"
    r" (?:\w+s|\w+ed|when|if|for|in|work|run|after|once)\b"
    r"|(?:does not|doesn't|do not|don't|cannot|can't|can not|won't|will not|did not|didn't)"
    r" \w+|requires?\b|needs? \w+|expects?\b|must (?:be|not|have|match|use)"
    r"|ignores?\b|rejects?\b|swallows?\b|returns? (?:nil|null|none|undefined|an? empty|an error|false|true|stale)"
    r"|defaults? to|falls? back|relies on|depends on|assumes\b|overrides\b|takes? precedence|bypass(?:es)?\b"
    r"|(?:is|are) (?:case-sensitive|deprecated|dead code|gitignored|git-ignored|generated|shared|required|read-only"
    r"|idempotent|immutable|hard-?coded|cached|a no-op|by design|only \w+ed|never \w+ed|not (?:\w+ed|safe|available"
    r"|part|thread-safe|in (?:the )?`)))\b",
)
_JOINT = Words(
    r"\b(?:because|since|so that|due to|even though|although|whereas|unless|as a result"
    r"|which (?:means|causes|makes|breaks|requires)|meaning|otherwise|(?:was|were|had|\w+ed|now"
    r"|uses?) .{5,}(?:instead of|rather than))\b|[,;—–] (?:so|but|while|causing|leading to|breaking|leaving|making"
    r"|preventing|allowing)\b",
)
_NO_FACT = re.compile(
    r"[^\w`]*(?=[A-Za-z][a-z'’]*(?:[\s,:;]|$)|\()(?:add|fix|updat|remov|chang|ma[kd]e|us(?:e[ds]?|ing)\b|mov(?:e"
    r"|ing)|replac|renam|refactor|extract|creat"
    r"|implement|ensur|check|verif|test|run\b|ran\b|call|set\b|wrap|switch|simplif|delet|introduc|handl|convert"
    r"|keep|kept|skip|allow|prevent|avoid|improv|commit|merge|push|bump|return|pass|read|write|stor|show|display|strip"
    r"|fetch|load|pars|detect|render|generat|support|preserv|warn|log\b|logs\b|print|emit|report|clear|restor|track"
    r"|trust|treat|match|map\b|maps\b|filter\b|filters\b|find|get|give|hide|includ|exclud|initiali|inject|insert"
    r"|iterat|look|migrat|normali|open\b|opens\b|close\b|closes\b|pick|prefer|propagat|reject|retry|rewrit|sav(?:e"
    r"|ing)|send|serv(?:e|ing)\b|split|start|stop|sync|truncat|validat|work|should|would|could|see\b|no\b|yes\b"
    r"|(?:all|both) (?!(?:\S+ ){0,3}(?:`|now\b|use))|now\b|consider|instead|also\b|new\b"
    r"|old\b|before|after\b|if\b|when\b|for\b|in\b|with|without|let|i\b|we\b|you\b|however|similarly|same\b|your\b"
    r"|there\b|one\b|two\b|three\b|note\b|existing|current|looking|based|given|either|option|either|then\b|wait"
    r"|actually|confirm|clear|why\b|how\b|what\b|but\b"
    r"|appl(?:y|ied)|lines? \d|silent|never\b|always\b|only\b|automatically|\w+ed\b(?! (?:files?|code|hooks?"
    r"|sessions?))"
    r"|graceful|to answer|yes\b|\(\d|\d+[.)]|the (?:\w+ )?(?:tests?|fix|changes?|branch|pr|plan|user|issue|problem"
    r"|failures?|comment|reviewer|simplest"
    r"|solution|approach|question|goal|only (?:difference|remaining|thing|change)|diff|diagnostics?|linter|lsp)\b)",
    _I,
)
_WORK = Words(
    r"\b(?:(?:does not|doesn't|do not|don't|did not|didn't|won't) (?:need|have to|change|affect|match any)"
    r"|tests? (?:is |are |was |were |still |now |also )?(?:fail|pass|expect|need|should|us|check|verif|cover)\w*"
    r"|test_\w+|unused|lint (?:error|issue)s?|still (?:needs?|exists?|used|failing|works?)|to fix|needs? (?:to|more"
    r"|work|attention|clarif\w+|updat\w+|fix\w*|chang\w+)\b|need(?:s|ed)? (?:to )?"
    r"(?:be )?(?:updat|fix|chang|handl|add|remov|implement)\w*|not needed|no longer (?:needed|used|necessary)"
    r"|doesn't exist(?: yet)?|does not exist(?: yet)?|right now|line \d+|above|below|earlier|the (?:edit|diff|review"
    r"|reviewer|comment|suggestion|user|plan|pr|conflict)s?|merge conflict|rebase[ds]?|worth|nice|good|great|fine"
    r"|correct(?:ly)?|safe to|as expected|reasonable|minor|concern|redundant|(?:comment|review)s? \d|stale diagnostics?"
    r"|lint\b|yet\b|at the top|staged|will then|the fix|in scope|pull request|gopls|won't compile|compiles?"
    r"|import(?:ed|s)? and not|imports?\b"
    r"|nolint|todo|should|ought|have to|going to"
    r"|want|wants|asked|scenario|example|e\.g\.|for instance|would|edge case|step \d|phase \d|task \d|commit `)\b|\?",
)
_NO_SUBJECT = re.compile(
    r"[A-Z][a-z]+s (?:the|an?|all|any|each|every|errors?|only|directly|back|up|out|both|no|when|if|unless|instead)\b"
    r"|[A-Z][a-z]+s [`\"]"
    r"|[A-Z][a-z]+(?:ches|shes|fies|izes) (?!(?:in|are|is|of|that|with|now|do|don't|can|have|only|were|on|and) )[a-z]"
)
_RUN_ON = re.compile(
    r"#\d+\b|(?<![\w#-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|\bnow\b.*\bnow\b|\bNow\b"
    r"|[a-z]\)? [A-Z][a-z]+ \(`[^`]*`\) "
    r"|\bin all \d|^[^`]*with a note"
)
_MAY_RUN_ON = re.compile(r"\d|[nN]ow|\(`|with a note")
"""Whatever `_RUN_ON` finds has one of these, and most texts have none."""

_VAGUE_SUBJECT = re.compile(
    r"(?:the|a|an|one|each|every|all|two|three|four|five) (?:old |new |first |second |other |same |original |existing |"
    r"current |public |private |whole |entire )*([a-z]+) (?:only|always|never|now|then|still|already|also|does|do|is"
    r"|are|"
    r"was|were|has|have|had|can|could|cannot|will|would|must|should|doesn't|don't|isn't|aren't|wasn't|weren't|hasn't"
    r"|haven't|can't|couldn't|won't|didn't|did|gets?|got|[a-z]+(?:[^s\W]s|ed))\b",
    _I,
)
_AFTER_NAME = re.compile(r"^`?[\w./()-]+`?(?::| [-—–]) ")
_WILL = re.compile(r"\bwill\b", _I)
_STRICT = Words(
    r"\b(?:requires?|expects?|ignores?|rejects?|defaults? to|falls? back|overrides|relies on|assumes|only \w+s"
    r"|takes? precedence|bypass(?:es)?|swallows?|(?:does not|doesn't|cannot|can't|can not) (?:support|propagate|detect"
    r"|handle|work|include|return|recogni[sz]e|respect|read|parse|throw|provide|allow|know|track|preserve|accept))\b",
)
_TEST_NAME = re.compile(r"\bTest[A-Z]|[._]test\.\w|\.spec\.\w")
_TAIL = re.compile(
    r"(?:,| —| –|;) (?:so|and|which means|meaning) (?:no|it (?:did|does|is|'s|should|will|works|can)|it's|that's|this"
    r"|that|the (?:fix|change|test|plan|error|issue)|all|both|we|i|you|there|nothing|they|these|those|your)\b.*$",
    _I,
)
_PLACE = re.compile(
    r"\b(?:changes? (?:made|summary)?|files?|strength|verif\w*|test\w*|scenario|example|nit|step|option|alternativ\w*"
    r"|approach|suggest\w*|recommend\w*|pros|cons|timeline|question|todo|remaining|next|what (?:i|was)|before"
    r"|after|behaviou?rs?|interface|design\w*|propos\w*|requirements?|goals?|plan\w*|why (?:this|it|that) works"
    r"|mystery|flow|state|possible|potential|hypothes\w+|theory)\b",
    _I,
)
_PROBLEM_PLACE = re.compile(
    r"(?:the |actual |real |critical |key )*(?:root causes?|problems?|bugs?|issues?|why|findings?|key (?:insight"
    r"|finding)"
    r"s?|context|background|current (?:state|behaviou?r|issue))",
    _I,
)
_WRONG_PLACE = re.compile(r"(?:the |actual |real |critical |key )*(?:root causes?|problems?|bugs?|issues?)\b", _I)
_LEARNED = re.compile(
    r"\b(?:turns? out|turned out|note that|keep in mind|be aware|gotcha|caveat|importantly|interesting|key insight"
    r"|it seems (?:that )?`|lesson)\b|^(?:important|note|caveat|gotcha|warning|key insight|limitation)s?$",
    _I,
)
_ASKS = re.compile(r"\b(?:how|which|what|should|would|do you)\b[^.?\n]{3,200}\?\W*$", _I | re.MULTILINE)
"""Who asks lists what there is to choose from."""

_WAVERS = Words(
    r"\b(?:wait,? actually|let me re-?(?:read|think|check|trace)|hmm+,|no wait|but wait|scratch that"
    r"|ah,? i see it now)\b",
)
"""Who thinks aloud says what is not so, too."""

_OPEN_END = re.compile(r"(?:\b(?:the|a|an|to|of|and|or|with|by|in|is|are)|[,;:(—–-])\W*$", _I)
MIN_CHARS, MAX_CHARS = 45, 330
MIN_WORDS = 8
"""A shorter sentence without a reason says too little."""

MAX_END_CHARS = 12
MAX_SUBJECT_CHARS = 70
"""The name that a fact is about stands at its beginning."""


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """Facts in reports, commits and plans, and on the way where they come with their reason."""
    drafts: list[Draft] = []
    aftermath: Aftermath | None = None
    for said in scene.said:
        if said.is_user and not said.is_plan:
            continue
        is_report = said.is_final or said.is_plan
        if len(said.text) < MIN_CHARS or not (is_report or said.has_any(WORKING_CUES)):
            continue
        if not is_report and is_provisional(said):
            continue
        for sentence in said.sentences:
            text = _fact(sentence, said, is_report=is_report) if MIN_CHARS <= len(sentence.text) <= MAX_CHARS else ""
            if not text or (sentence.kind == "item" and _is_asking(said)):
                continue
            if not is_report and is_taken_back(said, scene):
                continue
            if not said.is_published and (_WAVERS.found(said.text) or is_disputed(text, scene)):
                continue
            aftermath = aftermath or Aftermath(scene)
            is_problem = said.is_plan or _WRONG_PLACE.match(sentence.heading) or _WRONG_PLACE.match(sentence.label)
            text, witnesses = aftermath.told(text, said, is_problem=bool(is_problem))
            if not text or (not witnesses and not said.is_published and BY_COMMIT not in text and is_gap(text)):
                continue
            drafts.append(
                Draft(
                    "failure" if BY_COMMIT in text else "discovery",
                    text,
                    [said.event],
                    witnesses=witnesses,
                    said=sentence.text,
                    context=context_of(sentence, scene),
                )
            )
    return drafts


def _is_asking(said: Said) -> bool:
    """Whether somebody is asked to choose: then a list is what there is to choose from."""
    return not (said.is_plan or said.is_published) and "?" in said.text and _ASKS.search(said.text) is not None


@lru_cache(maxsize=1024)
def _is_elsewhere(place: str) -> bool:
    """Whether a heading or label announces what is no fact: changes, tests, options."""
    return _PLACE.search(place) is not None


def _has_vague_subject(plain: str) -> bool:
    """Whether a text speaks of "the key" or "the script" before it has named anything."""
    subject = _VAGUE_SUBJECT.match(plain)
    return subject is not None and subject[1].lower() not in anchors.PRODUCTS


def _names_first(plain: str) -> bool:
    """Whether a name stands near the beginning of a sentence."""
    code = plain.find("`")
    if 0 <= code <= MAX_SUBJECT_CHARS:
        return True
    if not anchors.may_be_strong(plain[:MAX_SUBJECT_CHARS]):
        return False
    subject = anchors.STRONG.search(plain, 0, 2 * MAX_SUBJECT_CHARS)
    return subject is not None and subject.start() <= MAX_SUBJECT_CHARS


def _fact(sentence: Sentence, said: Said, *, is_report: bool) -> str:
    """The fact that a sentence states, impersonal; "" where it states none, or one about the work."""
    text = sentence.text
    if text[-1] in "?:" or "→" in text or not sentence.has_any(CUES) or not _stands_right(sentence, said):
        return ""
    plain = whole = sentence.plain
    if not _begins_right(plain):
        return ""
    if "," in plain or "—" in plain or "–" in plain or ";" in plain:
        plain = _TAIL.sub("", plain)
    name = _AFTER_NAME.match(plain)
    if name and (_NO_FACT.match(plain, name.end()) or len(plain) - name.end() < MIN_CHARS):
        return ""
    if len(plain) < MIN_CHARS or _OPEN_END.search(plain[-MAX_END_CHARS:]):
        return ""
    plain = without_lines(plain)
    is_told = _is_told(plain, sentence, is_report=is_report) and not _runs_on(whole)
    return impersonal(plain) if is_told else ""


def _stands_right(sentence: Sentence, said: Said) -> bool:
    """Whether facts are told at that place; in a plan only what is said to be wrong, and the background."""
    if _is_elsewhere(sentence.heading) or _is_elsewhere(sentence.label):
        return False
    return not said.is_plan or _PROBLEM_PLACE.match(sentence.heading) is not None


def _begins_right(plain: str) -> bool:
    """Whether a sentence begins with what it is about, a name among it."""
    if _NO_FACT.match(plain) or not _names_first(plain):
        return False
    return not (_NO_SUBJECT.match(plain) or _has_vague_subject(plain))


def _runs_on(plain: str) -> bool:
    return _MAY_RUN_ON.search(plain) is not None and _RUN_ON.search(plain) is not None


def _is_told(plain: str, sentence: Sentence, *, is_report: bool) -> bool:
    """Whether a sentence states a limit or gives a reason, and speaks of the thing and not of the work on it."""
    joint = _JOINT.found(plain)
    if is_report:
        is_wrong = _WRONG_PLACE.match(sentence.heading) and NEGATIVE.found(plain)
        is_told = joint or is_wrong or _LIMIT.found(plain) or _is_learned(sentence)
    else:
        is_told = (joint and _LIMIT.found(plain)) or _STRICT.found(plain) or _is_learned(sentence)
    if not is_told or _WORK.found(plain) or _TEST_NAME.search(plain) or (_WILL.search(plain) and not joint):
        return False
    return joint or len(plain.split()) >= MIN_WORDS or _is_learned(sentence)


def _is_learned(sentence: Sentence) -> bool:
    return _LEARNED.search(sentence.text) is not None or _LEARNED.match(sentence.label) is not None
