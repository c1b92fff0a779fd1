"""The figures of a run as Markdown, and the part of a document in which they stand.

A part stands between `<!-- howcome eval: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from howcome.errors import UsageError
from howcome.evaluate.figures import Figures, metric_of
from howcome.evaluate.harness import ANSWER, SESSION

COLUMNS = ("any@5", "R@10", "MRR", "nDCG@10")
COVERAGE = "coverage@5"
_MINUS = "\N{MINUS SIGN}"
_ABLATION = (
    "Ablation: what changes when one thing is different, question by question (bold: the interval does not hold 0), and"
    " the median change of a search's processor time"
)
_LEVELS = {SESSION: "sessions", "turn": "turns", ANSWER: "answers"}
Cells = Sequence[str]


def as_markdown(command: str, configuration: Mapping[str, object], sets: Sequence[Figures]) -> str:
    """All tables of a run under its command line and its configuration."""
    retrieval = [figures for figures in sets if "levels" in figures]
    names = dict.fromkeys(name for figures in retrieval for name in figures.get("differences", {}))
    tables = [
        _head(command, configuration), _results(retrieval), _categories(retrieval), _baseline(retrieval),
        *(_differences(name, retrieval) for name in names), _ablation(retrieval),
        _secrets([figures for figures in sets if "recall" in figures]),
    ]  # fmt: skip
    return "\n\n".join(table for table in tables if table)


def _head(command: str, configuration: Mapping[str, object]) -> str:
    packages = configuration["packages"]
    versions = [f"{name} {found}" for name, found in packages.items()] if isinstance(packages, Mapping) else []
    parts = [
        f"howcome {configuration['howcome']}",
        f"model {configuration['model']}" if configuration["model"] else "no model, by words alone",
        f"ranking {configuration['ranking']}", f"{configuration['questions']:,} questions",
        f"Python {configuration['python']}", *versions, f"measured {configuration['measured']}",
    ]  # fmt: skip
    return f"`{command}`  \n{_plain(', '.join(parts))}. In brackets 95 % bootstrap intervals."


def _results(sets: Sequence[Figures]) -> str:
    rows = []
    for figures in sets:
        latency, shown = figures["latency_ms"], figures["shown_tokens"]
        cost = [f"{latency['p50']:.1f} / {latency['p95']:.1f}", f"{shown['p50']:.0f} / {shown['p95']:.0f}"]
        rows += [
            [*_of(figures, level), *_metrics(groups["all"]), *(("", "") if at else cost)]
            for at, (level, groups) in enumerate(figures["levels"].items())
        ]
    titles = ["set", "n", *COLUMNS, "search p50 / p95, ms", "first passages p50 / p95, tokens"]
    return _titled("Results", titles, rows)


def _categories(sets: Sequence[Figures]) -> str:
    rows = [
        [_label(figures, level), _plain(name), str(cells["n"]), *_metrics(cells)]
        for figures in sets
        for level, groups in figures["levels"].items()
        for name, cells in groups.items()
        if name != "all"
    ]
    return _titled("By category", ["set", "category", "n", *COLUMNS], rows)


def _baseline(sets: Sequence[Figures]) -> str:
    rows = [
        [_label(figures, level), str(groups["all"]["n"]), *_metrics(groups["all"])]
        for figures in sets
        for level, groups in figures.get("baseline", {"levels": {}})["levels"].items()
    ]
    return _titled("Baseline: FTS5 with the Porter stemmer over single turns", ["set", "n", *COLUMNS], rows)


def _differences(name: str, sets: Sequence[Figures]) -> str:
    rows = [
        [*_of(figures, level), *_metrics(cells, sign="+")]
        for figures in sets
        for level, cells in figures.get("differences", {}).get(name, {}).items()
    ]
    return _titled(f"{name[0].upper()}{name[1:]}, question by question", ["set", "n", *COLUMNS], rows)


def _ablation(sets: Sequence[Figures]) -> str:
    """A column for every set and level; the time stands with a set's first level."""
    ablated = [figures for figures in sets if "ablation" in figures]
    columns = [(figures, level, not at) for figures in ablated for at, level in enumerate(figures["levels"])]
    if not columns:
        return ""
    titles = [f"{_label(figures, level)}, {metric_of(figures, level)}" for figures, level, _ in columns]
    rows = [["as it ships", *(_shipped(*column) for column in columns)]]
    names = dict.fromkeys(name for figures in ablated for name in figures["ablation"])
    rows += [[name, *(_changed(name, *column) for column in columns)] for name in names]
    return _titled(_ABLATION, ["", *titles], rows)


