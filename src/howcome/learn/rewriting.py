"""Sentences made impersonal: without first person, names, feelings, and the words that lead up to what is said."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.learn.quick import Words

_I = re.IGNORECASE
_CONNECTIVE = re.compile(
    r"(?:clear(?: from [\w ]{3,30})?|(?:during|while|in) \w+ing,? (?:i |we )?(?:also )?(?:discovered|found"
    r"|noticed) (?:an?|another|the|one more) (?:\w+ )?(?:issue|bug|problem)|ok decision|decision|ugh|argh"
    r"|damn|wtf|fyi|heads up|(?:great|good) news|finally|a few things|postmortem(?: in one line)?|(?:i "
    r"|we )?(?:finally )?(?:traced|found|tracked|figured|nailed)(?: (?:it|this|that|the (?:cause|problem"
    r"|bug|issue|reason|culprit)))?(?: down| out)?(?: this \w+)?|bisected|diagnosis|so|also|and|but|now"
    r"|then|actually|however|ok(?:ay)?|yes|yeah|yep|no|right|good|great|perfect|excellent|ah|oh|hmm+|well"
    r"|basically"
    r"|indeed|interesting(?:ly)?|note(?: that)?|importantly|additionally|furthermore|moreover|specifically"
    r"|in short|thus|therefore|hence"
    r"|fyi|in fact|as a result|similarly|meanwhile|crucially|the key (?:insight|point) (?:is|was)(?: that)?"
    r"|key (?:insight|finding)"
    r"|in other words|for context|btw|done|got it|found it|confirmed|i see|aha|wait|sure|for the record"
    r"|as it turns out|that said"
    r"|unfortunately|sadly|luckily|fortunately|thankfully|apparently|obviously|clearly"
    r"|honestly)(?:[,:;.!]+\s*|\s+[—–-]+\s*)",
    _I,
)
_BARE_CONNECTIVE = re.compile(r"(?:so|and|but|also|then|now)\s+(?=\S)", _I)
_FRAME = re.compile(
    r"(?:(?:(?:i|we)(?:'ve| have)?(?: can)?(?: now)?(?: just| also| already)? (?:see|found|noticed"
    r"|discovered|realized|realised|confirmed"
    r"|understand|learned|learnt|determined|verified|figured out|found out|identified)(?: out)?(?: that|:)"
    r"|(?:the|this) (?:investigation|analysis|logs?|debugging|output|trace|profile|profiler|test) (?:shows?"
    r"|showed|reveals?|revealed"
    r"|confirms?|confirmed) that|(?:that|this) (?:means|confirms)(?: that)?|what happened (?:is|was)(?: that)?"
    r"|(?:please )?(?:note|remember|be aware|keep in mind|bear in mind) that)\s+)",
    _I,
)
_FIRST = re.compile(r"[A-Za-z]+")
_LEADS = frozenset(
    "clear during while in ok decision ugh argh damn wtf fyi heads great good finally a postmortem i we traced found"
    " tracked figured nailed bisected diagnosis so also and but now then actually however okay yes yeah yep no right"
    " perfect excellent ah oh well basically indeed interesting interestingly note importantly additionally"
    " furthermore moreover specifically thus therefore hence similarly meanwhile crucially the key for btw done got"
    " confirmed aha wait sure as that unfortunately sadly luckily fortunately thankfully apparently obviously clearly"
    " honestly this what please remember be keep bear".split()
)
"""First words of what leads up to a sentence (`_CONNECTIVE`, `_BARE_CONNECTIVE`, `_FRAME`)."""

_SHOWING = frozenset("investigation analysis log logs debugging output trace profile profiler test".split())
_AFTER = {
    "a": frozenset(("few",)),
    "the": frozenset(("key",)) | _SHOWING,
    "this": frozenset(("means", "confirms")) | _SHOWING,
}
"""Words that lead up to something only with one of these behind them, and mostly stand for themselves."""

_TURNS_OUT = re.compile(r"^.{0,160}?\bturn(?:s|ed) out(?:,)? (?:that )?(?!to be\b)(?=\S)", _I)
_TURN_OUT = re.compile(r"turn(?:s|ed) out", _I)
"""What is much quicker to look for first: most texts with a "turn" have a "return"."""

_ADVERBS = re.compile(
    r"\b(?:actually|basically|literally|obviously|honestly|frankly|of course|clearly|really|just|simply"
    r"|apparently|unfortunately"
    r"|indeed|kinda|sort of|pretty much|quite)\b,?\s+(?!because\b|than\b|a\b|in\b|not\b)",
    _I,
)
_HAS_ADVERB = Words(
    r"actually|basically|literally|obviously|honestly|frankly|of course|clearly|really|just|simply|apparently"
    r"|unfortunately|indeed|kinda|sort of|pretty much|quite"
)
"""The same for `_ADVERBS`."""

_FEELING = re.compile(
    r"(?:,\s*thank (?:god|goodness)|,?\s*which (?:is|was) (?:\w+ )?(?:annoying|frustrating|nice|great|awful"
    r"|terrible|horrible|cool|painful|sad|weird)"
    r"|\s*[:;]-?[()DP]|\s+(?:lol|haha|ugh|sigh|argh|please|pls|thanks|thank you)(?=[.!,]|$)|!+(?=$))",
    _I,
)
_MAY_FEEL = Words(r"thank|which (?:is|was) |[:;]-?[()DP]|lol|haha|ugh|sigh|argh|please|pls|!")
"""Every feeling (`_FEELING`) that is written in ASCII has one of these."""

_MENTION = re.compile(
    r"\s*(?:\((?:thanks (?:to )?|via |by |cc )?@[\w-]+\)|,?\s*(?:thanks to|per|as per|according to"
    r"|credit to|kudos to|h/t|by|cc)\s+@[\w-]+)"
)
_PERSON_SAID = re.compile(
    r"[A-Z][a-z]{2,14} (?:finally )?(?:figured|found|worked|tracked) (?:it|this|that) (?:out|down)[^:.,]{0,24}: (?=\S)|"
    r"[A-Z][a-z]{2,14}(?: and [A-Z][a-z]{2,14})? (?:said|says|suggested|told (?:me|us)|mentioned"
    r"|pointed out|found(?: out)?|noticed|reported"
    r"|thinks|asked|wants|confirmed|reminded (?:me|us))(?: that)? (?=\S)"
)
_SAYING = frozenset(
    "and finally figured found worked tracked said says suggested told mentioned pointed noticed reported thinks asked"
    " wants confirmed reminded".split()
)
"""Second words of what somebody is said to have said (`_PERSON_SAID`)."""

_LINE_REFERENCE = re.compile(
    r"\s*\((?:at |on |see )?(?:around )?lines? ~?\d+(?:\s*(?:[-–,]|to|and)\s*\d+)*\)|,?\s+(?:at|on|around"
    r"|in) lines? ~?\d+(?:\s*(?:[-–,]|to|and)\s*\d+)*\b"
    r"|(?<=\.\w{2}):\d+(?:[-–:,]\d+)*|(?<=\.\w):\d+(?:[-–:,]\d+)*|(?<=\.\w{3}):\d+(?:[-–:,]\d+)*"
    r"|(?<=\.\w{4}):\d+(?:[-–:,]\d+)*",
    _I,
)
_LINE_NUMBER = re.compile(r"line|:\d", _I)
"""Every such reference has one of these."""

_SOMEONE = re.compile(
    r"\b(?:someone|somebody) (?:had |has )?(?:accidentally |mistakenly )?(\w+ed|wrote|set|put|left"
    r"|forgot)\s+((?:an?|the) [\w'`.-]+)",
    _I,
)
_WE = (
    (r"\bwe (could|would|should|must|will|may|might|cannot)\b(?= \w+)", r"the code \1"),
    (r"\bour own\b", "the team's own"),
    (r"\bwe need(?:ed)? to\b", "it is necessary to"),
    (r"\bwe (?:have|had) to\b", "it is necessary to"),
    (r"\bwe (?:can ?not|can't|couldn't|cannot)\b", "it is not possible to"),
    (r"\bwe can\b", "it is possible to"),
    (r"\bwe (?:don't|do not) want to\b", "the aim is not to"),
    (r"\bwe want(?:ed)? to\b", "the aim is to"),
    (r"\bwe (?:don't|do not) need(?: to)?\b", "there is no need for"),
    (r"\bwe need(?:ed)? (?!to\b)([^,.;]{2,60}?)(?=,|\.|;|$| and | but | which | so )", r"\1 is needed"),
    (r"\bwe(?:'re| are) (?=\w+ing\b|not\b|\w+ed\b|only\b|already\b|still\b)", "the code is "),
    (r"\bwe were (?=\w+ing\b|not\b)", "the code was "),
    (r"\bwe(?:'ve| have)\b", "the code has"),
    (r"\bwe (?:don't|do not)\b", "the code does not"),
    (r"\bwe (?:didn't|did not)\b", "the code did not"),
    (r"\bwe (already|also|still|only|now|never|always|currently|then) (?:don't|do not)\b", r"the code \1 does not"),
)  # fmt: skip
_MODAL_WE = re.compile(r"\b(should|could|can|would|will|must|shall|do|did|does) we\b", _I)
_WE_RULES = tuple((re.compile(source, _I), target) for source, target in _WE)
_PEOPLE = re.compile(r"\b(?:we|our|your|us)\b", _I)
_WE_VERB = re.compile(
    r"\bwe (?:(already|also|still|only|now|never|always|currently|then|do) )?"
    r"(use|call|return|check|store|get|pass|create|set|read|write|skip|keep|run|have|send|load|parse|count"
    r"|treat|filter|handle|look"
    r"|update|delete|start|stop|compare|compute|calculate|show|save|make|add|remove|detect|expect|rely"
    r"|depend|iterate|fall|lose|miss"
    r"|log|hold|build|copy|clear|emit|fetch|match|need|include|exclude|open|close|commit|track|print|wrap"
    r"|ignore|hit|test|support|pin|squash|prefer|follow|name|put|deploy|release"
    r"|tag|branch|format|require|mock|document|version|encode|validate|throw|raise|merge|rebase|generate"
    r"|target|ship|import|export|avoid|stick"
    r"|sort|indent|lint|declare|inject|separate|cache|review|bump|sign|publish|want|hard-?code|allow|catch"
    r"|swallow|push|edit|touch|do|render|serve)\b",
    _I,
)
_OUR = re.compile(r"\b(?:our|your)\b(?! own\b)", _I)
_US = re.compile(r"\bus\b")
_WHEN_YOU = re.compile(r"\b(before|after|when|whenever|while) (?:you|we) ([a-z]+)\b", _I)
_EACH_YOU = re.compile(r"\b(each time|every time|if|once|until|unless) (?:you|we) ([a-z]+)\b", _I)
_YOU_MUST = re.compile(r"^(?:you|we) (?:should|must|have to|need to) (?:always )?", _I)
_I_DID = re.compile(
    r"^(?:(?:I|We)(?:'ve| have| had|'d)?|i) (?:also |now |just |then |already )?"
    r"(?=(?!need|feed|embed|proceed|exceed|indeed)"
    r"(?:\w+ed|made|chose|went"
    r"|set|put|kept|built|rewrote|split|wrote|took|switched|swapped|left|ran|got rid)\b)"
)

_PLAIN_STARTS = frozenset(
    "a an the it its this that these those to for in on at by with no not all any each every both one two "
    "use using used keep keeping"
    " avoid avoids avoiding there they we retry need needs only same simple simpler easier less more most "
    "when while if as of from"
    " copy add adding adds remove removing store storing stores read reading write writing run running is "
    "are was were has have does do did can"
    " matches prevents ensures allows makes plain single multiple existing new old better faster smaller "
    "it's better".split()
)


def impersonal(text: str, *, subject: str = "the code") -> str:
    """A sentence without its frame, first person, names and feelings, as far as rules can; `fitness` judges the rest.

    `subject` is who "we" is.
    """
    text = text.strip()
    if "@" in text:
        text = _MENTION.sub("", text)
    if not text.isascii() or _MAY_FEEL.found(text):
        text = _FEELING.sub("", text)
    text = unframed(without_lines(text))
    if "some" in text.lower():
        text = _SOMEONE.sub(lambda m: f"{m[2]} was {_participle(m[1])}", text)
    if not text.isascii() or _HAS_ADVERB.found(text):
        text = _outside_code(_ADVERBS, "", text)
    text = _I_DID.sub("", text)
    if not _PEOPLE.search(text):
        return finished(text)
    text = _MODAL_WE.sub(rf"\1 {subject}", text)
    for pattern, target in _WE_RULES:
        text = pattern.sub(target.replace("the code", subject), text)
    text = _WE_VERB.sub(
        lambda m: f"{subject} {m[1] + ' ' if m[1] and m[1].lower() != 'do' else ''}{_third(m[2].lower())}", text
    )
    text = _US.sub(subject, _OUR.sub("the", text))
    return finished(text)


def without_lines(text: str) -> str:
    """A text without the numbers of lines in files: they are others tomorrow."""
    if "ine" not in text and ":" not in text:
        return text
    return _LINE_REFERENCE.sub("", text) if _LINE_NUMBER.search(text) else text


def without_you(text: str) -> str:
    """A rule that speaks to nobody: "before you commit" is "before committing"."""
    text = _WHEN_YOU.sub(lambda match: f"{match[1]} {_gerund(match[2].lower())}", text)
    text = _EACH_YOU.sub(lambda match: f"{match[1]} one {_third(match[2].lower())}", text)
    return _YOU_MUST.sub("", text)


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    is_doubled = re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]|commit|begin|rerun|submit|refer", verb) is not None
    return verb + verb[-1] + "ing" if is_doubled else verb + "ing"


def unframed(text: str) -> str:
    """A sentence without the words that lead up to it ("It turns out that …", "So, …", "I found that …")."""
    if "turn" in text and _TURN_OUT.search(text):
        text = _TURNS_OUT.sub("", text, count=1)
    for _ in range(4):
        before = text
        first = _FIRST.match(text)
        word = first[0].lower() if first else ""
        words = text.split(" ", 2)
        may_lead = word in _LEADS or word.startswith("hmm")
        after = _AFTER.get(word) if may_lead and len(words) > 1 and len(words[0]) == len(word) else None
        if may_lead and (after is None or words[1].lower() in after):
            for pattern in (_CONNECTIVE, _BARE_CONNECTIVE, _FRAME):
                match = pattern.match(text)
                if match:
                    text = text[match.end() :]
            words = text.split(" ", 2)
        match = _PERSON_SAID.match(text) if len(words) > 2 and words[1] in _SAYING else None
        if match:
            text = text[match.end() :]
        if text == before:
            break
    return text


def finished(text: str) -> str:
    """A sentence with a capital letter and a full stop."""
    text = " ".join(text.split()).strip(" ,;:—–-")
    text = text.rstrip(".!…:")
    if not text:
        return ""
    return capitalized(text) + "."


def lowered(text: str) -> str:
    """A sentence as it stands within another: a plain word at its beginning loses its capital letter."""
    first = text.split(" ", 1)[0].rstrip(",.:;")
    is_plain = first.isalpha() and first[1:].islower() and first.lower() in _PLAIN_STARTS
    return text[0].lower() + text[1:] if is_plain else text


def capitalized(text: str) -> str:
    """A text with a capital letter, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text


def _outside_code(pattern: re.Pattern[str], target: str, text: str) -> str:
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = pattern.sub(target, parts[place])
    return "`".join(parts)


def _third(verb: str) -> str:
    """The third person of a verb."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def _participle(verb: str) -> str:
    return {"wrote": "written", "forgot": "forgotten"}.get(verb.lower(), verb.lower())
