"""Where the rules for secrets hit a text, in time that grows with its size alone.

A text is looked at piece by piece. One search by automaton says which rules hit a piece; these are located around their
literals, at a cost that is counted. A piece that costs more than its budget is given up, to be taken out whole.
"""

from __future__ import annotations

import binascii
import functools
import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from howcome.redact.context_rules import CONTEXT_RULES
from howcome.redact.cuts import Cuts
from howcome.redact.rules import ENCODED_RULE, PROVIDER_RULES, Rule
from howcome.redact.sums import SUM_RULES
from howcome.redact.token_rules import TOKEN_RULES
from howcome.redact.view import View

Selection = Callable[[bytes], list[int]]

FORMAT_RULES: tuple[Rule, ...] = (*PROVIDER_RULES, *TOKEN_RULES, *SUM_RULES, ENCODED_RULE)
RULES: tuple[Rule, ...] = FORMAT_RULES + CONTEXT_RULES
FORMATS = len(FORMAT_RULES)
"""The rules before this one are formats, which are secrets anywhere; the others need their context."""

KEY = 0
"""The rule of private keys, which `redact.keys` locates."""

ENCODED = FORMATS - 1
"""The rule of base64, in which any other may hit."""

CUTS = Cuts(FORMAT_RULES)
CUT = len(RULES) + 1
"""In place of a rule's number: a token may be cut in two."""

_REPEAT = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_TOKEN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
_TOKEN_REST = re.compile(rb"[A-Za-z0-9+=_-]*")
_BASE64_ONLY = frozenset("+/")
# A plus sign that begins a line is a diff's.
_DIFF_BEFORE = frozenset(("", "\n"))
_BOUNDARY = r"\b"
# An underscore is no part of what it emphasises, nor of a token behind a name.
_WIDE_BOUNDARY = r"(?:\b|(?<=_)|(?=_))"
# A trigger asks for at most this many repetitions: more would only make the automaton larger, locating counts them.
# Fewer than six, and UUIDs hit; behind four characters that hardly occur otherwise, two will do.
_TRIGGER_REPEATS = 6
_TELLING_CHARS = 4
_TELLING_REPEATS = 2
_TRIGGER_MEMORY = 64 << 20
_EVERY_BYTE = bytes(range(256))
_PIECE_CHARS = 16_000
_OVERLAP_CHARS = 1_000
_UNBROKEN_OVERLAP_CHARS = 16_000
_LINE_CHARS = 4_000
_BREAK = re.compile(rb"[ \t\r\n,;\"'<>(){}|\[\]]")
# Units of about half a microsecond, as measured: what trying a rule costs, a place, a candidate, a finding. A long text
# gets some 4 ms for a piece of 16,000 characters, a secret in every 100; a short one as much as it may ever need.
_RULE_COST = 50
_FIND_COST = 2
_PLACE_COST = 6
_MAX_READ_CHARS = 4_000
_READ_CHARS_PER_UNIT = 100
_MAX_TRIED = 1_000
_TRIED_PER_UNIT = 60
_CHECK_COST = 8
_CHECKED_CHARS_PER_UNIT = 4
_CUT_COST = 40
_FOUND_COST = 20
_BUDGET_PER_CHAR = 0.6
_HIDDEN_SHARE = 1
_SHORT_BUDGET_PER_CHAR = 8.0
_LONG_CHARS = 64_000


class Piece(NamedTuple):
    """A piece of a text: a match begins from `begin` on before `stop`, and lies before `reach`."""

    begin: int
    stop: int
    reach: int


class Budget:
    """What looking at one piece may still cost, with all that is decoded in it."""

    __slots__ = ("hidden", "left")

    def __init__(self, piece: Piece, text_chars: int) -> None:
        per_char = _BUDGET_PER_CHAR if text_chars >= _LONG_CHARS else _SHORT_BUDGET_PER_CHAR
        self.left = int(max(piece.stop - piece.begin, _PIECE_CHARS) * per_char)
        self.hidden: Budget | None = None
        """For all that is decoded in the piece; when it is used up, what is left of that is taken for secrets."""

    def for_hidden(self) -> Budget:
        """The budget for what is decoded, the first time as large as what is left."""
        if self.hidden is None:
            self.hidden = Budget(Piece(0, 0, 0), 0)
            self.hidden.left = int(_HIDDEN_SHARE * max(self.left, 0))
            self.hidden.hidden = self.hidden  # what is hidden in that
        return self.hidden


def cut_cost(token: View) -> int:
    """What it costs to put a token together that may be cut."""
    return _CUT_COST + len(token.text) // _CHECKED_CHARS_PER_UNIT


