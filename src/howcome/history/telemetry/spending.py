"""Tokens and cost, where the transcripts say them and are still there: the store keeps none of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from howcome.clients.files import READ_ERRORS
from howcome.clients.registry import client_of
from howcome.domain.spending import TOKENS, Spent
from howcome.domain.stored import Scope, SessionSummary
from howcome.errors import TranscriptError
from howcome.history.telemetry.counting import week_of
from howcome.store.base import Store

NO_TIME = "(no time)"


@dataclass
class Spending:
    """Tokens by kind (and `requests`), of all and by what was asked for; dollars where a client says them.

    `sessions` are all; `told` those whose transcripts say tokens; `gone` the transcripts that are not there any more.
    """

    sessions: int = 0
    told: set[str] = field(default_factory=set)
    gone: int = 0
    cost_usd: dict[str, float] = field(default_factory=dict)
    every: Counter[str] = field(default_factory=Counter)
    groups: dict[str, Counter[str]] = field(default_factory=dict)


def spent(store: Store, scope: Scope, since_ms: int = 0, by: str | None = None) -> Spending:
    """What the sessions of a scope took from a moment on; a request that a fork repeats counts once."""
    known = {one.name: one for one in store.sessions.recent(scope, -1, since_ms=since_ms)}
    found, requests = Spending(sessions=len(known)), dict[str, Spent]()
    for one in _all(store, found, since_ms):
        session = known.get(one.session)
        if session is not None and one.cost_usd is not None:
            found.cost_usd[one.session] = max(one.cost_usd, found.cost_usd.get(one.session, 0))
        elif session is not None and (one.ts_ms or session.last_ms) >= since_ms:
            first = requests.get(one.request, one)  # each block of an answer repeats it, and a fork does all
            requests[one.request] = replace(first, tokens=max(one.tokens, first.tokens, key=lambda said: said[1]))
    for one in requests.values():
        counted = {"requests": 1, **dict(zip(TOKENS, one.tokens, strict=True))}
        found.told.add(one.session)
        found.every.update(counted)
        if by is not None:
            found.groups.setdefault(_key(by, one, known[one.session]), Counter()).update(counted)
    return found


def _all(store: Store, found: Spending, since_ms: int) -> Iterator[Spent]:
    for source in store.log.sources():
        client = client_of(source.client)
        if client is not None and client.history is not None and source.mtime_ns // 1_000_000 >= since_ms:
            try:
                yield from client.history.spent_in(source.path)
            except (TranscriptError, *READ_ERRORS):
                found.gone += 1


def _key(by: str, one: Spent, session: SessionSummary) -> str:
    return {
        "session": one.session,
        "project": session.project,
        "branch": one.branch or "(none)",
        "agent": session.client + (", subagents" if one.agent_id else ""),
        "week": week_of(one.ts_ms) if one.ts_ms else NO_TIME,
    }[by]
