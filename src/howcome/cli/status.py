"""`howcome status`: what is stored, what is not read yet, who is connected, what runs, and what went wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from howcome.app import App, open_app
from howcome.cli.arguments import open_existing
from howcome.cli.declared import JSON, command, option
from howcome.clients.discover import Found, known_transcripts
from howcome.clients.spool import spool_counts
from howcome.doctor import facts as seen
from howcome.doctor.wiring import read_wirings
from howcome.domain.sources import COUNTERS
from howcome.errors import StoreMissingError
from howcome.present.guarded import LOG_NAME
from howcome.present.render import counted, in_units, iso_time, json_line, stored
from howcome.present.screen import day, show_table
from howcome.present.terminal import echo
from howcome.present.unsaid import values_without_secrets, without_secrets
from howcome.settings import read_settings
from howcome.worker.thread import worker_state

QUOTING = frozenset(("store", "prompts", "unknown", "quarantine", "spool", "team", "hook error", "integrity"))
"""Lines that quote something. The others are numbers and our own words: to load the rules for secrets takes 40 ms."""

_MEMBERSHIP = "team.json"
"""What a team's member has: nobody else loads what asks a team's server (`memory.team_server`)."""


@command
def status(
    as_json: bool = JSON, check: bool = option(help="Also check the database's integrity (reads all of it).")
) -> None:
    """Show counts, sizes, the last ingest, unread bytes, quarantined records, connected agents, and what runs.

    `howcome doctor` says what to do about it.

    \b
    Examples:
      howcome status
      howcome status --json
    """
    transcripts = known_transcripts(os.path.expanduser("~"), os.environ)
    try:
        with open_existing() as app:
            facts = gather(app, transcripts, app.settings.home, check=check, by_kind=as_json)
    except StoreMissingError:  # looking must not make one: an empty one stands for it
        import tempfile

        with tempfile.TemporaryDirectory() as folder, open_app(read_settings({"HOWCOME_HOME": folder})) as app:
            facts = gather(app, transcripts, read_settings(os.environ).home, check=check, by_kind=as_json)
        facts["sizes"] = {"database_bytes": 0, "index_bytes": 0}
    if as_json:
        echo(json_line(values_without_secrets(facts)))
        return
    lines = _lines(facts)
    show_table([(name, without_secrets(line) if name in QUOTING else line) for name, line in lines], widths=(12,))


def gather(app: App, transcripts: Sequence[Found], home: str, *, check: bool, by_kind: bool) -> dict[str, object]:
    """Everything `status` knows, as JSON values; `home` is where the store is, or would be.

    With `check` every page of the database is read, with `by_kind` every row is (half a second a million).
    """
    place, folder, (rows_bytes, index_bytes), _ = app.health.place()
    unread = seen.unread_transcripts(app, transcripts)
    memories, vanished = app.health.memories()
    facts: dict[str, object] = {
        "home": home, "store": place if app.settings.store else home,
        "counts": {**app.health.counts(), **({"events_by_type": app.health.kinds()} if by_kind else {})},
        **_accounts(app),
        "sizes": {
            "database_bytes": rows_bytes, "index_bytes": _folder_size(os.path.join(folder, "index")) + index_bytes,
        },
        "last_week": _last_week(app), "memories": memories, "vanished_memories": vanished,
        "unread": {"files": len(unread), "bytes": sum(missing for _, missing in unread)},
        "index_lag_rows": app.index.lag(), "embedding": seen.vector_facts(app, app.settings, in_full=by_kind),
        "agents": [
            {"agent": one.owner.agent, "scope": one.owner.scope, "hooks": one.events, "mcp": one.server is not None}
            for one in read_wirings() if one.is_connected
        ],
        "prompts": seen.prompts_in_time(home), "last_hook": iso_time(seen.last_hook_ms(app, home, transcripts) or None),
        "spool": spool_counts(home), "distil_batches": app.learn.queue.counts(),
        "projects_in_doubt": len(app.projects.doubts()), "worker": worker_state(home),
        "team": app.sharing.team_server().status() if os.path.exists(os.path.join(home, _MEMBERSHIP)) else {},
        "hook_errors": seen.last_lines(os.path.join(home, LOG_NAME)),
    }  # fmt: skip
    return facts | ({"integrity": app.health.check_integrity() or ["ok"]} if check else {})


def _last_week(app: App) -> dict[str, int] | None:
    """What happened in seven days, of a store that finds them without reading the others."""
    if not app.settings.store:  # the embedded store would go through all events
        return None
    counts = app.telemetry.last_week()
    return {name: counts[name] for name in ("events", "calls", "failed", "learnt")}


def _accounts(app: App) -> dict[str, object]:
    """What became of every record and byte that was read."""
    accounts: list[Any] = [*app.health.sources()]
    totals = {name: sum(row[name] for row in accounts) for name in COUNTERS}
    last_read = max((row["read_ms"] for row in accounts), default=0)
    reasons, newest = app.health.quarantined()
    of_bytes = {name.removesuffix("_bytes"): totals[name] for name in COUNTERS if name.endswith("_bytes")}
    return {
        "records": {name: totals[name] for name in COUNTERS if not name.endswith("_bytes")},
        "bytes": {"read": sum(row["offset"] for row in accounts), **of_bytes},
        "unknown_files": {path: number for path, number, _ in seen.unknown_to_readers(app)},
        "last_ingest": iso_time(last_read) if last_read else None,
        "quarantine": {"records": totals["quarantined"], "reasons": reasons, "newest": newest},
    }


def _folder_size(folder: str) -> int:
    size_bytes = 0
    for path in (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names):
        with suppress(OSError):  # gone meanwhile
            size_bytes += os.stat(path).st_size
    return size_bytes


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What a person sees."""
    counts, sizes, unread = facts["counts"], facts["sizes"], facts["unread"]
    none = "the store is not there yet: howcome init"
    rows, index = in_units(sizes["database_bytes"]) if sizes["database_bytes"] else "", in_units(sizes["index_bytes"])
    lag = facts["index_lag_rows"]
    hooks = [f"{counted(len(one['hooks']), 'hook')}{', MCP' if one['mcp'] else ''}" for one in facts["agents"]]
    agents = [f"{one['agent']} ({has})" for one, has in zip(facts["agents"], hooks, strict=True)]
    lines = [
        (
            "store",
            facts["store"] if facts["store"] == facts["home"] else f"{facts['store']}; hooks use {facts['home']}",
        ),
        ("holds", stored(counts)),
        *_week(facts["last_week"]),
        ("memories", _memories(facts["memories"])),
        ("size", f"{rows} rows, {index} index, from {in_units(facts['bytes']['read'])} read" if rows else none),
        ("last read", day(facts["last_ingest"]) if facts["last_ingest"] else "never"),
        ("last hook", day(facts["last_hook"]) if facts["last_hook"] else "not known"),
        ("unread", f"{in_units(unread['bytes'])} in {counted(unread['files'], 'file')}" if unread["files"] else "none"),
        ("index", f"{counted(lag, 'row')} behind" if lag else "holds every row"),
        ("vectors", _vectors(facts["embedding"])),
        ("agents", "; ".join(agents) or "none: howcome init"),
        ("worker", f"process {facts['worker']['pid'] or '?'}" if facts["worker"]["working"] else "none"),
    ]
    return lines + _more(facts)


