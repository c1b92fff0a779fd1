"""What a finding has to be besides fit: a whole sentence about something named, true beyond its session, no change."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.quick import Words

_I = re.IGNORECASE
_LEAD = re.compile(r"(?:(?:Root cause|Problem|The cause[^:]{0,90}): )")
_MARK = re.compile(
    r" \((?:fixed on|before the change of) [\d-]+(?:, in the tests)?\)|(?: Fixed| Mended) by the commit “.*$| Fix: .*$"
)
NEGATIVE = Words(
    r"\b(?:not|never|n't|cannot|ignor\w+|silently|swallow\w*|los[et]\w*|fail\w*|br(?:eaks?|oken?)|crash\w*|wrong\w*"
    r"|missing|leak\w*|bypass\w*|stale|lacks?|race|duplicat\w*|overwr\w+|instead of|no (?:way|check|error)|without"
    r"|hard-?coded|incorrect\w*|drops?|dropped|skip(?:s|ped)|problem|cause|stuck|hang\w*|too)\b|n't\b"
)
"""What a statement of a problem has."""

_SUBJECTLESS = re.compile(
    r"(?:requires?|defaults?|applies|detach|return|fall|use|stay|depend|need|switche|check|handle|read|write|create"
    r"|break|show|run|keep|work|get|set|call|add|make|take|give|expect|ignore|reject|override|fail|move|remove"
    r"|prevent|ensure|allow|avoid|skip|emit|print|matche|follow|provide|clear|delete|hide|expose|wrap|parse|load|save"
    r"|send|mirror|mean)s\b|(?:fixes|applies|detaches|switches|matches|handles)\b"
    r"|(?:simpl(?:er|e)|stable|cleaner|faster|slower|safer|easier|harder|clear|extremely|reset|natural|good|bad"
    r"|data structure|missing|any|users?|you|follows|swapped|fixes)\b",
    _I,
)
_BEGINS_WRONG = re.compile(
    r"[A-Z]\. |`[a-z]+-[A-D1-3]`|\d+ |When [^,]+(?:\([^)]*\))?, (?:falls|returns|uses|shows|skips|goes)\b"
    r"|[^`]{3,40}\([-+]?\d+ (?:and|,) |[\"(]|“(?![^”]*”(?::| because))|(?:(?!only |is |are "
    r"|\w+n't )\S+ ){0,2}\S+ \([^()]*\)\.?$|`[^`]+` [-—–] (?:[A-Z`]|an? |what |used )|[A-Z][a-z]+'s "
    r"|[Dd]iff\(|(?:[Tt]he )?`?(?:\S+/)?(?:\.gitignore|README\.md|index\.\w+|__init__\.py)`? |(?:[Aa]ll|both|each"
    r"|every) (?:\d+ )?(?:of |the )?(?:bugs?|issues?|problems?|failures?|callers?|errors?)\b",
)
_GLUED = re.compile(r"(?:[a-z]`|\.\w+`|\)) (?:When|If|The|This|Each|All|Since|It|Only)\b|[a-z] - (?:what|Specific)\b|←")
_CODE = re.compile(r"`[^`]*`")
_ARTICLED = re.compile(r"(?:the|an?|this|each|every) ", _I)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|will|must|should|only|never|always|now|already|also"
    r"|still|got|gets|ran|went|exactly|\w+n['’]t|[a-z]+(?:[^s\W]s|ed))(?=[\s,])"
)
_COINED = re.compile(
    r"`[^`\n]{2,}`|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+_\w+|(?<!\w)--[a-z]"
    rf"|\b[A-Z][A-Z_]+_[A-Z]\w*|{anchors.FILE.pattern}"
)
_PROPER = re.compile(r"(?<=[\w,] )[A-Z][a-z]\w+")
_ONE_OF_ITS_KIND = re.compile(
    r"(?:the |a )(?:`[^`]+` )?(?:[\w-]+ )?(?:pre-commit|pre-push|post-commit|commit-msg|linter|typecheck|formatter|ci"
    r"|lint)\b",
    _I,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer) (?!requires?\b|exists?\b)(?:\w+ )?(?:\w+s|\w+ed|to|in|directly|use|have|include|go|get|be"
    r"|stay|share|show|run)\b|\b(?:was|were|has been|have been|is|are) (?:also )?(?:replaced|removed|renamed"
    r"|moved|added"
    r"|updated|extracted|dropped)\b|^`[^`]+` removed\b|\breplaced with\b|^(?:moving|swapping|the (?:new"
    r"|refactor\w*))\b",
    _I,
)
_STORY = Words(
    r"\b(?:original (?:code|implementation|version)|(?:recent|latest|older|newer) (?:commit|change"
    r"|binary|build|version)"
    r"|refactoring|key insight|the new \w+|we|let|in the current|these tests|during review|this change|the two"
    r"|both modes|either mode|so it's|it's called|same (?:issue|problem|bug|way|failure|approach|pattern)"
    r"|by the \w+ change|call sites|the (?:caller|framework|parent|child|other)'s|reusable|is still \w+"
    r"|generous|reasonable|acceptable|good enough|only shows \d+"
    r"|(?:doesn't|don't|does not) need|will be (?:incomplete|empty|wrong|missing)|(?:is|gets?|are) reused)\b",
)
"""What belongs to one day's work: what was there before, what is looked at, whether it will do."""

