"""Decisions: what was chosen, instead of what, and why. A choice without its reason is none worth keeping."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re
from functools import lru_cache

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.fitness import is_personal
from howcome.learn.quick import Cues, Words
from howcome.learn.rewriting import capitalized, finished, impersonal, lowered
from howcome.learn.rules.changes import change
from howcome.learn.rules.draft import Draft, context_of
from howcome.learn.rules.plans import headed, title_of
from howcome.learn.sentences import without_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Said, Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "instead of", "rather than", " over ", " not ", "decid", "decision", "settled", "chose", "picked", "opted",
    "going with", "go with", "went with",
    "went for", "sticking", "staying", "switch", "moved from", "moving from", "we'll use", "we use", "keep", "prefer",
    "let's use", "in favo", "replaced", "intentionally", "deliberate", "agreed", "split out", " please",
)  # fmt: skip
"""A text without any of these (lower case) decides nothing."""

WORKING_CUES = Cues(
    "instead of", "rather than", "decid", "settled", "chose", "picked", "opted", "going with",
    "go with", "went with", "deliberate", "switch", " over "
)  # fmt: skip
"""The same for what the agent says while it works: of that only what is said outright is taken."""

_PEOPLE = r"(?:we|i|they|the team|team|everybody|[A-Z][a-z]+ and (?:i|[A-Z][a-z]+))"
_WHERE = (
    r"(?: (?:in|at|during|on|after|with) (?:the |a |our |today's |yesterday's )?(?:standup|stand-up|meeting"
    r"|review|call|team|sync|retro|planning|group|discussion|\w+day)\w*)?"
)
_CHOOSING = (
    rf"{_PEOPLE}(?:'ve|'re|'m|'ll| have| are| am| will| all)?(?: (?:now|both|finally|ultimately|then|all"
    r"|still|eventually))* (?:"
    rf"(?:decided|agreed){_WHERE}(?: that)?(?: (?:we|i))?(?: will| should)?(?: to)? (?:go(?: with| for)?"
    r"|use|using|keep|adopt|on|stay (?:on|with)|stick (?:to|with)|have|run|store|write|build|put|do)?"
    r"|settled (?:on|for)|chose(?: to use)?|chosen|picked|selected|opted for|opted to use|went (?:with|for)"
    r"|going (?:with|for|to use)|go (?:with|for)|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:on|with)|use"
    r"|using|keep|keeping"
    r"|switch(?:ed|ing)?(?: over)? to|mov(?:ed|ing|e) to)"
)
_FRAME = re.compile(
    rf"^(?:(?:after|at|during|on) [^,]{{3,60}},? |(?:for|in|as for) (?:the |our )?[\w' /.-]{{2,50}}?,? "
    rf"|[\w ]{{2,30}}: |(?:so|then|ok(?:ay)?),? |(?:yesterday|today|last \w+),? |(?:change of plan|decision"
    rf"|final decision|decided)[:,] )*(?P<frame>{_CHOOSING}|let's (?:go with|use|keep|stick with|stay with"
    r"|stay on|adopt)|(?:chose|picked|went with|opted for|settled on|sticking with|going with"
    r"|decided on)) (?P<rest>.+)",
    _I,
)
_TOPIC = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |then,? )?(?:for|in|as for) (?P<topic>(?:the |our )?[\w' /.-]{2,50}?),? (?=we"
    r"|i\b|let's)",
    _I,
)
_SWITCH = re.compile(
    rf"^(?:change of plan: |{_PEOPLE}(?:'ve|'re|'m|'ll| have| are| am| will)? )*(?P<verb>switch(?:ed|ing)?"
    r"|mov(?:ed|ing)|migrat(?:ed|ing)|chang(?:ed"
    rf"|ing)) (?P<what>[^,;]{{0,60}}? )?from (?P<y>[^,;]{{2,60}}?) to (?P<x>[^,;.]{{2,80}}?)(?P<tail>(?:,|:"
    r"|;| because| since| so that| as | due to| [—–-]).+)?$",
    _I,
)
_PASSIVE = re.compile(
    r"^(?P<x>[^,;]{2,100}?) (?:(?:is|was|are|were|has been|got) (?:chosen|picked|selected|preferred)|(?:won"
    r"|wins)(?: out)?) (?P<over>over|instead of|rather than|against) (?P<rest>.+)",
    _I,
)
_GOES = re.compile(
    r"^(?:since|because|as) (?P<z>[^,]{12,200}), (?P<x>[^,;]{3,90}?),? (?:instead of|rather than"
    r"|not) (?P<y>[^,;.]{2,80})\.?$",
    _I,
)
_RATHER = re.compile(
    r"^(?:rather than|instead of) (?P<y>[^,]{3,80}), (?P<x>[^:;]{4,140}?)(?:[:;]| —| –|,? because|,? since"
    r"|,? so that|,? so) (?P<z>.{10,})",
    _I,
)
_PROPOSED = re.compile(
    r"^(?:i'd|i would|i suggest|i recommend|i propose|my recommendation is|we could"
    r"|we should)(?: to)?(?: (?:go with|go for|use|using|keep|recommend|suggest|pick|choose|prefer))? (?P<rest>.+)",
    _I,
)
_WILL_USE = re.compile(
    r"^(?:(?:i'll|i will|i'm going to|let me) (?:use|go with|keep|stick with)|i'm using|i am using|i used)"
    r" (?P<rest>.{4,})",
    _I,
)
_CAUSAL_WORD = re.compile(r"\b(?:because|since|due to|so that|as it|instead of|rather than)\b|[—–] it", _I)
_ASSENT = re.compile(
    r"^\s*(?:yes|yep|yeah|agreed?|ok(?:ay)?|sounds good|do (?:it|that|the)|go (?:ahead|for it|with)|perfect"
    r"|great|good|fine|right|exactly|sure|let's do|makes sense|👍|ja|oui|si)\b[^?]{0,80}$",
    _I,
)
_DELIBERATE = re.compile(
    r"(?:^|: )(?P<rest>[^:]{5,120}? (?:is|are|was|were|does not|do not|doesn't|don't|did not|didn't|stays?"
    r"|keeps?|runs?|uses?) .{3,160}?,? (?:because|since|so that|to avoid) .{10,})",
    _I,
)

_OVER = re.compile(
    r",? (?:instead of|rather than|over|in preference to|and not|but not|not(?= (?:on|in|a|an|the|to|for"
    r"|with|via|by|as|\w+ing|[A-Z`\w-]+\b))|in place of|versus|vs\.?) ",
    _I,
)
_WHY = re.compile(
    r",? (?:(?:and )?(?:the|my) (?:main |biggest |only )?reason is(?: that)?|mainly because|because(?: of)?"
    r"|since(?! (?:last|yesterday|\d|v?\d))|due to|so that|so(?= (?:it|the|we|they|that|`|no)\b)|given(?: that)?"
    r"|in order to|to(?= (?:avoid|prevent|ensure|keep|allow|make sure|reduce|minimi[sz]e|preserve|match|support)\b)"
    r"|as(?= (?:it|the|we|that|they|\w+(?:'s)? (?:is|was|are|has|have|does|do|did|can|already))\b)) "
    r"|(?<![`\d]): |; | [—–-]{1,2} |, (?=(?:we|it|its|it's|they|there|that way|this way|otherwise|the|our"
    r"|no|nobody|cold|\w+ (?:is|are|was|were|has|have|had|can|cannot|can't|does|doesn't|do|don't|needs?"
    r"|would|took|takes|only|already|just))\b)",
    _I,
)
_CAUSAL = re.compile(r"reason|because|since|due|so\b|given|to |as |:|;|—|–", _I)
_DECLARED = re.compile(
    r"^(?!(?:can|could|please|let's|now|then|also|and then|ok|thanks|do|add|make|run|write|use|create"
    r"|update|remove|i'll|i will)\b)(?=.*\b(?:is|are|was|were|has|have|had|can|cannot|can't|does|doesn't|do"
    r"|don't|needs?|would|get|gets|cost|costs|takes?|took|lacks?|never|because|since)\b).{12,}",
    _I,
)
_REASON_HEAD = re.compile(
    r"^(?:(?:the |main |our )*(?:reason|rationale|why)(?: is| was| being)?(?: that)?[: ,]+|because |since )", _I
)
_ITS = re.compile(r"^(?:this|that|it|which) (?=\w+s\b)", _I)

_USE = re.compile(
    r"^(?:please )?(?P<frame>use|keep|take) (?P<rest>[^?]{2,90}?,? (?:not|instead of|rather than|over) .+)", _I
)
_MEANT = re.compile(
    r"(?:deliberate|by design|intentional)|.{0,40}(?:deliberate|conscious|intentional) (?:decision|choice)", _I
)
_MEANT_CUES = Cues("deliberate", "by design", "intentional", "conscious")
_PLAIN_VERB = re.compile(r"\b(?:use|using|keep|moved?|moving)$")
_BARE_TO = re.compile(r"\bto$|decided (?:to )?$|agreed (?:to )?$")
_CODE = re.compile(r"`[^`]*`")
_VERBAL = re.compile(
    r"^(?:store|keep|put|use|run|write|read|make|send|build|load|call|pass|return|split|merge|move|let|do"
    r"|not|drop|have|allow|add|generate|wrap|only|skip|deploy|host|serve)\b",
    _I,
)
_LABELLED = re.compile(r"^(?:ok(?:ay)?,? )?(?:final )?decision(?: is| was| made)?[:,]? ", _I)
_DECISIONS = re.compile(
    r"^(?:\d+[.)] )?(?:the |key |main |core |our |my |important |notable )*(?:design|architectur\w+"
    r"|technical|implementation|key|api)?\s*(?:decisions?(?: made| taken| log)?|choices?(?: made)?"
    r"|trade-?offs?(?: made)?|rationale)(?: (?:made|taken|and .{3,30}|\((?:from|by|confirmed|agreed"
    r"|per)\b.{0,30}\)))?$",
    _I,
)
_DECIDED = re.compile(
    r"^(?:(?:i|we|it was|the team)(?:'ve| have)? )?decided (?:not )?(?:to|against|on|that)\b (?P<what>.{10,})",
    _I,
)
_ACRONYM = re.compile(r"\b[A-Z]{2,}\d*s?\b(?![./_-])")
_VALUE = re.compile(r"`[\"'][^`]*[\"']`")
_THE_REASON = re.compile(r"(?:the|an?) ", _I)
_VAGUE_ENTRY = re.compile(
    r"^(?:(?:handlers?|callers?|users?|clear|natural|simpl\w+|gracefully?|follows?|minimal|clean\w*|better|runs?"
    r"|shows?|matches"
    r"|ensures?|prevents?|avoids?|allows?|keeps?|skip|set by|yes|no|in|on|at|via|with|supported)\b|existing )",
    _I,
)
"""An entry of a list of decisions that says what it does of nothing that it names."""

MIN_WORDS = 7
"""A shorter entry of a list of decisions says what was decided to nobody who does not know it."""

_REASONED = re.compile(
    r"\b(?:because|since|so that|due to|to (?:avoid|prevent|ensure|keep|match|preserve)|which (?:avoids"
    r"|prevents|ensures|keeps)) |[—–] ",
    _I,
)
_EXPLICIT = re.compile(r"\b(?:because|since|due to|so that|to avoid)\b", _I)
_PLANS = re.compile(
    r"^(?:i'll|i will|let me|i'm going to (?!use|go)|i am going to|now i|next|i need|i should"
    r"|let's (?:check|see|look|try|first)|now let)\b",
    _I,
)
_PICKED = re.compile(
    r"\s*(?:ok(?:ay)?,? |yes,? |let's (?:do|go with|take) |go with |i(?:'d| would)? (?:prefer|like|take) )?"
    r"(?:the )?(?:option|number|variant|approach|no\.|#) ?#?(?P<number>\d|[a-d])\b(?: please)?"
    r"(?:[,;:.] ?| [—–-] | because | since | as )(?P<why>[^\n?]{12,200})",
    _I,
)
_OPTION = re.compile(r"^\s*(?:[-*] )?(?:\*\*)?(?:option )?(\d|[A-D])[.):](?:\*\*)? +(.{12,300})$", _I | re.MULTILINE)
MAX_OPTIONS = 4
_PLEASE = re.compile(
    r"(?:^|(?:,|;) (?:then|and|so|but) )(?!(?:add|fix|make|run|write|create|update|remove|do|check|look|show|tell|give"
    r"|commit|push|test|explain|can|could|let|try|change|move|rename|delete|open|review|implement|put|it|that|this)\b)"
    r"(?P<rest>[\w`][\w` ./-]{3,50}) please,? (?:because|since|as) (?P<why>.{12,})",
    _I,
)
_UNSURE = Words(
    r"\b(?:not sure|maybe|perhaps|should we|could we|can we|what if|or should|i wonder|would prefer"
    r"|thinking of|considering|temporarily|for now|if you (?:want|prefer|like)|want me to|might"
    r"|could (?:use|be)|one (?:option|approach)|would you|do you|shall|try(?:ing)?)\b",
)


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Choices that were made, with what they were made against and why."""
    drafts: list[Draft] = []
    is_accepted = _is_accepted(scene)
    drafts += _picked(scene)
    for said in scene.said:
        cues = CUES if said.is_user or said.is_final or said.is_plan else WORKING_CUES
        if (said.is_user and not (said.is_typed or said.is_plan)) or not (said.is_published or said.has_any(cues)):
            continue
        sentences = said.sentences
        acted = bool(scene.edits_after(said.place))
        title = title_of(said.text) if said.is_plan else ""
        for place, sentence in enumerate(sentences):
            is_cued = said.is_published or sentence.has_any(cues)
            if not (is_cued or _is_of_decisions(sentence.heading)):
                continue
            after = [other.text for other in sentences[place + 1 : place + 2] if other.block == sentence.block]
            text = _decision(sentence, after[0] if after else "", said, found, is_accepted=is_accepted, acted=acted)
            if text:
                text = f"{title}: {text}" if title and _is_of_decisions(sentence.heading) else headed(text, said)
                about = context_of(sentence, scene)
                drafts.append(Draft("decision", text, [said.event], said=sentence.text, context=about))
    return drafts


