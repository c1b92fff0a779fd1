"""`howcome status`: what is stored, what is not read yet, who is connected, what runs, and what went wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from howcome.app import App, now_ms, open_app
from howcome.cli.arguments import open_existing
from howcome.cli.declared import JSON, command, option
from howcome.clients.discover import Found, known_transcripts
from howcome.clients.spool import spool_counts
from howcome.doctor.facts import (
    described,
    last_hook_ms,
    last_lines,
    late_prompts,
    prompts_in_time,
    unknown_to_readers,
    unread_transcripts,
    vector_facts,
    waiting,
)
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

NO_STORE = "the store is not there yet: howcome init"
QUOTING = frozenset(("store", "prompts", "unknown", "quarantine", "spool", "hook error", "integrity"))
"""Lines that quote something. The others are numbers and our own words: to load the rules for secrets takes 40 ms."""


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
    """Everything `status` knows, as JSON values.

    Args:
        app: The façade over the store.
        transcripts: Every one of every agent.
        home: Where the store is, or would be.
        check: Whether to read every page of the database.
        by_kind: Whether to count what reads every row: events by type (half a second a million).
    """
    place, folder, (rows_bytes, index_bytes), _ = app.health.place()
    unread = unread_transcripts(app, transcripts)
    facts: dict[str, object] = {
        "home": home,
        "store": place if app.settings.store else home,
        "counts": {**app.health.counts(), **({"events_by_type": app.health.kinds()} if by_kind else {})},
        **_accounts(app),
        "sizes": {
            "database_bytes": rows_bytes,
            "index_bytes": _folder_size(os.path.join(folder, "index")) + index_bytes,
        },
        **dict(zip(("memories", "vanished_memories"), app.health.memories(), strict=True)),
        "unread": {"files": len(unread), "bytes": sum(missing for _, missing in unread)},
        "index_lag_rows": app.index.lag(),
        "embedding": vector_facts(app, app.settings, in_full=by_kind),
        "agents": [
            {
                "agent": wiring.owner.agent,
                "scope": wiring.owner.scope,
                "hooks": wiring.events,
                "mcp": wiring.server is not None,
            }
            for wiring in read_wirings()
            if wiring.is_connected
        ],
        "prompts": prompts_in_time(home),
        "last_hook": iso_time(last_hook_ms(app, home, transcripts) or None),
        "spool": spool_counts(home),
        "distil_batches": app.learn.queue.counts(),
        "projects_in_doubt": len(app.projects.doubts()),
        "worker": worker_state(home),
        "hook_errors": last_lines(os.path.join(home, LOG_NAME)),
    }
    if check:
        facts["integrity"] = app.health.check_integrity() or ["ok"]
    return facts


def _accounts(app: App) -> dict[str, object]:
    """What became of every record and byte that was read."""
    accounts = app.health.sources()
    totals = {name: sum(int(row[name]) for row in accounts) for name in COUNTERS}  # type: ignore[call-overload]
    last_read = max((int(row["read_ms"]) for row in accounts), default=0)  # type: ignore[call-overload]
    return {
        "records": {name: totals[name] for name in COUNTERS if not name.endswith("_bytes")},
        "bytes": {
            "read": sum(int(row["offset"]) for row in accounts),  # type: ignore[call-overload]
            **{name.removesuffix("_bytes"): totals[name] for name in COUNTERS if name.endswith("_bytes")},
        },
        "unknown_files": {path: number for path, number, _ in unknown_to_readers(app)},
        "last_ingest": iso_time(last_read) if last_read else None,
        "quarantine": {
            "records": totals["quarantined"],
            **dict(zip(("reasons", "newest"), app.health.quarantined(), strict=True)),
        },
    }


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _folder_size(folder: str) -> int:
    return sum(_size(os.path.join(parent, name)) for parent, _, names in os.walk(folder) for name in names)


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What a person sees; a line that would say nothing is left out."""
    counts, sizes, unread = facts["counts"], facts["sizes"], facts["unread"]
    rows, index = in_units(sizes["database_bytes"]) if sizes["database_bytes"] else "", in_units(sizes["index_bytes"])
    lag, waiting = facts["index_lag_rows"], facts["spool"]
    agents = [
        f"{one['agent']} ({counted(len(one['hooks']), 'hook')}{', MCP' if one['mcp'] else ''})"
        for one in facts["agents"]
    ]
    lines = [
        ("store", facts["store"]),
        ("holds", stored(counts)),
        ("memories", _memories(facts["memories"])),
        ("size", f"{rows} rows, {index} index, from {in_units(facts['bytes']['read'])} read" if rows else NO_STORE),
        ("last read", day(facts["last_ingest"], now_ms()) if facts["last_ingest"] else "never"),
        ("last hook", day(facts["last_hook"], now_ms()) if facts["last_hook"] else "not known"),
        ("unread", f"{in_units(unread['bytes'])} in {counted(unread['files'], 'file')}" if unread["files"] else "none"),
        ("index", f"{counted(lag, 'row')} behind" if lag else "holds every row"),
        ("vectors", _vectors(facts["embedding"])),
        ("agents", "; ".join(agents) or "none: howcome init"),
        ("worker", f"process {facts['worker']['pid'] or '?'}" if facts["worker"]["working"] else "none"),
    ]
    if late := late_prompts(facts["prompts"]):
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
    if waiting["waiting"] or waiting["dead"]:
        lines.append(("spool", f"{counted(waiting['waiting'], 'observation')} waiting, {waiting['dead']} dead"))
    lines += [("hook error", _logged(line)) for line in facts["hook_errors"]]
    return lines + [("integrity", line) for line in facts.get("integrity", ())]


def _logged(line: str) -> str:
    """A line of the hooks' log, with its time as a person writes it."""
    time, _, what = line.partition(" ")
    try:
        return f"{day(time, now_ms())}  {what}"
    except ValueError:  # somebody else's line
        return line


def _vectors(facts: dict[str, Any]) -> str:
    behind = facts["turns_without_vectors"]
    if facts["state"] not in ("ready", "unasked"):
        is_quote = facts["state"] == "broken"  # an endpoint's or a setting's words; the others are ours
        what = without_secrets(facts["what"]) if is_quote else facts["what"]
        return f"none: {what}" if not facts["vectors"] else f"{described(facts)}; {what}"
    if facts["problem"]:
        return f"{without_secrets(facts['problem'])}: howcome model embed"
    if behind is None:
        return "none yet; they are made while sessions run"
    held = described(facts) if facts["vectors"] else "none yet"
    return f"{held}; {waiting(facts)}" if behind else held


def _memories(counts: dict[str, dict[str, int]]) -> str:
    live = counts["by_state"].get("live", 0)
    plural = {name: re.sub("y$", "ie", name) + "s" for name in counts["by_type"]}
    types = ", ".join(counted(count, name, plural[name]) for name, count in counts["by_type"].items())
    open_ones = counts["by_status"].get("open", 0)
    return f"{live} ({types}); {open_ones} open" if live else "none"
