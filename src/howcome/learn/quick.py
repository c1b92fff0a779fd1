"""Whether any of many words is in a text, in one pass: by RE2 where it is installed, else by `re`, to the same end.

Rules ask that of every text and of every sentence. An alternation of a hundred words takes `re` ten times as long, and
looking for the words of every rule one after the other thirty times.
"""

from __future__ import annotations

import importlib
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any


class Words:
    """A pattern of words, whatever their case: no look-around, no back reference; classes are those of ASCII.

    `is_cased`: their case counts.
    """

    __slots__ = ("_flags", "_match", "_pattern", "source")

    def __init__(self, source: str, *, is_cased: bool = False) -> None:
        self.source, self._flags = source, re.ASCII if is_cased else re.ASCII | re.IGNORECASE
        self._pattern: re.Pattern[str] | None = None
        self._match = _automaton([source], is_cased=is_cased)

    def found(self, text: str) -> bool:
        """Whether it is anywhere in a text."""
        if self._match is not None:
            try:
                return bool(self._match(text))
            except UnicodeEncodeError:  # half a character (a lone surrogate): only `re` takes it
                pass
        if self._pattern is None:
            self._pattern = re.compile(self.source, self._flags)
        return self._pattern.search(text) is not None


class Cues:
    """Words (lower case) of which a rule needs one in a text. Those of all rules are looked for in one pass."""

    __slots__ = ("number", "words")

    all: list[Cues] = []  # noqa: RUF012 - the register of them all, by number
    _match: Callable[[str], Collection[int] | None] | None = None
    _matched = 0

    def __init__(self, *words: str) -> None:
        self.words, self.number = words, len(Cues.all)
        Cues.all.append(self)

    @classmethod
    def numbers_in(cls, low: str) -> Collection[int]:
        """The numbers of the cues that are in a text (lower case)."""
        if cls._matched != len(cls.all):
            sources = ["|".join(map(re.escape, cues.words)) for cues in cls.all]
            cls._match, cls._matched = _automaton(sources, is_cased=True), len(cls.all)
        if cls._match is not None:
            try:
                return cls._match(low) or ()
            except UnicodeEncodeError:  # half a character (a lone surrogate)
                pass
        return [cues.number for cues in cls.all if any(word in low for word in cues.words)]


def _automaton(sources: list[str], *, is_cased: bool) -> Callable[[str], Collection[int] | None] | None:
    try:
        re2: Any = importlib.import_module("re2")
    except ImportError:
        return None
    options = re2.Options()
    options.case_sensitive = is_cased
    options.never_capture = True
    automaton = re2.Set.SearchSet(options)
    for source in sources:
        automaton.Add(source)
    automaton.Compile()
    match: Callable[[bytes], Collection[int] | None] = automaton.Match
    return lambda text: match(text.encode())
