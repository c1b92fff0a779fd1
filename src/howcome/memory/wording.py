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
_FOUND = r"(?:found|noticed|discovered|learned|learnt|realized|realised|confirmed|verified|saw|seen)"
_SURELY, _THINK = r"(?:really|honestly|strongly|firmly|definitely|personally)", r"(?:think|believe|feel|would say)"
_DO = (
    r"(?!(?:have|had|be|see|expect|know|need|get|find|notice|already|soon|still|then|now|all|both|also|only|just|at|by"
    r"|in|\w+ly)\b)(?=[a-z])"
)
"""What is to be done, not what has been or will be ("we should have the token by then")."""

_LEADS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"(?:(?:so|well|honestly|basically|in my opinion),\s+|(?:btw|fyi|imho)[,:]\s+)+(?=\w)", ""),
        (rf"i (?:{_SURELY} )?{_THINK}(?: that)? (?=(?:we|you) (?:should|must) (?:(?:always|never|not) )?{_DO})", ""),
        (rf"(?:i|we)(?:'ve| have)? (?:(?:just|also|since|finally|recently) )?{_FOUND}(?: out)? that ", ""),
        (r"i spent [^,.;]{2,60}? and (?:it turn(?:s|ed) out|found(?: out)?)(?: that)? ", ""),
        (r"it turn(?:s|ed) out(?: that)? ", ""),
        (r"(?:i|we) (?:have )?(?:decided|agreed)(?: in(?: (?!not\b|never\b|against\b)\w+){1,4}?)? (?:to|that) ", ""),
        (r"(?:i'd like|i would like|i want) (?:you|us) to ", ""),
        (r"(?:i|we) (?:always )?prefer ", "prefer "),
        (rf"(?:we|you) (?:should|must) (always|never) {_DO}", r"\1 "),
        (rf"(?:we|you) (?:(?:should|must) not|shouldn't|mustn't) {_DO}", "do not "),
        (rf"(?:we|you) (?:should|must) (?!always\b|never\b|not\b){_DO}", ""),
    )
)  # fmt: skip
_FELT = r"(?:frustrating|annoying|awful|terrible|horrible|painful|great|nice|awesome|cool|amazing|sad|weird)"
_FEELING = re.compile(
    rf"(?:(?:so|this|that|is|was|it|it's|how|very|really) )*(?:{_FELT}|ugh|argh|damn|sigh|lol|haha|sorry|phew|yay"
    r"|thanks?(?: you)?(?: so much)?)[.!?]*|@[\w-]+ (?:found|fixed|spotted|noticed|caught) (?:it|this|that)[.!]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    rf", which (?:is|was) (?:so |really |very )?{_FELT}(?:,(?= )|(?=[.;!]|$))|(?<=\w) [:;]-?[()DP](?=\s|$)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z@`'\"])")


def worded(text: str, *, as_is: bool = False) -> str:
    """The words that are kept of a text (`as_is`: those that were given); UsageError where they say too little."""
    refusal = UsageError(f"{squeeze(text, 40)!r} says too little to be remembered: {_ADVICE}")
    if text.strip() and _says_little(text):
        raise refusal
    if as_is or "\n" in text.strip():  # lines are somebody's layout
        return text
    sentences = _SENTENCE_END.split(text.strip())
    new = " ".join(_plain(one) for one in sentences if not _FEELING.fullmatch(one))
    if _words(new) <= _CHORES and _words(new):
        raise refusal
    return text if _says_little(new) else new


def _says_little(text: str) -> bool:
    said = " ".join(text.split())
    width = len(said) + sum(east_asian_width(letter) in "WF" for letter in said)
    return width < MIN_CHARS or _words(said) <= _CHORES


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w']+", text.casefold()))


def _plain(sentence: str) -> str:
    plain = _ASIDE.sub("", sentence)
    for pattern, words in () if sentence.endswith("?") else _LEADS:
        if match := pattern.match(plain):
            plain = match.expand(words) + plain[match.end() :]
    first = plain.split(" ", 1)[0].rstrip(",;:.!")
    return plain[:1].upper() + plain[1:] if plain != sentence and first.islower() and first.isalpha() else plain