@lru_cache(maxsize=1024)
def _is_of_decisions(heading: str) -> bool:
    return _DECISIONS.match(heading) is not None


def _picked(scene: Scene) -> list[Draft]:
    """The one of several numbered options that a person takes, with a reason, in the next prompt."""
    answers = scene.following[0].user_said() if scene.following else []
    picked = _PICKED.match(answers[0].text) if answers and answers[0].is_typed else None
    reports = [said for said in scene.agent_said() if said.is_final and not said.is_published]
    if picked is None or not reports or "?" in answers[0].text:
        return []
    options = {match[1].lower(): match[2] for match in _OPTION.finditer(reports[-1].text)}
    chosen = options.pop(picked["number"].lower(), "")
    reason = impersonal(picked["why"])
    is_reason = reason and _DECLARED.match(picked["why"]) and not (_UNSURE.found(reason) or is_personal(reason))
    if not chosen or not options or not is_reason or len(options) > MAX_OPTIONS:
        return []
    worded = (impersonal(without_markdown(other)) for other in options.values())
    others = "; ".join(lowered(other.partition(":")[0].rstrip(".")) for other in worded)
    text = f"Decided: {lowered(impersonal(without_markdown(chosen)))} Chosen over: {others}. Reason: {lowered(reason)}"
    return [Draft("decision", text, [answers[0].event, reports[-1].event], said=answers[0].text, is_known_whole=True)]


