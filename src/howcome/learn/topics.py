"""What memories are about: groups that share a phrase of theirs, which names them. No model, and no words of ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log

from howcome.domain.candidates import users_words
from howcome.domain.text import STOP_WORDS

LEAST, RARE = 3, 20
"""So many memories that share a phrase are a topic. A word that one memory in so many has at most tells a topic."""

REST = ""
_QUOTED = re.compile("“([^“”]{8,})”")
_LABEL = re.compile(r"^[^:“”\n]{1,40}: ")
"""What was said in a memory: the words around it, or before its colon, are a source's own, the same in each."""

_WORD = re.compile(r"[^\W\d_][\w.-]*[^\W_]")
_APART = re.compile(r"[^\w\s./-]+|[.:](?=\s)|\s-+\s|\n")


def topics(texts: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Names with the places of their texts, the largest topic first, then what is of none (REST).

    Two telling words that stand side by side name a topic: again and again those that tell most of what is left, by how
    many they would take, how rare they are, and how seldom the rarer one stands without the other. What has only one of
    the two joins them if that is rare.
    """
    said = (users_words(text) or " . ".join(_QUOTED.findall(text)) or _LABEL.sub("", text) for text in texts)
    told = [text.casefold() for text in said]
    phrases, words = [_phrases(text) for text in told], [set(_WORD.findall(text)) for text in told]
    alone = Counter(word for some in words for word in some)
    counts = Counter(phrase for some in phrases for phrase in some)
    worth = {
        phrase: log(1 + len(texts) / count) * count / min(alone[word] for word in phrase.split())
        for phrase, count in counts.items()
        if count >= LEAST
    }
    left, found = set(range(len(texts))), list[tuple[str, list[int]]]()
    share = Counter(phrase for some in phrases for phrase in some if phrase in worth)
    while left:
        best = min(share, key=lambda phrase: (-share[phrase] * worth[phrase], phrase), default="")
        if share[best] < LEAST:
            break
        found.append((best, sorted(place for place in left if best in phrases[place])))
        left.difference_update(found[-1][1])
        share.subtract(phrase for place in found[-1][1] for phrase in phrases[place] if phrase in worth)
    named = {word: taken for name, taken in found for word in name.split() if alone[word] * RARE <= len(texts)}
    for place in sorted(left):
        if near := min(words[place] & named.keys(), key=lambda word: (alone[word], word), default=""):
            named[near].append(place)
            left.remove(place)
    found.sort(key=lambda topic: -len(topic[1]))
    return [*found, (REST, sorted(left))] if left else found


def _phrases(text: str) -> set[str]:
    """Pairs of telling words that stand side by side."""
    parts = (_WORD.findall(part) for part in _APART.split(text))
    pairs = (pair for words in parts for pair in pairwise(words))
    return {" ".join(pair) for pair in pairs if pair[0] != pair[1] and STOP_WORDS.isdisjoint(pair)}
