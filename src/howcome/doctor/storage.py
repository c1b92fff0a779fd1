"""What is stored: can it be opened and written, is it whole and mended, is the index beside it."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

from howcome import errors
from howcome.app import App, DriverMissingError, open_app
from howcome.doctor.base import Finding, Machine, extra_remedy, of_store, update_remedy
from howcome.doctor.configuration import vector_findings
from howcome.doctor.facts import EMBED, quoted
from howcome.doctor.folder import writing_remedy
from howcome.domain import events
from howcome.domain.stored import Scope
from howcome.errors import IndexDamagedError, SettingsError, StoreError
from howcome.log.kept import NAME as KEPT_NAME
from howcome.log.kept import vanished
from howcome.memory.backup import FOLDER, newest_backup
from howcome.memory.team import MEMBERSHIP
from howcome.present.memory_files import read_export
from howcome.present.render import counted
from howcome.redact.version import RULES_VERSION
from howcome.upkeep import mend_database

QUESTION = "The database is damaged: put a new one in its place, with all that can be read (the damaged one is kept)"


def damaged(machine: Machine, check: str, what: str) -> Finding:
    """The finding of a damaged database; its repair makes a whole one, and is asked for first."""
    kept = "memories kept by hand are in no transcript: what can be read of them is saved"
    if machine.app is not None:
        with suppress(StoreError):  # nobody knows how many a damaged store still gives away
            number = sum("text" in line for line in machine.app.memories.export(Scope.everything()))
            kept = f"memories kept by hand that can still be read: {number}"
    if (backup := newest_backup(machine.home)) is not None:
        kept += f"; the last backup of them is {os.path.basename(backup)}"
    what = f"{what.partition('; ')[0]}; {kept}"
    return Finding("error", check, what, machine.fix, lambda: _mend(machine), QUESTION)


@of_store
def check_backup(machine: Machine, app: App) -> list[Finding]:
    """What no transcript holds is backed up every day by itself."""
    if not app.health.is_backup_overdue():
        return []

    def write() -> str:
        is_written = app.health.back_up_memories()
        return "wrote today's backup of memories" if is_written else "there is a backup of today by now"

    what = f"memories kept by hand are in no backup: nothing was written into {machine.home}/{FOLDER} for days"
    return [Finding("warning", "backup", what, "howcome doctor --fix", write)]


def _mend(machine: Machine) -> str:
    machine.close()
    report = mend_database(machine.settings, machine.transcripts, lambda path: read_export(path, []))
    if report is None:
        return "the database passed its integrity check this time: it was left as it is"
    event_rows, memory_rows = (report.rows.get(table, 0) for table in ("events", "memories"))
    parts = [
        f"saved {counted(event_rows, 'event')} and {counted(memory_rows, 'memory', 'memories')}",
        f"{counted(report.from_backup, 'memory', 'memories')} came from the last backup" if report.from_backup else "",
        f"{counted(report.added, 'event')} from transcripts",
        f"{counted(len(report.unread), 'transcript')} could not be read" if report.unread else "",
        f"the damaged database is in {report.aside}",
    ]
    return ", ".join(filter(None, parts))


WAL_WRITE_LOCK = 120
"""The byte of the `-shm` file that a writer locks (sqlite.org/walformat.html)."""

LOCKS = "/proc/locks"
SHOWN_IDS = 3

MAX_ASKED = 3
"""So many pairs are asked about at once: a template of many projects makes many."""


def check_store(machine: Machine) -> list[Finding]:
    """The database can be opened, and written within a second."""
    if not os.path.lexists(machine.database):
        return [Finding("warning", "store", f"there is no store in {machine.home} yet", "howcome import")]
    app = machine.app
    if app is None:
        return [_unopened(machine, machine.store_problem or StoreError("it cannot be opened"))]
    if app.health.is_read_only:
        what = f"{machine.database} cannot be written: nothing new is stored"
        return [Finding("error", "store", what, writing_remedy(machine.home, machine.home))]
    try:
        app.health.require_writable()
    except StoreError as error:
        return [_unopened(machine, error)]
    return [Finding("ok", "store", f"{machine.database} can be read and written")]


def _unopened(machine: Machine, error: StoreError) -> Finding:
    home = machine.home
    match error:
        case errors.StoreNewerError():
            return Finding("error", "store", str(error), update_remedy())
        case errors.StoreDamagedError():
            return damaged(machine, "store", str(error))
        case errors.StoreLockedError():
            pids = write_lock_holders(machine.database + "-shm")
            who = f"process {pids[0]} ({_command(pids[0])})" if pids else "another process"
            remedy = f"kill {pids[0]}" if pids else f"fuser -k {quoted(machine.database)}"
            return Finding("error", "store", f"{who} has kept the store locked: hooks cannot write", remedy)
        case _:
            return Finding("error", "store", str(error), f"ls -la {quoted(home)}")


def write_lock_holders(shared_memory: str, locks: str = LOCKS) -> list[int]:
    """The processes that hold the write lock of a database, by its `-shm` file; [] where the system does not tell.

    It says 0 for a process of another container and -1 for a lock that is no process's: `kill` would end many then.
    """
    try:
        inode = os.stat(shared_memory).st_ino
        with open(locks, encoding="ascii") as stream:
            lines = [line.split() for line in stream if "->" not in line]  # those only wait
    except OSError:
        return []
    held = [fields for fields in lines if len(fields) == 8 and fields[3] == "WRITE" and fields[7].isdecimal()]
    return [
        int(pid)
        for _, _, _, _, pid, place, first, last in held
        if place.endswith(f":{inode}") and int(first) <= WAL_WRITE_LOCK <= int(last) and int(pid) > 0
    ]


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
            return stream.read().replace("\0", " ").strip()[:80] or "?"
    except OSError:
        return "?"


@of_store
def check_integrity(machine: Machine, app: App) -> list[Finding]:
    """Every table answers; with `deep`, every page of the file is read."""
    try:
        problems = app.health.check_integrity() if machine.deep else []
        counts = app.health.read_some()
    except StoreError as error:
        return [damaged(machine, "integrity", str(error))]
    if problems:
        return [damaged(machine, "integrity", f"the store is damaged: {problems[0]}")]
    how = "every page read" if machine.deep else "`howcome doctor --deep` reads every page"
    return [Finding("ok", "integrity", f"{counted(counts['events'], 'event')}; {how}")]


@of_store
def check_redaction(_: Machine, app: App) -> list[Finding]:
    """What older rules let through stays in clear until it is redacted again."""
    if not app.health.is_redaction_due():
        return []
    what = (
        f"what is stored was searched for secrets by older rules (version {app.health.rules_version()}, now"
        f" {RULES_VERSION}): what only the newer ones find is still there in clear"
    )
    return [Finding("warning", "secrets", what, "howcome upgrade")]


@of_store
def check_index(_: Machine, app: App) -> list[Finding]:
    """The index can be read and holds every row."""

    def rebuild() -> str:
        return f"built the search index anew from {counted(app.index.rebuild(), 'row')}"

    def catch_up() -> str:
        rows = app.index.finish()
        return f"added {counted(rows, 'row')} to the search index" if rows is not None else "another process is at it"

    def broken(what: str) -> Finding:
        if "vector" in what:
            return Finding("error", "index", f"{what}: search is by words only", "howcome model embed")
        return Finding("error", "index", what, "howcome doctor --fix", rebuild)

    if problems := app.index.verify():
        return [broken(what) for what in problems]
    try:
        app.index.try_out()
        lag = app.index.lag()
    except IndexDamagedError as error:
        return [Finding("error", "index", str(error).partition("; ")[0], "howcome doctor --fix", rebuild)]
    except StoreError as error:
        return [Finding("error", "index", str(error), "howcome doctor --deep")]
    if lag:
        what = f"the search index is {counted(lag, 'row')} behind: they are stored, but not found"
        return [Finding("warning", "index", what, "howcome import", catch_up)]
    kinds = app.health.kinds()
    indexed, stored = app.index.count(), sum(kinds[kind] for kind in events.SEARCHED_KINDS)
    if indexed != stored:
        what = f"the search index holds {counted(indexed, 'event')}, the store {stored}: it is another store's, or torn"
        return [broken(what)]
    return [Finding("ok", "index", f"holds {counted(indexed, 'event')}, all that can be searched")]


def check_kept(machine: Machine) -> list[Finding]:
    """Every memory that was kept by hand is still there: no transcript holds it."""
    app = machine.app
    if app is None and os.path.lexists(machine.database):
        return []
    gone = vanished(machine.home, []) if app is None else app.health.memories()[1]
    if not gone:
        return []
    named = ", ".join(gone[:SHOWN_IDS]) + (", …" if gone[SHOWN_IDS:] else "")
    what = f"kept by hand and gone: {counted(len(gone), 'memory', 'memories')} ({named})"
    what += "; the database was lost, or an older one was put in its place"
    file = quoted(os.path.join(machine.home, KEPT_NAME))
    remedy = f"howcome import-memories --mine EXPORT  # or, if they are gone for good: rm {file}"
    return [Finding("warning", "memories", what, remedy)]


def check_projects(machine: Machine) -> list[Finding]:
    """Each repository is one project, however often it was cloned or moved; forks and templates are asked about."""
    found = machine.app.projects.doubts() if machine.app is not None else []
    findings = []
    with suppress(OSError):  # this folder may be gone
        for old, new in machine.app.projects.moved(os.getcwd()) if machine.app is not None else ():
            what = f"nothing is stored of {new}; it may be {old}, which is gone"
            findings.append(Finding("note", "projects", what, _join(quoted(old, new))))
    for doubt in found[:MAX_ASKED]:
        pair = quoted(doubt.one, doubt.other)
        are = "are the same repository" if doubt.is_sure else "may be the same repository (a copy, a fork, a template?)"
        what = f"{doubt.one} and {doubt.other} {are}, and are two projects here"
        findings.append(Finding("note", "projects", what, _join(pair)))
    if len(found) > MAX_ASKED:
        what = f"{counted(len(found) - MAX_ASKED, 'more pair')} of projects may be one"
        findings.append(Finding("note", "projects", what, "howcome projects"))
    return findings or [Finding("ok", "projects", "none looks like another's copy")]


def _join(pair: str) -> str:
    return f"howcome projects join {pair}  # or keep them apart: howcome projects apart {pair}"


# -- the store on a server that commands use, and a team's -----------------------------------------------------------
LOOK_MS = 1000
"""How long a write of others is waited for."""


def check_server(machine: Machine) -> list[Finding]:
    """Hooks do without it: what they capture is in the embedded store."""
    if machine.settings_problem is not None or not machine.settings.store:
        return []
    try:
        with open_app(machine.settings, busy_ms=LOOK_MS, create=False) as app:
            return _looked_at(app, machine)
    except DriverMissingError as error:
        return [Finding("error", "server", str(error), extra_remedy("postgres", ("psycopg[binary]",)))]
    except errors.StoreMissingError as error:
        return [Finding("note", "server", str(error), "howcome import")]
    except errors.StoreNewerError as error:
        return [Finding("error", "server", str(error), update_remedy())]
    except (SettingsError, StoreError) as error:
        remedy = machine.edit_config("correct store, or delete it: commands use the embedded store then")
        return [Finding("error", "server", str(error), remedy)]


def check_team(machine: Machine) -> list[Finding]:
    """What the last exchange with a team's server came to."""
    if machine.settings_problem is not None or not os.path.exists(os.path.join(machine.home, MEMBERSHIP)):
        return []
    try:
        with open_app(machine.settings, busy_ms=LOOK_MS, create=False) as app:
            facts = app.sharing.team_server().status()
    except (SettingsError, StoreError):  # other checks say so
        return []
    if facts.get("problem"):
        return [Finding("warning", "team", str(facts["problem"]), "howcome team status")]
    return [Finding("ok", "team", f"in {facts['team']} as {facts['person']}")]


