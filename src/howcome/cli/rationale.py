"""`howcome rationale`: what each exchange was asked for, what was done and why; written where missing, shown."""

from __future__ import annotations

import os
from typing import NoReturn

from howcome.app import App, now_ms, open_app
from howcome.cli.arguments import UNKNOWN, is_unknown, sessions_of
from howcome.cli.declared import JSON, click_command, option
from howcome.cli.progress import tqdm
from howcome.domain.rationales import parts_of
from howcome.domain.stored import Scope, StoredEvent
from howcome.learn.rationale.run import RationaleReport
from howcome.present.moments import moment_ms
from howcome.present.render import counted, iso_time, json_line
from howcome.present.screen import Row, day, say, show_rows
from howcome.present.terminal import echo
from howcome.present.views import event_view
from howcome.settings import read_settings

MAX_SHOWN = 1000
_COUNTS = ("sessions", "added", "replaced", "asked", "by_model", "seconds")


@click_command
def rationale(
    since: str | None = option(metavar="TIME", help="Only sessions in which something was said since."),
    project: str | None = option(metavar="PROJECT", help="Only this project's: its folder, or its name."),
    limit: int = option("-n", type=range(MAX_SHOWN + 1), default=10, help="Newest to show."),
    as_json: bool = JSON,
) -> None:
    """Say what each exchange was asked for, what was done and why, in up to three sentences, and show the newest.

    Only exchanges in which files were changed, or a command changed something, have one. What is missing is written
    first, by rules that quote what was said (no model is asked); one that has grown is written anew. It can be run
    again at any time, and interrupted at any moment. Where a language model is set and has a budget (llm_daily_calls,
    llm_daily_tokens), it is asked for each exchange once and its words replace those of the rules; `howcome spending`
    shows what that cost. Rationales stand in `howcome timeline` at the end of their exchange.

    TIME is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, 7d, 12h.

    \b
    Examples:
      howcome rationale
      howcome rationale --since 7d --project shop
      howcome rationale --limit 100 --json
    """
    since_ms = None if since is None else moment_ms(since, "--since", now_ms(), is_local=True)
    with open_app(read_settings(os.environ)) as app:
        scope = sessions_of(app, project)
        report = _write(app, scope, since_ms, quiet=as_json)
        shown, prompts = app.learn.newest_rationales(scope, since_ms, limit)
        authors = app.learn.rationale_counts(scope, since_ms)
    if as_json:
        echo(json_line(_values(report, authors, shown, prompts)))
        return
    say(*([UNKNOWN] if is_unknown(scope) else _lines(report, sum(authors.values()))))
    if shown:
        echo("")
        show_rows(list(map(_shown, shown)))


def _write(app: App, scope: Scope, since_ms: int | None, *, quiet: bool) -> RationaleReport:
    rationales = app.learn.rationales()
    bar: tqdm[NoReturn] = tqdm(
        total=len(rationales.due(scope, since_ms)), unit=" sessions", desc="reading", disable=quiet or None
    )

    def on_session(number: int) -> None:
        bar.update(number - bar.n)

    with bar:
        return rationales.run(scope, since_ms, on_session=on_session)


def _values(
    report: RationaleReport, authors: dict[str, int], shown: list[StoredEvent], prompts: dict[int, str]
) -> dict[str, object]:
    """What programs get; `prompts` are the ids of the prompts by row."""
    rows = [event_view(event, with_text=True) | {"prompt": prompts.get(-event.row)} for event in shown]
    values: dict[str, object] = {name: getattr(report, name) for name in _COUNTS}
    problem = {"not_asked": report.problem} if report.problem else {}
    return {**values, **problem, "total": sum(authors.values()), "authors": authors, "rationales": rows}


def _lines(report: RationaleReport, total: int) -> list[str]:
    """What people read of a run."""
    looked = f"{counted(report.sessions, 'session')} in {report.seconds:.1f} s" if report.sessions else "nothing new"
    lines = [f"{looked}: {report.added} added, {report.replaced} written anew; {counted(total, 'rationale')} there now"]
    if report.asked:
        lines.append(f"the model was asked for {report.asked}, and wrote {report.by_model}")
    if report.problem:
        lines.append(f"the model was not asked for the rest: {report.problem}")
    return lines


def _shown(event: StoredEvent) -> Row:
    asked, *rest = parts_of(event.text or event.excerpt)
    project = event.project.rpartition("/")[2]
    about = (day(iso_time(event.ts_ms), now_ms()), project, f"session {event.session[:8]}", event.id)
    return Row(asked, about, rest)
