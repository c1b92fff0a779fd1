"""Tokens that something cuts in two: the width of a page or a terminal, or a program that joins strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howcome.redact.rules import Rule
from howcome.redact.view import MASK, View

_TOKEN = "[A-Za-z0-9+/=_.-]"
# A line break with the number of the next line or its indentation, or the quotes of two strings with what joins them.
_CUT = (
    r"(?:=?[ ]?\n[ \t>+|-]{0,16}(?:[0-9]{1,6}(?:[:|\t?-]|[^ -~\t\r\n])[ \t]?)?"
    r"|[\"'`][ \t]{0,12}[+.&]?[ \t\n]{0,20}[+.&]?[ \t]{0,12}[\"'`])"
)
_MOST_PARTS = 60
_LEAST_HEAD_CHARS = 3
_MOST_HEAD_CHARS = 30
_CUTS = re.compile(_CUT)
_RUN = re.compile(rf"(?<!{_TOKEN}){_TOKEN}++({_CUT}{_TOKEN}{{4,}}+){{1,{_MOST_PARTS}}}")
_NOT_A_WORD = re.compile(r"[^a-z]")
_BOUND = r"\b"


class Cuts:
    """Finds the cuts in tokens that begin as the formats of some rules do."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        bound, free = (
            sorted({head for rule in rules if (_BOUND in rule.pattern) == is_bound for head in _heads(rule)})
            for is_bound in (True, False)
        )
        self._heads = rf"\b(?:{_any_of(bound)})", rf"(?:{_any_of(free)})"
        self.pattern = rf"(?:{'|'.join(self._heads)}){_TOKEN}{{0,200}}(?:{_CUT}{_TOKEN}{{4,200}}){{1,{_MOST_PARTS}}}"
        self.literals = tuple({head.lower() for head in (*bound, *free)})
        self._compiled: list[re.Pattern[str]] = []

    def joined(self, text: str, begin: int, end: int) -> Iterator[tuple[int, View]]:
        """Each token of a part of a normal view's text that may be cut, put together, and where it begins."""
        self._compiled = self._compiled or [re.compile(heads, re.ASCII) for heads in self._heads]
        place = begin
        while run := _RUN.search(text, place, end):  # all that goes on over cuts, in one go: heads come in dense rows
            place = run.start(1)  # its last part may begin another
            if (head := self._head(text, max(begin, run.start() - _MOST_HEAD_CHARS), run)) is not None:
                # What a head is glued to stays before it: most rules ask for a boundary there.
                start = head - text[max(begin, head - 1) : head].isalnum()
                token = text[start : run.end()]
                yield start, View(token).below(_CUTS.sub(lambda cut: MASK * len(cut[0]), token))

    def _head(self, text: str, begin: int, run: re.Match[str]) -> int | None:
        """Where the first head begins that reaches into a run."""
        first, end = None, run.end()
        for heads in self._compiled:
            head = heads.search(text, begin, end)
            while head and head.end() < run.start():
                head = heads.search(text, head.end(), end)
            if head and (first is None or head.start() < first):
                first, end = head.start(), head.end()
        return first


def _any_of(heads: list[str]) -> str:
    return "|".join(re.escape(head).replace(r"\-", "-").replace(r"\ ", " ") for head in heads)


def _heads(rule: Rule) -> Iterator[str]:
    """How the tokens of a format begin, as they are written: letters alone are words, too, and are left out."""
    if rule.before != (0, 0):
        return
    for sample in rule.samples:
        for literal in rule.literals:
            head = sample[: len(literal)]
            if head.lower() == literal and len(head) >= _LEAST_HEAD_CHARS and _NOT_A_WORD.search(head):
                yield head
