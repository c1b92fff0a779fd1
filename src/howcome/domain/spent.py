"""What an answer of a model cost, as an agent's transcript says it."""

from __future__ import annotations

from dataclasses import dataclass

TOKENS = ("input", "output", "cache_read", "cache_written")


@dataclass(frozen=True)
class Spent:
    """One request's tokens in the order of TOKENS; or what its session cost so far."""

    request: str
    session: str
    ts_ms: int | None = None
    branch: str | None = None
    agent_id: str | None = None
    tokens: tuple[int, ...] = (0, 0, 0, 0)
    cost_usd: float | None = None