def _is_accepted(scene: Scene) -> bool:
    """Whether the next thing a person says is a plain yes to what the exchange ended with."""
    following = scene.following[:1]
    return bool(following and following[0].user_said() and _ASSENT.match(following[0].user_said()[0].text))


def _decision(sentence: Sentence, after: str, said: Said, found: Distilled, *, is_accepted: bool, acted: bool) -> str:
    plain = sentence.plain
    if sentence.text.endswith("?"):
        return ""
    proposed = _PROPOSED.match(plain) if is_accepted and said.is_final else None
    if proposed and _OVER.search(proposed["rest"]):
        return _parsed(proposed["rest"], after, found, is_user=False)
    using = None if said.is_user or said.is_final or not acted else _WILL_USE.match(plain)
    if using and not _UNSURE.found(sentence.text) and _CAUSAL_WORD.search(using["rest"]):
        return _parsed(using["rest"], "", found, is_user=False) if anchors.has_strong(using["rest"]) else ""
    if _UNSURE.found(sentence.text) or _PLANS.match(plain):
        return ""
    text = _stated(plain, sentence, after, said, found)
    if text or not (said.is_final or said.is_plan):
        return text
    if _is_of_decisions(sentence.heading):
        return _listed(sentence)
    return "" if said.is_plan else change(plain, sentence, is_published=said.is_published)


