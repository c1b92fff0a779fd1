"""Words by which texts are told apart, from data files by language (`words/*.toml`): all languages hold at once.

Each file has the same lists (`LISTS`); a language is added by adding a file. docs/changing.md tells the format.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

LISTS = (
    "narrates", "guesses", "causes", "blames", "retracts", "reasons", "confirms", "open", "chores", "dangles", "passes",
)  # fmt: skip
"""A sentence that begins with one of these tells what is done next (narrates), hangs on the one before it (dangles), or
is of the day (passes); who says one of these is not sure (guesses), names why something is as it is (causes; blames are
the surest), gives a reason (reasons), says yes (confirms), takes back what was said before (retracts), or names what is
left to do (open). A prompt of nothing but chores asks for a step of the day."""


MAX_WORD_CHARS = 80
"""No word of a list is longer: of a text so much of its beginning is looked at."""


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    found: list[str] = []
    for file in sorted(files(__package__).joinpath("words").iterdir(), key=lambda path: path.name):
        if file.name.endswith(".toml"):
            lists = tomllib.loads(file.read_text(encoding="utf-8"))
            found += [word for name in names for word in lists[name]]
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
