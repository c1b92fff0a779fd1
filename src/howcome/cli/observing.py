"""`howcome observe`: observations of agents that leave no transcript, from standard input into the spool."""

from __future__ import annotations

import os
import sys

import click

from howcome.app import open_app
from howcome.cli.arguments import complain, confirm
from howcome.cli.declared import JSON, click_command, option
from howcome.clients.decode import decode_record, plain_json
from howcome.clients.observed import EXAMPLE
from howcome.clients.spool import dead_letters, discard_dead, is_empty, spool_counts
from howcome.errors import RecordError, UsageError
from howcome.ingest.spool import Intake, SpoolReport, take_in
from howcome.log.place import has_database
from howcome.present.render import counted
from howcome.present.screen import report
from howcome.present.terminal import echo
from howcome.settings import ACTIVE, Settings, read_settings

MAX_INPUT_BYTES = 64 << 20
RETRY_WAIT_S = 10.0

_Numbered = list[tuple[int, object]]
_Problems = list[tuple[int, str]]


@click_command
def observe(
    agent: str = option(default="", help="Whose they are, where they do not say so."),
    now: bool = option(help="Also move the spool into the store at once."),
    retry: bool = option(help="Read nothing: try all dead letters again."),
    discard: bool = option(help="Read nothing: delete all dead letters."),
    yes: bool = option("-y", help="Do not ask before --discard."),
    as_json: bool = JSON,
) -> None:
    """Keep what an agent that leaves no transcript says about itself.

    Standard input holds one JSON object, an array of them, or JSON Lines. An observation has `agent`, `session_id` and
    `text`, and perhaps `kind`, `cwd` (default: this folder), `tool`, `tool_input`, `file`, `failed`, `exit_code`,
    `branch`, `ts` (ISO 8601 or milliseconds) and `id` (the same id in the same session is stored once).

    Kinds, with the other words that are understood: user_prompt (prompt, user), assistant_text (assistant, answer; the
    default), assistant_thinking (thinking, thought), tool_call (call), tool_result (result) and compaction.

    It is redacted and put into HOWCOME_HOME/spool within milliseconds; the next hook, worker or `howcome import`
    moves it into the store. What cannot be stored is kept in spool/dead. Exit code 1: some could not be kept.

    \b
    Examples:
      echo '{"agent": "cursor", "session_id": "7f3a", "text": "A queue keeps order."}' | howcome observe
      howcome observe --agent aider < observations.jsonl
      howcome observe --retry
    """
    if retry + discard + now > 1:
        raise click.UsageError("choose one of --now, --retry and --discard")
    settings = read_settings(os.environ)
    if discard:
        counts = spool_counts(settings.home)
        dead = int(str(counts["dead"]))
        if counts["dead_files"]:
            confirm(f"Delete {counted(dead, 'dead letter')} for good", yes=yes, err=as_json)
        discarded = dead if discard_dead(settings.home) else 0
        report({"discarded": discarded}, [f"{counted(discarded, 'dead letter')} deleted"], as_json=as_json)
    elif retry:
        _finish(settings, None, _move(settings, retry=True), as_json=as_json)
    elif not os.environ.get(ACTIVE):
        intake = _take(settings, agent)
        _finish(settings, intake, _move(settings, retry=False) if now else None, as_json=as_json)


def _take(settings: Settings, agent: str) -> Intake:
    if sys.stdin.isatty():
        raise UsageError(f"observations come on standard input, such as {EXAMPLE}")
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(f"more than {MAX_INPUT_BYTES >> 20} MB at once; send it in parts")
    if not data.strip():
        raise UsageError(f"nothing on standard input; an observation looks like {EXAMPLE}")
    values, problems = _decode(data)
    intake = take_in(settings, values, agent=agent, cwd=os.getcwd())
    intake.problems = sorted(intake.problems + problems)
    return intake


def _decode(data: bytes) -> tuple[_Numbered, _Problems]:
    """The values with their numbers: one object, the items of an array, or lines; and what is wrong with some."""
    try:
        whole = plain_json(data.decode("utf-8", "replace").removeprefix("\ufeff"))
        return list(enumerate(whole, 1)) if isinstance(whole, list) else [(1, whole)], []
    except (ValueError, RecursionError, RecordError):
        values, problems = _Numbered(), _Problems()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                values.append((number, decode_record(line, None)))
            except RecordError as error:
                problems.append((number, error.reason))
    return values, problems


def _move(settings: Settings, *, retry: bool) -> SpoolReport:
    """The spool into the store, and its rows into the index; an empty spool makes no store."""
    if is_empty(settings.home) and not dead_letters(settings.home) and not has_database(settings.home):
        return SpoolReport()
    with open_app(settings) as app:
        moved = app.ingest.spool(retry_all=retry, wait_s=RETRY_WAIT_S) or SpoolReport()
        app.index.catch_up()
    return moved


def _finish(settings: Settings, intake: Intake | None, moved: SpoolReport | None, *, as_json: bool) -> None:
    """Says what was done; exit code 1 when something could not be."""
    facts: dict[str, object] = {}
    lines: list[str] = []
    if intake is not None:
        problems = [{"number": number, "reason": reason} for number, reason in intake.problems]
        facts |= {"kept": intake.kept, "excluded": intake.excluded, "problems": problems}
        lines.append(f"{intake.kept} kept" + (f", {intake.excluded} not wanted here" if intake.excluded else ""))
    if moved is not None:
        counts = spool_counts(settings.home)
        names = ("waiting", "dead", "reasons")
        facts |= {"stored": moved.accepted, "known": moved.duplicate, **{name: counts[name] for name in names}}
        stored = counted(moved.accepted, "event")
        lines.append(f"{stored} stored, {moved.duplicate} known already, {counts['waiting']} waiting")
        lines += [f"dead: {count} ({reason})" for reason, count in dict(counts["reasons"]).items()]  # type: ignore[call-overload]
    report(facts, lines, as_json=as_json)
    if intake is not None and intake.problems:
        complain([f"observation {number}: {reason}" for number, reason in intake.problems], "more", "more")
        echo(f"howcome: a right one looks like {EXAMPLE}", err=True)
        raise click.exceptions.Exit(1)
    if moved is not None and (moved.refused or not moved.is_complete):
        raise click.exceptions.Exit(1)
