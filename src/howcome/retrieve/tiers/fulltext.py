"""Full text: BM25 over windows (a turn and the words before it) and over whole exchanges."""

from __future__ import annotations

from howcome.domain import events
from howcome.domain.bm25 import full_score
from howcome.retrieve.situation import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.stored import Hit
    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store

EXCHANGE_WEIGHT = 2.0
"""An exchange counts twice a window: .651 any@5 at 1, .660 at 2, .666 at 3 with two sets disagreeing."""

TOOL_WEIGHT = 0.6
"""Tool traffic is found, below what was said of it."""

MAX_TOOL_ROWS = 50


class FullTextTier:
    """The tier that answers most questions."""

    name = "fulltext"

    def __init__(self, store: Store) -> None:
        self._store = store

    def candidates(self, situation: Situation) -> list[Candidate]:
        """Turns by window and exchange; with `with_tools` also tool calls and results."""
        wanted = situation.wanted
        turns = wanted.narrowed(events.TURN_KINDS)
        window_weights = {term: situation.weights.windows[term] for term in situation.terms}
        exchange_weights = {term: situation.weights.exchanges[term] for term in situation.terms}
        full_window = full_score(window_weights.values(), situation.weights.totals["events"])
        full_exchange = full_score(exchange_weights.values(), situation.weights.totals["exchanges"])
        windows = self._store.index.search("events", window_weights, turns, situation.breadth)
        exchanges = self._store.index.search("exchanges", exchange_weights, wanted, situation.breadth // 2)
        found = _combine(
            [(hit, hit.score / full_window) for hit in windows],
            [(hit, hit.score / full_exchange) for hit in exchanges],
            full_window,
            full_exchange,
            by_session=situation.group_by_session,
            with_lone=wanted.origins is None and wanted.kinds is None,
        )
        if situation.with_tools:
            self._add_tools(situation, window_weights, full_window, found)
        return list(found.values())

    def _add_tools(
        self, situation: Situation, weights: dict[str, float], full: float, found: dict[int, Candidate]
    ) -> None:
        wanted = situation.wanted
        tools = wanted.narrowed((events.TOOL_CALL, events.TOOL_RESULT))
        for hit in self._store.index.search("events", weights, tools, MAX_TOOL_ROWS):
            score = min(1.0, TOOL_WEIGHT * hit.score / full)
            found[hit.row] = Candidate(hit.row, hit.session_id, hit.exchange, hit.ts_ms, score)


def _combine(
    windows: list[tuple[Hit, float]],
    exchanges: list[tuple[Hit, float]],
    full_window: float,
    full_exchange: float,
    *,
    by_session: bool,
    with_lone: bool,
) -> dict[int, Candidate]:
    """Window + twice its exchange (raw, as measured), as a share of what is possible.

    Strength is the geometric mean of the window's share and that of the best exchange of its session: both must agree
    that the row is about the question. An exchange without a window stands for itself, as its prompt, unless only some
    origins may answer: it may begin with a tool's output.
    """

    def group(hit: Hit) -> int:
        return hit.session_id if by_session else hit.exchange

    full = full_window + EXCHANGE_WEIGHT * full_exchange
    best: dict[int, float] = {}
    best_of_session: dict[int, float] = {}
    for hit, share in exchanges:
        best[group(hit)] = max(best.get(group(hit), 0.0), share)
        best_of_session[hit.session_id] = max(best_of_session.get(hit.session_id, 0.0), share)
    found: dict[int, Candidate] = {}
    reached = set()
    for hit, share in windows:
        of_exchange = best.get(group(hit), 0.0)
        reached.add(group(hit))
        score = (share * full_window + EXCHANGE_WEIGHT * of_exchange * full_exchange) / full
        strength = (share * best_of_session.get(hit.session_id, 0.0)) ** 0.5
        found[hit.row] = Candidate(
            hit.row, hit.session_id, hit.exchange, hit.ts_ms, min(1.0, score), min(1.0, strength)
        )
    for hit, share in exchanges if with_lone else ():
        if group(hit) not in reached:
            reached.add(group(hit))
            score = min(1.0, EXCHANGE_WEIGHT * share * full_exchange / full)
            found[hit.exchange] = Candidate(hit.exchange, hit.session_id, hit.exchange, hit.ts_ms, score, 0.0)
    return found


if TYPE_CHECKING:
    _: type[Tier] = FullTextTier
