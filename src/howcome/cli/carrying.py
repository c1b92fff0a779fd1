"""Memories leave a store and come in: `howcome export`, `import-memories`; `graduate`, into a file that agents read."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable
from itertools import chain, islice

import click

from howcome.app import App, open_app
from howcome.app.clock import now_ms
from howcome.cli.arguments import (
    check_scope,
    complain,
    confirm,
    is_unknown,
    open_existing,
    open_store,
    root_of,
    scope_of,
)
from howcome.cli.declared import JSON, PROJECT, argument, click_command, option
from howcome.domain.memories import MemoryFilter
from howcome.errors import StoreMissingError, UsageError
from howcome.memory import markdown
from howcome.memory.export import HEAD, MAX_LISTED
from howcome.memory.importing import ImportReport, require_head
from howcome.memory.other_tools import TOOLS
from howcome.present.memory_files import read_export, read_text, write_lines
from howcome.present.render import counted, json_line
from howcome.present.screen import report
from howcome.present.terminal import echo_text
from howcome.settings import current_folder, read_settings
from howcome.wiring.graduation import AGENTS, CLAUDE, MEMORY, Graduation, refuse

MARKDOWN = ".md"
_SHOWN_IDS = 20


def _open_to_import(*, is_trial: bool) -> App:
    """The store, made where there is none; a trial is then one over an empty store elsewhere."""
    if not is_trial:
        return open_store()
    try:
        return open_existing()
    except StoreMissingError:
        with tempfile.TemporaryDirectory() as folder:  # what is open can still be used when the folder is gone
            return open_app(read_settings({**os.environ, "HOWCOME_HOME": folder, "HOWCOME_STORE": ""}))


@click_command
def export(
    file: str | None = argument(required=False, type=click.Path()),
    project: str | None = option(metavar="PROJECT", help="Those of this project: its folder, or its name."),
    all_projects: bool = option(help="Those of every project."),
    force: bool = option(help="Replace FILE even if it is no earlier export."),
    as_json: bool = option("--json", help="Print the report on FILE as JSON."),
) -> None:
    """Write memories to FILE (`-` or nothing: standard output), oldest first, forgotten and superseded ones too.

    Those of this folder's project and those that hold everywhere. Each line is one JSON object, the first says which
    format it is; `howcome import-memories` reads it. Of purged ones only the mark is in it that they were; access
    counts are not. A FILE that ends with .md gets the live ones as Markdown, which you can edit and read back.

    \b
    Examples:
      howcome export memories.jsonl
      howcome export memories.md
      howcome export --all-projects | gzip > memories.jsonl.gz
    """
    check_scope(project, all_projects=all_projects)
    with open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        live = app.memories.listed(scope, MemoryFilter(), MAX_LISTED) if str(file).endswith(MARKDOWN) else None
        lines = list(app.memories.export(scope)) if live is None else []
    written = map(json_line, lines) if live is None else markdown.written(live)
    write_lines(file, written, force=force)
    count = sum("text" in line for line in lines) if live is None else len(live)
    if file not in (None, "-"):
        facts, name = {"memories": count, "file": file}, click.format_filename(str(file))
        hint = "" if all_projects or project else " (of this project and those that hold everywhere; --all-projects)"
        report(facts, [f"{counted(count, 'memory', 'memories')} written to {name}{hint}"], as_json=as_json)


@click_command
def import_memories(
    file: str | None = argument(required=False, type=click.Path()),
    tool: str | None = option("--from", type=tuple(TOOLS), help="Another tool's memories; FILE: where they are."),
    is_mine: bool = option("--mine", help="Believe it: these are your own, from another machine."),
    dry_run: bool = option(help="Say what would be done; write nothing."),
    as_json: bool = JSON,
) -> None:
    """Read memories that `howcome export` wrote from FILE (`-`: standard input), or another tool's.

    What this store did not write comes from outside: it is found when asked for, but never said unasked, and its pins,
    what it supersedes and what it marks as purged do not hold until you accept it (`howcome memories --review`).
    `--mine` believes all of it, also after it was read without.

    Those that are known already, or were purged here, are left as they are: reading a file twice is reading it once.
    Each line stands for itself; bad ones are named, and the exit code is 1.

    Of a Markdown file (`howcome export memories.md`), changed lines correct their memories with `--mine`, and lines
    without an id are new. Another tool's memories belong to this folder's project; of claude-mem's those are read whose
    project has the folder's name.

    \b
    Examples:
      howcome import-memories memories.jsonl
      howcome import-memories --mine memories.md
      howcome import-memories --from claude-mem
      howcome import-memories --from mem0 get_all.json
      howcome import-memories --from basic-memory ~/basic-memory
      howcome import-memories --mine from-my-laptop.jsonl
      gunzip -c memories.jsonl.gz | howcome import-memories --dry-run -
    """
    if tool is None and file is None:
        raise click.UsageError("name a FILE, or --from a tool")
    bad: list[tuple[int, str]] = []
    values: Iterable[tuple[int, object]] = []
    if tool is None and not str(file).endswith(MARKDOWN):
        lines = read_export(str(file), bad)
        first = list(islice(lines, 1))
        require_head(first)
        values = chain(first, lines)
    edited = same = 0
    with _open_to_import(is_trial=dry_run) as app:
        here = app.projects.root_of(current_folder(os.environ))
        if tool is not None:
            where, reader = TOOLS[tool]
            file = file or os.path.expanduser(where)
            values = enumerate((HEAD, *({**line, "project": here} for line in reader(file, here))))
        elif str(file).endswith(MARKDOWN):
            edited, same, values = _from_markdown(app, str(file), here, bad, is_mine=is_mine, is_trial=dry_run)
        done = app.memories.import_values(values, is_trial=dry_run, is_mine=is_mine)
    done.known += same
    done.problems = sorted(done.problems + bad)
    words = shlex.join(([f"--from={tool}"] if tool else []) + [click.format_filename(str(file))])
    _print_import(done, words, edited, is_trial=dry_run, as_json=as_json)
    if done.problems:
        raise click.exceptions.Exit(1)


def _from_markdown(
    app: App, file: str, here: str, bad: list[tuple[int, str]], *, is_mine: bool, is_trial: bool
) -> tuple[int, int, Iterable[tuple[int, object]]]:
    """Corrects what was edited, where it is believed: how many, how many are as they were, and new lines to import."""
    changed, new, same = markdown.compared(app.memories, markdown.read(read_text(file)))
    count = 0
    for known, line in changed:
        if not is_mine or not known.is_live:
            bad.append((line.number, f"{known.id} is {known.state}" if is_mine else f"{known.id}: changed; say --mine"))
            continue
        count += 1
        if not is_trial:
            app.memories.update(known.id, text=line.text, type=line.type, is_person=True)
    roots, at_ms = {markdown.EVERYWHERE: None, "": here}, now_ms()
    values = [(line.number, markdown.as_export(line, roots.get(line.project, line.project), at_ms)) for line in new]
    return count, same, [(0, HEAD), *values]


def _still_here(ids: list[str]) -> str:
    """What somebody erased elsewhere is for them to erase here: an import never does."""
    was, are = ("memory was", "is") if len(ids) == 1 else ("memories were", "are")
    commands = [f"`howcome purge {one}`" for one in ids[:_SHOWN_IDS]] + ["…"] * (len(ids) > _SHOWN_IDS)
    return f"{len(ids)} {was} purged where this was written and {are} still here: {', '.join(commands)}"


def _from_outside(report: ImportReport, words: str) -> list[str]:
    """What an import did not believe, what is to be done, and how one's own are told."""
    found, marks = "found when asked for, never said unasked, until you accept them", report.left_out
    review = f"{report.outside} from outside: {found}: howcome memories --review --all-projects"
    lines = [review] if report.outside else []
    left_out = counted(marks, "mark of a purged one is", "marks of purged ones are")
    lines += [f"{left_out} left out: only your own files' are kept"] if marks else []
    return [*lines, f"If it is yours: howcome import-memories --mine {words}"] if lines else []


