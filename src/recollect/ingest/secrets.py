"""Finds secrets in text and puts keyed placeholders in their place, before anything is stored or indexed."""

import hashlib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from recollect.ingest.secret_context_rules import CONTEXT_RULES, is_secret_name_for
from recollect.ingest.secret_rules import PROVIDER_RULES, Rule

RULES: tuple[Rule, ...] = PROVIDER_RULES + CONTEXT_RULES

_BETWEEN_WORDS = re.compile(r"""[=:,;"'`()<>{}\[\]]+""")
_PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]{1,60}:[0-9a-f]{8}\]")
_PRIVATE_TAG = re.compile(r"<(/?)private[ \t]{0,8}>", re.IGNORECASE)
_REPEAT = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
_TOKEN_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
_TOKEN_REST = re.compile(r"[A-Za-z0-9+=_-]*")
_BASE64_ONLY = frozenset("+/")
# A trigger asks for at most this many repetitions: more would only make the automaton larger, locating counts them.
_TRIGGER_REPEATS = 4
# Two passes settle real text; the bound is for text made to be slow.
_MAX_PASSES = 12
_TRIGGER_MEMORY = 64 << 20
# Shorter values would be replaced where they mean nothing.
_MIN_ESCAPED_CHARS = 6
_MAX_NAME_CHARS = 24
# No format and no assignment is shorter ("pwd=abc1").
_MIN_TEXT_CHARS = 8
_MIN_TOGETHER = 2
_MAX_TOGETHER_CHARS = 16_000
_TOGETHER = '\n"'
# Paths, commands and the like come again and again: what was clean once need not be searched again.
_REMEMBERED_CHARS = 256
_REMEMBERED_TEXTS = 50_000

_LONG_TEXT_CHARS = 2000

_Selection = Callable[[str], Iterable[int]]
_Patterns = tuple[re.Pattern[str], re.Pattern[str] | None]


class Finding(NamedTuple):
    """One secret: the rule that found it and the character offsets of the secret value alone."""

    rule: str
    start: int
    end: int


