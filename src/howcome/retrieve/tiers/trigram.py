"""Trigram: typos, part-words and identifiers that nobody ever wrote so, matched against the vocabulary.

Only words that the index does not know are widened (to words one edit away, and to words that begin with them); the
best few rows are then scored by the share of the question's character trigrams that they hold. Trigrams over whole
documents were the slowest and weakest thing measured, hence the vocabulary.
"""

from __future__ import annotations

from howcome.domain import events
from howcome.domain.bm25 import full_score
from howcome.domain.text import trigram_containment, trigrams
from howcome.retrieve.situation import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.stored import Hit
    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store

MIN_TERM_CHARS = 5
MAX_UNKNOWN = 6
MAX_WIDENED = 4
MAX_ROWS = 40
RESCORED = 5


class TrigramTier:
    """Finds what was misspelt, abbreviated or written in another form."""

    name = "trigram"

    def __init__(self, store: Store) -> None:
        self._store = store

    def candidates(self, situation: Situation) -> list[Candidate]:
        """Rows with words like the question's unknown ones; nothing when every word is known."""
        unknown = [
            term for term in situation.terms if term not in situation.weights.known and len(term) >= MIN_TERM_CHARS
        ][:MAX_UNKNOWN]
        if not unknown:
            return []
        wanted = situation.wanted
        turns = wanted.narrowed(events.TURN_KINDS)
        weights = situation.weights
        total = weights.totals["events"]
        full = full_score((weights.windows[term] for term in situation.terms), total)
        scores: dict[int, tuple[Hit, float]] = {}
        sought = {term: weights.windows[term] for term in unknown}
        for hit in self._store.index.search("fuzzy", sought, turns, MAX_ROWS):
            scores[hit.row] = (hit, hit.score)
        similar = (self._store.index.similar_terms(word, wanted.scope, MAX_WIDENED) for word in unknown)
        widened = [term for terms in similar for term, _ in terms]
        known = self._store.index.weigh(widened, wanted.scope).windows
        for hit in self._store.index.search("events", known, turns, MAX_ROWS):
            scores[hit.row] = (hit, max(scores[hit.row][1] if hit.row in scores else 0.0, hit.score))
        best = sorted(scores.values(), key=lambda pair: -pair[1])
        return self._rescored(situation, best, full)

    def _rescored(self, situation: Situation, best: list[tuple[Hit, float]], full: float) -> list[Candidate]:
        few = self._store.log.events([hit.row for hit, _ in best[:RESCORED]])
        question = trigrams(situation.text)
        found: list[Candidate] = []
        for hit, raw in best:
            score = min(1.0, raw / full) if full > 0 else 0.0
            if hit.row in few:
                score = max(score, score + (1 - score) * 0.5 * trigram_containment(question, few[hit.row].excerpt))
            found.append(Candidate(hit.row, hit.session_id, hit.exchange, hit.ts_ms, score, strength=0.0))
        return found


if TYPE_CHECKING:
    _: type[Tier] = TrigramTier
