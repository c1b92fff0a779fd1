"""`howcome doctor`: observed facts become findings with remedies; what is safe to repair can be repaired.

A check is a function from a `Machine` to findings. It may fail: then that is a finding too, and the others still run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from howcome.doctor import activity, agents, configuration, folder, programs, storage, transcripts
from howcome.doctor.base import Check, Finding, Machine
from howcome.doctor.facts import quoted
from howcome.errors import HowcomeError

CHECKS: tuple[Check, ...] = (
    folder.check_folder,  # before the store is opened: opening it closes its folder to others
    folder.check_file_system,
    folder.check_disk,
    configuration.check_settings,
    configuration.check_switches,
    configuration.check_second_opinion,
    configuration.check_models,
    configuration.check_embedding,
    programs.check_versions,
    programs.check_parts,
    agents.check_connections,
    agents.check_switched_off,
    agents.check_tool_hooks,
    activity.check_hook_log,  # before a hook is started: what that one logs is its own finding
    activity.check_prompts,
    programs.check_hook_process,
    programs.check_servers,
    agents.check_alive,
    storage.check_store,
    storage.check_integrity,
    storage.check_server,
    storage.check_team,
    storage.check_redaction,
    storage.check_index,
    storage.check_kept,
    configuration.check_vectors,
    storage.check_backup,
    transcripts.check_quarantine,
    transcripts.check_unknown,
    transcripts.check_set_aside,
    storage.check_projects,
    transcripts.check_unread,
    activity.check_batches,
    activity.check_spool,
    activity.check_worker,
)
"""Every check, in the order in which they run and are shown."""

_FAILURES = (HowcomeError, OSError, ValueError, LookupError, TypeError, RuntimeError, subprocess.SubprocessError)
"""What reading other programs' files and starting other programs may end in."""


def examine(machine: Machine, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """What every check finds."""
    return [finding for check in checks for finding in _run(check, machine)]


def _run(check: Check, machine: Machine) -> list[Finding]:
    try:
        return check(machine)
    except _FAILURES as error:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        what = f"this check could not run: {type(error).__name__}: {error}"
        path = getattr(error, "filename", None)
        return [Finding("error", name, what, f"ls -ld {quoted(str(path))}" if path else "howcome doctor --deep")]


def repair(findings: list[Finding], is_wanted: Callable[[str], bool]) -> list[str]:
    """Repairs what can be repaired. Returns what was done, a line each.

    `is_wanted` asks the question of a repair that has one; what was said no to is left as it is. After a repair that
    was asked for, the others are not done: what they are about is another database's.
    """
    asked = {finding.question: finding for finding in reversed(findings) if finding.question}
    if wanted := [finding for question, finding in asked.items() if is_wanted(question)]:
        return [_repaired(finding) for finding in wanted]
    return [_repaired(finding) for finding in findings if finding.repair is not None and not finding.question]


def _repaired(finding: Finding) -> str:
    try:
        return f"{finding.check}: {finding.repair() if finding.repair else 'nothing to do'}"
    except (HowcomeError, OSError) as error:
        return f"{finding.check}: could not be repaired: {error}"