class Redactor:
    """Replaces secrets by placeholders that are equal for equal secrets and tell nothing without the key."""

    def __init__(self, key: bytes, *, engine: str = "auto") -> None:
        """Keep the key; `engine` is "re2", "re", or "auto" for re2 where it is installed."""
        if engine not in {"auto", "re2", "re"}:
            message = f"unknown engine: {engine}"
            raise ValueError(message)
        self._key = key if len(key) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(key).digest()
        self._engine = engine
        self._select: _Selection | None = None
        self._clean: set[str] = set()
        self._patterns: dict[int, _Patterns] = {}

    def redact(self, text: str) -> str:
        """Replace every secret; a placeholder already in the text stays as it is."""
        if len(text) < _MIN_TEXT_CHARS or text in self._clean:
            return text
        redacted = self._redact_anew(text)
        if len(text) <= _REMEMBERED_CHARS and redacted == text:
            if len(self._clean) >= _REMEMBERED_TEXTS:
                self._clean.clear()
            self._clean.add(text)
        return redacted

    def _redact_anew(self, text: str) -> str:
        if '\\"' in text or (text[:1] in ("{", "[") and "\\n" in text):
            unescaped = _unescaped(text)
            if not self._selected(unescaped):  # what hits the text hits this too: nothing in a format is a backslash
                return text
            text = self._redact_escaped(text, unescaped)
        # What a replacement leaves behind can be a secret of its own, so look again until nothing is found.
        for _ in range(_MAX_PASSES):
            if not (findings := self.scan(text)):
                break
            pieces: list[str] = []
            end = 0
            for finding in findings:
                secret = text[finding.start : finding.end]
                pieces += (text[end : finding.start], self._placeholder(finding.rule, secret))
                end = finding.end
            pieces.append(text[end:])
            text = "".join(pieces)
        return text

    def _redact_escaped(self, text: str, unescaped: str) -> str:
        """Replace what only shows once JSON within the text (a log line, an API's answer) is unescaped."""
        variants = [unescaped, unescaped.replace('"', "\n")] if text[:1] in ("{", "[") else [unescaped]
        for variant in variants:
            for finding in self.scan(variant):
                secret = variant[finding.start : finding.end]
                if len(secret) >= _MIN_ESCAPED_CHARS and secret in text:
                    text = text.replace(secret, self._placeholder(finding.rule, secret))
        return text

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
        if len(texts) < _MIN_TOGETHER or sum(map(len, texts)) > _MAX_TOGETHER_CHARS:
            return False
        # The quote stands for the start of a line or of a value, which some rules ask for.
        return not self._selected('"' + _TOGETHER.join(texts))

    def scan(self, text: str) -> list[Finding]:
        """List the secrets of a text in order, without overlaps."""
        selected = self._selected(text)
        if not selected:
            return []
        if "[redacted:" in text:
            text = _PLACEHOLDER.sub(lambda match: "\0" * len(match[0]), text)
        found: list[tuple[int, int, int]] = []
        refused: set[tuple[int, int]] = set()
        for index in selected:
            for start, end, accepted in self._locate(index, text):
                if accepted:
                    found.append((start, end, index))
                elif RULES[index].final:
                    refused.add((start, end))
        # A value refused by its own context is no generic secret either; a provider's format is one anywhere.
        return _merge([item for item in found if item[2] < len(PROVIDER_RULES) or item[:2] not in refused])

    def _selected(self, text: str) -> list[int]:
        if self._select is None:
            self._select = self._make_selection()
        return list(self._select(text))

    def _redact_under(self, name: str, value: object, *, is_clean: bool) -> object:
        if isinstance(value, str):
            if name and is_secret_name_for(name, value):
                return self._placeholder("named-value", value)
            return value if is_clean else self.redact(value)
        if isinstance(value, dict):
            return {
                k if is_clean or _is_plain_name(k) else self.redact(k): self._redact_under(
                    k if isinstance(k, str) else "", v, is_clean=is_clean
                )
                for k, v in value.items()
            }
        if isinstance(value, list):
            return [self._redact_under(name, item, is_clean=is_clean) for item in value]
        return value

    def _placeholder(self, rule: str, secret: str) -> str:
        digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key, digest_size=4)
        return f"[redacted:{rule}:{digest.hexdigest()}]"

    def _make_selection(self) -> _Selection:
        if self._engine != "re":
            try:
                return _select_by_automaton(importlib.import_module("re2"))
            except ImportError:
                if self._engine == "re2":
                    raise
        return _select_by_literals()

    def _locate(self, index: int, text: str) -> Iterator[tuple[int, int, bool]]:
        rule = RULES[index]
        if index not in self._patterns:
            tail = re.compile(rule.tail, re.ASCII) if rule.tail else None
            self._patterns[index] = re.compile(rule.pattern, re.ASCII), tail
        pattern, tail = self._patterns[index]
        for begin, stop in _places(rule, text):
            yield from self._locate_between(rule, (pattern, tail), text, begin, stop)

    def _locate_between(
        self, rule: Rule, patterns: _Patterns, text: str, position: int, stop: int
    ) -> Iterator[tuple[int, int, bool]]:
        pattern, tail = patterns
        while match := pattern.search(text, position, stop):
            start, end = match.span(match.lastindex or 0)
            if _is_accepted(rule, text, start, end):
                if tail and (more := tail.match(text, end)):
                    end = more.end()
                # Never leave behind the rest of a token that is longer than its format says.
                if text[end - 1] in _TOKEN_CHARACTERS and (more := _TOKEN_REST.match(text, end)):
                    end = more.end()
                yield start, end, True
                position = end
            else:
                yield start, end, False
                # The refused value may itself name a secret, as in `token: password = "..."`.
                position = start if start > match.start() else match.end()


def _places(rule: Rule, text: str) -> list[tuple[int, int]]:
    """Where a rule can match at all: everywhere, or around its literals."""
    if not rule.reach or len(text) < _LONG_TEXT_CHARS:
        return [(0, len(text))]
    lowered = text.lower()
    if len(lowered) != len(text):  # a few characters change their length: the places would be off
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for place in sorted(place for literal in rule.literals for place in _occurrences(literal, lowered)):
        begin, stop = max(0, place - rule.reach), min(len(text), place + rule.reach)
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], stop
        else:
            found.append((begin, stop))
    return found


