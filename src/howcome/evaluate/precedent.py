"""Precedents: how much of what came up had come up before in another session, and whether that made it quicker.

A failure has one when the same class of failure was solved in an earlier session; a prompt when readers found an
earlier exchange that helps (`judged_prompts`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from howcome.domain.shares import Share, drawn_interval
from howcome.domain.stored import Scope
from howcome.evaluate.datasets import Row, rows_of, sets_with
from howcome.evaluate.harness import Pool, throwaway_home
from howcome.evaluate.note_run import Progress, import_set
from howcome.evaluate.speak import HELPS, JUDGED, shown
from howcome.evaluate.tables import table
from howcome.history.telemetry.patterns import Failed, Pattern

CAVEAT = "No experiment: what comes up again may be easier, or harder, than what does not."
Case = tuple[Failed, bool]
"""A failure, and whether it has a precedent."""


@dataclass(frozen=True)
class PrecedentReport:
    """The figures of each set."""

    sets: Mapping[str, Mapping[str, str]]

    def as_json(self) -> str:
        """For programs."""
        return json.dumps({"precedent": self.sets, "caveat": CAVEAT})

    def as_markdown(self) -> str:
        """For people: a row a figure, a column a set."""
        rows = [[name, *(one[name] for one in self.sets.values())] for name in next(iter(self.sets.values()))]
        return f"{table(['', *self.sets], rows)}\n\n{CAVEAT}"


def measure_precedent(paths: Sequence[Path], progress: Progress, keep: Path | None = None) -> PrecedentReport:
    """The figures of the sets with judged prompts at or below some paths; `keep` as `speak.measure_speak`.

    Raises:
        UsageError: there are none, or a file cannot be read.
    """
    sets = {}
    for folder in sets_with(paths, *JUDGED):
        rows = list(rows_of(folder, JUDGED[0], "session", "candidates"))
        with throwaway_home() as home:
            import_set(folder, None, home, keep, progress)
            with Pool(home).open() as app:
                found = app.telemetry.patterns(Scope.everything(), least=1)
        sets[folder.name] = _figures([case for pattern in found for case in _cases(pattern)], rows)
    return PrecedentReport(sets)


def _cases(pattern: Pattern) -> list[Case]:
    solved = [(one.call.session, one.call.order_ms + one.ms) for one in pattern.failed if one.solved.steps is not None]
    return [
        (one, any(session != one.call.session and then_ms < one.call.order_ms for session, then_ms in solved))
        for one in pattern.failed
    ]


def _figures(cases: Sequence[Case], rows: Sequence[Row]) -> dict[str, str]:
    ways = [[one for one, is_known in cases if is_known is known] for known in (True, False)]
    helped = [any(one.get("grade") == HELPS for one in row["candidates"]) for row in rows]  # type: ignore[attr-defined]
    with_it, without = ([one.ms / 60_000 for one in way if one.solved.steps is not None] for way in ways)
    low, high = _interval([(one, known) for one, known in cases if one.solved.steps is not None])
    return {
        "failures with a precedent": shown(Share(len(ways[0]), len(cases))),
        "solved, with one": shown(Share(len(with_it), len(ways[0]))),
        "solved, without": shown(Share(len(without), len(ways[1]))),
        "median minutes until solved, with one": f"{median(with_it or [0]):.2f}",
        "median minutes until solved, without": f"{median(without or [0]):.2f}",
        "difference": f"{median(with_it or [0]) - median(without or [0]):+.2f} [{low:+.2f} {high:+.2f}]",
        "prompts with a precedent": shown(Share.among(helped)),
    }


def _interval(solved: Sequence[Case]) -> tuple[float, float]:
    """Of the difference of the medians: a bootstrap over sessions."""
    by_session: dict[str, list[Case]] = {}
    for case in solved:
        by_session.setdefault(case[0].call.session, []).append(case)

    def difference(drawn: Sequence[Sequence[Case]]) -> float:
        ways: tuple[list[float], list[float]] = ([], [])
        for one, known in (case for cases in drawn for case in cases):
            ways[known].append(one.ms / 60_000)
        return median(ways[True] or [0]) - median(ways[False] or [0])

    sessions = [*by_session.values()]
    return drawn_interval(lambda draw: difference(draw(sessions)))
