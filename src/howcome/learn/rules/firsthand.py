"""Whose words a draft is made of: what a tool or a page said first is theirs, whoever says it again."""

from __future__ import annotations

import re

from howcome.domain import candidates, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.learn.rules.draft import Draft
    from howcome.learn.rules.scene import Scene

_WORD = re.compile(r"\w+")
RUN = 5
"""So many words in a row are hardly chance."""

SHARE = 0.7
"""So much of a sentence in such runs is the sentence of whoever said it first; less is a quote within one's own."""


def first_said_by(draft: Draft, origin: str, scene: Scene) -> str:
    """The origin of a draft, lowered to that of a tool's or a page's words that it only repeats.

    A page can ask an agent to write something down. What the agent then says, commits or writes into a file is as
    trusted as the page: whoever said it first in the exchange counts, not who said it last.
    """
    if origin not in events.PUSHED_ORIGINS or not draft.sources:
        return origin
    words = _WORD.findall(draft.said.casefold())
    runs = [" ".join(words[start : start + RUN]) for start in range(len(words) - RUN + 1)]
    if not runs:
        return origin
    last = {event.id for event in draft.sources}
    longest = sorted(set(words), key=len, reverse=True)
    for place, event in enumerate(scene.exchange.all_events):
        if event.id in last:
            break
        if _says(scene.folded(place, event), words, longest, runs):
            return candidates.least_trusted((origin, event.origin))
    return origin


def _says(text: str, words: Sequence[str], longest: Sequence[str], runs: Sequence[str]) -> bool:
    if max(words, key=len) not in text:
        return False
    missed = 0
    for word in longest:  # a word that is nowhere is in no run: most texts are told by a few of them
        if word not in text:
            missed += words.count(word)
            if len(words) - missed < SHARE * len(words):
                return False
    said = " ".join(_WORD.findall(text))
    covered = {place + offset for place, run in enumerate(runs) if run in said for offset in range(RUN)}
    return len(covered) >= SHARE * len(words)
