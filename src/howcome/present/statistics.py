"""What sessions did, as figures: for `howcome stats` and for a page of the viewer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from howcome.domain.times import DAY_MS
from howcome.history.telemetry.days import COUNTS, FAILED
from howcome.history.telemetry.measures import CAVEAT, MEASURES, precede_rework, tools_of, values_of
from howcome.history.telemetry.spending import Spending
from howcome.present.render import counted, iso_time
from howcome.present.views import short_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.app import App
    from howcome.domain.stored import Scope

COLUMNS = ("calls", "read_edit_ratio", "edits_without_read", "failures", "rework", "compactions")
HEADS = ("calls", "reads/edit", "unread", "failed", "replaced", "compacted", "tok out")
TOOLS = 12


def gather(app: App, scope: Scope, since_ms: int, by: str | None, *, is_told: bool = True) -> dict[str, Any]:
    """Everything that is counted, as JSON values; what transcripts tell of tokens (seconds) unless `is_told` is off."""
    found = app.telemetry.counts(scope, since_ms, by)
    took = app.telemetry.spent(scope, since_ms, by) if is_told else Spending()
    tokens = {
        **took.every, "sessions_with": len(took.told), "sessions_without": took.sessions - len(took.told),
        "transcripts_gone": took.gone, "cost_usd": round(sum(took.cost_usd.values()), 4) if took.cost_usd else None,
        "sessions_with_cost": len(took.cost_usd),
    }  # fmt: skip
    # Weeks by their time, anything else by how much was called there.
    ordered = sorted(found.groups.items(), key=lambda of: (0 if by == "week" else of[1]["calls"], of[0]), reverse=True)
    groups = {name: {**values_of(counts), "tokens": dict(took.groups.get(name, {}))} for name, counts in ordered}
    return {
        "since": iso_time(since_ms) if since_ms else None, "sessions": len(found.sessions),
        "measures": values_of(found.every), "tools": tools_of(found.every), "tokens": tokens if is_told else None,
        "precede_rework": precede_rework(found.sessions.values()), "caveat": CAVEAT,
        **({"by": groups} if by is not None else {}),
    }  # fmt: skip


def gather_days(app: App, scope: Scope, since_ms: int) -> dict[str, Any]:
    """What happened each day in each project, as JSON values, from the day of a moment (UTC ms) on."""
    rows = [
        {"day": day, "project": project, **{name: counts[name] for name in COUNTS}, "tools": _tools(counts)}
        for (day, project), counts in app.telemetry.days(scope, since_ms).items()
    ]
    return {"since": iso_time(since_ms - since_ms % DAY_MS) if since_ms else None, "days": rows}


def _tools(counts: Counter[str]) -> dict[str, dict[str, int]]:
    return {name: {"calls": calls, "failed": counts[FAILED + name]} for name, calls in tools_of(counts).items()}


def day_rows(facts: dict[str, Any]) -> list[tuple[str, ...]]:
    """Each day's figures over all projects, the newest last."""
    days: dict[str, Counter[str]] = {}
    for one in facts["days"]:
        days.setdefault(one["day"], Counter()).update({name: one[name] for name in COUNTS})
    rows = ((day, *(f"{counts[name]:,}" for name in COUNTS)) for day, counts in sorted(days.items()))
    return [("day", *COUNTS), *rows]


def tool_rows(facts: dict[str, Any]) -> list[tuple[str, ...]]:
    """How often each tool was called and failed in these days; the TOOLS that were called most."""
    tools: dict[str, Counter[str]] = {}
    for name, counts in (pair for one in facts["days"] for pair in one["tools"].items()):
        tools.setdefault(name, Counter()).update(counts)
    most = sorted(tools.items(), key=lambda pair: (-pair[1]["calls"], pair[0]))[:TOOLS]
    rows = [(name or "(none)", f"{counts['calls']:,}", f"{counts['failed']:,}") for name, counts in most]
    return [("tool", "calls", "failed"), *rows] if rows else []


def lines_of(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What a person sees: names with their figures."""
    lines = [("sessions", str(facts["sessions"]))]
    lines += [(one.title, _shown(facts["measures"][one.name])) for one in MEASURES]
    tools = list(facts["tools"].items())
    more = f", and {counted(len(tools) - TOOLS, 'other')}" if len(tools) > TOOLS else ""
    lines.append(("tools", ", ".join(f"{name} {count}" for name, count in tools[:TOOLS]) + more))
    return lines + (_cost(facts["tokens"]) if facts["tokens"] is not None else [])


def _cost(tokens: dict[str, Any]) -> list[tuple[str, str]]:
    said = counted(tokens["sessions_with"], "session")
    silent = [f"{counted(tokens['sessions_without'], 'session')} without"] if tokens["sessions_without"] else []
    gone = [f"{counted(tokens['transcripts_gone'], 'transcript')} gone"] if tokens["transcripts_gone"] else []
    if not tokens["sessions_with"]:
        return [("tokens", "; ".join(["no transcript that is still there says any", *gone]))]
    kinds = ", ".join(f"{tokens[name]:,} {name.replace('_', ' ')}" for name in tokens if name in _KINDS)
    cost, of_cost = tokens["cost_usd"], f"{tokens['sessions_with_cost']} of {said}"
    rest = "" if tokens["sessions_with_cost"] == tokens["sessions_with"] else "; the others' transcripts say none"
    return [
        ("tokens", "; ".join([f"{kinds}, in {tokens['requests']:,} requests of {said}", *silent, *gone])),
        ("cost", f"${cost:,.2f} in {of_cost}{rest}" if cost is not None else "no transcript says it"),
    ]


_KINDS = ("input", "output", "cache_read", "cache_written")


def rework_rows(found: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What came before rework, a row each."""
    rows = []
    for one in found:
        low, high = one["interval"]
        if not one["with"][1] or not one["without"][1]:  # all sessions, or none
            continue
        there = "{} of {}".format(*one["sessions"])
        shares = [f"{count / of:.1%} of {of}" for count, of in (one["with"], one["without"])]
        more = "more often" if low > 0 else "less often" if high < 0 else "not clear"
        rows.append((one["before"], there, *shares, more))
    return [("sessions with", "of all", "edits replaced", "in the others", "so that is"), *rows] if rows else []


def group_row(by: str, name: str, values: dict[str, Any]) -> tuple[str, ...]:
    """A group's figures, under HEADS."""
    shown = short_session(name) if by == "session" else name
    return (shown, *(_brief(values[column]) for column in COLUMNS), f"{values['tokens'].get('output', 0):,}")


def _brief(value: object) -> str:
    if isinstance(value, dict):
        value = value if value["value"] is None else (f"{value['value']:.1%}" if "low" in value else value["value"])
    return "-" if isinstance(value, dict) else str(value)


def _shown(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    if value["value"] is None:
        return "-"
    if "low" not in value:
        return f"{value['value']:.2f} ({value['count']} to {value['of']})"
    return f"{value['value']:.1%} [{value['low']:.1%} {value['high']:.1%}] ({value['count']} of {value['of']})"
