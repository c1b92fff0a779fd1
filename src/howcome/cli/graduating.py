"""`howcome graduate`: what is proven goes into a file that the agent reads by itself, on a yes, and out again."""

from __future__ import annotations

import click

from howcome.cli.arguments import confirm, is_unknown, open_existing, root_of, scope_of
from howcome.cli.declared import PROJECT, click_command, option
from howcome.errors import UsageError
from howcome.present.render import json_line
from howcome.present.terminal import echo, echo_text
from howcome.wiring.graduation import AGENTS, CLAUDE, MEMORY, Graduation, refuse


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
    that were said in three sessions, or asked for twice, and never contradicted. They go into a marked block at the end
    of CLAUDE.md or AGENTS.md (whichever the project has), or of the agent's own MEMORY.md.

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
            echo(json_line({"id": one.id, "is_refused": bool(refused), "changed": changed}) if as_json else f"{said}.")
            return
        scope, root = scope_of(app, project, all_projects=False), root_of(app, project)
        if is_unknown(scope):
            raise UsageError(f"nothing is stored of {root}; `howcome projects` lists what there is")
        found = Graduation(app, scope, root, name=name, is_removal=remove)
    diff = found.diff
    if not as_json:
        fine = "the file says it as it is." if found.lines else "nothing is proven that your files do not say."
        for line in diff or [f"Nothing to change: {'the block is not there.' if remove else fine}"]:
            echo_text(line)
    report = None
    if diff and not dry_run:
        confirm(f"Write {found.path}", yes=yes, err=as_json)
        report = found.write()
    if as_json:
        done = {"outcome": "nothing" if report is None else report.outcome, "is_dry_run": dry_run}
        echo(json_line({"file": str(found.path), "lines": found.lines, "diff": "\n".join(diff), **done}))
    elif report is not None:
        echo(f"{report.outcome}: {found.path}" + (" (`howcome graduate --remove` takes it out)" if found.lines else ""))
