"""`howcome graph build` and `graph show`: which file of a project imports which."""

from __future__ import annotations

import os

import click

from howcome.cli.arguments import clean_argument, open_existing, open_store
from howcome.cli.declared import argument, click_command, option
from howcome.cli.progress import progress
from howcome.codegraph.build import MAX_EDGES, GraphReport
from howcome.codegraph.sources import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FILES
from howcome.domain.code import CodeFile
from howcome.errors import UsageError
from howcome.present.render import counted, iso_time
from howcome.present.screen import report

_LIMITS = {
    "files": f"only the first {MAX_FILES:,} source files were read",
    "entries": f"the folder was looked through up to {MAX_ENTRIES:,} names: build in a repository",
    "edges": f"only the first {MAX_EDGES:,} imports were kept",
}
_FATES = {
    CodeFile.BROKEN: "with syntax errors, read as far as they could be",
    CodeFile.BINARY: "are no text, and were not read",
    CodeFile.LARGE: f"larger than {MAX_FILE_BYTES >> 20} MB, and were not read",
    CodeFile.SLOW: "took too long to parse, and were left out",
    CodeFile.UNREADABLE: "could not be read",
}
MAX_SHOWN = 200


@click_command
def graph(
    action: str = argument(type=("build", "show")),
    path: str | None = argument(required=False, type=click.Path()),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Read and show the import graph of a project: which of its files imports which.

    `build [FOLDER]` reads the imports of the project of FOLDER (default: the current one) from its source: Python,
    JavaScript and TypeScript, Go, Rust, Java. What git ignores is left out; only files that changed since the last time
    are parsed again. It needs howcome's extra `graph`. From then on the MCP server refreshes it every ten minutes.

    `show FILE` says what FILE (a path, the end of one, or a name) imports and what imports it.

    \b
    Examples:
      howcome graph build
      howcome graph build ~/code/shop --json
      howcome graph show src/shop/cart.py
      howcome graph show Cart
    """
    if action == "build":
        _build(path, as_json=as_json)
    elif path is None:
        raise click.UsageError("name the file to show: howcome graph show FILE")
    else:
        _show(path, as_json=as_json)


def _build(folder: str | None, *, as_json: bool) -> None:
    place = clean_argument(os.path.abspath(os.path.expanduser(folder or os.getcwd())))
    if not os.path.isdir(place):
        raise UsageError(f"{place} is not a folder")
    with open_store() as app, progress("files", "reading", quiet=as_json) as on_progress:
        built = app.graphs.build(place, on_progress)
    values = {
        "project": built.root, "files": built.files, "edges": built.edges, **built.counts, "limits": built.limits,
        "seconds": round(built.seconds, 3),
    }  # fmt: skip
    report(values, _lines(built), as_json=as_json)


def _show(file: str, *, as_json: bool) -> None:
    with open_existing() as app:
        found = app.graphs.of(clean_argument(os.getcwd()), clean_argument(file))
    built = iso_time(found.graph.built_ms) or ""
    values = {"file": found.path, "imports": found.imports, "imported_by": found.imported_by, "built": built}
    lines = [found.path, *_listed("imports", found.imports), *_listed("imported by", found.imported_by)]
    report(values, [*lines, f"as of {built[:16]}"], as_json=as_json)


def _listed(title: str, paths: list[str]) -> list[str]:
    lines = [f"{title} {counted(len(paths), 'file')}" + (":" if paths else "")]
    lines += [f"  {path}" for path in paths[:MAX_SHOWN]]
    return lines + ([f"  … and {len(paths) - MAX_SHOWN} more (--json shows all)"] if len(paths) > MAX_SHOWN else [])


def _lines(report: GraphReport) -> list[str]:
    """What people read of a build."""
    counts = report.counts
    size = f"{counted(report.files, 'file')}, {counted(report.edges, 'import')} between them, in {report.seconds:.1f} s"
    lines = [f"{size}: {counts['parsed']} parsed, {counts['unchanged']} unchanged, {counts['removed']} removed"]
    if not report.files:
        lines = ["No source files there (Python, JavaScript, TypeScript, Go, Rust, Java)."]
    lines += [f"{counted(counts[fate], 'file')} {says}" for fate, says in _FATES.items() if counts[fate]]
    return lines + [_LIMITS[limit] for limit in report.limits]
