"""Projects that may be one: what git shows of them says so in part, and somebody has to decide."""

from __future__ import annotations

from howcome.doctor.base import Finding, Machine, counted, quoted


def check_projects(machine: Machine) -> list[Finding]:
    """Each repository is one project, however often it was cloned or moved; forks and templates are asked about."""
    found = machine.app.projects.doubts() if machine.app is not None else []
    findings = []
    for doubt in found[:MAX_ASKED]:
        pair = quoted(doubt.one, doubt.other)
        are = "are the same repository" if doubt.is_sure else "may be the same repository (a copy, a fork, a template?)"
        what = f"{doubt.one} and {doubt.other} {are}, and are two projects here"
        remedy = f"howcome projects join {pair}  # or keep them apart: howcome projects apart {pair}"
        findings.append(Finding("note", "projects", what, remedy))
    if len(found) > MAX_ASKED:
        what = f"{counted(len(found) - MAX_ASKED, 'more pair')} of projects may be one"
        findings.append(Finding("note", "projects", what, "howcome projects"))
    return findings or [Finding("ok", "projects", "none looks like another's copy")]


MAX_ASKED = 3
"""So many pairs are asked about at once: a template of many projects makes many."""
