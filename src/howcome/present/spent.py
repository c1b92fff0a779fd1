"""What calls of the language model cost, as plain data: the same for the command line and for the viewer."""

from __future__ import annotations

from collections.abc import Iterable

from howcome.app import App, now_ms
from howcome.domain.spending import OVER_BUDGET, Receipt
from howcome.present.render import iso_time
from howcome.settings import Settings

_DATE_CHARS = 10


def gather(app: App, since_ms: int, limit: int) -> dict[str, object]:
    """Everything `spending` knows since then (UTC) as JSON values, with the newest receipts."""
    spent = app.spending
    return facts_of(app.settings, spent.spent_on(now_ms()), spent.stopped_ms(), spent.receipts(since_ms), limit)


def facts_of(
    settings: Settings, spent: tuple[int, int], stopped_ms: int | None, receipts: list[Receipt], limit: int
) -> dict[str, object]:
    """The same of what is known already; where there is no store, nothing was spent."""
    caps = settings.llm_daily_calls, settings.llm_daily_tokens
    today = {
        name: {"spent": of, "cap": cap, "left": max(0, cap - of)}
        for name, of, cap in zip(("calls", "tokens"), spent, caps, strict=True)
    }
    return {
        "llm": settings.llm, "stopped_at": iso_time(stopped_ms), "today": today, "days": _by_day(receipts),
        "receipts": [_receipt(each) for each in receipts[:limit]],
    }  # fmt: skip


def _by_day(receipts: Iterable[Receipt]) -> list[dict[str, object]]:
    """Totals by day, purpose and model, newest first; what the provider did not count is charged as reserved."""
    groups: dict[tuple[str, ...], list[Receipt]] = {}
    for each in receipts:
        day = (iso_time(each.started_ms) or "")[:_DATE_CHARS]
        groups.setdefault((day, each.call.purpose, each.call.provider, each.call.model), []).append(each)
    return [
        dict(zip(("day", "purpose", "provider", "model"), key, strict=True)) | _totals(groups[key])
        for key in sorted(groups, reverse=True)
    ]


def _totals(receipts: Iterable[Receipt]) -> dict[str, object]:
    made = [each for each in receipts if each.outcome != OVER_BUDGET]
    outcomes: dict[str, int] = {}
    for each in receipts:
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.times
    costs = [each.usage.cost_usd for each in made if each.usage.cost_usd is not None]
    return {
        "calls": len(made), "tokens": sum(each.call.tokens for each in made),
        "tokens_in": sum(each.usage.tokens_in or 0 for each in made),
        "tokens_out": sum(each.usage.tokens_out or 0 for each in made),
        "cost_usd": round(sum(costs), 6) if costs else None,
        "ms": sum(each.duration_ms or 0 for each in made), "outcomes": outcomes,
    }  # fmt: skip


def _receipt(each: Receipt) -> dict[str, object]:
    return {
        "id": each.row, "started_at": iso_time(each.started_ms), "purpose": each.call.purpose,
        "provider": each.call.provider, "model": each.call.model, "outcome": each.outcome, "times": each.times,
        "tokens": each.call.tokens, "tokens_in": each.usage.tokens_in, "tokens_out": each.usage.tokens_out,
        "cost_usd": each.usage.cost_usd, "ms": each.duration_ms,
    }  # fmt: skip
