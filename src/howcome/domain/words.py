"""Words by which texts are told apart, from data files by language (`words/*.txt`): all languages hold at once.

Each file has the same lists (`LISTS`); a language is added by adding a file. docs/changing.md tells the format.
"""

from __future__ import annotations

import os
import re
from functools import cache

LISTS = (
    "narrates", "guesses", "causes", "blames", "retracts", "reasons", "confirms", "open", "chores", "dangles", "passes",
    "recalls", "asking", "rules",
)  # fmt: skip
"""A sentence that begins with one of these tells what is done next (narrates), hangs on the one before it (dangles), or
is of the day (passes); who says one of these is not sure (guesses), names why something is as it is (causes; blames are
the surest), gives a reason (reasons), says yes (confirms), takes back what was said before (retracts), or names what is
left to do (open). A prompt of nothing but chores asks for a step of the day. Who asks about the past says one of
these (recalls), and others that say nothing of its subject (asking). Who wants something kept to says
one of rules."""


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


def rest_of(text: str, *names: str) -> str:
    """A text without the words of some lists; what is left keeps its case."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have no lower case of their length
        text = lowered
    kept, end = [], 0
    for match in _pattern(*names).finditer(lowered):
        kept.append(text[end : match.start()])
        end = match.end()
    return " ".join("".join((*(f"{part} " for part in kept), text[end:])).split())
