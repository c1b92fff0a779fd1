"""What agents wrote: which records and files could not be read, and what is not read yet."""

from __future__ import annotations

import time

from howcome.app import App
from howcome.clients.discover import Found
from howcome.clients.registry import clients, history_of
from howcome.doctor.base import Finding, Machine, of_store, update_remedy
from howcome.doctor.facts import quoted, unknown_to_readers, unread_transcripts
from howcome.domain.sources import SET_ASIDE
from howcome.errors import TranscriptError
from howcome.present.render import counted, in_units
from howcome.wiring import recorded_owners

QUIET_S = 600
"""A transcript that was written to in the last ten minutes is a running session's: its next hook reads it."""

MAX_QUARANTINED_SHARE = 0.01
"""More than one record in a hundred that cannot be read: not a torn line here and there, but another format."""

LOOKED_AT_BYTES = 1000
"""As much of a record that was set aside fits a screen."""

MAX_TRIED = 20
"""So many sessions of a database are opened: after an import those that could not be read are left."""


@of_store
def check_quarantine(_: Machine, app: App) -> list[Finding]:
    """Records that could not be read: few are torn lines, many are a format that this version does not know."""
    accounts = app.health.sources()
    records = sum(int(str(row["records"])) for row in accounts)
    reasons = app.health.quarantined()[0]
    aside = reasons.pop(SET_ASIDE, 0)  # `check_set_aside` speaks of these
    newest = [row for row in app.health.quarantined(1 + aside)[1] if row["reason"] != SET_ASIDE]
    if not newest:
        return [Finding("ok", "quarantine", "every record could be read")]
    number = sum(reasons.values())
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    path, offset, size = (newest[0][name] for name in ("path", "offset", "size_bytes"))
    what = f"{number} of {counted(records, 'record')} could not be read ({why}); the newest is in {path}"
    if number > MAX_QUARANTINED_SHARE * records and number > 1:
        return [Finding("warning", "quarantine", f"{what}: has the agent changed its format?", update_remedy())]
    return [Finding("note", "quarantine", what, _look(str(path), int(str(offset)), int(str(size))))]


@of_store
def check_unknown(_: Machine, app: App) -> list[Finding]:
    """Files of which no reader knew anything: another format, or another agent's."""
    found = [row for row in unknown_to_readers(app) if row[2]]
    if not found:
        return []
    path, number = max(found, key=lambda row: row[1])[:2]
    what = f"no reader knows what is in {counted(len(found), 'transcript')}; {counted(number, 'record')} in {path}"
    return [Finding("note", "unknown", what, update_remedy())]


@of_store
def check_set_aside(_: Machine, app: App) -> list[Finding]:
    """Records that cost a pass its time: nothing waits for them, and nothing of them can be found."""
    aside = app.health.set_aside()
    if not aside:
        return []
    path, offset, size_bytes = aside[-1][:3]
    size = in_units(sum(row[2] for row in aside))
    what = (
        f"{counted(len(aside), 'record')} ({size}) set aside: reading took all the time that there was; the newest is"
        f" at byte {offset} of {path}"
    )
    remedy = f"howcome import --retry-set-aside  # or look: {_look(path, offset, min(size_bytes, LOOKED_AT_BYTES))}"
    return [Finding("warning", "set aside", what, remedy)]


def _look(path: str, offset: int, size_bytes: int) -> str:
    """The command that shows a record of a transcript; offsets of what is not lines count what it was unfolded to."""
    if path.endswith(".gz"):
        return f"gzip -dc {quoted(path)} | tail -c +{offset + 1} | head -c {size_bytes}"
    if path.endswith(".jsonl"):
        return f"tail -c +{offset + 1} {quoted(path)} | head -c {size_bytes}"
    return "howcome status --json"


@of_store
def check_unread(machine: Machine, app: App) -> list[Finding]:
    """Transcripts with bytes that no pass has read, but for those of running sessions."""
    unread = unread_transcripts(app, machine.transcripts)
    if not unread:
        return [Finding("ok", "unread", "every transcript is read to its end")]
    refused = {found.path: why for found, _ in unread if (why := _refusal(app, found))}
    waiting = [row for row in unread if row[0].path not in refused]
    return [_unreadable(path, why) for path, why in refused.items()] + (_waiting(waiting) if waiting else [])


def _refusal(app: App, found: Found) -> str:
    """Why a database of sessions cannot be read, however long one waits; "" where it can."""
    history = history_of(found.client)
    if not history.holds_sessions(found.path):
        return ""
    known = {state.path: (state.size_bytes, state.mtime_ns) for state in app.health.cursors()}
    try:
        sessions = history.sessions_in(found.path)
        left = [path for path, status in sessions if known.get(path) != (status.size_bytes, status.mtime_ns)]
        for path in left[:MAX_TRIED]:
            history.open_lines(path).close()
    except TranscriptError as error:
        return "" if str(error).endswith(" is locked") else str(error)
    return ""


def _unreadable(path: str, why: str) -> Finding:
    remedy = f"sqlite3 {quoted(path)} 'PRAGMA integrity_check'  # says what is damaged; its agent wrote it"
    what = f"a database of sessions cannot be read: {why}"
    return Finding("warning", "unread", what, update_remedy() if "no such " in why else remedy)


def _waiting(unread: list[tuple[Found, int]]) -> list[Finding]:
    size = sum(missing for _, missing in unread)
    what = f"{in_units(size)} of {counted(len(unread), 'transcript')} are not read yet"
    last_ns = (time.time() - QUIET_S) * 1e9
    if all(found.mtime_ns > last_ns for found, _ in unread):
        hooked = {client.name for client in clients() if client.hooks} & {owner.agent for owner in recorded_owners()}
        is_hooked = hooked.issuperset(found.client for found, _ in unread)
        who = "running sessions, their next hook reads it" if is_hooked else "the next session's server reads it"
        return [Finding("note", "unread", f"{what}: {who}", "howcome import")]
    return [Finding("warning", "unread", what, "howcome import")]