class Search:
    """Locates rules in one piece of a text, as long as its budget lasts."""

    def __init__(self, text: str, data: bytes, piece: Piece, budget: Budget) -> None:
        self._text, self._data, self._piece, self._budget = text, data, piece, budget
        self._lowered = data[piece.begin : piece.reach].lower()
        # Most literals are not there; in a long text of few letters, finding that out takes the longest.
        self._absent = _EVERY_BYTE.translate(None, self._lowered)
        self._taken: dict[int, int] = {}
        self._known: dict[str, list[int]] = {}

    def locate(self, index: int) -> Iterator[tuple[int, int, bool]]:
        """The places of a rule's values, each with whether it is one."""
        rule, (_, tail) = RULES[index], _patterns(index)
        cursor = self._piece.begin
        for match in self._matches(index):
            start, end = match.span(match.lastindex or 0)
            if match.start() < cursor:
                continue
            if (taken := self._taken.get(start, -1)) >= end:  # another rule found as much
                cursor = taken
                continue
            self._budget.left -= _CHECK_COST + (end - start) // _CHECKED_CHARS_PER_UNIT
            if accepted := self._is_accepted(rule, start, end):
                self._budget.left -= _FOUND_COST
                cursor = end = self.taken(start, end, tail)
            else:  # the refused value may itself name a secret, as in `token: password = "..."`
                cursor = start if start > match.start() else match.end()
            yield start, end, accepted
            if self._budget.left < 0:
                return

    def decoded(self) -> tuple[list[tuple[int, int]], list[str]]:
        """What looks like base64 of text: where it stands, and what it says.

        Lines twice: the last one may be a word of the text behind it.
        """
        places: list[tuple[int, int]] = []
        texts: list[str] = []
        for match in self._matches(ENCODED):
            place = match.span(1)
            self._budget.left -= _CHECK_COST + (place[1] - place[0]) // _CHECKED_CHARS_PER_UNIT
            if self._budget.left < 0:
                break
            lines = match[1].split(b"\n")
            for part in (lines, lines[:-1]) if len(lines) > 1 else (lines,):
                if text := _decoded(b"".join(part)):
                    places.append(place)
                    texts.append(text)
        return places, texts

    def taken(self, start: int, end: int, tail: re.Pattern[bytes] | None = None) -> int:
        """Notes a secret and gives its end, with all that goes on behind it."""
        self._taken[start] = end = self._end_of(end, tail)
        return end

    def _matches(self, index: int) -> Iterator[re.Match[bytes]]:
        """The matches of a rule, those that overlap as well."""
        rule, (pattern, _) = RULES[index], _patterns(index)
        begin, stop, reach = self._piece
        if not rule.literals:
            yield from pattern.finditer(self._data, begin, reach)
            return
        least, most = rule.before
        cost = _place_cost(index)
        for place in self._places(rule.literals):
            for first in range(max(begin, place - most), min(place - least + 1, stop)):
                self._budget.left -= cost
                if match := pattern.match(self._data, first, reach):
                    yield match
                    break
            if self._budget.left < 0:
                return

    def _places(self, literals: tuple[str, ...]) -> list[int]:
        """Where one of some literals begins, in order."""
        found = [self._places_of(literal) for literal in literals]
        places = found[0] if len(found) == 1 else sorted(set().union(*found))
        self._budget.left -= _RULE_COST + len(places)
        return places

    def _places_of(self, literal: str) -> list[int]:
        """Where a literal begins: many rules share theirs."""
        if literal in self._known:
            return self._known[literal]
        places = self._known[literal] = []
        sought, most = literal.encode(), max(self._budget.left // _FIND_COST + 1, 0)
        if len(sought.translate(None, self._absent)) < len(sought) or sought not in self._lowered:
            return places
        if len(set(sought)) == 1 < len(sought):  # of a run of one character, as an empty image has it, the beginning
            runs = re.finditer(re.escape(sought) + re.escape(sought[:1]) + b"*", self._lowered)
            places += (self._piece.begin + run.start() for run in itertools.islice(runs, most))
        else:  # by what stands between them: several times as fast as one after the other
            place = self._piece.begin
            for part in self._lowered.split(sought, most)[:-1]:
                place += len(part)
                places.append(place)
                place += len(sought)
        self._budget.left -= _FIND_COST * len(places)
        return places

    def _end_of(self, end: int, tail: re.Pattern[bytes] | None) -> int:
        if tail and (more := tail.match(self._data, end)):
            end = more.end()
        # Never leave behind the rest of a token that is longer than its format says.
        if self._text[end - 1] in _TOKEN_CHARACTERS and (more := _TOKEN_REST.match(self._data, end)):
            end = more.end()
        return end

    def _is_accepted(self, rule: Rule, start: int, end: int) -> bool:
        text = self._text
        after = text[end : end + 2]
        if rule.closed and after[:1] in _TOKEN_CHARACTERS and not (after[:1] == "_" and not after[1:].isalnum()):
            return False
        if rule.closed and text[start - 1 : start] in _BASE64_ONLY and text[start - 2 : start - 1] not in _DIFF_BEFORE:
            return False
        value = text[start:end]
        return "\0" not in value and (rule.check is None or rule.check(value))


def _decoded(value: bytes) -> str:
    """The text that base64 stands for; '' when it is none."""
    try:
        return binascii.a2b_base64(value[: len(value) // 4 * 4]).decode("ascii")
    except ValueError:  # binascii.Error is one
        return ""


@functools.cache
def _place_cost(index: int) -> int:
    """What it costs to try a rule at a place: what it may read there is as long as its repetitions allow."""
    repeats = [match.groups() for match in _REPEAT.finditer(RULES[index].pattern)]
    chars = sum(_MAX_READ_CHARS if most == "" else int(most or least) for least, most in repeats)
    tried = sorted(int(most) - int(least) for least, most in repeats if most and int(most) < _READ_CHARS_PER_UNIT)
    again = tried[-1] * tried[-2] if len(tried) > 1 else 0  # for each length of one, each of the other
    return _PLACE_COST + min(chars, _MAX_READ_CHARS) // _READ_CHARS_PER_UNIT + min(again, _MAX_TRIED) // _TRIED_PER_UNIT


_COMPILED: dict[int, tuple[re.Pattern[bytes], re.Pattern[bytes] | None]] = {}


def _patterns(index: int) -> tuple[re.Pattern[bytes], re.Pattern[bytes] | None]:
    """A rule's patterns on bytes, made on first use."""
    if index not in _COMPILED:
        rule = RULES[index]
        pattern = re.compile(rule.pattern.replace(_BOUNDARY, _WIDE_BOUNDARY).encode("ascii"))
        _COMPILED[index] = pattern, re.compile(rule.tail.encode("ascii")) if rule.tail else None
    return _COMPILED[index]


def bytes_of(text: str) -> bytes:
    """One byte a character, so that offsets are the same: patterns are of ASCII alone."""
    return text.encode("ascii", "replace")


def pieces(data: bytes) -> Iterator[Piece]:
    """A text cut at the ends of lines, or else between words; each piece reaches a few lines into the next."""
    begin, size = 0, len(data)
    while size - begin > _PIECE_CHARS + _OVERLAP_CHARS:
        stop = _break_after(data, begin + _PIECE_CHARS)
        if stop:
            reach = _break_after(data, stop + _OVERLAP_CHARS) or stop + _OVERLAP_CHARS
        else:
            stop = begin + _PIECE_CHARS
            reach = stop + _UNBROKEN_OVERLAP_CHARS
        yield Piece(begin, min(stop, size), min(reach, size))
        begin = stop
    if begin < size or not size:
        yield Piece(begin, size, size)


def _break_after(data: bytes, place: int) -> int:
    """The end of the line at a place, or of the word; 0 where there is none near."""
    if end := data.find(b"\n", place, place + _LINE_CHARS) + 1:
        return end
    found = _BREAK.search(data, place, place + _LINE_CHARS)
    return found.end() if found else 0


@functools.cache
def selection(engine: str) -> Selection:
    """What says which rules hit some text: an automaton of google-re2, or ("re", or without it) their literals."""
    if engine != "re":
        try:
            return _select_by_automaton(importlib.import_module("re2"))
        except ImportError:
            if engine == "re2":
                raise
    return _select_by_literals()


def _repeats(index: int) -> int:
    literals = RULES[index].literals
    return _TELLING_REPEATS if literals and min(map(len, literals)) >= _TELLING_CHARS else _TRIGGER_REPEATS


def _trigger(pattern: str, repeats: int = _TRIGGER_REPEATS) -> bytes:
    """Loosen a pattern to a smaller one that still matches wherever the pattern does."""
    pattern = pattern.replace(_BOUNDARY, r"(?:\b|_)")

    def loosen(match: re.Match[str]) -> str:
        least = int(match[1])
        if least == 0:
            return "*"
        return f"{{{min(least, repeats)},}}"

    return _REPEAT.sub(loosen, pattern).encode("ascii")


def _select_by_automaton(re2: Any) -> Selection:  # noqa: ANN401 - re2 has no type information
    options = re2.Options()
    options.max_mem = _TRIGGER_MEMORY
    # Bytes instead of characters: negated classes need no UTF-8 automaton.
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    matchers: list[tuple[list[int], Callable[[bytes], list[int] | None]]] = []
    # An automaton for each: together their states multiply.
    for indexes in ([*range(ENCODED), CUT], [ENCODED], list(range(FORMATS, len(RULES)))):
        automaton = re2.Set.SearchSet(options)
        for index in indexes:
            automaton.Add(_trigger(CUTS.pattern) if index == CUT else _trigger(RULES[index].pattern, _repeats(index)))
        automaton.Compile()
        matchers.append((indexes, getattr(automaton, "_set", automaton).Match))  # without the wrapper for texts

    def select(data: bytes) -> list[int]:
        selected: list[int] = []
        for indexes, match in matchers:
            if hits := match(data):
                selected += [indexes[hit] for hit in hits]
        return selected

    return select


def _select_by_literals() -> Selection:
    always = {index for index, rule in enumerate(RULES) if not rule.literals}
    users: dict[bytes, set[int]] = {literal.encode(): {CUT} for literal in CUTS.literals}
    for index, rule in enumerate(RULES):
        for literal in rule.literals:
            users.setdefault(literal.encode(), set()).add(index)

    def select(data: bytes) -> list[int]:
        lowered = data.lower()
        hit = {index for literal, indexes in users.items() if literal in lowered for index in indexes}
        return sorted(always | hit)

    return select
