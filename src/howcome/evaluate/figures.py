"""Measured questions as figures: means with intervals, by level and category, and paired differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from howcome.evaluate.harness import ANSWER, LEVELS, Measured
from howcome.evaluate.metrics import interval, mean, percentile

HUMAN_CATEGORIES = ("commit", "pr", "branch")
"""Questions that people wrote: commit subjects, titles, first prompts."""

_RANKING = ("any@1", "any@5", "any@20", "R@10", "MRR", "nDCG@10")
COLUMNS = dict.fromkeys(LEVELS, _RANKING) | {ANSWER: ("coverage@5",)}
_SHOWN = ("any@5", "nDCG@10", "coverage@5")
Figures = dict[str, Any]
Pair = tuple[Mapping[str, float], Mapping[str, float]]


def figures_of(measured: Sequence[Measured]) -> Figures:
    """The figures of one set: by level, and there by category; latency and tokens of what is shown."""
    times_ms = [item.time_ms for item in measured]
    shown = [float(item.shown_tokens) for item in measured]
    levels = [level for level in LEVELS if any(level in item.scores for item in measured)]
    return {
        "questions": len(measured),
        "levels": {level: _groups(measured, level) for level in levels},
        "latency_ms": {"p50": percentile(times_ms, 0.5), "p95": percentile(times_ms, 0.95)},
        "work_ms": {"p50": percentile([item.work_ms for item in measured], 0.5)},
        "shown_tokens": {"p50": percentile(shown, 0.5), "p95": percentile(shown, 0.95)},
    }


def _groups(measured: Sequence[Measured], level: str) -> Figures:
    asked = [(item.asked.category, item.scores[level]) for item in measured if level in item.scores]
    rows = {"all": [scores for _, scores in asked]}
    human = [scores for category, scores in asked if category in HUMAN_CATEGORIES]
    if human and len(human) < len(asked):
        rows["human-written"] = human
    for name in sorted({category for category, _ in asked} - {"all"}):
        rows[name] = [scores for category, scores in asked if category == name]
    return {
        name: {"n": len(of), **{metric: _with_interval([row[metric] for row in of]) for metric in of[0]}}
        for name, of in rows.items()
    }


def difference(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Figures:
    """Ours − theirs on the same questions, by level and metric, with 95 % intervals of the paired differences."""
    pairs = {level: [pair for _, pair in _pairs(ours, theirs, level)] for level in LEVELS}
    return {level: _differences(found, level) for level, found in pairs.items() if found}


def difference_by_category(ours: Sequence[Measured], theirs: Sequence[Measured], level: str) -> Figures:
    """The same at one level, by category: how many questions, and each metric's difference."""
    groups: dict[str, list[Pair]] = {}
    for category, pair in _pairs(ours, theirs, level):
        groups.setdefault(category, []).append(pair)
    return {name: {"n": len(found), **_differences(found, level)} for name, found in sorted(groups.items())}


def _pairs(ours: Sequence[Measured], theirs: Sequence[Measured], level: str) -> Iterator[tuple[str, Pair]]:
    for mine, other in zip(ours, theirs, strict=True):
        if level in mine.scores and level in other.scores:
            yield mine.asked.category, (mine.scores[level], other.scores[level])


def _differences(pairs: Sequence[Pair], level: str) -> Figures:
    return {name: _with_interval([mine[name] - other[name] for mine, other in pairs]) for name in COLUMNS[level]}


def _with_interval(values: Sequence[float]) -> Figures:
    low, high = interval(values)
    return {"mean": round(mean(values), 4), "low": round(low, 4), "high": round(high, 4)}


def distilled_as_text(sessions: int, types: Mapping[str, int], rejected: Mapping[str, int]) -> str:
    """What came of distilling for people: how many memories, of which types, and what was left out and why."""
    count = sum(types.values())
    shares = ", ".join(f"{name} {number} ({number / count:.0%})" for name, number in types.items())
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(rejected.items(), key=lambda one: -one[1]))
    return (
        f"  distilled: {count} memories of {sessions} sessions"
        + (f", {count / sessions:.2f} a session: {shares}" if count and sessions else "")
        + (f"; left out: {reasons}" if reasons else "")
    )


def categories_as_text(differences: Figures) -> str:
    """Differences by category for people: any@5 and nDCG@10, or whatever there is of them."""
    return "\n".join(
        f"      {name:<20}{cells['n']:>5}  "
        + "  ".join(f"{column} {_cell(cells[column], '+')}" for column in _SHOWN if column in cells)
        for name, cells in differences.items()
    )


def as_text(name: str, figures: Figures) -> str:
    """The figures of one set for people."""
    latency, shown = figures["latency_ms"], figures["shown_tokens"]
    times = f"search p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms"
    cost = f", first passages {shown['p50']:.0f} tokens (p95 {shown['p95']:.0f})" if shown["p95"] else ""
    lines = [f"{name}: {figures['questions']} questions without leaks, {times}{cost}"]
    for level, groups in figures["levels"].items():
        lines.append(f"  {level:<20}{'n':>5}" + "".join(f"{column:>21}" for column in COLUMNS[level]))
        lines += [
            f"  {group:<20}{cells['n']:>5}" + "".join(f"{_cell(cells[column]):>21}" for column in COLUMNS[level])
            for group, cells in groups.items()
        ]
    return "\n".join(lines)


def _cell(cell: Figures, sign: str = "") -> str:
    return f"{cell['mean']:{sign}.3f} [{cell['low']:{sign}.3f} {cell['high']:{sign}.3f}]"


def difference_as_text(what: str, differences: Figures) -> str:
    """Paired differences for people."""
    lines = [f"  {what}, paired:"]
    for level, cells in differences.items():
        lines.append(f"    {level:<23}" + "  ".join(f"{name} {_cell(cell, '+')}" for name, cell in cells.items()))
    return "\n".join(lines)


def metric_of(figures: Figures, level: str) -> str:
    """The metric that stands for a set at a level: for single passages where the first answer is, else the order."""
    return "coverage@5" if level == ANSWER else "MRR" if figures["is_passages"] else "nDCG@10"


def headline(figures: Figures, differences: Figures) -> str:
    """One line: how the metric that stands for a set changed, at each level."""
    return "  ".join(
        f"{level} {metric_of(figures, level)} {_cell(cells[metric_of(figures, level)], '+')}"
        for level, cells in differences.items()
    )


def as_json(configuration: Mapping[str, object], sets: Sequence[Figures]) -> str:
    """A run's configuration and the figures of its sets for programs."""
    return json.dumps({"run": configuration, "sets": sets}, ensure_ascii=False)
