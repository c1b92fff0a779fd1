"""Whether two statements say the same, say about the same, or contradict each other: by their words.

Words are the same kind of vector that meaning is: the cosine of two sets of words is what they share over the root of
the product of their sizes, so the same two thresholds hold for both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import ceil

from howcome.domain.text import STOP_WORDS, cjk_parts, coined_names

SAME = 0.95
"""From this cosine of their vectors on, two statements say the same."""

RELATED = 0.80
"""Above it they say about the same, and may contradict each other."""

MIN_COVERED = 4
"""A statement of fewer words is too little to be said by another one, too."""

_LETTER = r"\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u109f"  # with vowel signs, which are no \w
TOKEN = re.compile(rf"[{_LETTER}./#-]+(?:'t)?")
_SIGN = r"[<>=+&|@$%^\\\u2190-\u22ff\u2600-\u27bf\U0001f300-\U0001faff]+|!(?=[\w(=])"
_IN_ORDER = re.compile(rf"-+(?=\w)|{TOKEN.pattern}|{_SIGN}")
_JOINS = r"(?:because|since|as|when|if|while|before|after|until|unless|once|for|in|on|at|with|during|between|from|by)\b"
_BREAK = re.compile(
    rf"\band\b|,(?=\s+(?!{_JOINS})\S)|[:;.!?](?=\s+\S)|[\u3001\u3002\uff0c\uff1a\uff1b\u2013\u2014\n]|\s-+\s"
)
_LED = re.compile(rf"\A{_JOINS}[^,]*,")
_FILLERS = STOP_WORDS - frozenset(
    "about all any as at but by can could down for from get go if in into more most now of off on only or other out"
    " over shall should so some such than then to too up when while will with would".split()
)
"""Words that a statement does without; other small words ("on", "than", "so") say what stands in what relation."""

_OPPOSED = frozenset("off down up out under over less more most some only before after from than if unless".split())
"""Of these the one that stands in a statement, and not in another, makes it another, however near the two are."""

_SMALL_CHARS = 4
"""Mostly the words that turn a sense round are no longer ("off", "aus", "pas"), or they are in the lists above."""

_MIN_TURNED = 3
"""Two words alone are turned round by any change of their order; of more, the end of a sentence may come first."""

NUMBER = re.compile(r"v?\d[\d.,:_/-]*(?:[a-z%]{1,3})?")
_NEGATIONS = frozenset(
    "not no never without cannot neither nor nicht kein keine keinen keinem keiner nie niemals ohne jamais aucun aucune"
    " nunca senza".split()
)
_NO = re.compile(r"\bno-(?=[a-z])")
_SWITCHES = {"enabled": "disabled", "disabled": "enabled", "allowed": "forbidden",
             "forbidden": "allowed", "required": "optional", "optional": "required"}  # fmt: skip
_STEM_CHARS = 4


class Statement:
    """What a text says, as far as words tell.

    Attributes:
        words: Its content words without numbers.
        numbers: Each number with the content words before and after it ("" where there is none).
        negated: Stems of the content words right after a "not".
        order: All its words but fillers, as they stand, every denial a "not"; `is_broken`: in several clauses.
        signature: The same for the same words in any order. All but its first part (numbers, denials, choices, names of
            code, directions) is the same, too, where other words say the same: vectors hardly tell one from another.
    """

    __slots__ = ("is_broken", "negated", "numbers", "order", "signature", "words")

    def __init__(self, text: str) -> None:
        told = _NO.sub("no ", text.casefold().replace("\u2019", "'"))
        tokens = [token.strip("./-") for token in TOKEN.findall(told)]
        telling = (token for token in tokens if token and token not in STOP_WORDS and not _is_negation(token))
        content = [part for token in telling for part in cjk_parts(token)]
        self.words = frozenset(token for token in content if not NUMBER.fullmatch(token))
        self.numbers = frozenset(
            (before, token, after)
            for before, token, after in zip(["", *content], content, [*content[1:], ""], strict=False)
            if NUMBER.fullmatch(token)
        )
        self.negated = frozenset(_negated(tokens))
        values = tuple(sorted(token for token in content if NUMBER.fullmatch(token)))
        names = frozenset(coined_names(text))
        ordered = (word.strip("./-") or word for word in _IN_ORDER.findall(told))
        plain = ("not" if _is_negation(word) else word for word in ordered)
        self.order = tuple(word for word in plain if word == "not" or word not in _FILLERS)
        self.is_broken = _BREAK.search(_LED.sub("", told.strip(), count=1)) is not None
        turned = _OPPOSED.intersection(self.order)
        self.signature = (tuple(sorted(content)), values, self.negated, names, turned)


def _negated(tokens: Sequence[str]) -> list[str]:
    found, is_negated = [], False
    for token in tokens:
        if _is_negation(token):
            is_negated = True
        elif is_negated and token not in STOP_WORDS:
            found.append(stem(token))
            is_negated = False
    return found


def _is_negation(token: str) -> bool:
    return token in _NEGATIONS or token.endswith("n't")


def stem(word: str) -> str:
    """A word without its ending: what was not received is what is not receiving."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS:
            return word.removesuffix(ending)
    return word


