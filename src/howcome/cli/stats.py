"""Figures: `howcome stats`, what sessions did; `patterns`, what goes wrong again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howcome.app.clock import now_ms
from howcome.cli.arguments import check_scope, is_unknown, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, SINCE, command, option
from howcome.domain.candidates import users_words
from howcome.errors import UsageError
from howcome.history.telemetry.counting import BY
from howcome.present.moments import moment_ms
from howcome.present.render import counted, iso_time, json_line
from howcome.present.screen import Row, report_rows, show_table
from howcome.present.terminal import echo

if TYPE_CHECKING:
    from howcome.history.telemetry.patterns import Pattern

NOTHING_CALLED = "Nothing was called here in that time."
NOTHING_HAPPENED = "Nothing happened here in that time."
NO_PATTERN = "Nothing failed in two sessions in the same way here and was solved in a way that says how."


@command
def stats(
    since: str | None = SINCE,
    by: str | None = option(type=tuple(BY), help="Tell these apart."),
    daily: bool = option(help="Only what each day had of events, calls, failures and memories: quick."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Count what sessions did: calls, reads and edits, failures, rework, compactions, tokens; and what precedes rework.

    Everything is counted when you ask, from the stored events. Tokens and cost are read from the transcripts that are
    still there and say them. An edit is rework when another session took away most of its new lines within a week.

    With --daily no session is read. Days are UTC, and so is TIME then; the first day is the whole one of --since.

    \b
    Examples:
      howcome stats
      howcome stats --since 30d --by week
      howcome stats --all-projects --by project --json
      howcome stats --daily --since 30d
    """
    from howcome.present.statistics import HEADS, gather, group_row, lines_of, rework_rows

    check_scope(project, all_projects=all_projects)
    if daily:
        _daily(since, by, project, all_projects=all_projects, as_json=as_json)
        return
    since_ms = option_ms(since, "--since") or 0
    with open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        facts = {} if is_unknown(scope) else gather(app, scope, since_ms, by)
    if as_json:
        echo(json_line(facts))
    elif not facts.get("sessions"):
        echo(NOTHING_CALLED)
    else:
        show_table(lines_of(facts), widths=(12,))
        if before := rework_rows(facts["precede_rework"]):
            echo("")
            show_table(before, notes=[facts["caveat"]])
        if by is not None:
            echo("")
            show_table([(by, *HEADS), *(group_row(by, *pair) for pair in facts["by"].items())])


def _daily(since: str | None, by: str | None, project: str | None, *, all_projects: bool, as_json: bool) -> None:
    from howcome.present.statistics import day_rows, gather_days, tool_rows

    if by is not None:
        raise UsageError("choose one of --daily and --by")
    with open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        facts = gather_days(app, scope, moment_ms(since, "--since", now_ms()) if since is not None else 0)
    if as_json:
        echo(json_line(facts))
        return
    if facts["days"]:
        show_table(day_rows(facts))
        if tools := tool_rows(facts):
            echo("")
            show_table(tools)
    else:
        echo(NOTHING_HAPPENED)


@command
def patterns(
    limit: int = option(type=range(1, 1001), default=10, metavar="N", help="At most so many."),
    is_all: bool = option("--all", help="Also failures for which no fix was seen."),
    since: str | None = option(metavar="TIME", help="Only sessions that are not older than TIME."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Show what goes wrong again and again: in how many sessions, what it costs, and the fix that worked.

    Failures are one class when the same tool or program complains of the same, or when the same thing helps. The
    fix is what was different in two of five solved cases or more. A value that was wrong in several sessions is
    named with the one that worked. What is solved by changing files (a failing test, a type error) has no fix, nor
    has what says itself what to do. Minutes and calls count until it worked; a pause counts as three minutes at
    most. The last line of each is for an instructions file (CLAUDE.md, AGENTS.md). What you said in three sessions
    comes last.

    \b
    Examples:
      howcome patterns
      howcome patterns --since 30d --limit 3
      howcome patterns --all
      howcome patterns --all-projects --json
    """
    check_scope(project, all_projects=all_projects)
    found, said, without, more = list[dict[str, Any]](), list[dict[str, Any]](), 0, 0
    with open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        if not is_unknown(scope):
            every = app.telemetry.patterns(scope, option_ms(since, "--since") or 0)
            wanted = every if is_all else [one for one in every if one.fix]
            found, without = [_view(one) for one in wanted[:limit]], sum(not one.fix for one in every)
            more = len(wanted) - limit
            said = [
                {"text": users_words(one.text), "sessions": sessions, "id": one.id}
                for one, sessions in app.telemetry.corrections(scope)[:limit]
            ]
    rows = [*map(_row, found)]
    rows += [Row(f"You said: {one['text']}", (counted(one["sessions"], "session"), one["id"])) for one in said]
    notes = [] if rows else [NO_PATTERN]
    if without and not is_all:
        notes.append(f"{counted(without, 'more failure')} came in several sessions without a fix: --all")
    if more > 0:
        notes.append(f"{more} more: --limit {limit + more}")
    facts = {"failures": found, "without_fix": without, "corrections": said}
    report_rows(facts, rows, notes=notes, as_json=as_json)


def _view(one: Pattern) -> dict[str, Any]:
    minutes, calls, median = one.cost
    return {
        "name": one.name, "size": len(one.failed), "sessions": one.sessions, "drift": one.drift,
        "trend": {"earlier_half": one.trend[0], "later_half": one.trend[1]}, "solved": len(one.solved),
        "minutes": round(minutes, 1), "median_minutes": round(median, 2), "calls": calls,
        "last": iso_time(one.failed[-1].call.order_ms), "fix": one.fix or None, "sentence": one.sentence or None,
        "events": [failed.call.id for failed in one.failed[-3:]],
    }  # fmt: skip


def _row(view: dict[str, Any]) -> Row:
    took = f"{view['solved']} solved, in {view['minutes']:.0f} min and {counted(view['calls'], 'call')}"
    about = (
        f"{counted(view['size'], 'time')} in {counted(view['sessions'], 'session')}",
        view["drift"],
        took if view["solved"] else "never solved",
        view["events"][-1],
    )
    return Row(view["name"], about, [view["sentence"] or "No fix was seen that its message does not say."])
