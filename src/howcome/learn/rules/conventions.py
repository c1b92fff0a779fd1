"""Conventions that a person stated: rules that hold for good, no orders for this task."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.quick import Cues
from howcome.learn.rewriting import finished, impersonal, without_you
from howcome.learn.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "always", "never", "from now on", "going forward", "don't", "do not", "we use", "we only", "we ", "prefer",
    "every ", "each ", "whenever", "must", "forbidden", "this project", "this repo", "codebase",
    "convention", " rule", "make sure", "should", "want", "as we ", "because",
    "remember that", " here", "no ", "avoid", "all ", "immer", "nie", "ab jetzt", "ab sofort",
    "wir ", "toujours", "jamais", "désormais", "siempre", "nunca", "a partir de ahora", "总是", "永远", "不要",
    "从现在", "必须", "禁止", "始终",
)  # fmt: skip
MAX_WHOLE_CHARS = 400
"""In a short prompt every sentence is looked at: the word that makes one a rule may stand in the next."""

_GOOD = r"(?:always|never|only|strictly|consistently)"
_DOES = (
    "use|wrap|pin|log|squash|prefer|follow|name|keep|store|put|write|run|test|deploy|commit|release|tag"
    "|branch|format|require|want|rely|call|mock|document|version|encode|validate|return|throw|raise|handle"
    "|merge|rebase|generate|target|support|ship|import|export|add|avoid|stick|sort|indent|lint|declare|load"
    "|read|inject|separate|cache|build|review|bump|sign|publish"
)
_PLACE = (
    r"(?:in (?:this|our|the) (?:\w+ )?(?:project|repo|repository|codebase|monorepo|workspace|package|team"
    r"|crate|module|app|service|company)|here)"
)

_ORDER = re.compile(
    r"^(?:please )?(?:always|never|only (?=\w+ .*\b(?:never|not)\b)|(?:do not|don't|avoid|no) .+?\b(?:ever"
    r"|anywhere|everywhere|any ?where"
    r"|in (?:the|our|any|all|this) [\w./-]+(?: \w+)?|outside(?: of)?|unless|without|except)|don't ever"
    r"|do not ever|only ever)\b",
    _I,
)
_DO_INSTEAD = re.compile(
    r"(?:^|!+\s+)(?:please )?(?:do not|don't|never|avoid) (?:use|put|add|import|call|write|mock|commit|log"
    r"|catch|hard-?code|store|rely on)\b.{3,120}?(?:,|;| -| —) ?(?:use|it belongs|they belong|put|prefer"
    r"|always|it goes|they go|import|call|write|we (?:use|have|prefer|keep|put))\b",
    _I,
)
_WE = re.compile(
    rf"\bwe (?:{_GOOD} )?(?:{_DOES})\b|\bwe (?:do not|don't|never) (?:{_DOES}|do|have|allow|touch|edit|push"
    r"|catch|swallow|hard-?code|inline|skip)\b",
    _I,
)
_WE_STRICT = re.compile(
    rf"(?:^|, |; |and |but )we (?:{_GOOD}|do not|don't) (?:{_DOES}|do|have|allow|touch|edit|push|catch"
    r"|swallow|hard-?code|inline|skip)\b",
    _I,
)
_FROM_NOW = re.compile(
    r"\b(?:from now on|going forward|from here on|as a rule|by convention|in future(?=[,:])|(?:the"
    r"|our) (?:convention|rule|policy|standard) (?:here )?is(?: that)?|as a standing rule"
    r"|for the future(?=[,:]))\b[,:]?\s*(?P<rule>.+)",
    _I,
)
_EACH_TIME = re.compile(
    r"^(?:please )?(?:whenever|each time|every time|any ?time|before|after|when) (?:you|we|somebody|someone"
    r"|one)\b.{3,160}?(?:,| then|:)? ?(?:always |never |also |please |first )?(?:run|write|add|update|bump"
    r"|use|check|create|make|regenerate|rebuild|commit|put|call|document|test|ask|don't|do not|never"
    r"|always)\b",
    _I,
)
_EVERY = re.compile(
    r"^(?:and |please )?(?:every|each|all|any|new) (?:new )?[\w`'’./<>()-]+(?: [\w`'’./<>()-]+){0,6}? "
    r"(?:needs?|must(?: not)?|has to|have to|gets?|should(?: always| never)?|requires?|go(?:es)? (?:in|into"
    r"|under|through|behind)|live in|lives in|belongs? in|is|are always|are never|is always|is never) ",
    _I,
)
_STATE = re.compile(
    r"^(?!(?:unlike|because|since|if|while|so|as|which|although|though|looking"
    rf"|like)\b)[\w`'’./<>()@-]+(?: [\w`'’./<>()@-]+){{0,5}}? (?:(?:is|are) (?:always|never|only|forbidden"
    r"|not allowed|named|called|written|kept|stored|formatted|generated|prefixed|versioned|UTC)"
    rf"|{_GOOD} (?:come|go|live|belong|start|end|use|have|get|run|return|take)s?|must(?: not| never"
    r"| always)?|lives? in|belongs? (?:in|to)|goes? (?:in|into|through)|uses?) ",
    _I,
)
_GOOD_WORD = re.compile(rf"\b(?:always|never|forbidden|not allowed|must|no-go|only|{_PLACE})\b", _I)
_PREFER = re.compile(
    r"\b(?:i|we) (?:always |strongly |really |generally )?prefer (?P<what>[^.]{4,120}?(?: over | to "
    r"| instead of | rather than )?.+)",
    _I,
)
_REMEMBER = re.compile(
    r"^(?:please )?(?:remember|keep in mind|note|bear in mind)(?: always)?(?: that"
    r"|:) (?P<rule>.+\b(?:needs?|must|require[sd]?|always|never|only|has to|have to|run|runs|use|uses|is"
    r"|are)\b.+)",
    _I,
)
_NOT_BUT = re.compile(
    r"^[\w` ./-]{3,60} (?:here )?(?:use|uses|are written (?:in|with)|run on"
    r"|go through) [\w`./ -]{2,50}, (?:not|never) ",
    _I,
)
_TELL = re.compile(
    r"^(?:can you |could you |please |pls )*(?:update|add (?:it )?to|change|edit|put (?:it )?in(?:to)?"
    r"|note in|document in|write (?:it )?(?:in|into|to)|extend) (?:the |our )?(?:`?(?:claude|agents|contributing"
    r"|gemini|cursor)(?:\.md|rules)?`?)(?: file)?,? (?:to say |so |saying |with )?(?:that )?(?:it )?(?=we\b|you\b"
    r"|all\b|always\b|never\b|every\b|\w+ (?:should|must)\b)",
    _I,
)
_WANTED = re.compile(
    r"(?:^|, |and |but )we (?:(?:do not|don't|never) want (?:to |any )|only want )\w+.{8,}"
    r"|\bin (?:this|our) (?:repo|repository|project|codebase) we (?:want|need|have) to .{8,}"
    r"|^we (?:explicitly|deliberately|intentionally) (?:cho\w+|use|keep|do|don't|decided|avoid)\b.{8,}",
    _I,
)
_MAKE_SURE = re.compile(
    r"\b(?:make sure|ensure)(?: that)?(?: we(?:'re| are)?)? (?P<rule>.*\b(?:everywhere|always|never"
    r"|whenever|throughout|consistent\w*|across the)\b.*)",
    _I,
)
_SHOULD = re.compile(
    r"^(?:(?:i think |so |and |but |also |yeah,? |no,? )*)(?P<rule>(?:in |for |with |when )?(?:the |an? |all |every )?"
    r"[\w`'’./<>()@-]+(?: [\w`'’./<>()@-]+){0,7}? should (?:not|never|always|only)\b.{12,}?,? (?:because|since"
    r"|as (?:we|it|they|the|that)|so that|otherwise)\b.{8,})",
    _I,
)
_FOREIGN = re.compile(
    r"^(?:bitte )?(?:immer|niemals|nie|ab (?:jetzt|sofort)|grunds[äa]tzlich|wir (?:verwenden|nutzen"
    r"|benutzen|schreiben)|verwende immer|nutze immer)\b|\b(?:wir (?:verwenden|nutzen"
    r"|benutzen))\b.{3,80}\b(?:nicht|statt|immer)\b"
    r"|^(?:toujours|jamais|ne jamais|d[ée]sormais|(?:nous|on) (?:utilise(?:ons)?|n'utilise))\b"
    r"|\b(?:toujours|jamais)\b|^(?:siempre|nunca|a partir de ahora|usamos|en este proyecto)\b|总是|永远|始终|绝不"
    r"|不要使用|我们使用|从现在开始|必须|禁止",
    _I,
)
_WE_DO = re.compile(
    rf"\b(?:we|the team|our team) (always |never |only |strictly |do not |don't )?(?=(?:{_DOES}|have|allow"
    r"|touch|edit|push)\b)",
    _I,
)
OF_THEM = re.compile(
    r"(?!in |for |on |of |at |to |within )(?:always |never |do not |don't |only )?"
    r"\w+ (?:it|them|that|this|those|these)\b",
    _I,
)
"""A rule about something that stands elsewhere."""
_NOW_CUES = Cues(
    "from now on", "going forward", "from here on", " rule", "convention", "in future", "policy", "standard",
    "for the future",
)  # fmt: skip
_LAID_CUES = Cues("make sure", "ensure", "should ")
_NOT_CUES = Cues("do not ", "don't ", "never ", "avoid ")
_FOREIGN_CUES = Cues(
    "immer", "nie", "ab jetzt", "ab sofort", "grunds", "wir ", "nutze", "toujours", "jamais", "sormais", "utilise",
    "siempre", "nunca", "a partir de ahora", "usamos", "en este proyecto", "总是", "永远", "始终", "绝不", "不要使用",
    "我们使用", "从现在开始", "必须", "禁止",
)  # fmt: skip
"""Whatever `_FROM_NOW`, `_MAKE_SURE` and `_SHOULD`, `_DO_INSTEAD` and `_FOREIGN` find has one of these."""

_LEAD = re.compile(r"^(?:no|nope|stop|hey|and|also|again|remember|well|ok|please|for the \w+ time)(?:[,:!]+| -) *", _I)
_ONE_OFF = re.compile(
    r"\bthen[.!]?$|\b(?:this time|this once|this one|for now|right now|until (?:i|we|tomorrow|then|\w+day)|just now"
    r"|at the moment|today|tonight|(?:in|for|on|of|with) (?:this|that) (?:test|file|pr|branch|commit|change"
    r"|bug|issue|case|function|feature|task|session|plan|message|line|error|method|component|screen|page"
    r"|one)"
    r"|yet\b|let's|for the moment|temporarily|as a test|in the (?:plan|pr|screenshot)|never ?mind"
    r"|always wanted|i'll|can you|could you|i want|the (?:new|current|last|latest) (?:code|change|commit"
    r"|version))\b",
    _I,
)
_COMPLAINT = re.compile(
    r"\b(?:why|seems?|somehow|fires|happens?|getting|shows? up|is showing|not working|doesn't work|broken"
    r"|wrong|bug|failing|failed|crash\w*|error(?:s|ed)? (?:out|when)|i (?:think|guess|noticed|see|saw"
    r"|wonder|know|don't|have|had|got|was)|has been|had been|was (?:never|always)|were (?:never|always)"
    r"|(?:is|are) never (?:\w+ed|shown|set|used|called)|never (?:actually|worked|fires|fired|set|shown)"
    r"|is(?:n't| not) (?:being|getting)|we don't (?:really )?(?:need|know|have)|don't (?:know|see|think"
    r"|understand|get|worry|need|have|forget)|we always get|it always)\b|^(?:it|this|that|there|they)\b",
    _I,
)
_STATEMENT_OF_CODE = re.compile(
    r"\b(?:function|method|field|variable|returns?|struct|const|parameter|class)\b.{0,60}\b(?:always"
    r"|never)\b",
    _I,
)


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Rules that a person typed."""
    drafts: list[Draft] = []
    for said in scene.user_said():
        if not said.is_typed or not said.has_any(CUES):
            continue
        for sentence in said.sentences:
            if len(said.text) > MAX_WHOLE_CHARS and not sentence.has_any(CUES):
                continue
            rule, reason = _rule(sentence)
            if reason:
                found.reject(reason)
            elif rule:
                drafts.append(Draft("pattern", rule, [said.event], said=sentence.text, is_wish=True))
    return drafts


