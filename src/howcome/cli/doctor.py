"""`howcome doctor`: what is wrong on this machine, and the remedy of each thing."""

from __future__ import annotations

import os

import click

from howcome.cli.arguments import complain, confirm
from howcome.cli.declared import JSON, click_command, option
from howcome.doctor.base import Machine
from howcome.doctor.report import examine, repair
from howcome.errors import UsageError
from howcome.present.render import counted, json_line
from howcome.present.screen import show_table
from howcome.present.terminal import echo
from howcome.present.unsaid import values_without_secrets, without_secrets

_COLORS = {"ok": "32", "note": "36", "warning": "33", "error": "31"}


@click_command
def doctor(
    as_json: bool = JSON,
    fix: bool = option(help="Repair file modes, indexes, the spool; after asking, the database."),
    yes: bool = option("-y", help="Do not ask."),
    deep: bool = option(help="Read every page of the database."),
) -> None:
    """Look at everything that howcome needs, and say for each thing that is wrong what to do.

    Really starts the installed hook and the MCP server. Changes nothing without --fix. Of a damaged database --fix puts
    all that can be read into a new one, after asking; the damaged one is kept. Exit codes: 0 no error (there may be
    warnings), 1 at least one error.

    \b
    Examples:
      howcome doctor
      howcome doctor --fix
      howcome doctor --deep --json
    """
    machine = Machine(os.environ, deep=deep)
    try:
        findings = examine(machine)
        fixed = repair(findings, lambda question: _is_wanted(question, yes=yes, err=as_json)) if fix else []
        if fixed:
            machine.close()
            findings = examine(machine)
    finally:
        machine.close()
    counts = {level: sum(finding.level == level for finding in findings) for level in _COLORS}
    if as_json:
        names = ("level", "check", "what", "remedy")
        shown = [{name: getattr(finding, name) for name in names} for finding in findings]
        echo(json_line(values_without_secrets({"findings": shown, "fixed": fixed, "counts": counts})))
    else:
        cells = [("fixed", "", without_secrets(line)) for line in fixed]
        for finding in findings:
            cells.append((finding.level, finding.check, without_secrets(finding.what)))
            cells += [("", "", f"-> {without_secrets(finding.remedy)}")] if finding.remedy else []
        hint = f"; `{machine.fix}` repairs some" if any(finding.repair for finding in findings) else ""
        sums = f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}{hint}"
        show_table(cells, widths=(9, 13), styles=_COLORS, notes=["", sums])
    if counts["error"]:
        raise click.exceptions.Exit(1)


def _is_wanted(question: str, *, yes: bool, err: bool) -> bool:
    """Whether somebody says yes; with nobody to ask it is left, and the rest is repaired."""
    try:
        confirm(question, yes=yes, err=err)
    except (click.Abort, UsageError) as error:
        complain([f"{question}? {error}"] if str(error) else [])
        return False
    return True
