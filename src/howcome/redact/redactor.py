"""Finds secrets in text and puts keyed placeholders in their place, before anything is stored or indexed.

All rules look at the normal view of a text (`redact.view`), piece by piece (`redact.search`): what a display or an
encoding puts between the characters of a secret hides nothing, and the time grows with the size of a text alone.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from howcome.redact.context_rules import is_secret_name_for
from howcome.redact.keys import key_blocks
from howcome.redact.rules import is_mixed
from howcome.redact.search import (
    CUT,
    CUTS,
    ENCODED,
    FORMATS,
    KEY,
    RULES,
    Budget,
    Piece,
    Search,
    Selection,
    bytes_of,
    cut_cost,
    pieces,
    selection,
)
from howcome.redact.second_opinion import SECOND, Scan, replaced
from howcome.redact.view import View, normal_view, seen_of

Place = tuple[int, int, int]
"""Where a secret begins and ends, and the number of its rule."""

TOO_DENSE = "too-dense"
"""In place of a rule's name: a piece of text with more candidates than can be looked at, taken out whole."""

_BETWEEN_WORDS = re.compile(r"""[=:,;"'`()<>{}\[\]]+""")
_PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]{1,60}:[0-9a-f]{8}\]")
# Two passes settle real text; the bound is for text made to be slow.
_MAX_PASSES = 4
_MAX_NAME_CHARS = 24
# No format and no assignment is shorter ("pwd=abc1").
_MIN_TEXT_CHARS = 8
_OPTION = re.compile(r"--?[A-Za-z]")
_MIN_TOGETHER = 2
_MAX_TOGETHER_CHARS = 16_000
_MAX_FORESEEN_CHARS = 4_000
_TOGETHER = '\n"'
_APART = "\n\0\n"
# Paths, commands and the like come again and again: what was clean once need not be searched again.
_REMEMBERED_CHARS = 256
_REMEMBERED_TEXTS = 50_000


class Finding(NamedTuple):
    """One secret: the rule that found it and the character offsets of the secret value alone."""

    rule: str
    start: int
    end: int


class Seen(NamedTuple):
    """What rules see of a text, the numbers of those that hit each piece of it, and its view where there is one."""

    data: bytes
    hits: list[list[int]]
    view: View | None


