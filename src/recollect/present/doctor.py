"""`recollect doctor`: observed facts become findings with remedies; what is safe to repair can be repaired.

A check is a function from a `Machine` to findings. It may fail: then that is a finding too, and the others still run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from recollect.errors import RecollectError
from recollect.present.checks import (
    activity,
    agents,
    configuration,
    distilling,
    embedding,
    folder,
    programs,
    prompts,
    storage,
)
from recollect.present.checks.base import Finding, Machine, quoted

Check = Callable[[Machine], list[Finding]]

CHECKS: tuple[Check, ...] = (
    folder.check_folder,  # before the store is opened: opening it closes its folder to others
    folder.check_file_system,
    folder.check_disk,
    configuration.check_settings,
    configuration.check_switches,
    configuration.check_models,
    embedding.check_embedding,
    programs.check_versions,
    programs.check_parts,
    agents.check_connections,
    agents.check_switched_off,
    agents.check_tool_hooks,
    activity.check_hook_log,  # before a hook is started: what that one logs is its own finding
    prompts.check_prompts,
    programs.check_hook_process,
    programs.check_servers,
    agents.check_alive,
    storage.check_store,
    storage.check_integrity,
    storage.check_index,
    storage.check_memory_index,
    embedding.check_vectors,
    storage.check_quarantine,
    storage.check_unread,
    distilling.check_batches,
    activity.check_spool,
    activity.check_worker,
)
"""Every check, in the order in which they run and are shown."""

_FAILURES = (RecollectError, OSError, ValueError, LookupError, TypeError, RuntimeError, subprocess.SubprocessError)
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
        return [Finding("error", name, what, f"ls -ld {quoted(str(path))}" if path else "recollect doctor --deep")]


def repair(findings: list[Finding]) -> list[str]:
    """Repairs what can be repaired without asking. Returns what was done, a line each."""
    done = []
    for finding in findings:
        if finding.repair is not None:
            try:
                done.append(f"{finding.check}: {finding.repair()}")
            except (RecollectError, OSError) as error:
                done.append(f"{finding.check}: could not be repaired: {error}")
    return done
