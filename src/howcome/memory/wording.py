"""The words that people and agents want kept: enough of them, without first person and feelings where that is sure.

Only what begins a sentence in one of these ways is put otherwise; a doubt ("I think the cache is stale") stays a doubt.
"""

from __future__ import annotations

import re
from unicodedata import east_asian_width

from howcome.domain.events import squeeze
from howcome.errors import UsageError

MIN_CHARS = 20
"""Less is no sentence that stands by itself; letters of which one is a word (Chinese, Japanese, Korean) count twice."""

_CHORES = frozenset(
    "ok okay k thanks thank you thx ty lgtm sure yes yeah yep no nope great cool nice good perfect fine done please go"
    " ahead continue next do it that this so very much a lot again all right alright sounds looks and well".split()
)
_ADVICE = 'write one fact with its reason, as for a stranger: "Deduplicate by upsert: a cache is lost at a restart."'
_WE = r"(?:we|you|one)"
_FOUND = r"(?:found|noticed|discovered|learned|learnt|realized|realised|confirmed|verified|saw|seen)"
_LEADS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"(?:(?:so|ok(?:ay)?|well|btw|fyi|honestly|basically|hey|please|imho|in my opinion)[,:]?\s+)+(?=\w)", ""),
        (r"i (?:\w+ly )?(?:think|believe|feel|would say)(?: that)? (?=(?:we|you|one|it) (?:should|must)\b)", ""),
        (rf"(?:i|we)(?:'ve| have)? (?:\w+ )?{_FOUND}(?: out)? that ", ""),
        (r"i spent [^,.;]{2,60}? and (?:it turn(?:s|ed) out|found(?: out)?)(?: that)? ", ""),
        (r"it turn(?:s|ed) out(?: that)? ", ""),
        (r"(?:i|we) (?:have )?(?:decided|agreed)(?: in [\w ]{2,20}?)? (?:to|that) ", ""),
        (r"(?:i'd like|i would like|i want) (?:you|us) to ", ""),
        (r"(?:i|we) (?:always )?prefer ", "prefer "),
        (_WE + r" (?:should|must) (always|never) ", r"\1 "),
        (_WE + r" (?:(?:should|must) not|shouldn't|mustn't) ", "do not "),
        (_WE + r" (?:should|must) (?=[a-z])", ""),
        (r"we (always|never) (?=[a-z]+\b)(?!\w+ed\b|had|were|got|saw|found|knew|made)", r"\1 "),
    )
)
_FELT = r"(?:frustrating|annoying|awful|terrible|horrible|painful|great|nice|awesome|cool|amazing|sad|weird)"
_FEELING = re.compile(
    rf"(?:(?:so|this|that|is|was|it|it's|how|very|really) )*(?:{_FELT}|ugh|argh|damn|sigh|lol|haha|sorry|phew|yay"
    r"|thanks?(?: you)?(?: so much)?)[.!?]*|@[\w-]+ (?:found|fixed|spotted|noticed|caught) (?:it|this|that)[.!]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    rf",? which (?:is|was) (?:so |really |very )?{_FELT}(?=[.,;!]|$)|(?<=\w) [:;]-?[()DP](?=\s|$)", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z@`'\"])")


def worded(text: str, *, as_is: bool = False) -> str:
    """The words that are kept of a text; `as_is`: those that were given.

    Raises:
        UsageError: they say too little to be of use to somebody who was not there; the message says what would.
    """
    said = " ".join(text.split())
    width = len(said) + sum(east_asian_width(letter) in "WF" for letter in said)
    if said and (width < MIN_CHARS or set(re.findall(r"[\w']+", said.casefold())) <= _CHORES):
        raise UsageError(f"{squeeze(said, 40)!r} says too little to be remembered: {_ADVICE}")
    if as_is or "\n" in text.strip():  # lines are somebody's layout
        return text
    sentences = _SENTENCE_END.split(text.strip())
    new = " ".join(_plain(one) for one in sentences if not _FEELING.fullmatch(one))
    return new if len(new) >= MIN_CHARS else text


def _plain(sentence: str) -> str:
    plain = _ASIDE.sub("", sentence)
    for pattern, words in _LEADS:
        if match := pattern.match(plain):
            plain = match.expand(words) + plain[match.end() :]
    first = plain.split(" ", 1)[0]
    return plain[:1].upper() + plain[1:] if plain != sentence and first.islower() and first.isalpha() else plain
