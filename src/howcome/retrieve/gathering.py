"""The candidates of all tiers for one question, and their fused scores."""

from __future__ import annotations

from howcome.domain.fusion import blend, fuse_ranks, fuse_weighted, meaning_scale
from howcome.retrieve.ranking import INTERSECTION, LONE_MEANING_WEIGHT, MEANING, RRF, UNION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from howcome.retrieve.ranking import Ranking
    from howcome.retrieve.situation import Candidate
    from howcome.store.base import Vectors


class Gathering:
    """What tiers offered, row by row.

    Attributes:
        rows: A candidate for every row that any tier offered.
        scores: By row, what each tier gave it.
        strengths: By row, how sure the surest tier is.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Candidate] = {}
        self.scores: dict[int, dict[str, float]] = {}
        self.strengths: dict[int, float] = {}

    def add(self, tier: str, candidates: Iterable[Candidate]) -> None:
        """One tier's candidates."""
        for candidate in candidates:
            row = candidate.row
            self.rows[row] = candidate
            self.scores.setdefault(row, {})[tier] = candidate.score
            self.strengths[row] = max(self.strengths.get(row, 0.0), candidate.strength)

    def add_scores(self, tier: str, scores: Mapping[int, float]) -> None:
        """What one tier says of rows that others offered."""
        for row, score in scores.items():
            self.scores[row][tier] = score

    @property
    def strongest(self) -> float:
        """How sure the surest tier is of any row."""
        return max(self.strengths.values(), default=0.0)

    def fused(self, ranking: Ranking, vectors: Vectors | None) -> dict[int, float]:
        """One score a row (0: it is out)."""
        if ranking.strategy == RRF:
            return fuse_ranks(self.scores, ranking.weights)
        if ranking.strategy == UNION:
            return {
                row: max(min(score, 1.0) * ranking.weights.get(name, 0.0) for name, score in tiers.items())
                for row, tiers in self.scores.items()
            }
        fused = self._weighted(ranking, vectors)
        if ranking.strategy == INTERSECTION:
            asked = set().union(*self.scores.values())
            return {row: score if asked <= self.scores[row].keys() else 0.0 for row, score in fused.items()}
        return fused

    def _weighted(self, ranking: Ranking, vectors: Vectors | None) -> dict[int, float]:
        """What the words of a row say, with what the row means.

        Both of the same row: a session whose words are in one turn and whose meaning is in another is less of an answer
        (its best of each, put together, loses .2 and .6 points of nDCG@10 on the coding sets, 1.9 on what people ask).
        """
        by_words = {name: weight for name, weight in ranking.weights.items() if name != MEANING}
        words = {row: fuse_weighted(tiers, by_words) for row, tiers in self.scores.items()}
        meaning = {row: tiers.get(MEANING, 0.0) for row, tiers in self.scores.items()}
        scale = meaning_scale(words.values(), meaning.values())
        if vectors is None or not scale:
            return words
        lone = vectors.lone_sessions({candidate.session_id for candidate in self.rows.values()})
        weight = ranking.weights[MEANING]
        share = sum(candidate.session_id in lone for candidate in self.rows.values()) / len(self.rows)
        weights = (weight, weight + share * (LONE_MEANING_WEIGHT - weight))
        return {
            row: blend(words[row], scale * meaning[row], weights[candidate.session_id in lone])
            for row, candidate in self.rows.items()
        }
