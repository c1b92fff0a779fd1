"""`howcome spending`: what the language model cost; stop and allow it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from howcome.app import now_ms, open_app
from howcome.cli.arguments import open_existing
from howcome.cli.declared import JSON, click_command, option
from howcome.domain.spending import DAY_MS, OVER_BUDGET
from howcome.errors import StoreMissingError
from howcome.present.moments import moment_ms
from howcome.present.render import counted
from howcome.present.screen import report
from howcome.present.spent import facts_of, gather
from howcome.settings import read_settings

DEFAULT_DAYS = 30


@click_command
def spending(
    since: str | None = option(metavar="TIME", help=f"Only what is not older than TIME (default: {DEFAULT_DAYS}d)."),
    limit: int = option(type=range(1001), default=20, help="Newest receipts."),
    stop: bool = option(help="No process makes a call from now on."),
    go: bool = option(help="Calls may be made again, as far as the caps allow."),
    as_json: bool = JSON,
) -> None:
    """Show every call of the language model: what is left today, totals by day, purpose and model, and receipts.

    Nothing is spent before llm is set and both llm_daily_calls and llm_daily_tokens are above 0. Each attempt is a
    call, written down before it is made; a call whose process was killed counts as spent (`unsettled`). Days are UTC.
    The cost is what the provider says, if it says any. HOWCOME_LLM=off and --stop end it at once.

    \b
    Examples:
      howcome spending
      howcome spending --since 7d --json
      howcome spending --stop
    """
    if stop and go:
        raise click.UsageError("choose one of --stop and --go")
    since_ms = now_ms() - DEFAULT_DAYS * DAY_MS if since is None else moment_ms(since, "--since", now_ms())
    settings = read_settings(os.environ)
    if stop or go:
        with open_app(settings) as app:
            if stop:
                app.spending.stop(now_ms())
            else:
                app.spending.resume()
    try:
        with open_existing() as app:
            facts = gather(app, since_ms, limit)
    except StoreMissingError:
        facts = facts_of(settings, (0, 0), None, [], 0)
    report(facts, _spent_lines(facts), as_json=as_json)


def _spent_lines(facts: Mapping[str, Any]) -> list[str]:
    lines = [f"stopped since {facts['stopped_at']}: howcome spending --go"] if facts["stopped_at"] else []
    lines += ["no language model: off, free by default"] if facts["llm"] == "off" else []
    for name, of in facts["today"].items():
        lines.append(f"{name} today: {of['spent']:,} spent, {of['left']:,} of {of['cap']:,} left")
    lines += ["", *map(_day_line, facts["days"])] if facts["days"] else []
    return lines + (["", *map(_receipt_line, facts["receipts"])] if facts["receipts"] else [])


def _day_line(of: Mapping[str, Any]) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in of["outcomes"].items())
    what = f"{of['day']}  {of['purpose']:<9}  {of['provider']}:{of['model']}"
    return f"{what}  {counted(of['calls'], 'call')} ({outcomes}), {of['tokens']:,} tokens{_cost(of['cost_usd'])}"


def _receipt_line(of: Mapping[str, Any]) -> str:
    started = of["started_at"] or "?"
    what = f"#{of['id']}  {started}  {of['purpose']:<9}  {of['provider']}:{of['model']}  {of['outcome']}"
    if of["outcome"] == OVER_BUDGET:
        return f"{what}, {counted(of['times'], 'time')}"
    used = "" if of["tokens_in"] is None else f" ({of['tokens_in']:,} in, {of['tokens_out'] or 0:,} out)"
    took = "" if of["ms"] is None else f", {of['ms']:,} ms"
    return f"{what}, {of['tokens']:,} tokens{used}{_cost(of['cost_usd'])}{took}"


def _cost(cost_usd: float | None) -> str:
    return "" if cost_usd is None else f", ${cost_usd:.4f}"
