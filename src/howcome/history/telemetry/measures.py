"""The measures of telemetry, a table; and which of them precede rework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from howcome.domain.shares import Share, difference_interval, pooled
from howcome.history.telemetry.counting import TOOL

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
    Measure("spinning", "same failure 3 times", "spins"),
    Measure("compactions", "compactions", "compactions"),
    Measure("edited_again", "files changed again", "again", "edited"),
    Measure("rework", "edits replaced later", "reworked", "settled"),
)
"""What their counts are: `counting`."""


def values_of(counts: Counted) -> dict[str, object]:
    """The measures of some counts: a number; or the share (None of nothing) with its two counts and its interval."""
    found: dict[str, object] = {}
    for one in MEASURES:
        count, of = counts.get(one.what, 0), counts.get(one.of, 0)
        ends = () if one.is_ratio else (round(end, 3) for end in Share(count, of).interval)
        value = {"value": round(count / of, 3) if of else None, "count": count, "of": of}
        found[one.name] = value | dict(zip(("low", "high"), ends, strict=False)) if one.of else count
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
    ("under 2 reads an edit", lambda counts: -_rate("reads", "edits")(counts), -READS_AN_EDIT),
    ("edits of unread files", _rate("blind", "placed"), 0.0),
    ("many failures", _rate("failed", "answered"), None),
    ("many retries", _rate("retried", "calls"), None),
    ("the same failure 3 times", _rate("spins", "calls"), 0.0),
    ("a compaction", _rate("compactions", "calls"), 0.0),
    ("many edits", lambda counts: counts.get("edits", 0), None),
)
"""What may precede rework: its name, its value for a session, and above which it is there (None: the median's)."""

CAVEAT = (
    "Edits that another session replaced within a week, in sessions with each of these and in the others. “Not clear”:"
    " it may be chance (95 %; --json has the interval). Of seven lines one is clear by chance every third time. “Many”"
    " is more than in half of the sessions. Long sessions do more of everything, so this is no proof. What is more"
    " often may be worth a line in CLAUDE.md or AGENTS.md: --since shows later whether fewer edits are replaced."
)


def precede_rework(sessions: Iterable[Counted]) -> list[dict[str, object]]:
    """Each of BEFORE over the sessions with an edit that is old enough: so many of so many edits with it and without.

    The difference of the shares has its 95 % interval.
    """
    judged = [one for one in sessions if one.get("settled")]
    found: list[dict[str, object]] = []
    for name, value, least in BEFORE if judged else ():
        limit = median(map(value, judged)) if least is None else least
        parts: tuple[list[tuple[int, int]], ...] = ([], [])
        for one in judged:
            parts[value(one) > limit].append((one.get("reworked", 0), one["settled"]))
        without, with_it = map(pooled, parts)
        found.append({
            "before": name, "sessions": [len(parts[1]), len(judged)],
            "with": [with_it.count, with_it.of], "without": [without.count, without.of],
            "difference": round(with_it.value - without.value, 4),
            "interval": [round(end, 4) for end in difference_interval(parts[1], parts[0])],
        })  # fmt: skip
    return found
