"""The measures of telemetry, a table; and which of them precede rework."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from howcome.domain.shares import Share, difference_interval, pooled
from howcome.learn.telemetry.counting import TOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Counted = Mapping[str, int]


@dataclass(frozen=True)
class Measure:
    """A count, or (with `of`) a share of another count; `is_ratio`: so many for each."""

    name: str
    title: str
    what: str
    of: str = ""
    is_ratio: bool = False


MEASURES = (
    Measure("prompts", "prompts", "prompts"),
    Measure("calls", "calls", "calls"),
    Measure("read_edit_ratio", "reads for each edit", "reads", "edits", is_ratio=True),
    Measure("edits_without_read", "edits without a read", "blind", "placed"),
    Measure("failures", "failed calls", "failed", "answered"),
    Measure("retries", "tried again at once", "retried", "failed"),
    Measure("spinning", "three times the same", "spins"),
    Measure("compactions", "compactions", "compactions"),
    Measure("edited_again", "files changed again", "again", "edited"),
    Measure("rework", "edits replaced", "reworked", "settled"),
)
"""`docs/reference.md` lists the names; the counts are those of `counting`."""


def values_of(counts: Counted) -> dict[str, object]:
    """The measures of some counts: a number; or the share (None of nothing) with its two counts and its interval."""
    found: dict[str, object] = {}
    for one in MEASURES:
        count, of = counts.get(one.what, 0), counts.get(one.of, 0)
        if not one.of:
            found[one.name] = count
        elif one.is_ratio:
            found[one.name] = {"value": round(count / of, 3) if of else None, "count": count, "of": of}
        else:
            share = Share(count, of)
            low, high = (round(end, 3) for end in share.interval)
            value = round(share.value, 3) if of else None
            found[one.name] = {"value": value, "count": count, "of": of, "low": low, "high": high}
    return found


def tools_of(counts: Counted) -> dict[str, int]:
    """How often each tool was called, most first."""
    tools = {name.removeprefix(TOOL): count for name, count in counts.items() if name.startswith(TOOL)}
    return dict(sorted(tools.items(), key=lambda pair: (-pair[1], pair[0])))


READS_AN_EDIT = 2.0
"""Others claim that fewer precede rework; whether that is so here is what is measured."""


def _rate(what: str, of: str) -> Callable[[Counted], float]:
    return lambda counts: counts.get(what, 0) / counts.get(of, 0) if counts.get(of, 0) else 0.0


BEFORE: Sequence[tuple[str, Callable[[Counted], float], float | None]] = (
    ("fewer than 2 reads for each edit", lambda counts: -_rate("reads", "edits")(counts), -READS_AN_EDIT),
    ("edits of files not read before", _rate("blind", "placed"), 0.0),
    ("more failures than most sessions", _rate("failed", "answered"), None),
    ("more retries than most sessions", _rate("retried", "calls"), None),
    ("spinning", _rate("spins", "calls"), 0.0),
    ("a compaction", _rate("compactions", "calls"), 0.0),
    ("more edits than most sessions", lambda counts: counts.get("edits", 0), None),
)
"""What may precede rework: its name, its value for a session, and above which it is there (None: the median's)."""

CAVEAT = (
    "No experiment: sessions that differ in one thing differ in others (long ones do more of everything)."
    " Of seven comparisons one interval in three sets leaves out zero by chance."
)


@dataclass(frozen=True)
class Precedes:
    """What comes before rework: the share of reworked edits in sessions with and without it, and the difference."""

    name: str
    sessions: Share
    with_it: Share
    without: Share
    low: float
    high: float

    @property
    def difference(self) -> float:
        """By how much the share is higher with it; `low` and `high` are its 95 % interval."""
        return self.with_it.value - self.without.value


def precede_rework(sessions: Iterable[Counted]) -> list[Precedes]:
    """Each of BEFORE over the sessions with an edit that is old enough to be judged."""
    judged = [one for one in sessions if one.get("settled")]
    found = []
    for name, value, least in BEFORE if judged else ():
        limit = median(map(value, judged)) if least is None else least
        parts: tuple[list[tuple[int, int]], ...] = ([], [])
        for one in judged:
            parts[value(one) > limit].append((one.get("reworked", 0), one["settled"]))
        low, high = difference_interval(parts[1], parts[0])
        among = Share(len(parts[1]), len(judged))
        found.append(Precedes(name, among, pooled(parts[1]), pooled(parts[0]), low, high))
    return found