def _shipped(figures: Figures, level: str, has_time: bool) -> str:
    cell = figures["levels"][level]["all"][metric_of(figures, level)]
    return _cell(cell) + (f" {figures['work_ms']['p50']:.1f} ms" if has_time else "")


def _changed(name: str, figures: Figures, level: str, has_time: bool) -> str:
    changed = figures["ablation"].get(name, {"change": {}})
    if level not in changed["change"]:
        return ""
    cell = changed["change"][level][metric_of(figures, level)]
    text = _cell(cell, "+")
    if cell["low"] > 0 or cell["high"] < 0:
        text = f"**{text}**"
    return text + (f" {_number(changed['work_ms'], '+.1f')} ms" if has_time else "")


def _secrets(sets: Sequence[Figures]) -> str:
    names = ("secrets", "recall"), ("clean", "clean_touched")
    rows = [
        [_plain(of["set"]), *(cell for n, share in names for cell in (str(of[n]), _number(of[share], ".3f")))]
        for of in sets
    ]
    return _titled("Redaction", ["set", "secrets", "found", "clean texts", "touched"], rows)


def _label(figures: Figures, level: str) -> str:
    return f"{_plain(figures['set'])}, {'passages' if figures['is_passages'] else _LEVELS[level]}"


def _of(figures: Figures, level: str) -> list[str]:
    return [_label(figures, level), str(figures["levels"][level]["all"]["n"])]


def _metrics(cells: Figures, sign: str = "") -> list[str]:
    """A row's cells; coverage, which has no column of its own, stands in the first with its name."""
    if COVERAGE in cells:
        return [f"{COVERAGE} {_cell(cells[COVERAGE], sign)}", *("" for _ in COLUMNS[1:])]
    return [_cell(cells[name], sign) for name in COLUMNS]


def _cell(cell: Figures, sign: str = "") -> str:
    digits = 3 if sign else 2
    low, high = (_number(cell[name], f".{digits}f") for name in ("low", "high"))
    return f"{_number(cell['mean'], f'{sign}.3f')} [{low} {high}]"


def _number(value: float, form: str) -> str:
    """Without the 0 in front of the point, as shares are written; 0 has no sign."""
    text = format(value, form)
    if float(text) == 0:
        text = text.lstrip("+-")
    text = text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
    return text.replace("-", _MINUS)


def _titled(title: str, titles: Cells, rows: Sequence[Cells]) -> str:
    return f"{title}:\n\n{table(titles, rows)}" if rows else ""


def table(titles: Cells, rows: Sequence[Cells]) -> str:
    """Rows under their titles; '' for none."""
    head, *lines = ("| " + " | ".join(row) + " |" for row in (titles, *rows))
    return "\n".join([head, "|" + "---|" * len(titles), *lines]) if rows else ""


def _plain(text: object) -> str:
    """A name as a cell: what Markdown would read as something else is not."""
    words = " ".join(str(text).split())
    return words.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


END = "<!-- end -->"
_ANY_BEGINNING = re.compile(r"<!-- howcome eval: [\w.-]+ -->")
_NAME = re.compile(r"[\w.-]+")


def beginning(name: str) -> str:
    """The line that a part begins with.

    Raises:
        UsageError: no part can be called so.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a part: take letters, digits, '.', '_' and '-'")
    return f"<!-- howcome eval: {name} -->"


def has_part(text: str, name: str) -> bool:
    """Whether a document has a part of that name.

    Raises:
        UsageError: it has several, or one that does not end.
    """
    return _place(text.split("\n"), name) is not None


def with_part(text: str, name: str, content: str) -> str:
    """The document with a part's content replaced, or with the part at its end; its kind of line ends stays.

    Raises:
        UsageError: the document has several such parts, or one that does not end.
    """
    rest = "\r" if "\r\n" in text else ""  # of a line's end, when lines are what stands between line feeds
    lines = text.split("\n")
    place = _place(lines, name)
    part = [line + rest for line in (beginning(name), "", *content.strip("\n").split("\n"), "", END)]
    if place is not None:
        lines[place] = part
        return "\n".join(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join([*lines, *([rest] if lines else []), *part, ""])


def _place(lines: list[str], name: str) -> slice | None:
    """Where a part's lines are, with its marks."""
    mark = beginning(name)
    first = [number for number, line in enumerate(lines) if line.strip() == mark]
    if not first:
        return None
    if len(first) > 1:
        raise UsageError(f"two parts are called {name!r}, in lines {first[0] + 1} and {first[1] + 1}: leave one")
    for number in range(first[0] + 1, len(lines)):
        line = lines[number].strip()
        if line == END:
            return slice(first[0], number + 1)
        if _ANY_BEGINNING.fullmatch(line):
            break
    raise UsageError(f"the part {name!r} in line {first[0] + 1} has no end: put {END} behind it")