def _more(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What went wrong, and what not every machine has; a line that would say nothing is left out."""
    lines, spool = list[tuple[str, str]](), facts["spool"]
    if late := seen.late_prompts(facts["prompts"]):
        lines.append(("prompts", f"{late}; `howcome doctor` says what helps"))
    if unknown := facts["unknown_files"]:
        number, most = counted(sum(unknown.values()), "record"), max(unknown, key=unknown.get)
        lines.append(("unknown", f"no reader knows {number} of {counted(len(unknown), 'file')}, most in {most}"))
    if records := facts["quarantine"]["records"]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in facts["quarantine"]["reasons"].items())
        lines.append(("quarantine", counted(records, "record") + (f" ({reasons})" if reasons else "")))
    if facts["vanished_memories"]:
        gone = counted(len(facts["vanished_memories"]), "memory", "memories")
        lines.append(("vanished", f"{gone} kept by hand, with an earlier database: howcome doctor"))
    batches = facts["distil_batches"]
    if batches["pending"] or batches["dead"]:
        lines.append(("batches", f"{batches['pending']} wait for the model, at {batches['dead']} it failed"))
    if facts["projects_in_doubt"]:
        lines.append(("projects", f"{counted(facts['projects_in_doubt'], 'pair')} may be one: howcome projects"))
    if spool["waiting"] or spool["dead"]:
        lines.append(("spool", f"{counted(spool['waiting'], 'observation')} waiting, {spool['dead']} dead"))
    if team := facts["team"]:
        run = f"last run {day(iso_time(team['run_ms']))}" if team["run_ms"] else "no run yet"
        lines.append(("team", f"in {team['team']} as {team['person']}; {team['problem'] or run}"))
    lines += [("hook error", _logged(line)) for line in facts["hook_errors"]]
    return lines + [("integrity", line) for line in facts.get("integrity", ())]


def _week(facts: dict[str, Any] | None) -> list[tuple[str, str]]:
    if facts is None:
        return []
    failed = f"{facts['failed']} of {counted(facts['calls'], 'call')} failed"
    learnt = f"{counted(facts['learnt'], 'memory', 'memories')} learnt"
    return [("last week", f"{counted(facts['events'], 'event')}, {failed}, {learnt}")]


def _logged(line: str) -> str:
    """A line of the hooks' log, with its time as a person writes it."""
    time, _, what = line.partition(" ")
    try:
        return f"{day(time)}  {what}"
    except ValueError:  # somebody else's line
        return line


def _vectors(facts: dict[str, Any]) -> str:
    behind = facts["turns_without_vectors"]
    if facts["state"] not in ("ready", "unasked"):
        is_quote = facts["state"] == "broken"  # an endpoint's or a setting's words; the others are ours
        what = without_secrets(facts["what"]) if is_quote else facts["what"]
        how = " (an option: howcome model)" if facts["state"] == "packages" else ""
        missing = "" if facts["by_worker"] or not behind else f"; {seen.waiting(facts)}"
        return (f"{seen.described(facts)}; {what}" if facts["vectors"] else f"none: {what}{how}") + missing
    if facts["problem"]:
        return f"{without_secrets(facts['problem'])}: howcome model embed"
    if behind is None:
        return "none yet; they are made while sessions run"
    held = seen.described(facts) if facts["vectors"] else "none yet"
    missing = seen.waiting(facts) + ("" if facts["by_worker"] else f": {seen.EMBED}")
    return f"{held}; {missing}" if behind else held


def _memories(counts: dict[str, dict[str, int]]) -> str:
    live = counts["by_state"].get("live", 0)
    types = ", ".join(counted(count, name, re.sub("y$", "ie", name) + "s") for name, count in counts["by_type"].items())
    open_ones = counts["by_status"].get("open", 0)
    return f"{live} ({types}); {open_ones} open" if live else "none"