def _stated(plain: str, sentence: Sentence, after: str, said: Said, found: Distilled) -> str:
    """A choice that somebody says was made."""
    text = _turned(plain, after, said)
    if text is not None:
        return text
    passive = _PASSIVE.match(plain)
    if passive:
        return _parsed(f"{passive['x']} over {passive['rest']}", after, found, is_user=said.is_user)
    if _LABELLED.match(sentence.text) or _LABELLED.match(f"{sentence.label}: "):
        if _DECLARED.match(after):
            return f"{impersonal(plain)} Reason: {lowered(impersonal(after))}"
        return _parsed(plain, after, found, is_user=True)
    asked = _PLEASE.search(plain) if said.is_user and " please" in sentence.low else None
    if asked:
        return _chosen(asked["rest"], "", asked["why"])
    frame = _FRAME.match(plain) or (_USE.match(plain) if said.is_user else None)
    if frame is None:
        is_meant = sentence.has_any(_MEANT_CUES) and _MEANT.match(plain)
        return _decided_to(plain, said) or (_explained(plain) if is_meant else "")
    verb = frame["frame"].lower()
    is_work = verb.startswith("i") and not said.is_user and _PLAIN_VERB.search(verb)
    if is_work or (_BARE_TO.search(verb) and not re.search(r"switch|mov", verb)):
        return _decided_to(plain, said)
    topic = _TOPIC.match(plain)
    is_plain = "use" in verb or "keep" in verb
    about = topic["topic"] if topic else ""
    return _parsed(frame["rest"], after, found, is_user=said.is_user, topic=about, is_plain=is_plain)


