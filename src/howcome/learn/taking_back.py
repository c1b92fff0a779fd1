"""What a later statement takes back of earlier ones: "Postgres instead of Redis", "drop the cache", "from A to B".

A statement turns away from what follows certain words (`domain/words`: swaps, leaves; turns with starts), or from the
options that an answer did not choose. It takes an earlier one back that says this of the same matter: the earlier one
has all but a run of its telling words, the new choice. Measured in docs/evaluation.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from howcome.domain import words
from howcome.domain.candidates import asked_and_chosen, plan_and_line, reverted, users_words
from howcome.domain.text import STOP_WORDS
from howcome.learn.likeness import NUMBER, TOKEN, stem

MIN_SHARE, TURNED_SHARE, SURE_SHARE = 0.58, 0.5, 0.99
"""A statement that holds so much of what another says (by weight, the new choice left out) is about the same; one that
holds all of it is surely, and so is one of two that each chose what the other turned away from."""

MIN_LEFT_SHARE, MIN_SHARED = 0.66, 2
IMAGINED = 300
"""Statements that a project is taken to have beside its own: in a small one every word is rare."""

MAX_LEFT = 4
"""What is named has few words; more are a description."""

SWAP, OPTION = "swap", "option"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_CLAUSE_END = re.compile(r"[:;()]\s*")
_RUN_END = re.compile(r"[,.:;!?()\"“”]+(?:\s|$)|\s-+>?\s|→")


class Parting(NamedTuple):
    """What a sentence turns away from (`left`), its telling words, and those side by side (`runs`), one of which may be
    the new choice; of a SWAP one is, of an OPTION the words are the question's, too. All of stems.
    """  # noqa: D205 - one sentence

    left: frozenset[str]
    words: frozenset[str]
    runs: Sequence[frozenset[str]] = ()
    kind: str = ""


class Stand:
    """A statement by the stems of its telling words, and what it turns away from; `around`: what they are about."""

    __slots__ = ("around", "partings", "words")

    def __init__(self, text: str) -> None:
        title, line = plan_and_line(text)
        asked, chosen, others = asked_and_chosen(line)
        said = users_words(text) or (f"{asked} {chosen}" if asked else line)
        self.words, self.around = frozenset(_stems(said)), frozenset(_stems(title))
        self.partings = [*partings(said), *partings(title)]
        label = frozenset(_stems(chosen.partition("”")[0]))
        for left in (frozenset(_stems(other)) - label for other in others):
            self.partings += [Parting(left, left.union(_stems(asked)), (), OPTION)] if left else []
        if gone := frozenset(_stems(reverted(text))):
            self.partings = [Parting(gone, gone)]


def taken_back(stands: Sequence[Stand]) -> Iterator[tuple[int, int, bool]]:
    """Places of statements (in the order of time) that a later one takes back, its place, and whether it is sure."""
    counts = Counter(word for one in stands for word in one.words | one.around)
    known: dict[str, list[int]] = {}
    for place, stand in enumerate(stands):
        shares: dict[int, float] = {}
        for parting in stand.partings:
            for other in {other for word in parting.left for other in known.get(word, ())}:
                share = _share(stands[other], parting, stand.around, counts, len(stands))
                shares[other] = max(share, shares.get(other, 0.0))
        for other in sorted(shares):
            if shares[other] >= MIN_SHARE:
                yield other, place, shares[other] >= SURE_SHARE
        for word in stand.words | stand.around:
            known.setdefault(word, []).append(place)


def _share(older: Stand, parting: Parting, around: frozenset[str], counts: Counter[str], total: int) -> float:
    """How much of what turns away from something (but for one run, the new choice) an earlier statement says."""

    def weigh(found: frozenset[str]) -> float:
        return sum(log((total + IMAGINED) / (counts[word] + 0.5)) for word in found)

    held = older.words | older.around
    gone = frozenset(word for one in older.partings for word in one.left)
    both, shared = held & (parting.words | around), held & parting.words
    if weigh(parting.left & held) < MIN_LEFT_SHARE * weigh(parting.left) or len(both) < MIN_SHARED:
        return 0.0
    is_both = parting.kind == SWAP and all(run <= held - gone for run in parting.runs)
    if is_both or (parting.kind == OPTION and both <= parting.left):
        return 0.0  # it says what is named in its place, too; or it is about another question
    ours = max(weigh(shared) / weigh(parting.words - (run - held)) for run in (frozenset[str](), *parting.runs))
    share = ours if parting.kind == OPTION else max(weigh(both) / weigh(held), ours)
    if gone & parting.left:  # both turn away from it, perhaps to something else
        return MIN_SHARE if parting.kind == SWAP and ours >= SURE_SHARE else 0.0
    is_turned = any(one.left <= parting.words - parting.left for one in older.partings)
    if share >= (TURNED_SHARE if is_turned else MIN_SHARE) and (is_turned or parting.kind == OPTION):
        return SURE_SHARE  # each chose what the other turned away from; or somebody was asked, and did not choose it
    return share if len(shared) >= MIN_SHARED else min(share, MIN_SHARE)


def partings(text: str) -> Iterator[Parting]:
    """What the sentences of a text turn away from; what is asked turns away from nothing."""
    stops = words.stops_of(text)
    for sentence in _SENTENCE_END.split(text.lower().replace("\u2019", "'")):
        for clause in () if sentence.rstrip().endswith("?") else _CLAUSE_END.split(sentence):
            turned = min(words.ends(clause, "turns"), default=len(clause))
            onto = max(words.ends(clause, "onto"), default=0)
            starts = (end for end in words.ends(clause, "starts") if turned < end < onto)
            swaps = words.ends(clause, "swaps")
            for end in (*swaps, *words.ends(clause, "leaves"), *starts):
                left = next(_runs(_RUN_END.split(clause[end:].lstrip(), maxsplit=1)[0], stops), frozenset[str]())
                why = min((one for one in words.ends(clause, "joins") if one > end), default=len(clause))
                for said in dict.fromkeys((sentence.replace(clause[why:], ""), sentence)):  # a reason may be of either
                    beside = _runs(clause[:end] if end in swaps else said, stops)
                    if 0 < len(left) <= MAX_LEFT:
                        runs = [run for run in beside if not run & left]
                        yield Parting(left, frozenset(_stems(said, stops)), runs, SWAP if end in swaps else "")


def _runs(text: str, stops: frozenset[str]) -> Iterator[frozenset[str]]:
    """The stems of telling words that stand side by side."""
    for part in _RUN_END.split(text):
        run: list[str] = []
        for token in (*TOKEN.findall(part), ""):
            found = _stems(token, stops)
            run += found
            if not found and run:
                yield frozenset(run)
                run = []


def _stems(text: str, stops: frozenset[str] | None = None) -> list[str]:
    small = words.single("asking", "swaps", "leaves", "turns", "starts", "onto", "small") | STOP_WORDS
    small |= words.stops_of(text) if stops is None else stops
    tokens = (token.strip("./-") for token in TOKEN.findall(text.lower().replace("\u2019", "'")))
    return [stem(one) for one in tokens if len(one) > 1 and one not in small and not NUMBER.fullmatch(one)]