def _rule(sentence: Sentence) -> tuple[str, str]:
    """The rule that a sentence lays down, or why it lays none."""
    remember = _REMEMBER.match(sentence.text)
    text = _LEAD.sub("", sentence.plain)
    told = _TELL.match(text)
    text = text[told.end() :] if told else text
    now = _FROM_NOW.search(text) if sentence.has_any(_NOW_CUES) else None
    prefer = _PREFER.search(text) if "prefer" in sentence.low else None
    laid = (_MAKE_SURE.search(text) or _SHOULD.match(text)) if sentence.has_any(_LAID_CUES) else None
    if not (told or now or remember or prefer or laid or _is_rule(text, sentence)):
        return "", ""
    if text.endswith("?"):
        return "", candidates.QUESTION
    if laid and not (told or now or remember):
        text = laid["rule"]
    text = now["rule"] if now and len(now["rule"]) > 12 else remember["rule"] if remember else text
    if not told and (_ONE_OFF.search(text) or (not now and _is_complaint(text))):
        return "", candidates.ONE_OFF
    if prefer and not now:
        text = f"Preferred: {prefer['what']}"
    rule = _worded(text)
    return ("", candidates.NOT_SELF_CONTAINED) if OF_THEM.match(rule) else (rule, "")


def _is_complaint(text: str) -> bool:
    """Whether "always" and "never" tell of what happens, not of what is to be done."""
    if _EACH_TIME.match(text) or _ORDER.match(text) or _WE.match(text) or _DO_INSTEAD.search(text):
        return False
    return _COMPLAINT.search(text) is not None or _STATEMENT_OF_CODE.search(text) is not None


