"""What runs, and what it left: the hooks' log and last run, the spool of observations, the worker."""

from __future__ import annotations

import calendar
import fcntl
import os
import time

from howcome.clients.registry import clients
from howcome.clients.spool import dead_letters, spool_counts
from howcome.doctor.base import Finding, Level, Machine, counted, quoted
from howcome.errors import StoreError
from howcome.present.guarded import LOG_NAME as HOOK_LOG_NAME
from howcome.present.guarded import REFUSED
from howcome.present.render import iso_time
from howcome.present.warm_client import SOCKET_NAME
from howcome.wiring.commands import LAUNCHERS
from howcome.worker.thread import LOCK_NAME, worker_state

RECENT_S = 24 * 3600
"""A hook's error of the last day is a warning, an older one a note."""

STALE_SPOOL_S = 3600
"""Every hook and the worker claim what is spooled: what is still there after an hour is stuck."""

NEWEST_TRANSCRIPTS = 5
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
    recent = [line for line in lines if _logged_s(line) > time.time() - RECENT_S]
    if not recent:
        what = f"{counted(len(lines), 'old error')}, the last: {lines[-1]}"
        return [Finding("note", "hook errors", what, f"rm {quoted(path)}")]
    last = recent[-1]
    remedy = next((remedy for words, remedy in _LOG_REMEDIES if words in last), "howcome doctor --deep")
    what = f"{counted(len(recent), 'error')} in the last day, the last: {last}"
    return [Finding("warning", "hook errors", what, f"{remedy}; then rm {quoted(path)}")]


def last_lines(path: str, count: int = 5) -> list[str]:
    """The last lines of a file, each cut at 300 characters; [] when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return [line.rstrip("\n")[:300] for line in stream.readlines()[-count:]]
    except OSError:
        return []


def _logged_s(line: str) -> float:
    """When a line of the log was written, in seconds; 0 when it does not say."""
    try:
        return float(calendar.timegm(time.strptime(line[:20], "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return 0.0


def last_hook_ms(machine: Machine) -> int:
    """When a hook of ours last ran for certain, in UTC milliseconds; 0 when nothing tells.

    What agents note in their transcripts, and the log to which a hook writes that fails: so no hook has to write down
    that it was there.
    """
    logged = max((_logged_s(line) for line in last_lines(os.path.join(machine.home, HOOK_LOG_NAME))), default=0.0)
    noted = [
        client.wiring.hook_noted_ms(found.path, found.size_bytes, launcher)
        for client in clients()
        for launcher in LAUNCHERS
        for found in [found for found in machine.transcripts if found.client == client.name][-NEWEST_TRANSCRIPTS:]
    ]
    return max(round(logged * 1000), *noted, 0)


def check_spool(machine: Machine) -> list[Finding]:
    """Observations are stored within the hour, and none is dead."""
    counts, letters = spool_counts(machine.home), dead_letters(machine.home)
    findings = []
    if any(not letter.is_records for letter in letters):
        what = f"observations that the store refused: {_listed(counts['reasons'])}"
        findings.append(Finding("warning", "spool", what, "howcome observe --retry", lambda: _retry(machine)))
    elif letters:
        what = f"lines that are no observations: {_listed(counts['reasons'])}"
        findings.append(Finding("warning", "spool", what, "howcome observe --discard"))
    if counts["waiting"]:
        age_s = time.time() - float(str(counts["oldest_s"] or 0))
        waiting = counted(_number(counts["waiting"]), "observation")
        what = f"{waiting} not stored yet, the oldest for {age_s / 60:.0f} minutes"
        level: Level = "warning" if age_s > STALE_SPOOL_S else "note"
        findings.append(Finding(level, "spool", what, "howcome observe --retry", lambda: _retry(machine)))
    return findings or [Finding("ok", "spool", "empty")]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _listed(counts: object) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) if isinstance(counts, dict) else ""


def _retry(machine: Machine) -> str:
    app = machine.app
    if app is None:
        raise machine.store_problem or StoreError("there is no store yet; howcome import makes it")
    report = app.ingest.spool(retry_all=True)
    app.index.finish()
    if report is None:
        return "nothing waits any more"
    return f"stored {counted(report.accepted, 'observation')}, {report.duplicate} known already"


def check_worker(machine: Machine) -> list[Finding]:
    """Which process does the work behind the sessions; a socket without one was left by a process that was killed."""
    state = worker_state(machine.home)
    if state["working"]:
        since = iso_time(_number(state["started_ms"])) if state["started_ms"] else "?"
        return [Finding("ok", "worker", f"process {state['pid'] or '?'} works, since {since}")]
    if state["socket"]:
        path = os.path.join(machine.home, SOCKET_NAME)
        what = "a worker was killed and left its socket; the next one takes it away"
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
