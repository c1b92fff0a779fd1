"""Embedding: turns that mean the same in other words, by the cosine of their vectors."""

from __future__ import annotations

from howcome.domain import events
from howcome.retrieve.situation import MAX_EMBEDDED_CHARS, Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Vectors

BREADTH = 200


class EmbeddingTier:
    """Finds paraphrases; there is one only where an embedder and its vectors are."""

    name = "embedding"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def candidates(self, situation: Situation) -> list[Candidate]:
        """The turns nearest to the question. How near is no reason to speak: its strength is 0."""
        turns = situation.wanted.narrowed(events.TURN_KINDS)
        hits = self._vectors.near(_question(situation), turns, BREADTH)
        return [
            Candidate(hit.row, hit.session_id, hit.exchange, hit.ts_ms, max(0.0, hit.score), strength=0.0)
            for hit in hits
        ]

    def scores(self, situation: Situation, rows: Sequence[int]) -> dict[int, float]:
        """The same for some rows, those that are turns with a vector."""
        found = self._vectors.cosines(_question(situation), rows, situation.wanted.before_ms)
        return {row: max(0.0, cosine) for row, cosine in found.items()}


def _question(situation: Situation) -> str:
    """The question as it was asked: a model reads "without" too, and what is left without it is no sentence."""
    return situation.asked[:MAX_EMBEDDED_CHARS]


if TYPE_CHECKING:
    _: type[Tier] = EmbeddingTier
