"""What sessions taught, `howcome distil`; why they did what they did, `rationale`; memories tidied, `consolidate`."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence

import click

from howcome.app import App, open_app
from howcome.cli.arguments import UNKNOWN, is_unknown, open_existing, open_store, option_ms, sessions_of
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.domain.rationales import parts_of
from howcome.domain.reconciliation import ASLEEP, MERGED, RESOLVED, Step
from howcome.domain.stored import Scope, StoredEvent
from howcome.errors import HowcomeError, UsageError
from howcome.present.render import counted, iso_time, json_line
from howcome.present.screen import Row, day, evidence_rows, memory_brief, memory_row, say, show_rows
from howcome.present.terminal import echo
from howcome.present.views import event_view, evidence_view, memory_view, short_session
from howcome.settings import read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.reconciliation import Steps
    from howcome.history.rationale.run import RationaleReport
    from howcome.learn.model_run import ModelReport
    from howcome.learn.run import DistilReport

UNDO = "undo"
_COUNTED = {MERGED: "merged into another", RESOLVED: "replaced by what you said last", ASLEEP: "asleep"}
SHOWN_ASLEEP = 20
_COUNTS = ("sessions", "candidates", "added", "updated", "duplicates", "contradictions", "rejected", "seconds")
MAX_SHOWN = 1000
_OF_RATIONALES = ("sessions", "added", "replaced", "asked", "by_model", "seconds")
_OF_MODEL = (
    "asked", "done", "dead", "waiting", "added", "updated", "forgotten", "duplicates", "contradictions", "rejected",
    "problem", "pause_s",
)  # fmt: skip
_NO_MODEL = "no model distils: set `distiller` to llm, and the model and what it may spend (docs/reference.md)"
_OFF = "nothing distils: the setting `distiller` is off (HOWCOME_DISTILLER=rules turns it on)"


@click_command
def distil(
    since: str | None = option(metavar="TIME", help="Only sessions in which something was said since."),
    project: str | None = option(metavar="PROJECT", help="Only this project's sessions: its folder, or its name."),
    sample: int | None = option(type=range(1, 10_001), help="Then show so many distilled memories, taken at random."),
    seed: int = option(type=int, default=0, help="Another number is another sample."),
    retry: bool = option(help="Ask the language model again for what it failed at."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Turn what sessions taught into memories: what the user corrected, refused and chose, causes that were found,
    commands that failed and what then worked. No model is asked, unless the setting `distiller` is llm.

    The sources (`sources_off` turns them off): directions, choices, plans, instructions, findings, answers, failures,
    edits, commits, open_ends; and client_memories: what Claude Code wrote into memory files of its own. These,
    and lines of instruction files, go with their files.

    Only what is new is distilled: it can be run again at any time, and interrupted at any moment. The MCP server does
    the same in the background. With --sample, memories are shown with all that bears them out, to be judged.

    \b
    Examples:
      howcome distil
      howcome distil --since 7d --json
      howcome distil --project . --sample 20 --seed 7
    """  # noqa: D205 - the first paragraph is what people read first
    since_ms = option_ms(since, "--since")
    with open_store() as app:
        scope = sessions_of(app, project)
        report = _distil(app, scope, since_ms, quiet=as_json)
        of_files = app.learn.in_step().run(scope)
        by_model = _ask_model(app, scope, since_ms, is_retry=retry, quiet=as_json)
        every = app.memories.sample(scope) if sample else []
        drawn = random.Random(seed).sample(every, min(sample or 0, len(every)))  # noqa: S311 - a sample, no secret
        chosen = [(memory_view(one), evidence_view(app.events.cited(one.evidence))) for one in drawn]
    if as_json:
        values: dict[str, object] = {name: getattr(report, name) for name in _COUNTS}
        if not of_files.is_empty:
            values["in_step"] = of_files.counts()
        if by_model is not None:
            values["model"] = {name: getattr(by_model, name) for name in _OF_MODEL}
        if sample:
            values["sample"] = [view | {"borne_out_by": evidence} for view, evidence in chosen]
        echo(json_line(values))
        return
    say(*_lines(report, scope, of_files), *(_model_lines(by_model) if by_model else ()))
    rows: list[Row] = []
    for view, evidence in chosen:
        rows += [memory_row(view, is_whole=True), *evidence_rows(evidence)]
    if rows:
        show_rows(rows)


def _live(app: App) -> int:
    return app.health.memories()[0]["by_state"].get("live", 0)


