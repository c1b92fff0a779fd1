"""Words by which texts are told apart, from data files by language (`words/*.txt`): all languages hold at once.

Each file has the same lists (`LISTS`); a language is added by adding a file. docs/changing.md tells the format.
"""

from __future__ import annotations

import os
import re
from functools import cache

LISTS = (
    "narrates", "guesses", "causes", "blames", "retracts", "reasons", "confirms", "open", "chores", "dangles", "passes",
    "recalls", "hints", "asking", "rules", "orders",
)  # fmt: skip
"""A sentence that begins with one of these tells what is done next (narrates), hangs on the one before it (dangles), or
is of the day (passes); who says one of these is not sure (guesses), names why something is as it is (causes; blames are
the surest), gives a reason (reasons), says yes (confirms), takes back what was said before (retracts), or names what is
left to do (open). A prompt of nothing but chores asks for a step of the day. Who asks about the past says one of
these (recalls), and others that say nothing of its subject (asking). One of hints makes
a question (with its mark) one about the past. Who wants something kept to says one of rules, or begins with one of
orders."""


MAX_PHRASE_WORDS = 6
_AROUND = ".,;:!?…()[]\"'“”„«»¿¡"
"""What may stand around a word."""

MAX_WORD_CHARS = 80
"""No word of a list is longer: of a text so much of its beginning is looked at."""


@cache
def _lists() -> dict[str, list[str]]:
    """The lists of all languages together. Lines are `name: word | a phrase | …`, indented ones go on."""
    found: dict[str, list[str]] = {name: [] for name in LISTS}
    folder = os.path.join(os.path.dirname(__file__), "words")  # `importlib.resources` costs a prompt 15 ms
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".txt"):
            continue
        name = ""
        with open(os.path.join(folder, file), encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("#"):
                    continue
                head, _, told = ("", "", line) if line.startswith(" ") else line.partition(":")
                name = head or name
                found[name] += [word.strip() for word in told.split("|") if word.strip()]
    return found


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    found = [word for name in names for word in _lists()[name]]
    words = "|".join(
        re.escape(word).replace(r"\ ", r"\s+") for word in sorted(found, key=lambda word: (-len(word), word))
    )
    return re.compile(rf"\b(?:{words})(?!\w)")  # texts are lowered before: several times as fast as IGNORECASE


def begins(text: str, *names: str) -> bool:
    """Whether a text begins with a word of some lists."""
    return _pattern(*names).match(text[:MAX_WORD_CHARS].lower()) is not None


def has(text: str, name: str) -> bool:
    """Whether a text has a word of a list anywhere."""
    return _pattern(name).search(text.lower()) is not None


def without(text: str, name: str) -> str:
    """A text in lower case, without the words of a list."""
    return _pattern(name).sub(" ", text.lower())


def opens(text: str, name: str) -> bool:
    """As `begins`, without a pattern: for a prompt's hook."""
    bare = [word.strip(_AROUND).lower() for word in text.split(maxsplit=MAX_PHRASE_WORDS)[:MAX_PHRASE_WORDS]]
    known = {word.strip(_AROUND) for word in _lists()[name]}
    return any(" ".join(bare[:count]) in known for count in range(1, len(bare) + 1))


def rest_of(text: str, *names: str) -> str:
    """A text on one line without the words of some lists; what is left keeps its case.

    For a prompt's hook: looking a few dozen words up costs less than a pattern of a list, which has to be made.
    """
    known = {word for name in names for word in _lists()[name]}
    longest = max(word.count(" ") for word in known) + 1
    said = text.split()
    bare = [word.strip(_AROUND).lower() for word in said]
    rest, place = [], 0
    while place < len(said):
        spans = range(min(longest, len(said) - place), 0, -1)
        found = next((span for span in spans if " ".join(bare[place : place + span]) in known), 0)
        if not found:
            rest.append(said[place])
        place += found or 1
    return " ".join(rest)
