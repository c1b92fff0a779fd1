"""`howcome stats`: what sessions did, what that cost, and what came before rework."""

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
from howcome.learn.telemetry.counting import BY
from howcome.learn.telemetry.measures import CAVEAT, MEASURES, precede_rework, tools_of, values_of
from howcome.present.render import counted, iso_time, json_line
from howcome.present.screen import show_table
from howcome.present.terminal import echo

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from howcome.app import App
    from howcome.domain.stored import Scope

NOTHING = "Nothing was called here in that time."
COLUMNS = ("calls", "read_edit_ratio", "edits_without_read", "failures", "rework", "compactions")
HEADS = ("calls", "reads/edit", "unread", "failed", "replaced", "compacted", "output tokens")
TOOLS, SHORT = 12, 8


@command
@option("--since", metavar="TIME", help="Only what is not older than TIME.")
@option("--by", type=tuple(BY), help="Tell these apart.")
@PROJECT
@ALL_PROJECTS
@JSON
def stats(since: str | None, by: str | None, project: str | None, *, all_projects: bool, as_json: bool) -> None:
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
        show_table(_lines(facts), widths=(12,))
        if before := _rework(facts["precede_rework"]):
            echo("")
            show_table(before, notes=[facts["caveat"]])
        if by is not None:
            echo("")
            show_table([(by, *HEADS), *(_group(by, *pair) for pair in facts["by"].items())])


def gather(app: App, scope: Scope, since_ms: int, by: str | None) -> dict[str, Any]:
    """Everything `stats` knows, as JSON values."""
    found = app.telemetry.counts(scope, since_ms, by)
    took = app.telemetry.spent(scope, since_ms, by)
    groups = {
        name: {**values_of(counts), "tokens": dict(took.groups.get(name, {}))}
        for name, counts in sorted(found.groups.items(), key=lambda pair: _order(by, *pair), reverse=True)
    }
    return {
        "since": iso_time(since_ms) if since_ms else None,
        "sessions": len(found.sessions),
        "measures": values_of(found.every),
        "tools": tools_of(found.every),
        "tokens": {
            **took.every,
            "sessions_with": len(took.told),
            "sessions_without": took.sessions - len(took.told),
            "transcripts_gone": took.gone,
            "cost_usd": round(sum(took.cost_usd.values()), 4) if took.cost_usd else None,
            "sessions_with_cost": len(took.cost_usd),
        },
        "precede_rework": precede_rework(found.sessions.values()),
        "caveat": CAVEAT,
        **({"by": groups} if by is not None else {}),
    }


def _order(by: str | None, name: str, counts: Counter[str]) -> tuple[int, str]:
    """Weeks by their time, anything else by how much was called there."""
    return (0 if by == "week" else counts["calls"]), name


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What a person sees."""
    lines = [("sessions", str(facts["sessions"]))]
    lines += [(one.title, _shown(facts["measures"][one.name])) for one in MEASURES]
    tools = list(facts["tools"].items())
    more = f", and {counted(len(tools) - TOOLS, 'other')}" if len(tools) > TOOLS else ""
    lines.append(("tools", ", ".join(f"{name} {count}" for name, count in tools[:TOOLS]) + more))
    return lines + _cost(facts["tokens"])


def _cost(tokens: dict[str, Any]) -> list[tuple[str, str]]:
    said = counted(tokens["sessions_with"], "session")
    silent = [f"{counted(tokens['sessions_without'], 'session')} without"] if tokens["sessions_without"] else []
    gone = [f"{counted(tokens['transcripts_gone'], 'transcript')} gone"] if tokens["transcripts_gone"] else []
    if not tokens["sessions_with"]:
        return [("tokens", "; ".join(["no transcript that is still there says any", *gone]))]
    kinds = ", ".join(f"{tokens[name]:,} {name.replace('_', ' ')}" for name in tokens if name in _KINDS)
    cost, of_cost = tokens["cost_usd"], counted(tokens["sessions_with_cost"], "session")
    return [
        ("tokens", "; ".join([f"{kinds}, in {tokens['requests']:,} requests of {said}", *silent, *gone])),
        ("cost", f"${cost:,.2f}, said by {of_cost}" if cost is not None else "no transcript says it"),
    ]


_KINDS = ("input", "output", "cache_read", "cache_written")


def _rework(found: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What came before rework, a row each."""
    rows = []
    for one in found:
        low, high = one["interval"]
        if not one["with"][1] or not one["without"][1]:  # all sessions, or none
            continue
        parts = [f"{count} of {of}" for count, of in (one["with"], one["without"], one["sessions"])]
        points = [f"{100 * share:+.1f}" for share in (one["difference"], low, high)]
        rows.append((one["before"], "{} [{} {}]".format(*points), *parts))
    return [("sessions with", "points", "with", "without", "sessions"), *rows] if rows else []


def _group(by: str, name: str, values: dict[str, Any]) -> tuple[str, ...]:
    shown = name[:SHORT] if by == "session" else name
    return (shown, *(_brief(values[column]) for column in COLUMNS), f"{values['tokens'].get('output', 0):,}")


def _brief(value: object) -> str:
    """A measure in a column: its value alone."""
    if isinstance(value, dict):
        value = value if value["value"] is None else (f"{value['value']:.1%}" if "low" in value else value["value"])
    return "-" if isinstance(value, dict) else str(value)


def _shown(value: object) -> str:
    """A measure with what it is made of."""
    if not isinstance(value, dict):
        return str(value)
    if value["value"] is None:
        return "-"
    if "low" not in value:
        return f"{value['value']:.2f} ({value['count']} to {value['of']})"
    return f"{value['value']:.1%} [{value['low']:.1%} {value['high']:.1%}] ({value['count']} of {value['of']})"
