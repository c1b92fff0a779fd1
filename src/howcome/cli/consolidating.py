"""`howcome consolidate`: memories that say the same become one, what nobody used sleeps; it can be taken back."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from howcome.app import now_ms, open_app
from howcome.cli.arguments import open_to_read
from howcome.domain.reconciliation import ASLEEP, MERGED, RESOLVED, Step
from howcome.present.render import json_line
from howcome.present.screen import memory_brief, say
from howcome.present.terminal import echo
from howcome.present.views import memory_view
from howcome.settings import read_settings

UNDO = "undo"
_COUNTED = {MERGED: "merged into another", RESOLVED: "replaced by what you said last", ASLEEP: "asleep"}
SHOWN = 20
"""Of memories that fall asleep so many are listed; `--json` has all."""


@click.command()
@click.argument("what", type=click.Choice((UNDO,)), required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def consolidate(what: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Tidy memories up: of those that say the same one stays, and keeps all that bears it out. Of two that contradict
    each other the one that you said last stays; other pairs wait in `howcome memories --review`. What has faded, was
    never used and was said in fewer than three sessions falls asleep: searches find it, no prompt is told it unless
    it asks about the past. It wakes when it is read, pinned or said again.

    The MCP server does this every six hours. `undo` takes back the last run that did anything; that is not done again.

    \b
    Examples:
      howcome consolidate --dry-run
      howcome consolidate
      howcome consolidate undo
    """  # noqa: D205 - the first paragraph is what people read first
    if dry_run and what == UNDO:
        raise click.UsageError("--dry-run does not go with undo")
    with open_to_read() if dry_run else open_app(read_settings(os.environ), create=False) as app:
        work = app.learn.consolidation
        steps = work.undo() if what == UNDO else work.plan() if dry_run else work.run()
        if steps and not dry_run and app.learn.distillation is not None:
            app.learn.distillation.reconcile()
    if as_json:
        shown = [{"what": one.what, "memory": memory_view(one.memory), "kept": one.kept.id} for one in steps]
        echo(json_line({"steps": shown, "is_dry_run": dry_run, "is_undone": what == UNDO}))
    else:
        say(*_lines(steps, is_undone=what == UNDO, is_dry_run=dry_run))


def _lines(steps: Sequence[Step], *, is_undone: bool, is_dry_run: bool) -> list[str]:
    """A diff, and how many of each."""
    if not steps:
        return ["Nothing to take back." if is_undone else "Nothing to tidy up."]
    now, lines = now_ms(), list[str]()
    marks = ("+", " ") if is_undone else ("-", "+")
    sleeping = [one for one in steps if one.what == ASLEEP]
    for one in [step for step in steps if step.what != ASLEEP]:
        shown = zip(marks, (one.memory, one.kept), strict=True)
        lines += [f"{mark} {memory_brief(memory_view(memory), now)}" for mark, memory in shown]
    lines += [f"z {memory_brief(memory_view(one.memory), now)}" for one in sleeping[:SHOWN]]
    lines += [f"z … {len(sleeping) - SHOWN} more"] if len(sleeping) > SHOWN else []
    counts = {name: sum(one.what == name for one in steps) for name in _COUNTED}
    told = ", ".join(f"{count} {_COUNTED[name]}" for name, count in counts.items() if count)
    lines += ["(z: falls asleep: searches find it, no prompt is told it)"] if sleeping and not is_undone else []
    begin = "Taken back: " if is_undone else "Would be: " if is_dry_run else ""
    after = "" if is_undone or is_dry_run else "; `howcome consolidate undo` takes it back"
    return [*lines, f"{begin}{told}{after}"]
