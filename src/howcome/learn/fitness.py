"""What makes a text fit to be a memory: a statement of fact that stands by itself."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.quick import Words

_I = re.IGNORECASE
_AT = re.compile(r"(?<![\w`./@])@(?!\w[\w-]*/)[a-z][\w-]*(?![\w/]*\()")
_LEFT_I = re.compile(
    r"\b(?:I|I'm|I'd|I'll|I've|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Ww]e're|[Ww]e've|[Uu]s|[Oo]urs?"
    r"|[Oo]urselves|[Yy]ou|[Yy]ours?|[Yy]ourself)\b(?!/)"
)
_QUESTION = re.compile(
    r"\?|^(?:should|could|can|would|do|does|did|is|are|was|were|what|why|how|which|who|when|where|shall|may"
    r"|will) (?:the|we|i|you|it|there|this|that|our|a|an)\b",
    _I,
)
_DOUBT = Words(
    r"\b(?:maybe|perhaps|probably|likely|possibly|presumably|seems?|seemed|appears? to|i think|i believe"
    r"|i guess|i suspect"
    r"|not sure|unclear|assum(?:e|ing)|suppose|if we|let's|let me|let us|want me to|shall|i'd|i'll|we'll|one option"
    r"|options?|alternatively|suggest(?:s|ed|ion)?|propos(?:e|al|ed)|recommend(?:s|ed|ation)?|hypothes\w+"
    r"|theor(?:y|ies)|in theory|consider"
    r"|ideally|wonder\w*|either way|tbd|suspect(?:ed)?|looks like|would've|hopefully|guess|hunch)\b",
)
_MODAL = re.compile(r"\b(?:could|would(?:n't)?|might|may (?!\d)|potential(?:ly)?|you could)\b", _I)
_RECORDING = Words(
    r"\b(?:stored? (?:the |my |these )?(?:findings|memor|notes)|saved? (?:this |it |these )?(?:to"
    r"|in) memory|recorded|noted down|analy[sz]ed the|reviewed the"
    r"|documented (?:the|my)|wrote (?:it|this) down|added (?:it |this )?to (?:my |the )?(?:memory|notes)"
    r"|summari[sz]ed|explored the|investigated the"
    r"|todo list|task list|all (?:\d+ )?(?:the )?(?:unit |integration )?tests? (?:now )?pass|tests? pass"
    r"|lint (?:is )?clean|committed (?:as|and)|pushed)\b",
)
_DANGLING_START = re.compile(
    r"(?:(?:doesn't|does|do|don't|isn't|is|are|was|were|had|has|have|didn't|caused|clear|value|because|so"
    r"|if (?:this|that|it)|need|needed|found|discovered|turns|looks|got|when (?:it|this|that)|once"
    r"|validates|uses|returns|checks|adds|ensures|handles|reads|writes|creates|makes|keeps|stores|calls"
    r"|gets|sets|allows|prevents|avoids|updates|removes|supports|provides|takes|gives|shows|runs|fails"
    r"|failed|falls|does|specifically)|this|that|these|those|it|it's|its|they|they're|their|them|here"
    r"|here's|there|he|she|such|same|both|neither|either|another|each|all of"
    r"|one of|the (?:first|second|third|last|other|latter|former|same|next|previous|above|following|rest"
    r"|remaining|only|one|ones|two|three|four|five)"
    r"|first|second|third|finally|lastly|otherwise|instead|which|where|when this|if this|since this|because"
    r"|after this|with this|for this"
    r"|in this|by doing|doing (?:this|that|so)|not |only |\d+[.)]|step \d|more|most|other|others|some|none"
    r"|everything|nothing|now)\b",
    _I,
)
_ONLY_THERE = re.compile(
    r"the (?:issue|problem|bug|fix|change|solution|approach|failure|error|crash|cause|above|plan)s?\b", _I
)
_GENERIC = (
    "issue|problem|bug|fix|change|changes|above|error|errors|failure|failures|crash|approach|solution|test"
    "|tests|file|files|function|method|code"
    "|call|callers?|caller|line|lines|value|values|check|branch|logic|behavior|behaviour|plan|task|step"
    "|comment|comments|pr|review|reviewer|diff"
    "|commit|feature|user|message|output|result|results|option|options|script|command|condition|loop|field"
    "|fields|variable|parameter|argument"
    "|class|module|package|block|section|table|list|struct|type|string|object|response|request|hook|hooks"
    "|handler|agent|session|sessions|state"
    "|linter|compiler|build|query|column|entry|entries|page|component|button|refactor|implementation|data"
    "|content|case|cases|guard|path|flag|setting|config"
)
_DEFINITE = re.compile(
    r"\b(?:the|that|this|these|those|both|old|new|original|existing|current|previous) (?:(?:old|new"
    r"|original|existing|current|previous|same|actual|real|other|whole|entire|last|first|second|underlying"
    rf"|above|below|following|latter|former|two|three|failing|failed|broken"
    rf"|affected|relevant|remaining) )*(?:{_GENERIC})\b(?! (?:`|of\b|in `"
    r"|for `|in \w+\.\w|named|called|that\b|which\b|(?-i:[A-Z][A-Z]|[A-Z][a-z]+[A-Z])|\w+_))",
    _I,
)
_DEMONSTRATIVE = re.compile(
    r"\b(?:this|these|those|the above|the below|above|below|aforementioned|the following|the former"
    r"|the latter)\b(?! (?:project|repo|repository|codebase|machine|app|file|package|crate|module|team"
    r"|workspace|monorepo|service)\b| cases\b| (?-i:[A-Z]{2,}|`))",
    _I,
)
_THAT = re.compile(
    r"\b(?:do|does|did|done|doing|of|for|to|with|by|like|is|was|about|from|in|after|before|than|fix|fixes"
    r"|fixed|and|but|handle|handles) (?:this|that|it|so)\b(?=[.,;:]|$)",
    _I,
)
_REFERENCE = re.compile(
    r"\b(?:(?:option|task|comment|issue|item|phase|step|bug|opt|point|finding|case|approach|commit|fix|part"
    r"|round|batch|question|scenario|problem|concern|change|gap) #?(?:\d+|[A-F])\b|#\d{1,2}\b(?!\d)"
    r"|(?:earlier|as (?:discussed|mentioned|noted|described|planned|requested)|previously|aforementioned"
    r"|you (?:asked|mentioned|said|requested)|the user('s)? (?:asked|wants|wanted|said|request))"
    r"|see (?:above|below)|listed|my (?:changes?|edits?|fix)|(?:the|this) (?:plan|pr|mr|review|reviewer"
    r"|session|conversation|task|thread|ticket|issue|diff|screenshot)\b(?! (?:`|\w+_)))",
    _I,
)
_EXAMPLE = re.compile(
    r"[\"“']abc\d*[\"”']|\b(?:either|neither|both) (?:steps?|ways?|cases?|sides?|paths?|of them)\b"
    r"|\blines? \d+ ?[-–] ?\d+|\bin all the \w+ tests\b"
    r"|\b(?:[Ss]ession|[Uu]ser|[Ww]orker|[Bb]ranch|[Pp]rompt|[Cc]lient)s? [A-D1-4]\b|^In [^,]+, when \w+ing [^,]*\.$"
)
"""A made-up scenario, or one of two that its neighbours name."""

_CUT_OFF = re.compile(
    r"(?:\b(?:etc|because|since|when|and|or|the|an?|to|that|which|with|for|of|as|by|if|but|follows?|e\.g|is"
    r"|are)|:)\W*$",
    _I,
)
_VERB = Words(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|will|must|should|may|be|been|being|needs?"
    r"|chosen|use[sd]?|prefer\w*|always|never|keep|run|went|got|set|puts?|left|lets?|gets?|sees?|reads?"
    r"|writes?|comes|goes|lacks?|made|makes?|became|broke|lost|fell|threw|throws|hung|kept|held|said|took"
    r"|gave|began|led|sent|built|ran|wrote|only)\b"
    r"|n['’]t\b|`X` \w+(?:s|ed)\b|\b\w{2,}ed\b|\b[a-z]+(?:ates|izes|ises|ifies|urns|alls|ails|ores|ints"
    r"|ints|ists|ites|aces|ects|ends|akes|ives|oads|inds|ides|ains|eeds|ixes|ashes|atches|irects|erts|esses"
    r"|orks|ocks|ips|ogs|uns|ows|ets|eaks|ags|eates|ires|ocesses|ests|ams|ands|ears|orts|rops|ores|esolves"
    r"|arses|ches|uses|ends|epts|ates)\b",
)
_PRONOUN = re.compile(r"\b(?:it|they|its|their|them)\b", _I)
REASON = " Reason: "
"""What stands between a choice and its reason."""

_JOINED = re.compile(
    r"(?:\b(?:because|when|if|so|but|and|that|since|as|where|while|until|unless|after|before|which|what"
    r"|then|though|than|once|why|or|how)|[,;:(—–-])\s*$",
    _I,
)
_SUBJECT = re.compile(r"(?:the|an?|all|every|each|new|no) [\w-]+ [\w-]+.{8,}|[A-Z][\w-]+ .{12,}", _I)
_ANSWERING = re.compile("“[^”]{8,}”(?::| because| since| as)")
_MARK = "[redacted"
_BACKTICKED = re.compile(r"`[^`]*`")
_QUOTED = re.compile("“[^”]*”")


def fault(text: str, *, is_wish: bool = False, is_known_whole: bool = False) -> str:
    """Why a text (one or more sentences, already impersonal) is no memory; "" when it may be one.

    `is_wish`: it is a rule that somebody laid down: "should" and the like are its point.
    """
    bare = _QUOTED.sub("", _BACKTICKED.sub(lambda match: "X" * min(len(match[0]), 12), text))
    if len(text) < candidates.MIN_TEXT_CHARS or len(bare.split()) < 4:
        return candidates.TOO_SHORT
    if len(text) > candidates.MAX_TEXT_CHARS:
        return candidates.TOO_LONG
    if _MARK in text:
        return candidates.SECRET
    if not is_wish and not _VERB.found(_BACKTICKED.sub("`X`", text)):
        return candidates.NOISE
    reason = "" if is_known_whole else _unfit(bare, is_wish=is_wish)
    if reason:
        return reason
    if not anchors.is_technical(text):
        return candidates.NOT_TECHNICAL
    is_whole = is_known_whole or not (_hangs(text) if is_wish else dangles(text))
    return "" if is_whole else candidates.NOT_SELF_CONTAINED


def _unfit(bare: str, *, is_wish: bool) -> str:
    """Why a text is no statement of fact; "" when it is one."""
    if _QUESTION.search(bare):
        return candidates.QUESTION
    if _DOUBT.found(bare) or (not is_wish and _MODAL.search(bare.partition(REASON)[0])):
        return candidates.HYPOTHETICAL
    if _RECORDING.found(bare):
        return candidates.RECORDING
    return candidates.PERSONAL if is_personal(bare) else ""


def is_personal(text: str) -> bool:
    """Whether a text still speaks of somebody."""
    return _LEFT_I.search(text) is not None or _AT.search(text) is not None


def _hangs(text: str) -> bool:
    """Whether a rule somebody laid down hangs on its neighbours: rules speak of "the" anything."""
    bare = _BACKTICKED.sub("`X`", text)
    return bool(
        _DEMONSTRATIVE.search(bare)
        or _CUT_OFF.search(bare)
        or re.match(r"(?:it|its|they|them|that|this|these|those|here|there|same|both|one)\b", bare, _I)
    )


def starts_open(text: str) -> bool:
    """Whether a text begins with what stands for something said before: no name put before it makes that clear."""
    return _DANGLING_START.match(text) is not None or _ONLY_THERE.match(text) is not None


def dangles(text: str) -> bool:
    """Whether a text hangs on something that only its neighbours name."""
    if REASON in text:  # what was chosen is named, and a reason speaks of it
        return _hangs(text.partition(REASON)[0])
    bare = _BACKTICKED.sub("`X`", text)
    if _DANGLING_START.match(bare) or _REFERENCE.search(bare) or _DEMONSTRATIVE.search(bare) or _THAT.search(bare):
        return True
    if (
        _EXAMPLE.search(bare)
        or _CUT_OFF.search(bare)
        or "→" in bare
        or bare.count("(") != bare.count(")")
        or text.count("`") % 2
    ):
        return True
    if _ANSWERING.match(text):
        return False
    definite = _DEFINITE.search(bare)
    if definite and not anchors.STRONG.search(bare[: definite.start()]):
        return True
    for match in _PRONOUN.finditer(bare):
        before = bare[: match.start()]
        names = len(anchors.STRONG.findall(before))
        if not names and not _SUBJECT.match(before):
            return True
        if names == 1 and match[0].lower() in ("it", "them") and not _JOINED.search(before):
            return True
    return False
