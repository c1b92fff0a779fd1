"""What calls of language models may cost a day: the words of the ledger, and the rules that it counts by.

A day is a UTC day by the clock of the moment. No day is given twice: what was spent on it counts whenever the clock
shows it again. What was spent on a day that lies ahead (the clock was put back, or had jumped) counts, too, until the
clock passes the day on which it was found to lie ahead, and what is spent meanwhile is charged to it. So a clock that
is put back gives no new budget, neither then nor when it is right again, and one that was years ahead locks nothing for
longer than until midnight.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DAY_MS = 86_400_000

CLASSIFY, DISTIL, RATIONALE = "classify", "distil", "rationale"
"""What a model is asked for."""

UNSETTLED, OK, REFUSED, TIMEOUT, FAILED = "unsettled", "ok", "refused", "timeout", "failed"
BAD_ANSWER, OVER_BUDGET = "bad answer", "over budget"
"""What became of a call. UNSETTLED: it runs, or its process was killed, and then it counts as spent. OVER_BUDGET: it
was not made."""

STOPPED = "llm_stopped_ms"
"""The name of the store's own value that says since when nothing may be spent."""

BYTES_PER_TOKEN = 3
"""On the careful side: English prose has some 4 bytes a token, code and other languages fewer."""

ANSWER_TOKENS = 1000
"""Reserved for an answer; ours are objects of some hundred. What it was in the end is charged when it is known."""


TOKENS = ("input", "output", "cache_read", "cache_written")


@dataclass(slots=True, eq=False)
class Call:
    """A call that somebody wants to make; `tokens` is the estimate that is reserved for it."""

    purpose: str
    provider: str
    model: str
    tokens: int


@dataclass(slots=True, eq=False)
class Caps:
    """What may be spent a day; both must allow a call, and 0 allows none."""

    calls: int
    tokens: int

    def problem_with(self, call: Call, calls: int, tokens: int) -> str:
        """Why a call may not be made when so many calls and tokens are spent already; '' when it may."""
        if calls + 1 > self.calls:
            return f"all {self.calls} calls of llm_daily_calls are spent until midnight UTC"
        if tokens + call.tokens > self.tokens:
            left = max(0, self.tokens - tokens)
            what = f"{left} of the {self.tokens} tokens of llm_daily_tokens are left until midnight UTC"
            return f"{what}, and some {call.tokens} may be needed"
        return ""


@dataclass(slots=True, eq=False)
class Usage:
    """What a call used, as its provider counts it; None for what it does not say."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    def charged(self, reserved: int) -> int:
        """The tokens to charge: what is known, and the whole reservation where only a part is."""
        known = (self.tokens_in or 0) + (self.tokens_out or 0)
        return known if self.tokens_in is not None and self.tokens_out is not None else max(known, reserved)


@dataclass(slots=True, eq=False)
class Receipt:
    """One row of the ledger."""

    row: int
    call: Call
    started_ms: int
    duration_ms: int | None
    usage: Usage
    outcome: str
    times: int


@dataclass(frozen=True)
class Spent:
    """What an answer cost, as an agent's transcript says it: one request (tokens by TOKENS), or its session so far."""

    request: str
    session: str
    ts_ms: int | None = None
    branch: str | None = None
    agent_id: str | None = None
    tokens: tuple[int, ...] = (0, 0, 0, 0)
    cost_usd: float | None = None


def day_of(ms: int) -> int:
    """The UTC day of a time, counted from 1970."""
    return ms // DAY_MS


def estimated_tokens(texts: Iterable[str], schema: Mapping[str, object], overhead: int = 0) -> int:
    """What to reserve for a call: its texts, the schema, what the provider adds to them, and an answer."""
    size_bytes = sum(len(text.encode("utf-8", "replace")) for text in (*texts, json.dumps(schema)))
    return size_bytes // BYTES_PER_TOKEN + overhead + ANSWER_TOKENS


def as_count(value: object) -> int | None:
    """A number of tokens as somebody else says it; None for what is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40
    return int(str(value)) if is_count else None


def as_cost(value: object) -> float | None:
    """An amount in US dollars as somebody else says it; None for what is none."""
    is_cost = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    return float(str(value)) if is_cost else None
