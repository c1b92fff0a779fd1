"""Sentences without the words that lead up to what they say."""

# ruff: noqa: RUF001 - dashes are matched as people write them

from __future__ import annotations

import re

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


def capitalized(text: str) -> str:
    """A text with a capital letter, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
