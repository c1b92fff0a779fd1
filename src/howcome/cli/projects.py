"""Projects: `howcome projects`, which folders are one; `graph`, which file of one imports which."""

from __future__ import annotations

import os

import click

from howcome.app import App
from howcome.cli.arguments import clean_argument, confirm, here, open_existing, open_store
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.codegraph.build import MAX_EDGES, GraphReport
from howcome.codegraph.sources import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FILES
from howcome.domain.code import CodeFile
from howcome.errors import UsageError
from howcome.present.render import counted, iso_time, plain
from howcome.present.screen import report


@click_command
def projects(
    action: str = argument(type=("list", "join", "apart"), default="list"),
    names: tuple[str, ...] = argument(nargs=-1),
    yes: bool = option(help="Do not ask."),
    as_json: bool = JSON,
) -> None:
    """List projects with their other folders, and pairs that may be one; join a pair, or keep it apart.

    A repository that was moved, or cloned again, is one project when its first commit and its remote are the same.
    Where only one of these is, nothing is joined before somebody says so. `join A B` makes B a part of A: all that was
    said there is found in A, too, and cannot be told apart again. Where nothing is stored of A, it becomes a part of B,
    if B's folder is gone or both are one repository. `apart A B` ends the question.

    \b
    Examples:
      howcome projects
      howcome projects join ~/code/shop ~/old/shop
      howcome projects apart shop shop-fork
    """
    with open_existing() as app:
        if action == "list":
            if names:
                raise click.UsageError("list takes no names")
            _list(app, as_json=as_json)
            return
        (one, root), (other, other_root) = _pair(app, names)
        if one is None and (action == "apart" or app.projects.may_be(root, other_root)):
            (one, root), (other, other_root) = (other, other_root), (one, root)
        if one is None:
            raise UsageError(f"nothing is stored of {root}: `howcome projects` lists what is")
        if action == "apart":
            app.projects.keep_apart(root, other_root)
            said = f"{root} and {other_root} stay two projects"
        else:
            confirm(f"Make {plain(other_root)} a part of {plain(root)}, for good", yes=yes, err=as_json)
            app.projects.join(one, other, other_root)
            app.index.rebuild()
            said = f"{other_root} is a part of {root} now"
    report({action: [root, other_root]}, [said], as_json=as_json)


def _pair(app: App, names: tuple[str, ...]) -> list[tuple[int | None, str]]:
    """Both projects, with their roots; None: nothing is stored of it yet, which only a folder's path can name."""
    if len(names) != 2:
        raise click.UsageError("name two projects: a folder, or the last parts of one")
    known, found = {root: row for row, root in app.projects.roots()}, list[tuple[int | None, str]]()
    for name in names:
        root = os.path.normpath(os.path.join(here(), os.path.expanduser(clean_argument(name))))
        is_known = root in known
        found.append((known[root], root) if is_known else app.projects.named(name, here(), "or a whole path"))
    if found[0] == found[1]:
        raise UsageError(f"both are the project {found[0][1]}")
    return found


def _list(app: App, *, as_json: bool) -> None:
    also: dict[str, list[str]] = {root: [] for _, root in app.projects.roots()}
    for other, root in app.projects.aliases():
        also.get(root, []).append(other)
    asked = app.projects.doubts()
    pairs = [{"projects": [doubt.one, doubt.other], "is_sure": doubt.is_sure} for doubt in asked]
    lines = [line for root in also for line in (root, *(f"    also {other}" for other in also[root]))]
    if asked:
        lines += ["", f"{counted(len(asked), 'pair')} may be one project each; join A B, or keep them apart:"]
    lines += [f"    {doubt.one}  {doubt.other}" for doubt in asked]
    rows = [{"project": root, "also": others} for root, others in also.items()]
    report({"projects": rows, "doubts": pairs}, lines, as_json=as_json)


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
        _build_graph(path, as_json=as_json)
    elif path is None:
        raise click.UsageError("name the file to show: howcome graph show FILE")
    else:
        _show_file(path, as_json=as_json)


def _build_graph(folder: str | None, *, as_json: bool) -> None:
    from howcome.cli.progress import progress

    place = clean_argument(os.path.abspath(os.path.expanduser(folder or os.getcwd())))
    if not os.path.isdir(place):
        raise UsageError(f"{place} is not a folder")
    with open_store() as app, progress("files", "reading", quiet=as_json) as on_progress:
        built = app.graphs.build(place, on_progress)
    values = {
        "project": built.root, "files": built.files, "edges": built.edges, **built.counts, "limits": built.limits,
        "seconds": round(built.seconds, 3),
    }  # fmt: skip
    report(values, _built_lines(built), as_json=as_json)


def _show_file(file: str, *, as_json: bool) -> None:
    with open_existing() as app:
        found = app.graphs.of(clean_argument(os.getcwd()), clean_argument(file))
    built = iso_time(found.graph.built_ms) or ""
    values = {"file": found.path, "imports": found.imports, "imported_by": found.imported_by, "built": built}
    lines = [found.path, *_imports("imports", found.imports), *_imports("imported by", found.imported_by)]
    report(values, [*lines, f"as of {built[:16]}"], as_json=as_json)


def _imports(title: str, paths: list[str]) -> list[str]:
    lines = [f"{title} {counted(len(paths), 'file')}" + (":" if paths else "")]
    lines += [f"  {path}" for path in paths[:MAX_SHOWN]]
    return lines + ([f"  … and {len(paths) - MAX_SHOWN} more (--json shows all)"] if len(paths) > MAX_SHOWN else [])


def _built_lines(report: GraphReport) -> list[str]:
    counts = report.counts
    size = f"{counted(report.files, 'file')}, {counted(report.edges, 'import')} between them, in {report.seconds:.1f} s"
    done = f"{size}: {counts['parsed']} parsed, {counts['unchanged']} unchanged, {counts['removed']} removed"
    lines = [done if report.files else "No source files there (Python, JavaScript, TypeScript, Go, Rust, Java)."]
    lines += [f"{counted(counts[fate], 'file')} {says}" for fate, says in _FATES.items() if counts[fate]]
    return lines + [_LIMITS[limit] for limit in report.limits]
