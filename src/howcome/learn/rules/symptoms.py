"""What came of a root cause, where only the sentence before it says so."""

from __future__ import annotations

import re

from howcome.learn.fitness import fault
from howcome.learn.quick import Words
from howcome.learn.rewriting import capitalized, finished, impersonal, lowered
from howcome.learn.rules.soundness import NEGATIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
_CONSEQUENCE = Words(
    r"\b(?:because|so|but|cause[ds]?|causing|fail\w*|not|never|cannot|crash\w*|br(?:eaks?|oken?)|los[et]\w*|missing"
    r"|wrong\w*|silently|empty|hang\w*|instead|without|twice|lead(?:s|ing)? to|leaving|no longer"
    r"|overwr\w+|leak\w*|requires?)\b|n't\b"
)
"""What a root cause has that says what came of it."""

_MENDING = re.compile(
    r"^(?:this|the) (?:pr|change|commit|patch|branch|fix) (?:fixes|addresses|resolves) (?:an? |the )?"
    r"(?:bugs?|issues?|problems?|regressions?|races?) (?:where|in which|when|that) ",
    _I,
)
_WHEN = re.compile(r"(?P<when>(?:When|If|After) [^,]{8,120}), (?P<what>[^,]{12,})$")


def lacks_symptom(text: str) -> bool:
    """Whether a root cause leaves open what came of it."""
    lead, _, what = text.partition(": ")
    return lead == "Root cause" and not _CONSEQUENCE.found(what)


def symptom_before(sentences: Sequence[Sentence], place: int) -> str:
    """What the sentence before a root cause says went wrong, "" where it says nothing that stands by itself."""
    plain = _MENDING.sub("", sentences[place - 1].plain).rstrip(".") if place else ""
    when = _WHEN.match(plain)
    plain = f"{when['what']} {lowered(when['when'])}" if when else plain
    text = finished(capitalized(impersonal(plain))) if plain else ""
    return text if text and NEGATIVE.found(text) and not fault(text) else ""
