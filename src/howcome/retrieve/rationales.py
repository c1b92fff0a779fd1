"""Rationales as answers: where they are asked for by their type, each is found by all the words of its exchange.

They are in no index of their own: they quote what was said, so that their words, counted once more, move the ranking of
everything else about without making it better (docs/evaluation.md).
"""

from __future__ import annotations

from copy import copy

from howcome.domain.stored import Filter, Found
from howcome.domain.text import best_passage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.retrieve.search import Searcher
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.store.base import Store

OVERFETCH = 8
"""Rows asked for an answer: several are of one exchange, and not every exchange has a rationale."""

PASSAGE_CHARS = 600


def rationale_answers(
    store: Store,
    searcher: Searcher,
    situation: Situation,
    *,
    limit: int,
    now_ms: int,
    required: Sequence[Sequence[str]],
) -> list[Found]:
    """The rationales of the exchanges that answer a question best, best first, with the scores of those."""
    of_any_kind = copy(situation)
    of_any_kind.wanted = _of_any_kind(situation.wanted)
    ranked = searcher.search(of_any_kind, limit=OVERFETCH * limit, now_ms=now_ms, required=required)
    best: dict[int, Ranked] = {}
    for item in ranked:
        best.setdefault(item.candidate.exchange, item)
    told = store.log.events([-exchange for exchange in best], with_text=True)
    terms = set(situation.terms)
    return [
        Found(
            item.score,
            item.tiers,
            best_passage(event.text or event.excerpt, terms, PASSAGE_CHARS),
            event=event,
            strength=item.strength,
            adjustments=item.adjustments,
        )
        for exchange, item in best.items()
        if (event := told.get(-exchange)) is not None
    ][:limit]


def _of_any_kind(wanted: Filter) -> Filter:
    """The same filter for events of all kinds: a rationale is found by any of its exchange's."""
    found = copy(wanted)
    found.kinds = None
    return found
