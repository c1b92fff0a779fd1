"""`howcome stats`: what sessions did, what that cost, and what came before rework."""

from __future__ import annotations

from howcome.cli.arguments import check_scope, is_unknown, open_to_read, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, command, option
from howcome.learn.telemetry.counting import BY
from howcome.present.render import json_line
from howcome.present.screen import show_table
from howcome.present.statistics import HEADS, gather, group_row, lines_of, rework_rows
from howcome.present.terminal import echo

NOTHING = "Nothing was called here in that time."


@command
def stats(
    since: str | None = option(metavar="TIME", help="Only what is not older than TIME."),
    by: str | None = option(type=tuple(BY), help="Tell these apart."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Count what sessions did: calls, reads and edits, failures, rework, compactions, tokens; and what precedes rework.

    Everything is counted when you ask, from the stored events. Tokens and cost are read from the transcripts that are
    still there and say them. An edit is rework when another session took away most of its new lines within a week.

    TIME is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, 7d, 12h.

    \b
    Examples:
      howcome stats
      howcome stats --since 30d --by week
      howcome stats --all-projects --by project --json
    """
    check_scope(project, all_projects=all_projects)
    since_ms = option_ms(since, "--since") or 0
    with open_to_read() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        facts = {} if is_unknown(scope) else gather(app, scope, since_ms, by)
    if as_json:
        echo(json_line(facts))
    elif not facts.get("sessions"):
        echo(NOTHING)
    else:
        show_table(lines_of(facts), widths=(12,))
        if before := rework_rows(facts["precede_rework"]):
            echo("")
            show_table(before, notes=[facts["caveat"]])
        if by is not None:
            echo("")
            show_table([(by, *HEADS), *(group_row(by, *pair) for pair in facts["by"].items())])