def _occurrences(literal: str, lowered: str) -> Iterator[int]:
    place = lowered.find(literal)
    while place >= 0:
        yield place
        place = lowered.find(literal, place + len(literal))


def _unescaped(text: str) -> str:
    """JSON within a text, up to three levels of it, without its escapes (chained replacements: the fastest way)."""
    for _ in range(2):
        text = text.replace("\\\\", "\\")
    for escaped, plain in (('\\"', '"'), ("\\/", "/"), ("\\n", "\n"), ("\\r", "\n"), ("\\t", "\t")):
        text = text.replace(escaped, plain)
    return text


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


def strip_private(text: str) -> str:
    """Replace every `<private>` span by "[private]"; a span that is never closed reaches to the end."""
    pieces: list[str] = []
    depth = position = 0
    for tag in _PRIVATE_TAG.finditer(text):
        closing = bool(tag[1])
        if depth == 0 and not closing:
            pieces += (text[position : tag.start()], "[private]")
        if depth > 0 or not closing:
            depth += -1 if closing else 1
            position = tag.end()
    if depth == 0:
        pieces.append(text[position:])
    return "".join(pieces)


def strip_private_value(value: object) -> object:
    """Strip the private spans of all strings of decoded JSON."""
    if isinstance(value, str):
        return strip_private(value)
    if isinstance(value, dict):
        return {name: strip_private_value(item) for name, item in value.items()}
    return [strip_private_value(item) for item in value] if isinstance(value, list) else value


def _is_accepted(rule: Rule, text: str, start: int, end: int) -> bool:
    if rule.closed and (text[end : end + 1] in _TOKEN_CHARACTERS or text[start - 1 : start] in _BASE64_ONLY):
        return False
    value = text[start:end]
    return "\0" not in value and (rule.check is None or rule.check(value))


def _merge(found: list[tuple[int, int, int]]) -> list[Finding]:
    merged: list[tuple[int, int, int]] = []
    for start, end, index in sorted(found):
        if merged and start < merged[-1][1]:
            last = merged.pop()
            merged.append((last[0], max(end, last[1]), min(index, last[2])))
        else:
            merged.append((start, end, index))
    return [Finding(RULES[index].name, start, end) for start, end, index in merged]


def _trigger(pattern: str) -> bytes:
    """Loosen a pattern to a smaller one that still matches wherever the pattern does."""

    def loosen(match: re.Match[str]) -> str:
        least = int(match[1])
        if least == 0:
            return "*"
        return f"{{{min(least, _TRIGGER_REPEATS)},}}"

    return _REPEAT.sub(loosen, pattern).encode("ascii")


def _select_by_automaton(re2: Any) -> _Selection:  # noqa: ANN401 - re2 has no type information
    options = re2.Options()
    options.max_mem = _TRIGGER_MEMORY
    # Bytes instead of characters: lone surrogates pass, and negated classes need no UTF-8 automaton.
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    matchers: list[tuple[int, Callable[[bytes], list[int] | None]]] = []
    offset = 0
    # One automaton per table: the states of both together would multiply.
    for table in (PROVIDER_RULES, CONTEXT_RULES):
        automaton = re2.Set.SearchSet(options)
        for rule in table:
            automaton.Add(_trigger(rule.pattern))
        automaton.Compile()
        matchers.append((offset, automaton.Match))
        offset += len(table)

    def select(text: str) -> Iterable[int]:
        encoded = text.encode("utf-8", "surrogatepass")
        selected: list[int] = []
        for first, match in matchers:
            if hits := match(encoded):
                selected += [first + index for index in hits]
        return selected

    return select


def _select_by_literals() -> _Selection:
    users: dict[str, set[int]] = {}
    for index, rule in enumerate(RULES):
        for literal in rule.literals:
            users.setdefault(literal, set()).add(index)

    def select(text: str) -> Iterable[int]:
        lowered = text.lower()
        return sorted({index for literal, indexes in users.items() if literal in lowered for index in indexes})

    return select
