"""Proposals with their reason that a person agreed to, or had asked for and let be carried out."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.ingest.distil import anchors
from howcome.ingest.distil.fitness import fault, is_personal
from howcome.ingest.distil.quick import Cues
from howcome.ingest.distil.rewriting import impersonal
from howcome.ingest.distil.rules.draft import Draft
from howcome.ingest.distil.sentences import without_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.ingest.distil.rules.scene import Said, Scene
    from howcome.ingest.distil.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "i'd ", "i would ", "i recommend", "i suggest", "i propose", "my recommendation", "i'll use", "i'll go with"
)
_OFFER = re.compile(
    r"^(?:(?:so|then|here|given (?:that|this)|for (?P<for>[^,]{3,80})),? )?(?:i'd|i would|i'll|i|my"
    r" recommendation(?: is)?:?)"
    r"(?: strongly| personally| definitely)? (?:recommend|suggest|propose|go with|go for|use|choose"
    r"|pick|prefer|stick with|keep"
    r"|lean towards?)(?: (?:going with|go with|using|keeping|to use|to keep))? (?P<rest>[^?]{4,})$",
    _I,
)
_OVER = re.compile(r",? (?:over|instead of|rather than|and not|in preference to) ", _I)
_WHY = re.compile(
    r",? (?:and )?(?:the|my) (?:main |biggest |key |primary )?reason (?:is|being)(?: that)? |,?"
    r" (?:because|since|so that)(?: of)? "
    r"|[:;] (?=[\w'’]+ \w+)| [—–] (?=[\w'’]+ \w+)", _I,
)  # fmt: skip
_THAN = re.compile(
    r"^(?:(?:it|this|that)(?:'s| is) )?(?:much |far |a lot )?(?:simpler|cleaner|lighter|safer|faster"
    r"|better|easier|smaller) than"
    r" (?P<y>[^.;]{4,100})", _I,
)  # fmt: skip
_GOES_ON = re.compile(
    r"\b(?:let me|i'll) (?:now )?(?:add|create|update|pin|write|implement|install|wire|set|build)\b", _I
)
_HERE = re.compile(r"\.? *(?:here'?s|here is|this is) why:?$", _I)
_ASSENT = re.compile(
    r"\s*(?:yes|yep|yeah|ya|agreed?|ok(?:ay)?|sounds (?:good|great|right)|do (?:it|that)|go (?:ahead"
    r"|for it|with)|perfect|great"
    r"|good|fine|right|exactly|sure|let's (?:do|go|use)|makes sense|keep it|cool|nice|ship it|works for me|lgtm)\b", _I,
)  # fmt: skip
_OBJECTS = re.compile(
    r"\?|\b(?:but|however|instead|rather|actually|no[,.]|not sure|don't|except|although|though|wait|first)\b", _I
)
_ASKED = re.compile(
    r"\b(?:which (?:one|\w+)|should (?:we|i)|what(?:'s| is) (?:the|your) (?:approach|trade-?off|best|recommendation)"
    r"|what (?:approach|library|tool|format|do you (?:recommend|suggest))|\w+ or \w+|or .{2,40})\b[^?]*\?", _I,
)  # fmt: skip
_OVERKILL = re.compile(
    r"(?:^|[.!,;] )(?:let's |just |please )?(?:keep|use|stick with|go with|take) (?P<x>[^.?!,;\n]{4,60})[.,;!] "
    r"(?:an? |the )?(?P<y>[^.?!,;\n]{3,60}?) (?P<z>(?:is|would be|seems) (?:overkill|too (?:much"
    r"|complex|complicated|heavy|slow))"
    r"[^.?!\n]{0,60})", _I,
)  # fmt: skip
_ABOUT = re.compile(
    r"\b(?:think about|decide on|options? (?:for|to)|approach(?:es)? (?:for|to)|design (?:of|for)"
    r"|library for|way to|need (?:a|an)"
    r" [\w ]{2,30} for) (?P<topic>(?:the )?[^.:?!,;(\n—]{4,60}?)(?= (?:before|first|now|with)\b|[.:?!,;(\n—]|$)", _I,
)  # fmt: skip
_OPTION = re.compile(r"^\s*(?:[-*]|\d[.)]|option \w[:.])\s+\*\*(?P<name>[^*\n]{3,60})\*\*", _I | re.MULTILINE)
_ARTICLE = re.compile(r"^(?:the|an?) ", _I)
_VAGUE = re.compile(
    r"(?:this|that|it|these|those|them|both|option \w|approach \w|the (?:first|second|former|latter|same))\b", _I
)
_FIT = ("", candidates.NOT_SELF_CONTAINED, candidates.NOT_TECHNICAL, candidates.HYPOTHETICAL, candidates.NOISE)
"""A reason speaks of what was chosen, and may say what would have been."""

_WORD = re.compile(r"\w{4,}")
MAX_ASSENT_CHARS = 160
MAX_CHOSEN_CHARS = 120
MAX_REASON_SENTENCES = 2
MIN_REASON_WORDS = 3
MAX_OPTIONS = 4


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """What was proposed with a reason and then agreed to, or asked for and carried out at once."""
    drafts = _kept_simple(scene)
    offers = [said for said in scene.agent_said() if not said.is_published and said.has_any(CUES)]
    has_agreed, is_asked = (is_agreed(scene), _is_asked(scene)) if offers else (False, False)
    for said in offers:
        if not ((has_agreed and said.is_final) or (is_asked and _is_carried_out(said, scene))):
            continue
        for place, sentence in enumerate(said.sentences):
            text = _decided(said, place, scene) if sentence.has_any(CUES) else ""
            if text:
                drafts.append(
                    Draft(
                        "decision", text, [said.event], witnesses=_yes(scene), said=sentence.text, is_known_whole=True
                    )
                )
    return drafts[:1]


def _kept_simple(scene: Scene) -> list[Draft]:
    """What a person chose because the other thing would be too much."""
    for said in scene.user_said():
        match = _OVERKILL.search(said.text) if said.is_typed and "?" not in said.text else None
        if match and not _VAGUE.match(match["x"]) and not _VAGUE.match(match["y"]):
            chosen = _sentence(_ARTICLE.sub("", match["x"]))
            text = f"{chosen} chosen over {_as_said(match['y'])}. Reason: {_as_said(match['y'])} {match['z'].strip()}."
            if not is_personal(text) and anchors.is_technical(text) and not fault(text):
                return [Draft("decision", text, [said.event], said=match[0])]
    return []


def is_agreed(scene: Scene) -> bool:
    """Whether the next thing that a person says is a yes without a but."""
    answer = scene.following[0].user_said() if scene.following else []
    text = answer[0].text if answer else ""
    return bool(_ASSENT.match(text)) and len(text) <= MAX_ASSENT_CHARS and not _OBJECTS.search(text.lower())


def _is_asked(scene: Scene) -> bool:
    """Whether a person had asked what to take, and did not object to the answer."""
    asked = scene.user_said()[:1]
    if not asked or not asked[0].is_typed or not _ASKED.search(asked[0].text):
        return False
    answer = scene.following[0].user_said() if scene.following else []
    return not answer or not _OBJECTS.search(answer[0].low[:MAX_ASSENT_CHARS])


def _is_carried_out(said: Said, scene: Scene) -> bool:
    """Whether the agent went on with what it had proposed."""
    later = [other for other in scene.agent_said() if other.place >= said.place]
    return bool(scene.edits_after(said.place)) or any(_GOES_ON.search(other.text) for other in later)


def _yes(scene: Scene) -> list[StoredEvent]:
    answer = scene.following[0].user_said() if scene.following else []
    return [answer[0].event] if answer else []


def _decided(said: Said, place: int, scene: Scene) -> str:
    """The choice that a sentence proposes, what it was chosen over, for what, and why; "" where one is missing."""
    sentence = said.sentences[place]
    offer = _OFFER.match(sentence.plain)
    if offer is None:
        return ""
    rest = _HERE.sub("", offer["rest"]).rstrip(". ")
    why = _WHY.search(rest)
    head, reason = (rest[: why.start()], rest[why.end() :]) if why else (rest, "")
    over = _OVER.search(head)
    chosen, rejected = (head[: over.start()], head[over.end() :]) if over else (head, "")
    chosen, rejected = _ARTICLE.sub("", chosen.strip()), rejected.strip()
    after = said.sentences[place + 1 :]
    than = _THAN.match(after[0].plain) if after and not rejected else None
    rejected = rejected or (than["y"] if than else "") or _others(said.text, chosen)
    reasons = _reasons(reason, after[1:] if than else after, sentence)
    if not reasons or not rejected or len(chosen) > MAX_CHOSEN_CHARS or _VAGUE.match(chosen) or _VAGUE.match(rejected):
        return ""
    topic = "" if " for " in head else _topic(said, sentence, scene)
    text = f"{_sentence(chosen)}{topic} chosen over {_as_said(rejected)}. Reason: {reasons}"
    if is_personal(text) or len(text) > candidates.MAX_TEXT_CHARS or not anchors.is_technical(text):
        return ""
    return text


def _as_said(text: str) -> str:
    """A part of a sentence, impersonal, with the first letter that it had."""
    worded = impersonal(text)[:-1]
    return worded[:1].lower() + worded[1:] if text[:1].islower() else worded


def _sentence(text: str) -> str:
    """The same at the beginning of a sentence."""
    worded = impersonal(text)[:-1]
    return worded if worded[:1] in "`@_" else worded[:1].upper() + worded[1:]


def _reasons(first: str, after: list[Sentence], sentence: Sentence) -> str:
    """One or two sentences that say why: what stands in the sentence itself, then what it goes on with."""
    found = [_as_said(first) + "."] if len(first.split()) >= MIN_REASON_WORDS else []
    for other in after:
        is_same = other.block == sentence.block
        if len(found) == MAX_REASON_SENTENCES or not (
            is_same or (other.kind == "item" and other.block > sentence.block)
        ):
            break
        text = impersonal(other.text)
        if (is_same or not other.place) and fault(text) in _FIT:
            found.append(text)
    return " ".join(found)


def _others(text: str, chosen: str) -> str:
    """The options of a list that were not chosen."""
    options = [without_markdown(match["name"]).strip(" :.") for match in _OPTION.finditer(text)]
    words = set(_WORD.findall(chosen.lower()))
    others = [one for one in options if len(words & set(_WORD.findall(one.lower()))) * 2 <= len(words)]
    is_list = 2 <= len(options) <= MAX_OPTIONS and len(others) == len(options) - 1
    return " and ".join(map(_uncapitalized, others)) if is_list else ""


def _uncapitalized(name: str) -> str:
    """The name of an option as it stands within a sentence."""
    first = name.split(" ", 1)[0]
    is_plain = first.isalpha() and first[1:].islower() and first.lower() not in anchors.PRODUCTS
    return name[0].lower() + name[1:] if is_plain else name


def _topic(said: Said, sentence: Sentence, scene: Scene) -> str:
    """What something was chosen for, as what leads up to it or the question says it."""
    before = said.text.partition(sentence.text[:30])[0]
    for text in (before, *(asked.text for asked in scene.user_said()[:1])):
        for about in _ABOUT.finditer(text):
            topic = impersonal(about["topic"])[:-1]
            if topic and not is_personal(topic) and not _VAGUE.match(topic):
                return f" for {_as_said(about['topic'])}"
    return ""