def _is_rule(text: str, sentence: Sentence) -> bool:
    is_of_us = "we " in sentence.low
    if (
        _ORDER.match(text)
        or (sentence.has_any(_NOT_CUES) and _DO_INSTEAD.search(text))
        or _EACH_TIME.match(text)
        or (sentence.has_any(_FOREIGN_CUES) and _FOREIGN.search(text))
        or _NOT_BUT.match(text)
        or (is_of_us and _WANTED.search(text))
    ):
        return True
    if is_of_us and _WE.search(text):
        return (
            _WE.match(text) is not None
            or _WE_STRICT.search(text) is not None
            or (_STATE.match(text) is not None and _GOOD_WORD.search(text) is not None)
        )
    if _EVERY.match(text):
        return True
    return _STATE.match(text) is not None and _GOOD_WORD.search(text) is not None


def _worded(text: str) -> str:
    text = re.sub(r"^(?:please|pls|bitte)[, ]+", "", text.strip(), flags=_I)
    text = re.sub(r"^using\b", "use", without_you(text), flags=_I)
    text = text if _WANTED.search(text) else _WE_DO.sub(lambda match: f"{match[1] or ''}", text)
    text = re.sub(r"^we should (?:always )?", "Always ", text, flags=_I)
    text = re.sub(
        r",? (?:please )?(?:ok|okay|alright|thanks|please|got it|understood|agreed)[.!]*$", "", text, flags=_I
    )
    text = re.sub(r",? then (?:commit|push|run|go|fix|continue)\b[^,]{0,30}$", "", text, flags=_I)
    text = re.sub(r"\bDO NOT\b", "do not", text)
    return finished(impersonal(text, subject="the project")) if anchors.is_technical(text) or len(text) > 25 else ""
