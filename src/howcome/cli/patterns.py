"""`howcome patterns`: what goes wrong again and again, what it costs, and the fix that worked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howcome.cli.arguments import (
    ALL_PROJECTS,
    JSON,
    PROJECT,
    check_scope,
    is_unknown,
    open_to_read,
    option_ms,
    scope_of,
)
from howcome.cli.declared import command, option
from howcome.domain.candidates import users_words
from howcome.present.render import counted, iso_time, json_line
from howcome.present.screen import Row, show_rows
from howcome.present.terminal import echo

if TYPE_CHECKING:
    from howcome.learn.telemetry.patterns import Pattern

NOTHING = "Nothing failed in two sessions in the same way here."


@command
@option("--limit", type=range(1, 1001), default=10, metavar="N", show_default=True, help="At most so many.")
@option("--since", metavar="TIME", help="Only sessions that are not older than TIME.")
@PROJECT
@ALL_PROJECTS
@JSON
def patterns(limit: int, since: str | None, project: str | None, *, all_projects: bool, as_json: bool) -> None:
    """Show what goes wrong again and again: in how many sessions, what it costs, and the fix that worked.

    Failures are one class when the same tool or program complains of the same. The fix is what was different when it
    worked, in at least half of the cases that were solved. Minutes and calls count until then; a pause counts as three
    minutes at most. The last line of each is for an instructions file (CLAUDE.md, AGENTS.md). What you said in several
    sessions comes behind.

    \b
    Examples:
      howcome patterns
      howcome patterns --since 30d --limit 3
      howcome patterns --all-projects --json
    """
    check_scope(project, all_projects=all_projects)
    found: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    with open_to_read() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        if not is_unknown(scope):
            found = [_view(one) for one in app.telemetry.patterns(scope, option_ms(since, "--since") or 0)[:limit]]
            said = [
                {"text": users_words(one.text), "sessions": sessions, "id": one.id}
                for one, sessions in app.telemetry.corrections(scope)[:limit]
            ]
    if as_json:
        echo(json_line({"failures": found, "corrections": said}))
        return
    rows = [_row(one) for one in found]
    rows += [Row(f"You said: {one['text']}", (counted(one["sessions"], "session"), one["id"])) for one in said]
    show_rows(rows, notes=[] if rows else [NOTHING])


def _view(one: Pattern) -> dict[str, Any]:
    minutes, calls, median = one.cost
    return {
        "name": one.name,
        "size": len(one.failed),
        "sessions": one.sessions,
        "trend": {"earlier_half": one.trend[0], "later_half": one.trend[1]},
        "solved": len(one.solved),
        "minutes": round(minutes, 1),
        "median_minutes": round(median, 2),
        "calls": calls,
        "last": iso_time(one.failed[-1].call.order_ms),
        "fix": one.fix or None,
        "sentence": one.sentence or None,
        "events": [failed.call.id for failed in one.failed[-3:]],
    }


def _row(view: dict[str, Any]) -> Row:
    trend = view["trend"]
    about = (
        f"{counted(view['size'], 'time')} in {counted(view['sessions'], 'session')}",
        f"{trend['earlier_half']} earlier, {trend['later_half']} later",
        f"{view['solved']} solved in {view['minutes']:.0f} min, {counted(view['calls'], 'call')}",
        view["events"][-1],
    )
    return Row(view["name"], about, [view["sentence"] or "No one fix was seen."])
