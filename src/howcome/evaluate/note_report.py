"""One run of `howcome eval --notes`: sets distilled, measured, beside the baseline, and as readers graded them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howcome import __version__
from howcome.domain.shares import NONE, Share
from howcome.errors import UsageError
from howcome.evaluate.datasets import sets_with
from howcome.evaluate.note_run import Distilled, Progress, distilled
from howcome.evaluate.note_sheets import Grades, graded, read_grades, write_sheets
from howcome.evaluate.notes import NoteFigures, measure
from howcome.evaluate.tables import table

Ways = Mapping[str, NoteFigures]
"""Figures by what was measured: memories, verbatim prompts, each ungraded and perhaps graded; on one set."""

MEMORIES, VERBATIM = "memories", "verbatim"
SHARES = ("coverage", "noteworthiness", "traps", "duplicates")
VALUABLE = {"value3": "value 3", "user_value3": "speaker user, value 3"}


@dataclass(frozen=True)
class NoteReport:
    """What was measured: of each set the figures of each way of keeping, and what distilling cost."""

    sets: Mapping[str, tuple[Ways, Mapping[str, float | None]]]
    grades: Grades | None = None

    @property
    def void(self) -> str:
        """Why the grades are worth nothing; '' where they are, or there are none."""
        return self.grades.void if self.grades is not None else ""

    def overall(self) -> Ways:
        """All sets as one."""
        every = [ways for ways, _ in self.sets.values()]
        return {way: _sum([ways[way] for ways in every]) for way in every[0]}

    def as_json(self) -> str:
        """For programs: shares by set, with what they are made of."""
        notes = {name: {**_values(ways), "cost": dict(cost)} for name, (ways, cost) in self.sets.items()}
        run: dict[str, object] = {"howcome": __version__}
        if self.grades is not None:
            run["grades"] = _graded(self.grades) | {"void": self.void}
        return json.dumps({"run": run, "notes": notes, "overall": _values(self.overall())}, ensure_ascii=False)

    def as_markdown(self) -> str:
        """For people: a table a set, and one of all."""
        parts = [_as_markdown(name, ways, cost) for name, (ways, cost) in self.sets.items()]
        parts += [_as_markdown("overall", self.overall(), {})] if len(self.sets) > 1 else []
        if self.grades is not None:
            parts.append("grades: " + "; ".join(f"{what} {value}" for what, value in _graded(self.grades).items()))
        return "\n\n".join(parts)


def measure_notes(
    paths: Sequence[Path],
    progress: Progress,
    *,
    keep: Path | None = None,
    only_read: bool = False,
    sheet: Path | None = None,
    chunk: int | None = None,
    grades: Sequence[Path] = (),
) -> NoteReport:
    """Distils the sets at or below some folders and measures what came of it; see `howcome eval --help`.

    Raises:
        UsageError: two sets have the same name.
    """
    folders = list(dict.fromkeys(folder for path in paths for folder in sets_with([path], "notes", "readers' notes")))
    if len({folder.name for folder in folders}) < len(folders):
        raise UsageError("two of the sets have the same name: their figures could not be told apart")
    sets = [distilled(folder, keep, progress, only_read=only_read) for folder in folders]
    if sheet is not None:
        for path in write_sheets(sheet, sets, chunk):
            progress(f"written: {path}")
    found = graded(sets, read_grades(grades)) if grades else None
    return NoteReport({data.name: (_ways(data, found), data.cost) for data in sets}, found)


def _ways(data: Distilled, grades: Grades | None) -> Ways:
    notes, traps = data.notes, data.traps
    found = {
        MEMORIES: measure(data.memories, notes, traps, alike=data.alike),
        VERBATIM: measure(data.prompts, notes, traps),
    }
    if grades is not None:
        ours, theirs = grades.memories[data.name], grades.prompts[data.name]
        found[f"{MEMORIES}, graded"] = measure(data.memories, notes, traps, graded=ours, alike=data.alike)
        found[f"{VERBATIM}, graded"] = measure(data.prompts, notes, traps, graded=theirs)
    return found


def _values(ways: Ways) -> dict[str, object]:
    """Shares of memories at the top, the other ways beside them, each with what it is made of."""
    return {**_of(ways[MEMORIES]), **{way: _of(one) for way, one in ways.items() if way != MEMORIES}}


def _of(one: NoteFigures) -> dict[str, object]:
    shares = {name: getattr(one, name) for name in SHARES}
    top = {name: groups["all"] for name, groups in shares.items()}
    top |= {f"coverage_{name}": one.coverage.get(group, NONE) for name, group in VALUABLE.items()}
    return {
        **{name: round(share.value, 4) for name, share in top.items()},
        "memories_per_session": round(one.memories_per_session, 4),
        "sessions": one.sessions,
        "notes_by_source": one.sources,
        "detail": {name: {group: _counted(of) for group, of in groups.items()} for name, groups in shares.items()},
    }


def _counted(share: Share) -> dict[str, float]:
    values = (share.value, share.count, share.of, *share.interval)
    return {name: round(value, 4) for name, value in zip(("share", "count", "of", "low", "high"), values, strict=True)}


def _graded(grades: Grades) -> dict[str, object]:
    return {
        "bags_passed": f"{grades.bags.count}/{grades.bags.of}",
        "foreign_passed": f"{grades.foreign.count}/{grades.foreign.of}",
        "memories_without_grades": grades.missing, "grades_of_no_row": grades.unknown,
    }  # fmt: skip


def _as_markdown(name: str, ways: Ways, cost: Mapping[str, float | None]) -> str:
    """A column a way of keeping, then the memories by source, then what they cost."""
    first, shares = ways[MEMORIES], SHARES[1:]
    rows = [
        ["coverage" if group == "all" else group, *(_cell(one.coverage[group]) for one in ways.values())]
        for group in first.coverage
    ]
    rows += [[what, *(_cell(getattr(one, what)["all"]) for one in ways.values())] for what in shares]
    rows.append(["memories a session", *(f"{one.memories_per_session:.1f}" for one in ways.values())])
    sources = [
        [source, str(of.of), str(first.sources[source]), *(_cell(getattr(first, what)[source]) for what in shares)]
        for source, of in first.noteworthiness.items() if source != "all"
    ]  # fmt: skip
    parts = [
        f"{name}: {first.coverage['all'].of} notes of {first.sessions} sessions. In brackets 95 % intervals (Wilson).",
        table(["", *ways], rows),
        table(["source", "memories", "notes by itself", *shares], sources),
        "; ".join(f"{what} {value:,.4g}" for what, value in cost.items() if value is not None),
    ]
    return "\n\n".join(part for part in parts if part)


def _sum(figures: Sequence[NoteFigures]) -> NoteFigures:
    def shares(name: str) -> dict[str, Share]:
        groups = dict.fromkeys(group for one in figures for group in getattr(one, name))
        every = [getattr(one, name) for one in figures]
        return {group: sum((of.get(group, NONE) for of in every), NONE) for group in groups}

    sources = {name: sum(each.sources.get(name, 0) for each in figures) for one in figures for name in one.sources}
    coverage, noteworthiness, traps, duplicates = map(shares, SHARES)
    sessions = sum(one.sessions for one in figures)
    return NoteFigures(coverage, noteworthiness, traps, duplicates, sources, sessions)


def _cell(share: Share) -> str:
    low, high = (f"{end:.2f}".removeprefix("0") for end in share.interval)
    return f"{share.value:.3f}".removeprefix("0") + f" [{low} {high}] {share.count}/{share.of}" if share.of else ""
