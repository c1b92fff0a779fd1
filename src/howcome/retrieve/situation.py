"""A question with all that tiers may look at, and the candidates they answer with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from howcome.domain.stored import Filter, Weights

MAX_EMBEDDED_CHARS = 2000
"""Of a question so much is embedded."""


class Situation:
    """A prompt and where it is asked.

    Attributes:
        text: The question or prompt.
        asked: The same with what it says is not wanted.
        terms: Its terms as the index knows them, the most telling ones first kept when there are many.
        wanted: Which rows may answer; always with a scope.
        weights: What the terms are worth.
        group_by_session: A row's exchange counts for its whole session (sessions are ranked, not passages).
        with_tools: Tool calls and results may answer too.
        breadth: How many rows a tier may ask an index for.
        recent: The last words of the running session, read only when a tier asks (None: there are none).
    """

    __slots__ = (
        "asked", "breadth", "group_by_session", "recent", "terms", "text", "wanted", "weights", "with_tools",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - what tiers may look at, each by its name
        self,
        text: str,
        terms: list[str],
        wanted: Filter,
        *,
        weights: Weights,
        asked: str | None = None,
        group_by_session: bool = False,
        with_tools: bool = False,
        breadth: int = 200,
        recent: Callable[[], str] | None = None,
    ) -> None:
        self.text, self.terms, self.wanted, self.weights, self.recent = text, terms, wanted, weights, recent
        self.asked = text if asked is None else asked
        self.group_by_session, self.with_tools, self.breadth = group_by_session, with_tools, breadth


class Candidate:
    """A row that a tier offers: its session, the row of the prompt that opened its exchange, its time and its score.

    `strength` (0 to 1) says how sure the tier is that the row is about the question at all: it decides whether to
    speak, where `score` decides in which order.
    """

    __slots__ = ("exchange", "row", "score", "session_id", "strength", "ts_ms")

    def __init__(
        self, row: int, session_id: int, exchange: int, ts_ms: int, score: float, strength: float | None = None
    ) -> None:
        self.row, self.session_id, self.exchange, self.ts_ms, self.score = row, session_id, exchange, ts_ms, score
        self.strength = score if strength is None else strength


class Ranked:
    """A candidate after fusion: its final score (0 to 1), what each tier gave it, and the surest tier's strength.

    `adjustments` are what the fused score was multiplied with, by name.
    """

    __slots__ = ("adjustments", "candidate", "score", "strength", "tiers")

    def __init__(
        self,
        candidate: Candidate,
        score: float,
        tiers: dict[str, float],
        strength: float,
        adjustments: Mapping[str, float] | None = None,
    ) -> None:
        self.candidate, self.score, self.tiers, self.strength = candidate, score, tiers, strength
        self.adjustments = adjustments or {}
