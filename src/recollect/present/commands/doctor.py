"""`recollect doctor`: what is wrong on this machine, and the remedy of each thing."""

from __future__ import annotations

import os
import textwrap

import click

from recollect.present.checks.base import Finding, Machine, counted
from recollect.present.doctor import examine, repair
from recollect.present.render import json_line, plain
from recollect.present.terminal import echo, echo_finding

_COLORS = {"ok": "green", "note": "blue", "warning": "yellow", "error": "red"}
_WIDTH = 110


@click.command(short_help="Find what is wrong, and say the remedy.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--fix", is_flag=True, help="Repair what is safe to repair: file modes, the search index, the spool.")
@click.option("--deep", is_flag=True, help="Read every page of the database.")
@click.pass_context
def doctor(context: click.Context, *, as_json: bool, fix: bool, deep: bool) -> None:
    """Look at everything that recollect needs, and say for each thing that is wrong what to do.

    Really starts the installed hook and the MCP server. Changes nothing without --fix. Exit codes: 0 no error (there
    may be warnings), 1 at least one error.

    \b
    Examples:
      recollect doctor
      recollect doctor --fix
      recollect doctor --deep --json
    """
    machine = Machine(os.environ, deep=deep)
    try:
        findings = examine(machine)
        fixed = repair(findings) if fix else []
        if fixed:
            machine.close()
            findings = examine(machine)
    finally:
        machine.close()
    if as_json:
        _print_json(findings, fixed)
    else:
        _print(findings, fixed)
    context.exit(1 if _count(findings, "error") else 0)


def _count(findings: list[Finding], level: str) -> int:
    return sum(finding.level == level for finding in findings)


def _print_json(findings: list[Finding], fixed: list[str]) -> None:
    shown = [{name: value for name, value in vars(finding).items() if name != "repair"} for finding in findings]
    counts = {level: _count(findings, level) for level in _COLORS}
    echo(json_line({"findings": shown, "fixed": fixed, "counts": counts}))


def _print(findings: list[Finding], fixed: list[str]) -> None:
    for line in fixed:
        echo(f"fixed    {line}")
    for finding in findings:
        lines = textwrap.wrap(plain(finding.what), _WIDTH - 22, break_long_words=False, break_on_hyphens=False)
        words = f"\n{'':22}".join(lines)
        echo_finding(f"{finding.level:<9}", _COLORS[finding.level], f"{finding.check:<13}{words}")
        if finding.remedy:
            echo(f"{'':22}-> {finding.remedy}")
    errors, warnings = _count(findings, "error"), _count(findings, "warning")
    hint = "; `recollect doctor --fix` repairs some" if any(finding.repair for finding in findings) else ""
    echo()
    echo(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}{hint}")
