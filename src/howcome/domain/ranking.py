"""Adjustments of a fused score: one list for events, one for memories. `now_ms` is always a parameter.

An adjustment is a bonus from 0 to 1 at a weight. What has all of it keeps its score (or `best` times that), what has
none keeps 1 / (1 + weight) of it: a score from 0 to 1 stays one, and nothing that was found is lost.
"""

from __future__ import annotations

from math import exp

from howcome.domain.memories import DEFAULT_TYPE, HAND, LEVELS, OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.times import Span

DAY_MS = 24 * 3600 * 1000

RECENCY_WEIGHT = 0.3
RECENCY_HALF_LIFE_MS = 7 * DAY_MS
"""Newer counts up to 1.3 times, half of it gone after a week: `branch` questions any@5 +3 points, the other kinds
unchanged (docs/evaluation.md)."""

TIME_WEIGHT = 1.0
"""What stands in the time that was asked for counts twice what is far from it: LoCoMo sessions' MRR .825 at 0, .842 at
.3, .846 here (turns .556 → .568); questions with a date in samples/gaps nDCG@10 .61 → .97; nothing else changes. Among
memories (LoCoMo's turns kept as such) MRR .438 → .453."""

HERE_WEIGHT = 0.2
"""Of everything, what is of the project where it is asked for counts 1.2 times the rest. Six data sets in one store,
asked so: CodeMemo's coverage 5.3 points better than without, any@5 of the coding sets .5 and .8. Asked in another
coding project: 2.9 worse, 4.0 and .5 (docs/evaluation.md, "from nowhere"). More gains little and costs more."""

SURVIVAL_WEIGHT = RECENCY_WEIGHT
"""Both are put in one order, so age sets a memory back by no more than an event. For LoCoMo's turns, kept as memories
of each type in turn, MRR is within a point of .440, which the events' recency gives (`decision` .435, `dependency`
.448)."""

SURVIVAL: Mapping[str, tuple[float, float]] = {
    "decision": (14.0, 1.5), "failure": (45.0, 1.2), "pattern": (90.0, 0.8), "dependency": (180.0, 0.7),
    "context": (7.0, 2.0),
}  # fmt: skip
"""By type of memory: the days after which 1/e are left, and the shape (above 1 it holds first and falls later, below 1
it falls first and then lasts). The values are Distill's (github.com/5queezer/distill, MIT)."""

DEFAULT_SURVIVAL = (30.0, 1.0)
"""Also for what somebody keeps by hand without choosing a type: it is called `context`, but nobody said that it is a
passing state. (Distill lets all of it fade in seven days; LoCoMo's turns, kept so, then have an MRR of .434, not .438.)
"""

STALE_SURVIVAL = 0.1
STALE_READS = 2
"""What is below both has outlived its use, as far as anybody can tell (Distill's values): a context after 11 days (69
if kept by hand), a decision after 24, a failure after 90, a pattern after 255, a dependency after 593. It is listed,
never taken away."""

RESOLVED_WEIGHT = 0.1
"""What is resolved gives way to what is open and answers about as well, not to what answers worse. No set here has
resolved memories; prompts are never told of one."""

UNMERGED_WEIGHT = 0.1
"""What was said on a branch that is not merged gives way to what answers about as well and holds here. Were every
branch of the Go project counted so by mistake, any@5 would be .660 (.663 without), and .642 at a weight of .3
(docs/evaluation.md, "Branches")."""

LEVEL_WEIGHT, LEVEL_BEST = 0.5, 1.2
"""What passes counts .8 times, a project's knowledge once, what holds everywhere 1.2 times (Distill's values; nothing
measured speaks against them but for what somebody keeps by hand without choosing a type, which counts as knowledge: of
eight questions for such memories MiniLM puts seven first so, two as passing; docs/evaluation.md, "Reach")."""


class Facts:
    """What adjustments may know of a row.

    Attributes:
        ts_ms: When it was said (last) or kept.
        type: Of a memory (domain.memories.TYPES); '' of an event.
        is_open: Whether it still holds; what is resolved does not.
        reads: How often somebody asked for it by its id.
        is_pinned: Whether somebody pinned it: it does not fade.
        level: Of a memory (domain.memories.LEVELS).
        is_here: Whether it is of the project in which everything is asked for (a memory that holds everywhere is).
    """

    __slots__ = ("is_here", "is_open", "is_pinned", "level", "reads", "ts_ms", "type")

    def __init__(
        self,
        ts_ms: int,
        *,
        type: str = "",
        is_open: bool = True,
        reads: int = 0,
        is_pinned: bool = False,
        is_here: bool = True,
        level: str = LEVELS[1],
    ) -> None:
        self.ts_ms, self.type, self.is_open, self.reads = ts_ms, type, is_open, reads
        self.is_pinned, self.is_here, self.level = is_pinned, is_here, level