def _print_import(done: ImportReport, words: str, edited: int, *, is_trial: bool, as_json: bool) -> None:
    facts = {
        "added": done.added, "known": done.known, "purged": done.purged, "stones": done.stones, "edited": edited,
        "outside": done.outside, "left_out": done.left_out, "still_here": done.still_here, "is_dry_run": is_trial,
        "problems": [{"line": number, "reason": reason} for number, reason in done.problems],
    }  # fmt: skip
    would = "would be " if is_trial else ""
    said = [f"{done.added} {would}added", f"{done.known} known already"]
    said += [f"{edited} {would}corrected"] if edited else []
    said += [f"{done.purged} left out because purged here"] if done.purged else []
    said += [f"{counted(done.stones, 'mark')} of purged ones"] if done.stones else []
    still_here = [_still_here(done.still_here)] if done.still_here else []
    report(facts, [", ".join(said), *_from_outside(done, words), *still_here], as_json=as_json)
    complain([f"line {number}: {reason}" for number, reason in done.problems], "more line")


@click_command
def graduate(
    name: str | None = option("--file", type=(CLAUDE, AGENTS, MEMORY), help="Which; else the first that is there."),
    project: str | None = PROJECT,
    remove: bool = option(help="Take the block out: the file is what it was, byte for byte."),
    refused: str | None = option("--refuse", metavar="MEMORY", help="Propose this memory no more."),
    proposed: str | None = option("--propose", metavar="MEMORY", help="Propose a refused memory again."),
    yes: bool = option("-y", help="Do not ask for confirmation."),
    dry_run: bool = option(help="Show the diff; change nothing."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Propose what is proven for a file that the agent reads into each session: decisions, patterns and dependencies
    that were said in three sessions, or kept by hand and asked for twice, and never contradicted. They go into a marked
    block at the end of CLAUDE.md or AGENTS.md (whichever the project has), or of the agent's own MEMORY.md.

    It shows a diff and writes on a yes. Run it again to bring the block up to date: what was forgotten, changed or
    contradicted since is taken out. What the file says is not said once more with prompts.

    \b
    Examples:
      howcome graduate
      howcome graduate --file AGENTS.md --yes
      howcome graduate --refuse mem-3f9a
      howcome graduate --remove
    """  # noqa: D205 - the first paragraph is what people read first
    if refused and proposed:
        raise click.UsageError("--refuse and --propose exclude each other")
    with open_existing() as app:
        if refused or proposed:
            one = app.memories.get(str(refused or proposed))
            changed = refuse(one, is_refused=bool(refused))
            said = f"{one.id} is proposed {'no more' if refused else 'again'}" if changed else "It is so already"
            report({"id": one.id, "is_refused": bool(refused), "changed": changed}, [f"{said}."], as_json=as_json)
            return
        scope, root = scope_of(app, project), root_of(app, project)
        if is_unknown(scope):
            raise UsageError(f"nothing is stored of {root}; `howcome projects` lists what there is")
        found = Graduation(app, scope, root, name=name, is_removal=remove)
    diff = found.diff
    if not as_json:
        fine = "the file says it as it is." if found.lines else "nothing is proven that your files do not say."
        for line in diff or [f"Nothing to change: {'the block is not there.' if remove else fine}"]:
            echo_text(line)
    outcome = "nothing"
    if diff and not dry_run:
        confirm(f"Write {found.path}", yes=yes, err=as_json)
        outcome = found.write().outcome
    facts = {"file": str(found.path), "lines": found.lines, "diff": "\n".join(diff), "outcome": outcome}
    hint = " (`howcome graduate --remove` takes it out)" if found.lines else ""
    done = [f"{outcome}: {found.path}{hint}"] if diff and not dry_run else []
    report(facts | {"is_dry_run": dry_run}, done, as_json=as_json)
