"""Sentences without the words that lead up to what they say."""

from __future__ import annotations

import re

from howcome.learn.prose import Prose

_P = Prose("rewriting")

_I = re.IGNORECASE
_BARE_CONNECTIVE = re.compile(r"(?:so|and|but|also|then|now)\s+(?=\S)", _I)
_FIRST = re.compile(r"[A-Za-z]+")
_LEADS = _P.words("leads")
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

_SAYING = _P.words("saying")
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
            for pattern in (_P.connective, _BARE_CONNECTIVE, _P.frame):
                match = pattern.match(text)
                if match:
                    text = text[match.end() :]
            words = text.split(" ", 2)
        match = _P.person_said.match(text) if len(words) > 2 and words[1] in _SAYING else None
        if match:
            text = text[match.end() :]
        if text == before:
            break
    return text


def capitalized(text: str) -> str:
    """A text with a capital letter, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
