"""Entities: exact names (files, identifiers) of the prompt, and for prompts that only point, of the session's tail.

A name alone ranks but does not make howcome speak: file names and acronyms are shared by all projects, and one in
twenty prompts of a foreign project would be answered more. A coined name (`TidalClock`, `backfill_window`) does, and
where the prompt only points at the conversation, so does any rare name of its last words.
"""

from __future__ import annotations

import re

from howcome.domain import bm25, events
from howcome.domain.patterns import late
from howcome.domain.stored import Filter
from howcome.domain.text import coined_names, entities
from howcome.retrieve.situation import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store

PROMPT_WEIGHT = 2.0
TAIL_WEIGHT = 1.0
MAX_NAMES = 8
MAX_ROWS = 60
MAX_SHARE = 0.1
"""A name that a tenth of all events mention says nothing (unless the store is tiny)."""

MIN_COMMON_ROWS = 20
MAX_POINTING_TERMS = 3
NAME_STRENGTH = 0.3
"""How sure the best row for a rare coined name is (of the prompt, or of the tail when the prompt only points)."""

_CHORES = frozenset(("changelog", "commit", "merg", "pr", "pull", "push", "rebas", "stage", "thank"))
_POINTING = late(
    r"\b(?:that|this|it|those|these|them|same|again|above|go ahead|do so|continue|proceed|both|first|second|option)\b",
    re.IGNORECASE,
)


class EntityTier:
    """Finds history by name: "ok, let's do that" is about what the last words were about."""

    name = "entity"

    def __init__(self, store: Store) -> None:
        self._store = store

    def candidates(self, situation: Situation) -> list[Candidate]:
        """Turns and calls that mention the names, as a share of the weight of all names."""
        weights = self._weights(situation)
        if not weights:
            return []
        total, frequencies = self._store.index.name_frequencies(list(weights), situation.wanted.scope)
        common = max(MIN_COMMON_ROWS, MAX_SHARE * total)
        telling = {
            name: weight * bm25.weight(frequencies[name], total, is_generic=False)
            for name, weight in weights.items()
            if 0 < frequencies[name] <= common
        }
        chosen = dict(sorted(telling.items(), key=lambda item: -item[1])[:MAX_NAMES])
        wanted = situation.wanted
        turns = wanted.narrowed(events.TURN_KINDS)
        hits = self._store.index.search("names", chosen, turns, MAX_ROWS)
        full = bm25.SATURATION * (sum(chosen.values()) + bm25.weight(0, total, is_generic=False))
        sure = self._sure_rows(situation, chosen, turns) if hits else {}
        found = []
        for hit in hits:
            score = min(1.0, hit.score / full)
            strength = sure.get(hit.row, 0.0)
            found.append(Candidate(hit.row, hit.session_id, hit.exchange, hit.ts_ms, score, strength))
        return found

    def _sure_rows(self, situation: Situation, chosen: dict[str, float], turns: Filter) -> dict[int, float]:
        """Rows that a name alone makes worth saying, and how sure that is.

        By the best of them, and by the share of the prompt's coined names that are known here at all: a plan full of
        another project's names is not about this one because one of them occurs in both.
        """
        if situation.recent is not None and is_pointing(situation.text, situation.terms):
            names, share = chosen, 1.0
        else:
            coined = coined_names(situation.text)
            names = {name: chosen[name] for name in coined if name in chosen}
            share = len(names) / len(coined) if coined else 0.0
        hits = self._store.index.search("names", names, turns, MAX_ROWS)
        best = max((hit.score for hit in hits), default=1.0)
        return {hit.row: share * NAME_STRENGTH * hit.score / best for hit in hits}

    def _weights(self, situation: Situation) -> dict[str, float]:
        weights = dict.fromkeys(entities(situation.text), PROMPT_WEIGHT)
        if situation.recent is not None and is_pointing(situation.text, situation.terms):
            for name in entities(situation.recent()):
                weights.setdefault(name, TAIL_WEIGHT)
        return weights


def is_pointing(text: str, terms: Sequence[str]) -> bool:
    """Whether a prompt says little of its own and points at what was said before it ("ok, let's do that").

    A chore ("commit it") points too, but nobody needs history for it.
    """
    return len(terms) <= MAX_POINTING_TERMS and _CHORES.isdisjoint(terms) and _POINTING.search(text) is not None


if TYPE_CHECKING:
    _: type[Tier] = EntityTier