_HASH = re.compile(r"(?<![\w#-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|\(\d+ bytes\)")
_NIT = Words(
    r"\b(?:nolint|biome|eslint|staticcheck|gofmt"
    r"|lint|linter|diagnostics?)\b.*\b(?:flag(?:s|ged|ging)?|complain\w*|failing|wants?|wrapping|unnecessary)\b"
    r"|\bneeds its own declaration\b|\bmissing .{0,14}import\b|\b(?:properly|correctly) narrowed\b|\bexplicit typing\b"
    r"|\btyped as\b|\btypescript error\b|\bts error\b|\bunconditionally set to\b|\bvariables? shadow\w*\b"
    r"|\bimport(?:ed|s)? and not used\b|\bduplicat\w+ between\b",
)
"""What a compiler or a linter says of work in progress: nobody needs it once it is done."""

_SYMPTOM = re.compile(
    r"(?:(?:when )?running |`[a-z][\w-]*(?: [\w<>./-]+)+`(?: [^`]{0,30})? (?:overwrites|fails|breaks|crashes|was"
    r"|were|is"
    r"|shows?|showed|does|doesn't|leaks?|leaked|hangs|prints?)\b|the \S+ (?:setting|option|flag) \()",
    _I,
)
MIN_LEAD_CHARS = 5
"""A "When" that a sentence begins with gives no reason."""

_FAILS_WITH = re.compile(r"[A-Z]\w+ fails with\b|When [^,]+(?:\([^)]*\))?, [^,]*\b(?:don't|doesn't|aren't|isn't)\b")
_WHEN_NOW = re.compile(r"(?:When|If|Since) (?!.*\b(?:was|were|did|didn't|had)\b).*\bnow\b")
_FAULT = re.compile(
    r"\b(?:refus\w+|differs?|rejects?|ignores?|strips?|compares?|was|were|had|did|didn't|wasn't|weren't|couldn't"
    r"|failed|fell|broke|lost|leaked|missing|missed|because|never|always"
    r"|doesn't|does not|isn't|still|wrong)\b",
    _I,
)
_CAUSAL = Words(
    r"\b(?:because|since|due to|caused by|so that|as a result of|even though|unless)\b",
)
_GAP = Words(
    r"\b(?:doesn't|don't|does not|do not|isn't|aren't|is not|are not|never|won't|ignores?|also only|only|misses|lacks?"
    r"|without|no|hard-?coded|always|returns early|can return|dropped|dropping"
    r"|regardless|hardcodes?|breaking|silently)\b",
)
_SINCE_WHEN = re.compile(r"\bsince (?:the )?(?:last|first|then|start|v?\d)", _I)
_ONLY_IF = re.compile(r"\bonly \w+.{0,60} (?:if|when|after)\b", _I)
_PRODUCT = re.compile(
    r"(?:The )?`[a-z][a-z0-9-]{2,}` (?!field|func|prop|param|col|effect|helper|flag)|[A-Za-z][\w-]+'s `"
    r"|[A-Z][a-z]\w+ do(?:es)?\b",
)
"""A tool, a library or a product: a plain word where the project's own names are joined."""

_REASONED = Words(
    r"\b(?:because|since|due to|so|by design|intentional\w*|deliberate\w*|best-effort|to (?:avoid|prevent|keep)|unless"
    r"|even though)\b",
)
_OUTSIDE = re.compile(
    r"(?:the |a )?[A-Z][a-z]\w*(?: [A-Z]\w*| CLI| tokens| v[\d.]+)*(?:'s \S+ \S+)? (?:only |now )?(?:supports?"
    r"|doesn't|does not"
    r"|cannot|can't|requires?|expects?|uses|loads|be )\b",
)
_FOREIGN = re.compile(
    r"(?:the |running |commands in )?`(?:git|gh|go|npm|npx|bun|yarn|pnpm|docker|make|cargo|pip|uv|python|node|os"
    r"|io|http"
    r"|json|fmt|time|path|exec|if|for|set|strings|sync|sys|re)(?:[ .`]|\w* )",
    _I,
)
_RATED = re.compile(r"\((?:low|medium|high|minor|nit|critical)\b|\b(?:well|poorly)\.$", _I)
_LOOSE = re.compile(
    r"\bthe (?:existing |new |old |current |whole |same )?(?:function|method|test|command|script|message|warning"
    r"|hook|handler"
    r"|check|field|class|query|state|output|error|call|loop|change)\b(?! (?:`|of\b|in\b|for\b|to\b|that\b|[A-Z]))",
    _I,
)
_REMEDY = re.compile(r"\bnow\b|\bshould never\b|\bgets? silently fixed\b|\bdescriptive error\b", _I)
_TESTING = re.compile(r"\btest(?:s|ing)? (?:expect|check|is|are|was|were|need|harness|data)|\bexpectations?\b", _I)