def first_memories(*, quiet: bool) -> dict[str, object]:
    """Learns from everything that is stored, without a model: how many `memories`, or the `error`, which is told."""
    settings = read_settings(os.environ)
    if settings.distiller != "rules":
        return {}
    try:
        with open_app(settings) as app:
            before = _live(app)
            _distil(app, Scope.everything(), None, quiet=quiet)
            app.learn.in_step().run(Scope.everything())
            added = max(0, _live(app) - before)
    except HowcomeError as error:
        echo(f"howcome: nothing was learnt from them yet: {error}. Try again with: howcome distil", err=True)
        return {"error": str(error)}
    if not quiet:
        say(f"{counted(added, 'memory', 'memories')} learnt from them: howcome memories --all-projects")
    return {"memories": added}


def _distil(app: App, scope: Scope, since_ms: int | None, *, quiet: bool) -> DistilReport:
    distillation = app.learn.distillation
    if distillation is None:
        raise UsageError(_OFF)
    if quiet:  # what shows progress takes long to import
        return distillation.run(scope, since_ms)
    from howcome.cli.progress import progress

    with progress("sessions", "distilling", len(distillation.due(scope, since_ms)), quiet=False) as on_session:
        return distillation.run(scope, since_ms, on_session=on_session)


def _ask_model(app: App, scope: Scope, since_ms: int | None, *, is_retry: bool, quiet: bool) -> ModelReport | None:
    """What a language model made of it; None where none distils."""
    if app.settings.distiller != "llm":
        if is_retry:
            raise UsageError(_NO_MODEL)
        return None
    from howcome.cli.progress import progress

    batches = app.learn.batches()
    if is_retry:
        batches.retry()
    with progress("batches", "asking the model", quiet=quiet) as on_batch:
        return batches.run(scope, since_ms, wait_s=app.settings.llm_deadline_s, on_batch=on_batch)


def _reasons(rejected: Mapping[str, int]) -> str:
    most = sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {reason}" for reason, count in most)


def _model_lines(report: ModelReport) -> list[str]:
    done = f"{report.added} added, {report.updated} updated, {report.forgotten} forgotten, {report.duplicates} known"
    lines = [f"the model was asked for {counted(report.asked, 'batch', 'batches')}: {done}"]
    lines += [f"not done: {_reasons(report.rejected)}"] if report.rejected else []
    if report.contradictions:
        lines.append(f"{counted(report.contradictions, 'pair')} to look at: `howcome memories --review`")
    why, minutes = report.problem, max(1, round(report.pause_s / 60))
    why += f"; left alone for {minutes} min (`howcome distil --retry` asks now)" if report.pause_s else ""
    waiting = counted(report.waiting, "batch waits", "batches wait") if report.waiting else ""
    lines += [": ".join(filter(None, (waiting, why)))] if waiting or why else []
    if report.dead:
        lines.append(f"it failed at {counted(report.dead, 'batch', 'batches')}: `howcome distil --retry` asks again")
    return lines


