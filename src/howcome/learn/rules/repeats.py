"""What one exchange says twice in other words: the fuller of the two is kept."""

from __future__ import annotations

import re

from howcome.learn.rules.soundness import stem_of
from howcome.learn.rules.trust import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Candidate

_KINDS = {"failure": "finding", "discovery": "finding", "pattern": "pattern", "decision": "decision"}
_WORD = re.compile(r"[A-Za-z_][\w-]+")
_FILLERS = frozenset(
    "the and for that this with from into onto are was were has have had does did not don doesn didn isn wasn only also"
    " when while where which who what its their because since due but then than instead rather over under all any each"
    " both before after now always never must should can cannot will being been use uses used using problem root cause"
    " fixed fix commit mended decision decided chosen reason".split()
)
MIN_WORDS, MIN_WHOLE_WORDS = 3, 2
MIN_CHARS = 7
SHARED = 0.67
"""So much of the shorter one's words in the longer one: on two projects read by eye, from here on both say the same."""


MIN_NAMES, SHARED_NAMES, SHARED_OF_NAMED = 3, 0.75, 0.4
"""Where so many coined names are the same, and so much of the shorter one's, less of the other words has to be."""

FULL = 0.7
"""A later saying that is shorter than so much of an earlier one leaves something out."""


def said_once(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of an exchange without those that another one says as well, and more of it."""
    kept: list[tuple[frozenset[str], Candidate]] = []
    for candidate in sorted(found, key=_worth):
        words = _words(candidate)
        kind = _KINDS.get(candidate.type)
        if not kind or not any(
            kind == _KINDS.get(other.type) and (_is_in(words, theirs) or _is_about_the_same(candidate, other))
            for theirs, other in kept
        ):
            kept.append((words, candidate))
    chosen = {id(candidate) for _, candidate in kept}
    return [candidate for candidate in found if id(candidate) in chosen]


def is_said_by(candidate: Candidate, later: Candidate) -> bool:
    """Whether a later candidate of the same session says what one says, and not much less of it."""
    kind = _KINDS.get(candidate.type)
    if not kind or kind != _KINDS.get(later.type):
        return False
    if not (_is_in(_words(candidate), _words(later)) or _is_about_the_same(candidate, later)):
        return False
    return len(stem_of(later.text)) >= FULL * len(stem_of(candidate.text))


def _is_about_the_same(one: Candidate, other: Candidate) -> bool:
    """Whether two findings have most of their coined names in common, and words besides."""
    if not _KINDS.get(one.type) == _KINDS.get(other.type) == "finding":
        return False
    names, others = names_of(stem_of(one.text)), names_of(stem_of(other.text))
    shared = len(names & others)
    if shared < MIN_NAMES or shared < SHARED_NAMES * min(len(names), len(others)):
        return False
    words, theirs = _words(one), _words(other)
    return len(words & theirs) >= SHARED_OF_NAMED * min(len(words), len(theirs))


def _worth(candidate: Candidate) -> tuple[bool, int, str]:
    """A failure tells its mending, a longer text more of it."""
    return candidate.type != "failure", -len(stem_of(candidate.text)), candidate.text


def _words(candidate: Candidate) -> frozenset[str]:
    return frozenset(
        word
        for word in map(str.lower, _WORD.findall(stem_of(candidate.text)))
        if len(word) > 2 and word not in _FILLERS
    )


def told_by(candidate: Candidate) -> frozenset[str]:
    """The words by which a later saying of the same is found: its names, or its longer words where it has none."""
    names = names_of(candidate.text)
    return frozenset(names or (word for word in _words(candidate) if len(word) >= MIN_CHARS))


def _is_in(words: frozenset[str], others: frozenset[str]) -> bool:
    shared, shorter = len(words & others), min(len(words), len(others))
    if shared == shorter >= MIN_WHOLE_WORDS:  # one says nothing that the other does not
        return True
    return shared >= MIN_WORDS and shared >= SHARED * shorter
