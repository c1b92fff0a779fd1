"""One search: terms, tiers, fusion, adjustments, order. Read-only."""

from __future__ import annotations

from howcome.domain import events, words
from howcome.domain.query import phrases_in, spans_in, split_excluded
from howcome.domain.ranking import Facts, adjusted, for_events
from howcome.retrieve.gathering import Gathering
from howcome.retrieve.ranking import MEANING, SHIPPED
from howcome.retrieve.situation import Ranked, Situation
from howcome.retrieve.tiers.entity import EntityTier
from howcome.retrieve.tiers.fulltext import FullTextTier
from howcome.retrieve.tiers.trigram import TrigramTier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from howcome.domain.stored import Filter
    from howcome.index.search_index import Search
    from howcome.retrieve.outside import Outside
    from howcome.retrieve.ranking import Ranking
    from howcome.retrieve.situation import Candidate
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store, Vectors

MAX_TERMS = 48
"""Of a long prompt (a plan, a stack trace) the most telling terms are asked: below 24 quality falls, above 48 only
the time grows."""

MAX_QUESTION_CHARS, PASSAGE_CHARS = 8000, 600
BREADTH = 200
"""Windows asked for, and half as many exchanges: fewer lose .2 (at 100) to .4 points of nDCG@10 (at 50)."""

RECALL_BREADTH = 60
"""A prompt gets three excerpts: more candidates than this only cost it time."""

MAX_HOLDING = 1000
"""Of the exchanges that hold all concepts the best so many are looked at."""

SURE_STRENGTH = 0.5
"""From here on the rescue tiers are not asked. (Questions of the coding sets reach .3 as a rule and .45 at most: those
that have a weight are always asked there.)"""