def _looked_at(app: App, machine: Machine) -> list[Finding]:
    place, _, _, kind = app.health.place()
    if app.health.is_read_only:
        what = f"{place} ({kind}) can only be read: a standby, or another one has taken its place"
        return [Finding("warning", "server", what, "howcome config set store postgresql://…  # the one to write to")]
    if problems := app.health.check_integrity() if machine.deep else []:
        what = f"{place}: {'; '.join(problems)}"
        return [Finding("error", "server", what, "howcome migrate --to sqlite:FOLDER  # a copy of what can be read")]
    if app.health.is_redaction_due():
        what = f"{place} was searched for secrets by older rules: what only newer ones find is there in clear"
        remedy = (
            "howcome migrate --to sqlite:FOLDER  # then HOWCOME_HOME=FOLDER howcome upgrade, and back to an empty one"
        )
        return [Finding("warning", "server", what, remedy)]
    held = counted(app.health.counts()["events"], "event")
    if grant := app.index.vectors_refused():
        what = "this user may not read the vectors on the server: search is by words only"
        remedy = f"{shlex.join(('psql', place, '-c', grant))}  # as the owner of the tables"
        vectors = [Finding("warning", "vectors", what, remedy)]
    else:
        vectors = _vectors_of(app, machine)
    return [Finding("ok", "server", f"{place} answers: {kind}; {held}"), *vectors]


def _vectors_of(app: App, machine: Machine) -> list[Finding]:
    problems = [f"{what}: search is by words only" for what in app.index.verify()]
    broken = [Finding("warning", "vectors", what, EMBED) for what in problems]
    return broken or vector_findings(app, machine.settings)