def facts_of(memory: Memory, *, is_here: bool = True) -> Facts:
    """What adjustments may know of a memory: its age counts from when it was said last."""
    is_untyped = memory.source == HAND and memory.type == DEFAULT_TYPE
    return Facts(
        memory.said_ms or memory.created_ms,
        type="" if is_untyped else memory.type,
        is_open=memory.status == OPEN,
        reads=memory.access_count,
        is_pinned=memory.pinned_ms is not None,
        is_here=is_here,
        level=LEVELS[1] if is_untyped and memory.level == LEVELS[0] else memory.level,
    )


class Adjustment:
    """One reason to count a row less than another: its name, its weight, and a row's bonus (0 to 1) at a time."""

    __slots__ = ("best", "bonus", "name", "weight")

    def __init__(self, name: str, weight: float, bonus: Callable[[Facts, int], float], best: float = 1.0) -> None:
        self.name, self.weight, self.bonus, self.best = name, weight, bonus, best

    def factor(self, facts: Facts, now_ms: int) -> float:
        """What a score is multiplied with: from best / (1 + weight) to best."""
        return self.best * (1 + self.weight * self.bonus(facts, now_ms)) / (1 + self.weight)


def recency(facts: Facts, now_ms: int) -> float:
    """1 for what is new (or from the future), half of it for what is a week old."""
    bonus: float = 0.5 ** (max(0, now_ms - facts.ts_ms) / RECENCY_HALF_LIFE_MS)
    return bonus


def survival(facts: Facts, now_ms: int) -> float:
    """How much of a memory of its type is left at its age, after Weibull: exp(-(age / scale) ** shape); pinned: all."""
    if facts.is_pinned:
        return 1.0
    scale_days, shape = SURVIVAL.get(facts.type, DEFAULT_SURVIVAL)
    return exp(-((max(0, now_ms - facts.ts_ms) / DAY_MS / scale_days) ** shape))


def is_stale(facts: Facts, now_ms: int) -> bool:
    """Whether a memory has faded and hardly anybody ever asked for it."""
    return facts.reads < STALE_READS and survival(facts, now_ms) < STALE_SURVIVAL


RECENCY = Adjustment("recency", RECENCY_WEIGHT, recency)
SURVIVAL_BY_TYPE = Adjustment("survival", SURVIVAL_WEIGHT, survival)
OPENNESS = Adjustment("open", RESOLVED_WEIGHT, lambda facts, _now_ms: float(facts.is_open))
HERE = Adjustment("here", HERE_WEIGHT, lambda facts, _now_ms: float(facts.is_here))
LEVEL = Adjustment("level", LEVEL_WEIGHT, lambda facts, _now_ms: LEVELS.index(facts.level) / 2, LEVEL_BEST)
"""0 for what passes, a half for a project's knowledge, 1 for what holds everywhere."""


def in_time(spans: Sequence[Span]) -> Adjustment:
    """More for what is near to the times that were asked for."""
    from howcome.domain.times import nearness

    return Adjustment("time", TIME_WEIGHT, lambda facts, _now_ms: nearness(facts.ts_ms, spans))


def for_events(spans: Sequence[Span], *, is_placed: bool = False) -> list[Adjustment]:
    """What changes the scores of events: who names a time does not want what is newest.

    A question to everything is placed when it is known in which project it is asked.
    """
    return [in_time(spans) if spans else RECENCY, *([HERE] if is_placed else [])]


def for_memories(spans: Sequence[Span], *, is_placed: bool = False) -> list[Adjustment]:
    """What changes the scores of memories."""
    return [in_time(spans) if spans else SURVIVAL_BY_TYPE, OPENNESS, LEVEL, *([HERE] if is_placed else [])]


def adjusted(
    score: float, facts: Facts, adjustments: Iterable[Adjustment], now_ms: int
) -> tuple[float, dict[str, float]]:
    """A score from 0 to 1 after all adjustments (still from 0 to 1), and each one's factor by its name."""
    factors = {one.name: one.factor(facts, now_ms) for one in adjustments}
    for factor in factors.values():
        score *= factor
    return min(1.0, score), factors