class Searcher:
    """Asks the tiers and fuses their answers.

    Args:
        store: What is searched.
        ranking: Another way to rank than the one that ships.
        vectors: Turns by meaning, where there is an embedder.
        outside: Who is asked beside the store by the rescue tiers.
    """

    def __init__(
        self, store: Store, ranking: Ranking = SHIPPED, vectors: Vectors | None = None, outside: Outside | None = None
    ) -> None:
        self._store, self._ranking, self._vectors, self._outside = store, ranking, vectors, outside

    def search(
        self, situation: Situation, *, limit: int, now_ms: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Ranked]:
        """The best rows for a question, best first, at most `limit`; one a session when it groups by session.

        `required` are groups of terms: only rows count whose exchange holds every one of them.
        """
        exchanges = self._holding(situation, required) if required else None
        if situation.wanted.subsystem is not None:
            about = situation.wanted.subsystem.exchanges
            exchanges = set(about) if exchanges is None else exchanges & about
        gathering = Gathering()
        for tier in self._fast():
            gathering.add(tier.name, _within(tier.candidates(situation), exchanges))
        if gathering.strongest < SURE_STRENGTH:
            for tier in self._rescue():
                gathering.add(tier.name, _within(tier.candidates(situation), exchanges))
        self._add_meaning(situation, gathering)
        fused = gathering.fused(self._ranking, self._vectors)
        final = self._adjusted(situation, gathering, {row: score for row, score in fused.items() if score > 0}, now_ms)
        within = self._store.log.within(final, situation.wanted)  # whatever an index said
        scores = {row: score for row, (score, _) in final.items() if row in within}
        return [
            Ranked(gathering.rows[row], scores[row], gathering.scores[row], gathering.strengths[row], final[row][1])
            for row in _best(gathering.rows, scores, limit, by_session=situation.group_by_session)
        ]

    def _adjusted(
        self, situation: Situation, gathering: Gathering, fused: Mapping[int, float], now_ms: int
    ) -> dict[int, tuple[float, dict[str, float]]]:
        """By row, its final score and the factors that made it."""
        spans = spans_in(situation.text, now_ms, is_asked=situation.recent is None)  # a prompt may state some
        rows, place = gathering.rows, situation.wanted.scope.here
        adjustments = for_events(spans, is_placed=place is not None)
        asked = {rows[row].session_id for row in fused} if place is not None else ()
        here = self._store.sessions.of_project(place, asked) if place is not None else asked
        final = {}
        for row, score in fused.items():
            is_here = place is None or rows[row].session_id in here
            final[row] = adjusted(score, Facts(rows[row].ts_ms, is_here=is_here), adjustments, now_ms)
        return final

    def _fast(self) -> list[Tier]:
        tiers: list[Tier] = [FullTextTier(self._store), TrigramTier(self._store), EntityTier(self._store)]
        if self._vectors is not None and self._ranking.has(MEANING):
            from howcome.retrieve.tiers.embedding import EmbeddingTier

            tiers.append(EmbeddingTier(self._vectors))
        return [tier for tier in tiers if self._ranking.has(tier.name)]

    def _add_meaning(self, situation: Situation, gathering: Gathering) -> None:
        """What the rows mean that were found by their words alone."""
        if self._vectors is not None and self._ranking.has(MEANING):
            from howcome.retrieve.tiers.embedding import EmbeddingTier

            rows = [row for row, given in gathering.scores.items() if MEANING not in given]
            gathering.add_scores(MEANING, EmbeddingTier(self._vectors).scores(situation, rows))

    def _rescue(self) -> list[Tier]:
        tiers: list[Tier] = []
        if self._ranking.has("classifier"):
            from howcome.retrieve.tiers.classifier import ClassifierTier

            tiers.append(ClassifierTier(self._store, self._outside.classify if self._outside else None))
        if self._ranking.has("graph"):
            from howcome.retrieve.tiers.graph import GraphTier

            tiers.append(GraphTier(self._store, self._outside))
        return tiers

    def _holding(self, situation: Situation, required: Sequence[Sequence[str]]) -> set[int]:
        """The exchanges in which each group of terms was said or done, or stands in one call or result of a tool."""

        def having(groups: Sequence[Sequence[str]], what: Search, wanted: Filter) -> set[int]:
            weights = {term: situation.weights.exchanges.get(term, 1.0) for group in groups for term in group}
            return {hit.exchange for hit in self._store.index.search(what, weights, wanted, MAX_HOLDING, groups)}

        wanted = situation.wanted
        tools = wanted.narrowed((events.TOOL_CALL, events.TOOL_RESULT))
        each = [having([group], "exchanges", wanted) | having([group], "events", tools) for group in required]
        return having(required, "exchanges", wanted) | set.intersection(*each)

    def situation(
        self,
        text: str,
        wanted: Filter,
        *,
        group_by_session: bool = False,
        with_tools: bool = False,
        breadth: int = BREADTH,
        recent: Callable[[], str] | None = None,
    ) -> Situation:
        """A question with its terms and what each is worth (see Situation for the parts)."""
        asked = text[:MAX_QUESTION_CHARS]
        text = split_excluded(asked)[0]
        told = text if phrases_in(text) else words.telling(text) or text  # what is quoted is meant
        terms = self._store.index.analyze(told)
        weights = self._store.index.weigh(terms, wanted.scope)
        if len(terms) > MAX_TERMS:
            telling = set(sorted(terms, key=lambda term: -weights.exchanges[term])[:MAX_TERMS])
            terms = [term for term in terms if term in telling]
        return Situation(
            text,
            terms,
            wanted,
            asked=asked,
            weights=weights,
            group_by_session=group_by_session,
            with_tools=with_tools,
            breadth=breadth,
            recent=recent,
        )


def _best(
    candidates: Mapping[int, Candidate], scores: Mapping[int, float], limit: int, *, by_session: bool
) -> list[int]:
    """The rows that score best, of equal ones the newest; with `by_session` each session once, by its best row."""
    order = sorted((-score, -candidates[row].ts_ms, row) for row, score in scores.items())
    if not by_session:
        return [row for _, _, row in order[:limit]]
    best: dict[int, int] = {}
    for _, _, row in order:
        best.setdefault(candidates[row].session_id, row)
        if len(best) == limit:
            break
    return list(best.values())[:limit]


def _within(candidates: Iterable[Candidate], exchanges: set[int] | None) -> Iterable[Candidate]:
    return candidates if exchanges is None else (item for item in candidates if item.exchange in exchanges)
