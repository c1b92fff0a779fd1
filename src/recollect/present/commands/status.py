"""`recollect status`: what is stored, what is not read yet, and what went wrong."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from recollect.app import App, open_app
from recollect.capture.discover import known_transcripts
from recollect.domain.events import KINDS
from recollect.domain.sources import COUNTERS
from recollect.present.hooks import LOG_NAME
from recollect.present.render import iso_time
from recollect.settings import read_settings


@click.command(short_help="Show what is stored, what is unread, what went wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--check", is_flag=True, help="Also check the database's integrity (reads all of it).")
def status(*, as_json: bool, check: bool) -> None:
    """Show counts, sizes, the last ingest, unread bytes and quarantined records.

    \b
    Example:
      recollect status --json
    """
    with open_app(read_settings(os.environ)) as app:
        facts = gather(app, check=check)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    _print(facts)


def gather(app: App, *, check: bool) -> dict[str, object]:
    """Everything `status` knows, as JSON values."""
    accounts = app.store.source_accounts()
    totals = {name: sum(int(row[name]) for row in accounts) for name in COUNTERS}  # type: ignore[call-overload]
    kinds = app.store.kind_counts()
    last_read = max((int(row["read_ms"]) for row in accounts), default=0)  # type: ignore[call-overload]
    home = app.settings.home
    database = sum(_size(app.store.path + suffix) for suffix in ("", "-wal"))
    facts: dict[str, object] = {
        "home": home,
        "counts": {
            **app.store.counts(),
            "events_by_type": {name: kinds.get(number, 0) for number, name in enumerate(KINDS)},
        },
        "records": {name: totals[name] for name in COUNTERS if not name.endswith("_bytes")},
        "bytes": {
            "read": sum(int(row["offset"]) for row in accounts),  # type: ignore[call-overload]
            **{name.removesuffix("_bytes"): totals[name] for name in COUNTERS if name.endswith("_bytes")},
        },
        "sizes": {"database_bytes": database, "index_bytes": _folder_size(os.path.join(home, "index"))},
        "last_ingest": iso_time(last_read) if last_read else None,
        "unread": _unread(app),
        "index_lag_rows": app.store.index_lag(),
        "quarantine": {"records": totals["quarantined"], "reasons": app.store.quarantine_reasons(),
                       "newest": app.store.quarantined()},
        "hook_errors": _last_lines(os.path.join(home, LOG_NAME)),
    }  # fmt: skip
    if check:
        facts["integrity"] = app.store.check_integrity() or ["ok"]
    return facts


def _unread(app: App) -> dict[str, int]:
    """Transcripts on this machine with bytes that no pass has read: plain files by bytes, packed ones as a whole."""
    known = {state.path: state for state in app.store.sources()}
    files = unread_bytes = 0
    for found in known_transcripts(os.path.expanduser("~"), os.environ):
        state = known.get(found.path)
        if state is not None and (state.size_bytes, state.mtime_ns) == (found.size_bytes, found.mtime_ns):
            continue
        missing = found.size_bytes - (state.offset if state and not found.path.endswith(".gz") else 0)
        if missing > 0:
            files += 1
            unread_bytes += missing
    return {"files": files, "bytes": unread_bytes}


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _folder_size(folder: str) -> int:
    return sum(_size(os.path.join(parent, name)) for parent, _, names in os.walk(folder) for name in names)


def _last_lines(path: str, count: int = 5) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return [line.rstrip("\n")[:300] for line in stream.readlines()[-count:]]
    except OSError:
        return []


def _quarantined(quarantine: dict[str, Any]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in quarantine["reasons"].items())
    return f"{quarantine['records']} records" + (f" ({reasons})" if reasons else "")


def _print(facts: dict[str, Any]) -> None:
    counts, sizes, unread, quarantine = facts["counts"], facts["sizes"], facts["unread"], facts["quarantine"]
    rows, index, read = sizes["database_bytes"] / 1e6, sizes["index_bytes"] / 1e6, facts["bytes"]["read"] / 1e6
    for name, line in (
        ("store", facts["home"]),
        ("holds", f"{counts['events']} events of {counts['sessions']} sessions in {counts['projects']} projects"),
        ("size", f"{rows:.1f} MB rows, {index:.1f} MB index, from {read:.1f} MB read"),
        ("last read", facts["last_ingest"] or "never"),
        ("unread", f"{unread['bytes']} bytes in {unread['files']} files"),
        ("index", f"{facts['index_lag_rows']} rows behind"),
        ("quarantine", _quarantined(quarantine)),
        *(("hook error", line) for line in facts["hook_errors"]),
        *(("integrity", line) for line in facts.get("integrity", ())),
    ):
        click.echo(f"{name:<11}{line}")