def is_same(one: Statement, other: Statement, likeness: float = 0.0) -> bool:
    """Whether two statements say the same: in the same words, or in others that are near enough (the cosine).

    Where most words are the same they stand in the same order: "A needs B" is not "B needs A". The end may come first,
    as in "In staging A needs B". What differs in small words only may be turned round by them; and vectors do not tell
    apart what differs in other letters than ours.
    """
    if one.signature == other.signature:
        return _is_turn(one, other, one.order, other.order)
    if likeness < SAME or one.signature[1:] != other.signature[1:] or difference(one, other):
        return False
    if not any(len(word) > _SMALL_CHARS and word.isascii() for word in set(one.order) ^ set(other.order)):
        return False
    here, there = _shared_in_order(one, other)
    return overlap(one.words, other.words) < RELATED or _is_turn(one, other, here, there)


def covers(one: Statement, other: Statement) -> bool:
    """Whether one says all that another says, and perhaps more: all its words in the same order, numbers and names.

    It denies and directs the same. Of 1,257 memories of two projects none is covered so; where one word in ten
    may be missing one is, and so is "the crane fixture" by "the harbour fixture" (docs/evaluation.md, "Consolidation").
    """
    mine, theirs = one.signature, other.signature
    if len(other.words) < MIN_COVERED or other.words - one.words:
        return False
    if difference(one, other) or mine[2] != theirs[2] or mine[4] != theirs[4]:
        return False
    here, there = _shared_in_order(one, other)
    return set(theirs[1]) <= set(mine[1]) and theirs[3] <= mine[3] and here == there


def _shared_in_order(one: Statement, other: Statement) -> list[tuple[str, ...]]:
    shared = set(one.order) & set(other.order)
    return [tuple(dict.fromkeys(word for word in told.order if word in shared)) for told in (one, other)]


def _is_turn(one: Statement, other: Statement, here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Whether words of two statements are the same, in the same order but for an end that comes first."""
    if here == there:
        return True
    if one.is_broken or other.is_broken or len(here) != len(there) or len(here) < _MIN_TURNED:
        return False
    return any(there == here[place:] + here[:place] for place in range(1, len(here)) if here[place] == there[0])


def difference(one: Statement, other: Statement) -> str:
    """Wherein two statements about the same differ: a reason of `memories.REVIEW_REASONS`, "" when in none."""
    if _negates(one, other) or _negates(other, one):
        return "negation"
    return "number" if _counts_otherwise(one, other) else ""


def _negates(one: Statement, other: Statement) -> bool:
    """Whether one denies what the other says, or says its opposite."""
    if one.negated and (one.negated - other.negated) & {stem(word) for word in other.words}:
        return True
    return any(
        opposite in other.words and word not in other.words and opposite not in one.words
        for word, opposite in _SWITCHES.items()
        if word in one.words
    )


def _counts_otherwise(one: Statement, other: Statement) -> bool:
    """Whether the same thing has another number: the word before it, or the one after it, is the same."""
    mine, theirs = one.numbers - other.numbers, other.numbers - one.numbers
    values = {number for _, number, _ in one.numbers}, {number for _, number, _ in other.numbers}
    return any(
        a not in values[1] and b not in values[0] and ((before and before == left) or (after and after == right))
        for before, a, after in mine
        for left, b, right in theirs
    )


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The cosine of two sets of words, 0 to 1."""
    return len(one & other) / (len(one) * len(other)) ** 0.5 if one and other else 0.0


class WordPairs:
    """Finds, among statements added so far, those that share enough words with another: RELATED and more.

    To reach a cosine c with a set of n words, another has to share c² n of them at least, so it shares one of its
    n - c² n + 1 rarest: only those are looked up.
    """

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._counts = Counter(word for statement in statements for word in statement.words)
        self._by_word: dict[str, list[int]] = {}

    def near(self, number: int, statements: Sequence[Statement]) -> list[tuple[int, float]]:
        """The numbers of the statements that share words with one, and how many (the cosine); then adds that one."""
        words = statements[number].words
        rare = sorted(words, key=lambda word: (self._counts[word], word))
        rare = rare[: len(rare) - ceil(RELATED**2 * len(rare)) + 1]
        others = {other for word in rare for other in self._by_word.get(word, ())}
        for word in rare:
            self._by_word.setdefault(word, []).append(number)
        scored = ((other, overlap(words, statements[other].words)) for other in sorted(others))
        return [(other, score) for other, score in scored if score >= RELATED]
