"""`howcome import`: transcripts into the store, with progress; resumable, safe to interrupt."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click

from howcome.app import App
from howcome.cli.arguments import complain, open_store
from howcome.cli.declared import argument, click_command, option
from howcome.cli.progress import tqdm
from howcome.clients.discover import Found, known_transcripts, named_transcripts, records_in
from howcome.clients.registry import clients, histories
from howcome.doctor.facts import making, vector_facts, waiting
from howcome.errors import HowcomeError, StoreError, TranscriptError, UsageError
from howcome.ingest.file_pass import FileReport
from howcome.present.render import counted, in_units, json_line
from howcome.present.screen import say
from howcome.present.terminal import echo
from howcome.settings import read_settings

_REPORT = ("records", "accepted", "duplicate", "ignored", "unknown", "quarantined")
_NAMED_FILES = 5
"""How many files of a kind are named in a report for people; the JSON names all."""

Report = dict[str, Any]
"""Counts by name, `bytes`, `seconds`; `unknown_files`: a file's path → its records that no reader knows. `records` are
those that were read anew; what is in a file that no reader knows is `unknown`, each time. `observed`: new events
that waited in the spool."""


@click_command
def import_(
    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path()),
    agent: str | None = option(type=tuple(sorted(histories())), help="Take the files for this agent's."),
    retry_set_aside: bool = option(help="Read records that cost too much time, too; Ctrl-C ends it."),
    again: bool = option(help="Read from the start what was read before; nothing is there twice."),
    jobs: int | None = option(type=range(1, 65), help="So many processes (else: one a core, where there is much)."),
    as_json: bool = option("--json", help="Print the report as JSON."),
    yes: bool = option(help="Do not ask anything (nothing is asked yet)."),  # noqa: ARG001 - scripts pass --yes everywhere
) -> None:
    """Read transcripts (.jsonl, .jsonl.gz, or folders of them) into the store.

    Without PATHS: every transcript of every known agent on this machine. Only what is new is read, so it can be run
    again at any time and interrupted at any moment.

    A record in which a process that reads died is set aside, so that nothing else waits for it; `howcome doctor`
    says so, and --retry-set-aside reads it after all, below PATHS or everywhere, with all the time that it takes.

    With --again what an earlier version did not hear is added (words typed while the agent worked, say).

    A file, or a record, that no reader knows is named. Exit code 1: nothing could be read of what was named.

    \b
    Examples:
      howcome import
      howcome import ~/.claude/projects/-home-me-shop
      howcome import --agent codex backup/rollout-2026-10-05.jsonl
      howcome import --retry-set-aside
    """
    strangers: list[str] = []
    transcripts = (
        named_transcripts(paths, agent, strangers)
        if paths
        else known_transcripts(os.path.expanduser("~"), os.environ, agent)
    )
    if not transcripts and not strangers and paths:
        raise UsageError("no transcripts there; name .jsonl files or folders that hold them")
    retried = {found.path for found in transcripts} if paths else None

    def retry(app: App, totals: Report) -> None:
        counts = app.ingest.set_aside(retried)
        for name in ("accepted", "duplicate", "ignored"):
            totals[name] += counts.get(name, 0)

    finally_ = retry if retry_set_aside else None
    report, problems = read_found(transcripts, quiet=as_json, finally_=finally_, again=again, jobs=jobs)
    is_nothing = report["records"] == report["unknown"] + report["quarantined"] and (
        report["records"] or not transcripts
    )
    strange = {path: records_in(path) for path in strangers}
    report["unknown_files"].update(strange)
    report["unknown"] = sum(report["unknown_files"].values())
    if as_json:
        echo(json_line({**report, "problems": problems} if problems else report))
    else:
        print_import_report(report, found_any=bool(transcripts))
    complain(problems)
    if (transcripts and not report["files"]) or (paths and is_nothing and (strange or report["records"])):
        raise TranscriptError("nothing could be read")


def histories_here() -> dict[str, list[Found]]:
    """The transcripts of every known agent on this machine, by the agent's name."""
    found: dict[str, list[Found]] = {}
    for one in known_transcripts(os.path.expanduser("~"), os.environ):
        found.setdefault(one.client, []).append(one)
    return found


def announce_histories(histories: Mapping[str, list[Found]], *, err: bool) -> None:
    """Say what will be read, also what agents wrote that are not connected, and whose history nothing reads."""
    for client in clients():
        if found := histories.get(client.name):
            size = in_units(sum(one.size_bytes for one in found))
            echo(f"  {'history, read':<17} {client.title}: {counted(len(found), 'transcript')}, {size}", err=err)
        elif client.history is None and client.wiring.is_here():
            echo(f"  {'history, not read':<17} {client.title}: howcome has no reader for it", err=err)


