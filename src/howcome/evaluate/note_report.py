"""One run of `howcome eval --notes`: sets distilled, measured, beside the baseline, and as readers graded them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howcome import __version__
from howcome.errors import UsageError
from howcome.evaluate.note_run import Distilled, Progress, distilled, note_sets
from howcome.evaluate.note_sheets import Grades, graded, read_grades, write_sheets
from howcome.evaluate.notes import NoteFigures, Share, measure

Ways = Mapping[str, NoteFigures]
"""Figures by what was measured: memories, verbatim prompts, each ungraded and perhaps graded; on one set."""

MEMORIES, VERBATIM = "memories", "verbatim"
USER_3 = "speaker user, value 3"


@dataclass(frozen=True)
class NotePlan:
    """What a run does beside measuring; see `howcome eval --help`."""

    keep: Path | None = None
    sheet: Path | None = None
    chunk: int | None = None
    grades: Sequence[Path] = ()
    only_read: bool = False


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


def measure_notes(paths: Sequence[Path], plan: NotePlan, progress: Progress) -> NoteReport:
    """Distils the sets at or below some folders and measures what came of it.

    Raises:
        UsageError: two sets have the same name.
    """
    folders = list(dict.fromkeys(folder for path in paths for folder in note_sets(path)))
    if len({folder.name for folder in folders}) < len(folders):
        raise UsageError("two of the sets have the same name: their figures could not be told apart")
    sets = [distilled(folder, plan.keep, progress, only_read=plan.only_read) for folder in folders]
    if plan.sheet is not None:
        for path in write_sheets(plan.sheet, sets, plan.chunk):
            progress(f"written: {path}")
    grades = graded(sets, read_grades(plan.grades)) if plan.grades else None
    return NoteReport({data.name: (_ways(data, grades), data.cost) for data in sets}, grades)


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
    first = ways[MEMORIES]
    found = {"sessions": first.sessions, **_shares(first), "detail": _detail(first)}
    return found | {way: {**_shares(one), "detail": _detail(one)} for way, one in ways.items() if way != MEMORIES}


def _graded(grades: Grades) -> dict[str, object]:
    return {
        "bags_passed": f"{grades.bags.count}/{grades.bags.of}",
        "foreign_passed": f"{grades.foreign.count}/{grades.foreign.of}",
        "memories_without_grades": grades.missing, "grades_of_no_row": grades.unknown,
    }  # fmt: skip


def _as_markdown(name: str, ways: Ways, cost: Mapping[str, float | None]) -> str:
    """A column a way of keeping, then the memories by source, then what they cost."""
    first, shares = ways[MEMORIES], ("noteworthiness", "traps", "duplicates")
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
        _table(["", *ways], rows),
        _table(["source", "memories", "notes by itself", *shares], sources),
        "; ".join(f"{what} {value:,.1f}" for what, value in cost.items() if value is not None),
    ]
    return "\n\n".join(part for part in parts if part)


def _sum(figures: Sequence[NoteFigures]) -> NoteFigures:
    def shares(name: str) -> dict[str, Share]:
        found: dict[str, Share] = {}
        for one in figures:
            for group, share in getattr(one, name).items():
                before = found.get(group, Share(0, 0))
                found[group] = Share(before.count + share.count, before.of + share.of)
        return found

    names = sorted({name for one in figures for name in one.sources})
    return NoteFigures(
        shares("coverage"), shares("noteworthiness"), shares("traps"), shares("duplicates"),
        {name: sum(one.sources.get(name, 0) for one in figures) for name in names},
        sum(one.sessions for one in figures),
    )  # fmt: skip


def _shares(one: NoteFigures) -> dict[str, float]:
    found = {
        "coverage": one.coverage["all"], "coverage_value3": one.coverage.get("value 3", Share(0, 0)),
        "coverage_user_value3": one.coverage.get(USER_3, Share(0, 0)), "noteworthiness": one.noteworthiness["all"],
        "traps": one.traps["all"], "duplicates": one.duplicates["all"],
    }  # fmt: skip
    return {name: round(share.value, 4) for name, share in found.items()} | {
        "memories_per_session": round(one.memories_per_session, 4)
    }


def _detail(one: NoteFigures) -> dict[str, object]:
    groups = {name: getattr(one, name) for name in ("coverage", "noteworthiness", "traps", "duplicates")}
    counted = {name: {group: _counted(share) for group, share in shares.items()} for name, shares in groups.items()}
    return {**counted, "notes_by_source": one.sources}


def _counted(share: Share) -> dict[str, float]:
    low, high = share.interval
    return {
        "share": round(share.value, 4), "count": share.count, "of": share.of,
        "low": round(low, 4), "high": round(high, 4),
    }  # fmt: skip


def _cell(share: Share) -> str:
    low, high = (f"{end:.2f}".removeprefix("0") for end in share.interval)
    return f"{share.value:.3f}".removeprefix("0") + f" [{low} {high}] {share.count}/{share.of}" if share.of else ""


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) if rows else ""