class Redactor:
    """Replaces secrets by placeholders that are equal for equal secrets and tell nothing without the key."""

    def __init__(self, key: bytes, *, engine: str = "auto", personal: bool = False) -> None:
        """Keep the key; `engine` is "re2", "re", or "auto" for re2 where it is there; `personal`: these data, too."""
        if engine not in {"auto", "re2", "re"}:
            message = f"unknown engine: {engine}"
            raise ValueError(message)
        self._key = key if len(key) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(key).digest()
        self._engine, self._personal = engine, personal
        self._select: Selection | None = None
        self._clean: set[str] = set()
        self._foreseen: set[str] = set()
        self._second: Scan | None = None

    def ask_too(self, second: Scan) -> None:
        """Lets another scanner look at what ours leave."""
        self._second = second
        self._clean.clear()

    def foresee(self, values: Iterable[object]) -> None:
        """Look at many values together, before each is redacted: a short text costs more to begin with than to read."""
        self._foreseen.clear()
        texts: list[str] = []
        for value in values if self._rules_alone else ():
            _gather(value, texts)
        together: list[str] = []
        size = 0
        for text in texts:
            if _MIN_TEXT_CHARS <= len(text) <= _MAX_FORESEEN_CHARS and text not in self._clean:
                together.append(text)
                size += len(text)
                if size > _MAX_TOGETHER_CHARS - _MAX_FORESEEN_CHARS:
                    self._foresee(together)
                    together, size = [], 0
        self._foresee(together)

    @property
    def _rules_alone(self) -> bool:
        """Whether what no rule hits is clean."""
        return not self._personal and self._second is None

    def _foresee(self, texts: list[str]) -> None:
        if len(texts) >= _MIN_TOGETHER and self._are_clean(texts):
            self._foreseen.update(texts)

    def redact(self, text: str) -> str:
        """Replace every secret; a placeholder already in the text stays as it is."""
        if len(text) < _MIN_TEXT_CHARS or text in self._clean or text in self._foreseen:
            return text
        redacted = self._redact_anew(text)
        if self._personal:
            from howcome.domain.personal_data import without_personal_data

            redacted = without_personal_data(redacted)
        if self._second is not None:
            ours = [mark.span() for mark in _PLACEHOLDER.finditer(redacted)]
            redacted = replaced(redacted, self._second, ours, lambda secret: self._placeholder(SECOND, secret))
        if len(text) <= _REMEMBERED_CHARS and redacted == text:
            if len(self._clean) >= _REMEMBERED_TEXTS:
                self._clean.clear()
            self._clean.add(text)
        return redacted

    def _redact_anew(self, text: str) -> str:
        seen = self._seen(text)
        if not any(seen.hits):
            return text
        chars = len(text)
        # What a replacement leaves behind can be a secret of its own, so look again until nothing is found.
        for attempt in range(_MAX_PASSES + 1):
            view = normal_view(text) if attempt or seen.view is None else seen.view
            if not (found := self._scan(view, chars, seen, again=attempt > 0)):
                break
            kept: list[str] = []
            done = 0
            for finding in found:
                start, end = view.span(finding.start, finding.end)
                if attempt == _MAX_PASSES:  # made to have no end: the rest of it goes whole
                    end = len(text)
                if start < done:
                    continue
                kept += (text[done:start], self._placeholder(finding.rule, view.text[finding.start : finding.end]))
                done = end
            kept.append(text[done:])
            text = "".join(kept)
        return text

    def _seen(self, text: str) -> Seen:
        """What rules see of a text, and which hit it: none hits nearly all texts."""
        data, view = seen_of(text)
        return Seen(data, [sorted(self._hit(data[piece.begin : piece.reach])) for piece in pieces(data)], view)

    def reveals(self, text: str, shown: str) -> bool:
        """Whether a word of a text is a secret that stands as a placeholder in another."""
        digests = {mark[-9:-1] for mark in _PLACEHOLDER.findall(shown)}
        words = {word.strip(".!?") for part in text.split() for word in (part, *_BETWEEN_WORDS.split(part))}
        return bool(digests) and any(self._placeholder("", word)[-9:-1] in digests for word in words if word)

    def redact_value(self, value: object) -> object:
        """Redact all strings of decoded JSON; the key of a dict is context for the strings under it."""
        return self._redact_under("", value, is_clean=self._is_clean_together(value))

    def _is_clean_together(self, value: object) -> bool:
        """Whether no rule can hit any string of a small value: one search for all of them instead of one for each."""
        texts: list[str] = []
        _gather(value, texts)
        if self._foreseen.issuperset(texts):
            return True
        if not self._rules_alone or len(texts) < _MIN_TOGETHER or sum(map(len, texts)) > _MAX_TOGETHER_CHARS:
            return False
        return self._are_clean(texts)

    def _are_clean(self, texts: list[str]) -> bool:
        # The quote stands for the start of a line or of a value, which some rules ask for.
        return not any(self._seen('"' + _TOGETHER.join(texts)).hits)

    def scan(self, text: str) -> list[Finding]:
        """List the secrets of a text in order, without overlaps."""
        view = normal_view(text)
        return [Finding(rule, *view.span(start, end)) for rule, start, end in self._scan(view, len(text))]

    def _scan(self, view: View, chars: int, seen: Seen | None = None, *, again: bool = False) -> list[Finding]:
        """The secrets of a view, at the places of the view; `again`: only around what was replaced."""
        text = view.text
        if "[redacted:" in text:
            text = _PLACEHOLDER.sub(lambda match: "\0" * len(match[0]), text)
        found, hit = self._found_in(text, len(RULES), chars, seen, again=again)
        if KEY in hit:
            found += [(start, end, KEY) for start, end in key_blocks(text)]
        known = sorted(found)
        for piece, budget in hit.get(CUT, ()):
            if budget.left >= 0:  # it is not taken out whole anyway
                found += self._found_cut(text, piece, known, budget)
        return _merge(found)

    def _found_cut(self, text: str, piece: Piece, known: list[Place], budget: Budget) -> list[Place]:
        """Formats that show only when the parts of tokens are put together; other rules go by lines."""
        tokens = []
        for begin, joined in CUTS.joined(text, piece.begin, piece.reach):
            tokens.append((begin, joined))
            budget.left -= cut_cost(joined)
            if budget.left < 0:
                return [(piece.begin, piece.stop, len(RULES))]
        begins = list(accumulate((len(joined.text) + len(_APART) for _, joined in tokens), initial=0))
        found, starts = [], [start for start, _, _ in known]
        together = _APART.join(joined.text for _, joined in tokens)
        for first, last, index in self._found_in(together, FORMATS, 0, budget=budget)[0]:
            number = bisect_right(begins, first) - 1
            if budget.left < 0:
                return [(piece.begin, piece.stop, len(RULES))]
            begin, joined = tokens[number]
            span = joined.span(first - begins[number], min(last - begins[number], len(joined.text)))
            start, end = (begin + offset for offset in span)
            near = known[max(0, bisect_left(starts, start) - 1) : bisect_left(starts, end)]
            before = max((stop for _, stop, _ in near if stop > start), default=start)
            # Behind what was found without, it is more of the token, or else a word of the next line.
            if before < end and (before == start or is_mixed(text[before:end])):
                found.append((start, end, index))
        return found

    def _hit(self, data: bytes) -> list[int]:
        """The rules that hit some bytes, in any order."""
        if self._select is None:
            self._select = selection(self._engine)
        return self._select(data)

    def _found_in(
        self,
        text: str,
        rules: int,
        chars: int,
        seen: Seen | None = None,
        *,
        again: bool = False,
        budget: Budget | None = None,
    ) -> tuple[list[Place], dict[int, list[tuple[Piece, Budget]]]]:
        """Where the first so many rules find something, and what hits which pieces.

        `chars` are those of the text that it is from, by which each piece has its budget, unless there is one already;
        `seen` is what is known of the same bytes.
        """
        found: list[Place] = []
        hit: dict[int, list[tuple[Piece, Budget]]] = {}
        data = bytes_of(text)
        known = seen.hits if seen and seen.data == data else None
        for number, piece in enumerate(pieces(data)):
            part = data[piece.begin : piece.reach]
            if again and b"\0" not in part:
                continue
            if selected := known[number] if known else sorted(self._hit(part)):
                left = budget or Budget(piece, chars)
                for index in selected:
                    hit.setdefault(index, []).append((piece, left))
                chosen = [index for index in selected if KEY < index < rules]
                found += self._found_in_piece(text, data, piece, chosen, left)
        return found, hit

    def _found_in_piece(self, text: str, data: bytes, piece: Piece, selected: list[int], budget: Budget) -> list[Place]:
        found: list[Place] = []
        refused: set[tuple[int, int]] = set()
        search = Search(text, data, piece, budget)
        for index in selected:
            if index == ENCODED:
                found += self._found_encoded(search, budget)
                continue
            for start, end, accepted in search.locate(index):
                if accepted:
                    found.append((start, end, index))
                elif RULES[index].final:
                    refused.add((start, end))
            if budget.left < 0:
                return [(piece.begin, piece.stop, len(RULES))]
        # A value refused by its own context is no generic secret either; a provider's format is one anywhere.
        return [item for item in found if item[2] < FORMATS or item[:2] not in refused]

    def _found_encoded(self, search: Search, budget: Budget) -> list[Place]:
        """What looks like base64 of text and hides a secret: all of a piece is decoded and searched together."""
        places, texts = search.decoded()
        if not texts:
            return []
        begins = list(accumulate((len(text) + len(_APART) for text in texts), initial=0))
        together = _APART.join(texts)
        found, hit = self._found_in(together, len(RULES), 0, budget=budget.for_hidden())
        spans = [place[:2] for place in found] + (key_blocks(together) if KEY in hit else [])
        hiding = {
            places[number]
            for first, last in spans
            for number in range(bisect_right(begins, first) - 1, bisect_left(begins, last, hi=len(texts)))
        }
        return [(start, search.taken(start, end), ENCODED) for start, end in sorted(hiding)]

    def _redact_under(self, name: str, value: object, *, is_clean: bool) -> object:
        if isinstance(value, str):
            if name and is_secret_name_for(name, value):
                return self._placeholder("named-value", value)
            return value if is_clean else self.redact(value)
        if isinstance(value, dict):
            named = _named_by_neighbour(value)
            return {
                k if is_clean or _is_plain_name(k) else self.redact(k): self._redact_under(
                    named if k == "value" and named else k if isinstance(k, str) else "", v, is_clean=is_clean
                )
                for k, v in value.items()
            }
        if isinstance(value, list):
            return self._redact_list(name, value, is_clean=is_clean)
        return value

    def _redact_list(self, name: str, items: list[object], *, is_clean: bool) -> list[object]:
        """A list; lines of a key and the words of a command belong together."""
        words = [item for item in items if isinstance(item, str)]
        whole = len(words) == len(items) > 1
        if whole and any("PRIVATE KEY" in word and "\n" not in word for word in words):
            items = self._redact_joined(words, "\n")
        elif whole and any(_OPTION.match(word) for word in words[:-1]):
            items = self._redact_joined(words, " ")
        return [self._redact_under(name, item, is_clean=is_clean) for item in items]

    def _redact_joined(self, words: list[str], joint: str) -> list[object]:
        """Strings that are redacted as one text: what a finding touches is replaced in each."""
        found = self.scan(joint.join(words))
        redacted: list[object] = []
        begin = 0
        for word in words:
            kept: list[str] = []
            done = 0
            for rule, start, end in found:
                first, last = max(start - begin, done), min(end - begin, len(word))
                is_alone = joint == "\n" and begin <= start and end <= begin + len(word)
                if first < last and not is_alone:
                    kept += (word[done:first], self._placeholder(rule, word[first:last]))
                    done = last
            redacted.append("".join(kept) + word[done:])
            begin += len(word) + len(joint)
        return redacted

    def _placeholder(self, rule: str, secret: str) -> str:
        digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key, digest_size=4)
        return f"[redacted:{rule}:{digest.hexdigest()}]"


def _named_by_neighbour(value: dict[object, object]) -> str:
    """The name that stands beside a value: `{"name": "DB_PASSWORD", "value": "..."}`."""
    names = (value.get(name) for name in ("name", "key", "header", "Key", "Name"))
    return next((name for name in names if isinstance(name, str)), "") if "value" in value else ""


def _is_plain_name(name: object) -> bool:
    """The key of a dict as every tool's input has them: an identifier; any other is text."""
    return not isinstance(name, str) or (len(name) <= _MAX_NAME_CHARS and name.isidentifier())


def _gather(value: object, texts: list[str]) -> None:
    """Every string in a decoded value, keys that are no plain names among them."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not _is_plain_name(name):
                texts.append(name)
            _gather(item, texts)
    elif isinstance(value, list):
        for item in value:
            _gather(item, texts)


def _merge(found: list[Place]) -> list[Finding]:
    merged: list[Place] = []
    for start, end, index in sorted(found):
        if merged and start < merged[-1][1]:
            last = merged.pop()
            merged.append((last[0], max(end, last[1]), min(index, last[2])))
        else:
            merged.append((start, end, index))
    return [Finding(RULES[index].name if index < len(RULES) else TOO_DENSE, start, end) for start, end, index in merged]
