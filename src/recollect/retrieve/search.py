"""One search: terms, tiers, fusion, recency, order. Read-only."""

from __future__ import annotations

from recollect.domain.fusion import fuse_weighted
from recollect.domain.ranking import with_recency
from recollect.retrieve.situation import Candidate, Ranked, Situation
from recollect.retrieve.tiers.entity import EntityTier
from recollect.retrieve.tiers.fulltext import FullTextTier
from recollect.retrieve.tiers.trigram import TrigramTier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recollect.domain.stored import Filter
    from recollect.retrieve.tiers.base import Tier
    from recollect.store.base import Store

MAX_TERMS = 48
"""Of a long prompt (a plan, a stack trace) the most telling terms are asked: below 24 quality falls, above 48 only
the time grows."""

MAX_QUESTION_CHARS = 8000
BREADTH = 200
"""Windows asked for, and half as many exchanges: fewer lose .2 (at 100) to .4 points of nDCG@10 (at 50)."""

RECALL_BREADTH = 60
"""A prompt gets three excerpts: more candidates than this only cost it time."""

MAX_HOLDING = 1000
"""Of the exchanges that hold all concepts the best so many are looked at."""

WEIGHTS: Mapping[str, float] = {"fulltext": 1.0, "trigram": 0.3, "entity": 0.1}
"""What a tier's word is worth in the fused score (docs/evaluation.md holds the ablation)."""


class Searcher:
    """Asks the tiers and fuses their answers.

    Args:
        store: What is searched.
        tiers: Other tiers than the usual ones (for ablations).
        weights: Other weights than the usual ones.
    """

    def __init__(
        self, store: Store, tiers: Sequence[Tier] | None = None, weights: Mapping[str, float] | None = None
    ) -> None:
        self._store = store
        self._weights = weights if weights is not None else WEIGHTS
        known = tiers if tiers is not None else (FullTextTier(store), TrigramTier(store), EntityTier(store))
        self._tiers = [tier for tier in known if self._weights.get(tier.name)]

    def search(
        self, situation: Situation, *, limit: int, now_ms: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Ranked]:
        """The best rows for a question, best first, at most `limit`; one a session when it groups by session.

        `required` are groups of terms: only rows count whose exchange holds every one of them.
        """
        exchanges = self._holding(situation, required) if required else None
        scores: dict[int, dict[str, float]] = {}
        rows: dict[int, Candidate] = {}
        strengths: dict[int, float] = {}
        for tier in self._tiers:
            for candidate in tier.candidates(situation):
                if exchanges is not None and candidate.exchange not in exchanges:
                    continue
                row = candidate.row
                rows[row] = candidate
                scores.setdefault(row, {})[tier.name] = candidate.score
                strengths[row] = max(strengths.get(row, 0.0), candidate.strength)
        ranked = []
        for row, candidate in rows.items():
            fused = fuse_weighted(scores[row], self._weights)
            if fused > 0:
                score = with_recency(fused, candidate.ts_ms, now_ms)
                ranked.append(Ranked(candidate, score, scores[row], strengths[row]))
        ranked.sort(key=lambda item: (-item.score, -item.candidate.ts_ms, item.candidate.row))
        return (one_a_session(ranked) if situation.group_by_session else ranked)[:limit]

    def _holding(self, situation: Situation, required: Sequence[Sequence[str]]) -> set[int]:
        weights = {term: situation.weights.exchanges.get(term, 1.0) for group in required for term in group}
        wanted = situation.wanted
        return {hit.exchange for hit in self._store.search_exchanges(weights, wanted, MAX_HOLDING, required)}

    def situation(
        self, text: str, wanted: Filter, *, group_by_session: bool = False, with_tools: bool = False,
        breadth: int = BREADTH, recent: Callable[[], str] | None = None,
    ) -> Situation:  # fmt: skip
        """A question with its terms and what each is worth (see Situation for the parts)."""
        text = text[:MAX_QUESTION_CHARS]
        terms = self._store.analyze(text)
        weights = self._store.weigh(terms)
        if len(terms) > MAX_TERMS:
            telling = set(sorted(terms, key=lambda term: -weights.exchanges[term])[:MAX_TERMS])
            terms = [term for term in terms if term in telling]
        return Situation(
            text, terms, wanted, weights=weights, group_by_session=group_by_session, with_tools=with_tools,
            breadth=breadth, recent=recent,
        )  # fmt: skip


def one_a_session(ranked: list[Ranked]) -> list[Ranked]:
    """Each session once, by its best row."""
    seen: set[int] = set()
    found = []
    for item in ranked:
        if item.candidate.session_id not in seen:
            seen.add(item.candidate.session_id)
            found.append(item)
    return found