def _lines(report: DistilReport, scope: Scope, of_files: Steps) -> list[str]:
    if is_unknown(scope):
        return [UNKNOWN]
    changed = ", ".join(f"{number} {name}" for name, number in of_files.counts().items() if number)
    by_files = [f"memories of files that changed: {changed}"] if changed else []
    if not (report.sessions or report.added or report.updated or report.removed or report.contradictions):
        return by_files or ["Nothing new to distil."]
    memories = counted(report.added, "memory", "memories")
    sessions = f"{counted(report.sessions, 'session')} in {report.seconds:.1f} s"
    said = f"{counted(report.candidates, 'candidate')}, {report.duplicates} of them said again"
    lines = [f"{sessions}: {said}; {memories} added, {report.updated} updated", *by_files]
    gone = {"another one says the same": report.folded}
    gone["no session bears that out any more"] = report.removed - report.folded
    lines += [f"{counted(count, 'memory', 'memories')} taken away: {why}" for why, count in gone.items() if count]
    lines += [f"left out: {_reasons(report.rejected)}"] if report.rejected else []
    if report.contradictions:
        pairs = counted(report.contradictions, "pair")
        lines.append(f"{pairs} may contradict each other: `howcome memories --review --all-projects`")
    return lines


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

    \b
    Examples:
      howcome rationale
      howcome rationale --since 7d --project shop
      howcome rationale --limit 100 --json
    """
    from howcome.cli.progress import progress

    since_ms = option_ms(since, "--since")
    with open_store() as app:
        scope = sessions_of(app, project)
        rationales = app.learn.rationales()
        with progress("sessions", "reading", len(rationales.due(scope, since_ms)), quiet=as_json) as on_session:
            report = rationales.run(scope, since_ms, on_session=on_session)
        shown, prompts = app.learn.newest_rationales(scope, since_ms, limit)
        authors = app.learn.rationale_counts(scope, since_ms)
    if as_json:
        rows = [event_view(event, with_text=True) | {"prompt": prompts.get(-event.row)} for event in shown]
        values: dict[str, object] = {name: getattr(report, name) for name in _OF_RATIONALES}
        values |= {"not_asked": report.problem} if report.problem else {}
        echo(json_line({**values, "total": sum(authors.values()), "authors": authors, "rationales": rows}))
        return
    say(*([UNKNOWN] if is_unknown(scope) else _rationale_lines(report, sum(authors.values()))))
    if shown:
        echo("")
        show_rows(list(map(_shown, shown)))


def _rationale_lines(report: RationaleReport, total: int) -> list[str]:
    looked = f"{counted(report.sessions, 'session')} in {report.seconds:.1f} s" if report.sessions else "nothing new"
    lines = [f"{looked}: {report.added} added, {report.replaced} written anew; {counted(total, 'rationale')} there now"]
    lines += [f"the model was asked for {report.asked}, and wrote {report.by_model}"] if report.asked else []
    return lines + ([f"the model was not asked for the rest: {report.problem}"] if report.problem else [])


def _shown(event: StoredEvent) -> Row:
    asked, *rest = parts_of(event.text or event.excerpt)
    when, project = day(iso_time(event.ts_ms)), event.project.rpartition("/")[2]
    return Row(asked, (when, project, f"session {short_session(event.session)}", event.id), rest)


@click_command
def consolidate(
    what: str | None = argument(type=(UNDO,), required=False),
    dry_run: bool = option(help="Show what would be done; change nothing."),
    as_json: bool = JSON,
) -> None:
    """Tidy memories up: of those that say the same one stays, and keeps all that bears it out. Of two that contradict
    each other the one that you said last stays; other pairs wait in `howcome memories --review`. What has faded, was
    never used and was said in fewer than three sessions falls asleep: searches find it, no prompt is told it unless
    it asks about the past. It wakes when it is read, pinned or said again.

    The MCP server does this every six hours. `undo` takes back the last run that did anything; that is not done again.

    \b
    Examples:
      howcome consolidate --dry-run
      howcome consolidate
      howcome consolidate undo
    """  # noqa: D205 - the first paragraph is what people read first
    if dry_run and what == UNDO:
        raise click.UsageError("--dry-run does not go with undo")
    with open_existing() as app:
        work = app.learn.consolidation
        steps = work.undo() if what == UNDO else work.plan() if dry_run else work.run()
        if steps and not dry_run and app.learn.distillation is not None:
            app.learn.distillation.reconcile()
    if as_json:
        shown = [{"what": one.what, "memory": memory_view(one.memory), "kept": one.kept.id} for one in steps]
        echo(json_line({"steps": shown, "is_dry_run": dry_run, "is_undone": what == UNDO}))
    else:
        say(*_step_lines(steps, is_undone=what == UNDO, is_dry_run=dry_run))


def _step_lines(steps: Sequence[Step], *, is_undone: bool, is_dry_run: bool) -> list[str]:
    """A diff, and how many of each."""
    if not steps:
        return ["Nothing to take back." if is_undone else "Nothing to tidy up."]
    lines, marks = list[str](), ("+", " ") if is_undone else ("-", "+")
    sleeping = [one for one in steps if one.what == ASLEEP]
    shown = [pair for one in steps if one.what != ASLEEP for pair in zip(marks, (one.memory, one.kept), strict=True)]
    lines += [f"{mark} {memory_brief(memory_view(memory))}" for mark, memory in shown]
    lines += [f"z {memory_brief(memory_view(one.memory))}" for one in sleeping[:SHOWN_ASLEEP]]
    lines += [f"z … {len(sleeping) - SHOWN_ASLEEP} more"] if len(sleeping) > SHOWN_ASLEEP else []
    counts = {name: sum(one.what == name for one in steps) for name in _COUNTED}
    told = ", ".join(f"{count} {_COUNTED[name]}" for name, count in counts.items() if count)
    lines += ["(z: falls asleep: searches find it, no prompt is told it)"] if sleeping and not is_undone else []
    begin = "Taken back: " if is_undone else "Would be: " if is_dry_run else ""
    after = "" if is_undone or is_dry_run else "; `howcome consolidate undo` takes it back"
    return [*lines, f"{begin}{told}{after}"]
