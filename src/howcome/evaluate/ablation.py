"""Rankings that differ from one in a single thing: what each tier, each weight and each strategy is worth."""

from __future__ import annotations

from howcome.retrieve.ranking import MEANING, STRATEGIES, Ranking

TRIED_WEIGHT = 0.1
"""At which a tier that is off is switched on: the least of the weights that ship, for it has shown nothing yet."""

MAX_WEIGHT = 1.0
"""A weight is how far a tier is believed: more than wholly is nothing."""


def variants(ranking: Ranking, *, has_vectors: bool) -> dict[str, Ranking]:
    """By what is different: each tier alone, left out or switched on; other strategies; half and double of each weight.

    Without vectors the tier of meaning cannot be asked: then it has no variants.
    """
    weights = {tier: weight for tier, weight in ranking.weights.items() if has_vectors or tier != MEANING}
    on = {tier: weight for tier, weight in weights.items() if weight}
    found: dict[str, Ranking] = {}
    if len(on) > 1:
        found |= {f"{tier} alone": Ranking({tier: MAX_WEIGHT}) for tier in on}
        found |= {f"without {tier}": _with(ranking, tier, 0.0) for tier in on}
    found |= {f"with {tier}={TRIED_WEIGHT:g}": _with(ranking, tier, TRIED_WEIGHT) for tier in weights if tier not in on}
    found |= {name: Ranking(ranking.weights, name) for name in STRATEGIES if name != ranking.strategy}
    for tier, weight in on.items():
        changed = {"half": weight / 2, "double": min(weight * 2, MAX_WEIGHT)}
        found |= {f"{how} {tier}": _with(ranking, tier, other) for how, other in changed.items() if other != weight}
    return found


def _with(ranking: Ranking, tier: str, weight: float) -> Ranking:
    return Ranking({**ranking.weights, tier: weight}, ranking.strategy)


def named(ranking: Ranking) -> str:
    """A ranking as `--ranking` takes it."""
    weights = ",".join(f"{tier}={weight:g}" for tier, weight in ranking.weights.items())
    return f"{weights},strategy={ranking.strategy}"
