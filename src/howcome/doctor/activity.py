"""What runs, and what it left: the hooks' log, the prompts, the spool of observations, the worker, the model's batches.

Hooks that reach their deadline say nothing, so somebody has to tell whether prompts were answered in time.
"""

from __future__ import annotations

import fcntl
import os
import time

from howcome.app import App, now_ms
from howcome.clients.spool import dead_letters, spool_counts
from howcome.doctor.base import Finding, Level, Machine
from howcome.doctor.facts import RECENT_S, last_lines, late_prompts, logged_s, prompts_in_time, quoted
from howcome.domain.stored import Scope
from howcome.errors import StoreError
from howcome.learn.model_run import STOPPED, not_allowed
from howcome.present.guarded import LOG_NAME as HOOK_LOG_NAME
from howcome.present.guarded import REFUSED
from howcome.present.render import counted
from howcome.present.screen import local_time
from howcome.settings import ACTIVE, SOCKET_NAME, read_settings
from howcome.worker.thread import LOCK_NAME, worker_state

STALE_SPOOL_S = 3600
"""Every hook and the worker claim what is spooled: what is still there after an hour is stuck."""

MOST_LATE_SHARE = 0.05
"""More than this is worth a warning: then memory is silent where it had something to say."""

MAX_DEADLINE_MS = 4000
"""More would be cut by the time that `init` gives the hook, 5 s."""

MOST_REASONS = 3
_LOG_REMEDIES = (
    (REFUSED, "name its folder in `transcript_folders` (config.toml), or read it: howcome import PATH"),
    ("UserPromptSubmit reached its deadline", "raise prompt_deadline_ms in config.toml"),
    ("reached its deadline", "howcome import"),  # what did not fit is read, with no deadline
    ("SettingsError", "howcome doctor"),  # the configuration's own check names the line
    ("IndexDamagedError", "howcome doctor --fix"),
    ("MachineError", "howcome doctor"),  # the checks of the folder and the disk say what is short
    ("ModuleNotFoundError", "howcome upgrade"),
    ("ImportError", "howcome upgrade"),
)


def check_hook_log(machine: Machine) -> list[Finding]:
    """Hooks fail open: what went wrong in them is in their log."""
    path = os.path.join(machine.home, HOOK_LOG_NAME)
    lines = last_lines(path, 500)
    if not lines:
        return [Finding("ok", "hook errors", "none")]
    recent = [line for line in lines if logged_s(line) > time.time() - RECENT_S]
    if not recent:
        what = f"{counted(len(lines), 'old error')}, the last: {lines[-1]}"
        return [Finding("note", "hook errors", what, f"rm {quoted(path)}")]
    last = recent[-1]
    remedy = next((remedy for words, remedy in _LOG_REMEDIES if words in last), "howcome doctor --deep")
    what = f"{counted(len(recent), 'error')} in the last day, the last: {last}"
    return [Finding("warning", "hook errors", what, f"{remedy}; then rm {quoted(path)}")]


def check_spool(machine: Machine) -> list[Finding]:
    """Observations are stored within the hour, and none is dead."""
    counts, letters = spool_counts(machine.home), dead_letters(machine.home)
    findings = []
    reasons = counts["reasons"]
    why = ", ".join(f"{count} {name}" for name, count in reasons.items()) if isinstance(reasons, dict) else ""
    if any(not letter.is_records for letter in letters):
        what = f"observations that the store refused: {why}"
        findings.append(Finding("warning", "spool", what, "howcome observe --retry", lambda: _retry(machine)))
    elif letters:
        findings.append(
            Finding("warning", "spool", f"lines that are no observations: {why}", "howcome observe --discard")
        )
    if counts["waiting"]:
        age_s = time.time() - float(str(counts["oldest_s"] or 0))
        waiting = counted(int(str(counts["waiting"])), "observation")
        what = f"{waiting} not stored yet, the oldest for {age_s / 60:.0f} minutes"
        level: Level = "warning" if age_s > STALE_SPOOL_S else "note"
        findings.append(Finding(level, "spool", what, "howcome observe --retry", lambda: _retry(machine)))
    return findings or [Finding("ok", "spool", "empty")]


