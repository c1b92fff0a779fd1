"""The first answers of a search, read again by a model that sees the question and each passage together.

Only commands, evaluation and the MCP server's tools search this way: never a prompt's hook, which cannot wait. Whoever
fails or is late is left alone for a while, and the order is the one that the search gave.
"""

from __future__ import annotations

from howcome.errors import OverBudgetError, ProviderError
from howcome.providers.rerank import LLM, open_reranker
from howcome.retrieve.outside import MAX_PAUSE_MS, PAUSE_MS
from howcome.settings import RERANKED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from howcome.domain.stored import Found
    from howcome.providers.base import Reranker
    from howcome.settings import Settings
    from howcome.store.base import Store

TIER = "rerank"
"""As what its score and its change of the order stand among an answer's tiers and adjustments."""


class Reranking:
    """Asks the reranker, remembers that it failed, and puts its word and the search's together.

    Args:
        settings: Which reranker, what its word counts.
        store: Where it is remembered that it failed.
        redact: Takes secrets out of a text.
        now_ms: The clock.
        reranker: One that is open already, instead of that of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        redact: Callable[[str], str],
        now_ms: Callable[[], int],
        reranker: Reranker | None = None,
    ) -> None:
        self._settings, self._store, self._redact, self._now_ms = settings, store, redact, now_ms
        self._reranker, self._told, self._problem = reranker, set[str](), ""

    def breadth(self, limit: int) -> int:
        """How many answers are wanted of the search for so many after reranking."""
        return max(limit, RERANKED)

    def weights(self, of_tiers: Mapping[str, float]) -> Mapping[str, float]:
        """What each tier's word counts, the reranker's among them."""
        return {**of_tiers, TIER: self._settings.rerank_weight}

    def reordered(self, question: str, found: Sequence[Found]) -> list[Found]:
        """The answers, the first RERANKED of them in their new order; all as they were when nobody says better."""
        head, rest = list(found[:RERANKED]), list(found[RERANKED:])
        weight = self._settings.rerank_weight
        scores = self._scores(question, [item.passage for item in head]) if weight and len(head) > 1 else None
        if not scores or max(scores) <= 0.0:
            return head + rest
        return reorder(head, scores, weight, rest[0].score if rest else 0.0) + rest

    def take_problem(self) -> str:
        """Why an answer was not reranked, without secrets; '' when it was, and when this was said already."""
        problem, self._problem = self._problem, ""
        return problem

    def _scores(self, question: str, passages: Sequence[str]) -> Sequence[float] | None:
        """What the reranker says; None when it cannot be had, fails, or did so not long ago."""
        name, now_ms = reranker_known_as(self._settings), self._now_ms()
        pause = self._store.model_answers.pause_of(name, now_ms)
        if pause is not None and pause[0] - now_ms <= MAX_PAUSE_MS:
            return None
        try:
            self._reranker = self._reranker or open_reranker(self._settings, self._store.spending)
        except ProviderError as error:  # cheap to find out again, so that what was installed meanwhile is used
            self._tell(f"{error} (`howcome doctor` has the remedy)")
            return None
        try:
            return self._reranker.scores(self._asked(question), passages) if self._reranker is not None else None
        except OverBudgetError as error:  # it did not fail, and may be asked as soon as the budget allows
            self._tell(str(error))
            return None
        except ProviderError as error:
            now_ms, asked_ms = self._now_ms(), int(1000 * getattr(error, "wait_s", 0.0))
            problem = self._redact(str(error))
            self._store.model_answers.pause(name, now_ms, now_ms + min(MAX_PAUSE_MS, max(PAUSE_MS, asked_ms)), problem)
            self._tell(problem)
            return None

    def _asked(self, question: str) -> str:
        """A question as the reranker may see it: only what leaves this machine needs to be without secrets."""
        return self._redact(question) if self._settings.rerank == LLM else question

    def _tell(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._problem = problem


def reorder(found: Sequence[Found], scores: Sequence[float], weight: float, floor: float) -> list[Found]:
    """Answers by both words: (1 − weight) × the search's score + weight × the reranker's on its scale.

    How far a reranker's numbers reach depends on the model and the question, as with cosines: its best score is put
    equal to the search's best. So no score leaves the search's scale, and answers below `floor` are raised to it: they
    still stand before those that were not read.

    Args:
        found: Answers, best first; each is told its score, its change, and what the reranker gave it.
        scores: The reranker's, one for each; at least one is above 0.
        weight: What they count, 0 to 1.
        floor: The best score among the answers that were not read.
    """
    top, best = found[0].score, max(scores)
    blended = [
        (1.0 - weight) * item.score + weight * top * (said / best) for item, said in zip(found, scores, strict=True)
    ]
    for item, said, score in zip(found, scores, blended, strict=True):
        before, item.score = item.score, max(score, floor)
        item.tiers = {**item.tiers, TIER: said}
        item.adjustments = {**item.adjustments, TIER: item.score / before if before else 1.0}
    order = sorted(range(len(found)), key=lambda place: (-blended[place], place))
    return [found[place] for place in order]


def reranker_known_as(settings: Settings) -> str:
    """What a pause of the reranker is kept by: another one, or the same with more time, is not left alone for it."""
    model = f"{settings.llm} {settings.llm_url} {settings.llm_model}" if settings.rerank == LLM else settings.rerank
    return f"rerank {model} {settings.rerank_deadline_ms}"
