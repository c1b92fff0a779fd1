"""`howcome graduate`: what is proven goes into a file that the agent reads by itself, on a yes, and out again."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import click

from howcome import wiring
from howcome.app import App, open_app
from howcome.cli.arguments import is_unknown, root_of, scope_of
from howcome.cli.asking import confirm
from howcome.clients.registry import histories
from howcome.domain.graduation import told
from howcome.errors import UsageError
from howcome.present.render import json_line
from howcome.present.terminal import echo, echo_text
from howcome.settings import read_settings
from howcome.wiring import FileReport, Owner
from howcome.wiring.atomic_files import edit_safely, read_snapshot
from howcome.wiring.parts import Merged
from howcome.wiring.text_block import ENTRY, TextBlock, block

CLAUDE, AGENTS, MEMORY = "CLAUDE.md", "AGENTS.md", "MEMORY.md"


@click.command()
@click.option(
    "--file", "name", type=click.Choice((CLAUDE, AGENTS, MEMORY)), help="Which; else the first that is there."
)
@click.option("--project", metavar="PROJECT", help="Of this project: its folder, or its name.")
@click.option("--remove", is_flag=True, help="Take the block out: the file is what it was, byte for byte.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show the diff; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def graduate(name: str | None, project: str | None, *, remove: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Propose what is proven for a file that the agent reads into each session: decisions, patterns and dependencies
    that were said in three sessions, or asked for twice, and never contradicted. They go into a marked block at the end
    of CLAUDE.md or AGENTS.md (whichever the project has), or of the agent's own MEMORY.md.

    It shows a diff and writes on a yes. Run it again to bring the block up to date: what was forgotten, changed or
    contradicted since is taken out. What the file says is not said once more with prompts.

    \b
    Examples:
      howcome graduate
      howcome graduate --file AGENTS.md --yes
      howcome graduate --remove
    """  # noqa: D205 - the first paragraph is what people read first
    with open_app(read_settings(os.environ), create=False) as app:
        scope, root = scope_of(app, project, all_projects=False), root_of(app, project)
        if is_unknown(scope):
            raise UsageError(f"nothing is stored of {root}; `howcome projects` lists what there is")
        path = _file(app, root, name)
        part = Merged(path, (ENTRY,), TextBlock())
        before = edit_safely(path, lambda: read_snapshot(path)).data
        plain = (part.without_ours(before, None, ()) if before is not None else None) or b""
        others = [file.read_text("utf-8", "replace") for file in _others(root, path) if file.is_file()]
        found = [] if remove else app.learn.proven(scope, [plain.decode("utf-8", "replace"), *others])
        app.search.look(found)
    texts = [told(memory.text) for memory in found if memory.standing != "gone"]
    part = Merged(path, (ENTRY,), TextBlock(block(texts)))
    after = part.with_ours(before, None, ()) if texts else plain
    diff = _diff(path, before or b"", after)
    if not as_json:
        for line in diff or ["Nothing to change: " + ("the block is not there." if remove else _why(texts))]:
            echo_text(line)
    report = None
    if diff and not dry_run:
        confirm(f"Write {path}", yes=yes, err=as_json)
        report = _write(root, part, is_there=bool(texts))
    if as_json:
        done = {"outcome": "nothing" if report is None else report.outcome, "is_dry_run": dry_run}
        echo(json_line({"file": str(path), "lines": texts, "diff": "\n".join(diff), **done}))
    elif report is not None:
        echo(f"{report.outcome}: {path}" + ("" if not texts else " (`howcome graduate --remove` takes it out)"))


def _why(texts: list[str]) -> str:
    return "the file says it as it is." if texts else "nothing is proven that your files do not say."


def _write(root: str, part: Merged, *, is_there: bool) -> FileReport:
    """Puts the block in, or takes it out, with a record that gives the same bytes back."""
    home = wiring.howcome_home()
    done = wiring.install(_owner(root), [part], home) if is_there else wiring.uninstall([(_owner(root), [part])], home)
    return done[0]


def _owner(root: str) -> Owner:
    return Owner(wiring.GRADUATED, "project", root)


def _file(app: App, root: str, name: str | None) -> Path:
    """The file that is named, or that has the block, or the first that is there, else CLAUDE.md."""
    if name != MEMORY:
        has = [part.path for part in wiring.wired_parts(_owner(root)) if name is None]
        there = [one for one in (CLAUDE, AGENTS) if os.path.isfile(os.path.join(root, one))]
        return next(iter(has), Path(root, name or next(iter(there), CLAUDE)))
    folders = app.learn.in_step().folders().get(root, [])
    if not folders:
        raise UsageError("the agent keeps no memory folder for this project; choose another --file")
    return Path(folders[0], MEMORY)


def _others(root: str, path: Path) -> list[Path]:
    """The other files of a project that agents read by themselves."""
    names = dict.fromkeys(name for history in histories().values() for name in history.reads)
    return [file for name in names if os.path.realpath(file := Path(root, name)) != os.path.realpath(path)]


def _diff(path: Path, before: bytes, after: bytes) -> list[str]:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    return list(difflib.unified_diff(old, new, str(path), str(path), lineterm="")) if before != after else []