def _retry(machine: Machine) -> str:
    if machine.app is None:
        raise machine.store_problem or StoreError("there is no store yet; howcome import makes it")
    report = machine.app.ingest.spool(retry_all=True)
    machine.app.index.finish()
    if report is None:
        return "nothing waits any more"
    return f"stored {counted(report.accepted, 'observation')}, {report.duplicate} known already"


def check_worker(machine: Machine) -> list[Finding]:
    """Which process does the work behind the sessions; a socket without one was left by a process that was killed."""
    state = worker_state(machine.home)
    if state["working"]:
        since = local_time(int(str(state["started_ms"] or 0)), now_ms())
        return [Finding("ok", "worker", f"process {state['pid'] or '?'} works, since {since}")]
    if state["socket"]:
        path = os.path.join(machine.home, SOCKET_NAME)
        what = "none: it runs while an agent's session does. The next one replaces the socket that is left"
        return [Finding("note", "worker", what, "howcome doctor --fix", lambda: _remove_socket(machine.home, path))]
    return [Finding("ok", "worker", "none: it runs while an agent's session does")]


def _remove_socket(home: str, path: str) -> str:
    """Only under the worker's lock: without it the socket may be a new worker's."""
    descriptor = os.open(os.path.join(home, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except (BlockingIOError, FileNotFoundError):
        return "a new worker has taken the socket over"
    finally:
        os.close(descriptor)
    return f"removed {path}"


def check_batches(machine: Machine) -> list[Finding]:
    """Batches that wait do so for a budget, a switch or a pause; those that a model failed at wait for somebody."""
    if machine.settings.distiller == "llm" and machine.settings.llm == "off":
        what = "distiller is llm, and llm is off: memories are made without a model"
        return [Finding("warning", "distilling", what, machine.edit_config())]
    if machine.app is None:
        return []
    queue, findings = machine.app.learn.queue, []
    counts = queue.counts()
    if counts["dead"]:
        reasons = list(queue.dead_reasons().items())[:MOST_REASONS]
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons)
        lasting = f", {counts['given_up']} of them for good" if counts["given_up"] else ""
        dead = counted(counts["dead"], "batch", "batches")
        what = f"the model failed at {dead}{lasting} ({why}); what was learnt without it stays"
        level: Level = "note" if counts["given_up"] == counts["dead"] else "warning"
        findings.append(Finding(level, "distilling", what, "howcome distil --retry"))
    return findings + (_waiting(machine, machine.app, counts) if machine.settings.distiller == "llm" else [])


def _waiting(machine: Machine, app: App, counts: dict[str, int]) -> list[Finding]:
    """What waits, and why; a pause after failures is told where the model is."""
    done = f"{counted(counts['done'], 'batch', 'batches')} done by the model"
    why, remedy = not_allowed(machine.settings), machine.edit_config()
    if ACTIVE in why:
        remedy = f"unset {ACTIVE}"
    if not why and app.spending.stopped_ms() is not None:
        why, remedy = STOPPED, "howcome spending --go"
    if why:
        sessions = counted(len(app.learn.queue.open_sessions(Scope.everything())), "session")
        what = f"{done}, {counted(counts['pending'], 'batch', 'batches')} and {sessions} wait: {why}"
        return [Finding("warning", "distilling", what, remedy)]
    if counts["dead"]:  # said already
        return []
    return [Finding("ok", "distilling", f"{done}, {counts['pending']} wait")]


def check_prompts(machine: Machine) -> list[Finding]:
    """Prompts get their answer within `prompt_deadline_ms`, also when the machine is busy."""
    counts = prompts_in_time(machine.home)
    what = late_prompts(counts)
    if not what:
        count = counts["prompts"]
        return [Finding("ok", "prompts", f"{counted(count, 'prompt')} answered in time" if count else "none today")]
    deadline_ms = read_settings(machine.environment).prompt_deadline_ms
    raised_ms = min(MAX_DEADLINE_MS, 2 * deadline_ms)
    remedy = f"set prompt_deadline_ms = {raised_ms} in config.toml, or keep the processor freer"
    if raised_ms <= deadline_ms:
        remedy = "keep the processor freer: prompt_deadline_ms is as high as is of use"
    is_often = counts["late"] > MOST_LATE_SHARE * counts["prompts"]
    level: Level = "warning" if is_often else "note"
    return [Finding(level, "prompts", f"{what} (prompt_deadline_ms = {deadline_ms})", remedy)]