def read_found(
    transcripts: list[Found],
    *,
    quiet: bool,
    finally_: Callable[[App, Report], None] | None = None,
    again: bool = False,
    jobs: int | None = None,
) -> tuple[Report, list[str]]:
    """Reads transcripts with a progress bar (unless `quiet`), does what else is to be done, makes it searchable."""
    started = time.monotonic()
    totals: Report = {"files": 0, "bytes": 0, **dict.fromkeys(_REPORT, 0), "observed": 0, "unknown_files": {}}
    problems: list[str] = []
    size = sum(found.size_bytes for found in transcripts)
    bar = tqdm(total=size, unit="B", unit_scale=True, unit_divisor=1000, desc="reading", disable=quiet or None)

    gc.disable()  # millions of short-lived values, no cycles among them: collecting costs a tenth of the time
    with open_store() as app, bar:
        app.ingest.ingester().ask_second_opinion(app.settings)
        app.ingest.ingester().starts_over = again
        try:
            with app.ingest.ahead(transcripts, jobs), app.ingest.ingester().in_bulk():
                reports = [_read_one(app, found, problems, bar) for found in transcripts]
            for found, report in zip(transcripts, reports, strict=True):
                if report is None:
                    continue
                totals["files"] += 1
                if report.counts["unknown"]:
                    totals["unknown_files"][found.path] = report.counts["unknown"]
                totals["bytes"] += report.bytes_read
                for name in _REPORT:
                    totals[name] += report.counts[name]
            if (observed := app.ingest.spool()) is not None:
                totals["observed"] = observed.accepted
            if finally_ is not None:
                finally_(app, totals)
            app.projects.look(10.0)  # seconds for git and repositories not looked at yet; the rest is for the next time
        except KeyboardInterrupt:
            echo("What was read is kept. The same command reads the rest", err=True)
            raise
        finally:  # also when interrupted: what was read must be found
            bar.set_description("indexing")
            problems += _damages(app)
            app.index.finish()
        problems += _shorten(app)
        facts = vector_facts(app, app.settings) if totals["accepted"] else {"state": ""}
        if facts["state"] == "ready" and facts["turns_without_vectors"]:
            totals["vectors"] = f"{waiting(facts)}; {making(facts)}"
    totals["seconds"] = round(time.monotonic() - started, 3)
    return totals, problems


def _damages(app: App) -> list[str]:
    """What is wrong with the indexes; where they cannot be looked at now, why."""
    try:
        return [f"{problem}; it is made anew from the rows" for problem in app.index.verify()]
    except StoreError as error:  # new rows are to be indexed all the same
        return [str(error)]


def _shorten(app: App) -> list[str]:
    """Shortens old tool traffic on a server, where no worker does it; what could not be shortened, and why."""
    try:
        damaged = app.settings.store and app.ingest.shorten_if_due(lambda: True)
    except StoreError as error:
        return [f"old tool traffic was not shortened: {error}; an import tries again in an hour"]
    return [f"{counted(damaged, 'old text')} could not be unpacked, and stayed whole"] if damaged else []


def _read_one(app: App, found: Found, problems: list[str], bar: tqdm[NoReturn]) -> FileReport | None:
    """Reads one transcript; the report is whole when its last batch is committed. None: see `problems`."""
    left = found.size_bytes

    def advance(size_bytes: int) -> None:
        nonlocal left
        size_bytes = min(size_bytes, left)
        left -= size_bytes
        bar.update(size_bytes)

    try:
        return app.ingest.file(found, on_progress=None if found.path.endswith(".gz") else advance)
    except (TranscriptError, OSError) as error:
        problems.append(str(error) if found.path in str(error) else f"{found.path}: {error}")
        return None
    finally:
        advance(left)


def print_import_report(report: Report, *, found_any: bool, is_first: bool = False) -> None:
    """Says what was read; what is learnt from the first of it is said by `init`."""
    if observed := report["observed"]:
        say(f"{counted(observed, 'observed event')} added")
    if not found_any:
        if not (report["unknown_files"] or observed):
            say("No transcripts on this machine yet. Use your agent, or name a folder: howcome import PATH")
        _print_unknown(report["unknown_files"])
        return
    seconds, known, ignored = max(report["seconds"], 0.001), report["duplicate"], report["ignored"]
    # of less the rate would be that of the start
    rate = f" ({report['bytes'] / 1e6 / seconds:.0f} MB/s)" if report["bytes"] >= 10_000_000 else ""
    distils = report["accepted"] and not is_first and read_settings(os.environ).distiller != "off"
    say(
        f"{counted(report['files'], 'file')}, {report['bytes'] / 1e6:.1f} MB new in {report['seconds']:.1f} s{rate}:"
        f" {counted(report['accepted'], 'event')} added, {known} stored before,"
        f" {counted(ignored, 'record')} without an event"
        + ("; what they taught becomes memories in the background, or now: howcome distil" if distils else "")
    )
    if report["quarantined"]:
        say(f"{counted(report['quarantined'], 'record')} could not be read: see `howcome status`")
    if "vectors" in report:
        say(f"Vectors: {report['vectors']}")
    _print_unknown(report["unknown_files"])


def _print_unknown(files: dict[str, int]) -> None:
    most = sorted(files.items(), key=lambda item: (-item[1], item[0]))
    for path, number in most[:_NAMED_FILES]:
        say(f"{path}: no reader knows {counted(number, 'record')} in it")
    if len(most) > _NAMED_FILES:
        say(f"and in {counted(len(most) - _NAMED_FILES, 'more file')}")


def first_import(histories: Mapping[str, list[Found]], *, as_json: bool) -> dict[str, object]:
    """Reads the transcripts that are here, whoever's; a failure is told, and undoes nothing."""
    try:
        report, problems = read_found([one for found in histories.values() for one in found], quiet=as_json)
    except HowcomeError as error:
        echo(f"howcome: the sessions could not be read: {error}", err=True)
        echo("Try again with: howcome import", err=True)
        return {"error": str(error)}
    if not as_json:
        print_import_report(report, found_any=bool(report["files"] or problems), is_first=True)
    complain(problems)
    return {**report, **({"problems": problems} if problems else {})}