def _decided_to(plain: str, said: Said) -> str:
    """A sentence that says outright that something was decided, with its reason or what it was decided against."""
    decided = _DECIDED.match(plain) if said.is_final or said.is_user else None
    if decided is None or not (_OVER.search(decided["what"]) or _EXPLICIT.search(decided["what"])):
        return ""
    return impersonal(plain) if anchors.is_technical(plain) else ""


def _turned(plain: str, after: str, said: Said) -> str | None:
    """A choice put another way round: reason first, alternative first, "from … to"; None when it is none of these."""
    goes, rather, switch = _GOES.match(plain), _RATHER.match(plain), _SWITCH.match(plain)
    if goes and said.is_user:
        return _chosen(goes["x"], goes["y"], goes["z"])
    if rather and (said.is_user or anchors.has_strong(rather["x"])):
        chosen, rejected = impersonal(rather["x"])[:-1], lowered(impersonal(rather["y"]))[:-1]
        return f"{chosen} rather than {rejected}. Reason: {lowered(impersonal(rather['z']))}"
    if switch and (said.is_user or said.is_final):
        reason = _WHY.sub("", switch["tail"] or "", count=1).strip(" ,:;") or (after if _DECLARED.match(after) else "")
        what = f" for {switch['what'].strip()}" if (switch["what"] or "").strip() else ""
        return _chosen(switch["x"] + what, switch["y"], reason) if reason else ""
    return None


