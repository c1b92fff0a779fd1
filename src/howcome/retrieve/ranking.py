"""How tiers' answers become one order: what each tier's word is worth, and how they are put together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.settings import Settings

MEANING = "embedding"

WEIGHTS: Mapping[str, float] = {
    "fulltext": 1.0, "trigram": 0.3, "entity": 0.1, MEANING: 0.25, "classifier": 0.0, "graph": 0.0,
}  # fmt: skip
"""What a tier's word is worth in the fused score; at 0 it is not asked (docs/evaluation.md holds the ablation)."""

LONE_MEANING_WEIGHT = 0.7
"""A session of a single turn is a passage, not a conversation: there is no exchange whose words could confirm it, and
its vector holds all of it. CoSQA's MRR is .41 at .3 and .54 here, NL2Bash's .46 and .51. Where passages stand among
conversations they get so much of this as their share of what is found: cosines alone would lift all of them above what
is found by words and meaning (a store of both, asked everywhere: a Go project's any@5 .60 without this, .62 with)."""

WEIGHTED, RRF, UNION, INTERSECTION = "weighted", "rrf", "union", "intersection"
STRATEGIES = (WEIGHTED, RRF, UNION, INTERSECTION)
"""`weighted`: calibrated scores, believed at their weights. `rrf`: reciprocal ranks, weighted, as a share of what a row
reaches that is first everywhere. `union`: the best tier alone decides. `intersection`: only what every tier found that
found anything, by `weighted`."""


class Ranking:
    """A way to rank.

    Attributes:
        weights: By tier; tiers that are not named are off.
        strategy: One of STRATEGIES.
    """

    __slots__ = ("strategy", "weights")

    def __init__(self, weights: Mapping[str, float] = WEIGHTS, strategy: str = WEIGHTED) -> None:
        self.weights, self.strategy = weights, strategy

    def has(self, tier: str) -> bool:
        """Whether a tier is asked at all."""
        return self.weights.get(tier, 0.0) > 0


SHIPPED = Ranking()
"""What the product uses everywhere."""


def chosen_ranking(settings: Settings) -> Ranking:
    """The shipped ranking with the strategy, and the weights of the rescue tiers, that the settings choose."""
    weights = {**WEIGHTS, "classifier": settings.classifier_weight, "graph": settings.graph_weight}
    return Ranking(weights, settings.fusion)