def stem_of(text: str) -> str:
    """A finding without "Root cause:" before it, and without what became of it behind it."""
    return _MARK.sub("", _LEAD.sub("", text, count=1))


def is_about_another(text: str) -> bool:
    """Whether a statement tells what a product does or lacks: no change of this project mends that."""
    stem = stem_of(text)
    return _OUTSIDE.match(stem) is not None or _FOREIGN.match(stem) is not None


def is_one_of_its_kind(text: str) -> bool:
    """Whether it is about a thing that a project has one of: its linter, its hook."""
    return _ONE_OF_ITS_KIND.match(stem_of(text)) is not None


def is_gap(text: str) -> bool:
    """Whether a text says what the project's own code lacks, and gives no reason: whoever saw that may mend it."""
    if not _GAP.found(text) or _REASONED.found(_SINCE_WHEN.sub("", text)) or _ONLY_IF.search(text):
        return False
    return not (is_about_another(text) or _PRODUCT.match(text))


def unsound(text: str) -> str:
    """Why a finding is none worth keeping, as a reason of `candidates.REASONS`; "" when it is."""
    stem = stem_of(text)
    stem = stem[:1].upper() + stem[1:]
    if _is_fragment(stem) or _is_unnamed(stem) or _is_loose(stem) or _RATED.search(stem):
        return candidates.NOT_SELF_CONTAINED
    if _STORY.found(stem) or _HASH.search(stem) or _CHANGE.search(stem):
        return candidates.ONE_OFF
    if _NIT.found(stem) or _TESTING.search(stem):
        return candidates.NOISE
    is_told = stem != text or stem.startswith(("When running", "Running"))
    is_symptom = (is_told and _SYMPTOM.match(stem)) or _FAILS_WITH.match(stem)
    return candidates.UNSURE if is_symptom and not _CAUSAL.found(stem[MIN_LEAD_CHARS:]) else ""


def unsound_failure(text: str) -> str:
    """The same for a failure that the agent told of: what was wrong is in it, not only what was done."""
    stem = stem_of(text)
    if _is_fragment(stem) or _is_loose(stem) or (stem != text and _is_unnamed(stem)):
        return candidates.NOT_SELF_CONTAINED
    if _STORY.found(stem) or _TESTING.search(stem):
        return candidates.ONE_OFF
    remedy = _REMEDY.search(stem)
    is_remedy = remedy is not None and not _FAULT.search(stem[: remedy.start()])
    return candidates.NO_FIX if is_remedy or _WHEN_NOW.match(stem) else ""


def unsound_answer(text: str) -> str:
    """The same for what answers somebody who asked for a cause: what it is about, the question says."""
    stem = stem_of(text)
    if _is_fragment(stem[:1].upper() + stem[1:]):
        return candidates.NOT_SELF_CONTAINED
    return candidates.NOISE if _NIT.found(stem) or _TESTING.search(stem) or _STORY.found(stem) else ""


def _is_loose(stem: str) -> bool:
    """Whether it speaks of "the function" before it has named one."""
    loose = _LOOSE.search(_CODE.sub(lambda match: f"`{'X' * (len(match[0]) - 2)}`", stem))
    return loose is not None and not _COINED.search(stem[: loose.start()])


def _is_fragment(stem: str) -> bool:
    is_begun = stem.startswith("`") or not _SUBJECTLESS.match(stem)
    return not is_begun or bool(_BEGINS_WRONG.match(stem) or _GLUED.search(stem) or "→" in _CODE.sub("", stem))


def _is_unnamed(stem: str) -> bool:
    """Whether it begins with "the" something that nothing in it names."""
    article = _ARTICLED.match(stem)
    if not article or _ONE_OF_ITS_KIND.match(stem):
        return False
    bare = _CODE.sub(lambda match: f"`{'X' * (len(match[0]) - 2)}`", stem)
    verb = _VERB.search(bare, article.end())
    if verb and verb.start() == article.end():  # "the configured …"
        verb = _VERB.search(bare, verb.end())
    subject = stem[: verb.start()] if verb else stem[:60]
    return not (_COINED.search(subject) or _PROPER.search(subject))