def _parsed(rest: str, after: str, found: Distilled, *, is_user: bool, topic: str = "", is_plain: bool = False) -> str:
    """A choice from what stands behind its verb: what, instead of what, why."""
    why = _WHY.search(rest, 2)
    head, reason = (rest[: why.start()], rest[why.end() :]) if why else (rest, "")
    over = _OVER.search(head)
    chosen, rejected = (head[: over.start()], head[over.end() :]) if over else (head, "")
    if len(reason) < 10 and (_REASON_HEAD.match(after) or _ITS.match(after) or (is_user and _DECLARED.match(after))):
        reason = _ITS.sub("it ", _REASON_HEAD.sub("", after))
    if len(_CODE.sub("", reason).split()) < 3 or (not (why and _CAUSAL.search(why[0])) and not _DECLARED.match(reason)):
        found.reject(candidates.NO_REASON)
        return ""
    if not rejected and is_plain and not is_user:
        return ""
    if why and why[0].strip(" ,").lower() in ("to", "in order to"):
        reason = f"to {reason}"
    return _chosen(chosen + (f" for {topic}" if topic else ""), rejected, reason)


def _explained(plain: str) -> str:
    match = _DELIBERATE.search(plain, max(0, plain.find(": ")))
    return impersonal(match["rest"]) if match else ""


def _listed(sentence: Sentence) -> str:
    """An entry of a list of decisions, with its label."""
    if sentence.place or sentence.kind != "item" or sentence.text.endswith(("?", ":")):
        return ""
    is_telling = sentence.label and len(sentence.text.split()) >= MIN_WORDS and anchors.has_strong(sentence.text)
    if not (is_telling or _REASONED.search(sentence.text)):
        return ""
    body = impersonal(sentence.text)
    if not sentence.label and not anchors.has_strong(body):
        return ""
    if sentence.label and (
        _VAGUE_ENTRY.match(sentence.text)
        or sentence.label.lower().startswith("follows")
        or not _names_something(sentence.text)
    ):
        return ""
    return f"{capitalized(sentence.label)}: {lowered(body)}" if sentence.label else body


def _names_something(text: str) -> bool:
    """Whether there is a name in a text that is no acronym and no value."""
    return anchors.has_strong(_ACRONYM.sub("", _VALUE.sub("", text)))


def _chosen(chosen: str, rejected: str, reason: str) -> str:
    chosen = re.sub(r"^using ", "", chosen.strip(), flags=_I)
    chosen, rejected, reason = impersonal(chosen)[:-1], impersonal(rejected)[:-1], impersonal(reason)
    if not chosen or len(reason) < 8 or len(chosen) > 160:
        return ""
    if not (rejected or anchors.has_strong(reason)) and _THE_REASON.match(reason):
        return ""
    if _VERBAL.match(chosen):
        return (
            f"Decided: {lowered(chosen)}{' rather than ' + lowered(rejected) if rejected else ''}. Reason: "
            f"{lowered(reason)}"
        )
    over = f" chosen over {lowered(rejected)}" if rejected else " chosen"
    return f"{finished(chosen)[:-1]}{over}. Reason: {lowered(reason)}"
