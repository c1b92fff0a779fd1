"""Sessions split into exchanges, and what a distiller may look at."""

from __future__ import annotations

from hashlib import blake2b

from howcome.domain import candidates, events
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.sources import SourceDistiller


def event(number: int, kind: str, text: str = "hm", agent: str | None = None) -> StoredEvent:
    """The n-th event of a session."""
    origin = events.ORIGIN_USER if kind == events.USER_PROMPT else events.ORIGIN_ASSISTANT
    values = {
        "row": number, "key": blake2b(bytes([number]), digest_size=16).digest(), "kind": events.KINDS.index(kind),
        "origin": events.ORIGINS.index(origin), "session": "s", "client": "claude-code", "project": "/p",
        "ts_ms": number, "order_ms": number, "tool": None, "file": None, "branch": None, "agent_id": agent,
        "failed": None, "exit_code": None, "text_chars": len(text), "excerpt": text,
    }  # fmt: skip
    return StoredEvent(values, text)


def test_a_prompt_begins_an_exchange_of_its_agent_only() -> None:
    """A subagent's prompt does not end what the main agent is at."""
    stream = stream_of([
        event(1, events.ASSISTANT_TEXT), event(2, events.USER_PROMPT), event(3, events.ASSISTANT_TEXT),
        event(4, events.USER_PROMPT, agent="a"), event(5, events.ASSISTANT_TEXT, agent="a"),
        event(6, events.ASSISTANT_TEXT), event(7, events.USER_PROMPT),
    ])  # fmt: skip
    assert [exchange.rows for exchange in stream] == [[1], [2, 3, 6], [4, 5], [7]]
    assert [exchange.first.agent_id for exchange in stream] == [None, None, "a", None]


def test_the_same_exchange_teaches_the_same() -> None:
    """Distilling is a pure function: nothing is kept from one run to the next."""
    stream = stream_of([
        event(1, events.USER_PROMPT, "hi"), event(2, events.ASSISTANT_TEXT, "Hello."),
        event(3, events.USER_PROMPT, "use NATS instead of Kafka because one binary is enough"),
        event(4, events.ASSISTANT_TEXT, "OK."),
    ])  # fmt: skip
    first, again = (
        [one.text for place in range(len(stream)) for one in SourceDistiller().distil(stream, place).candidates]
        for _ in range(2)
    )
    assert first == again
    assert ["NATS instead of Kafka" in text for text in first] == [True]


def test_a_candidate_has_the_origin_of_its_least_trusted_source() -> None:
    """Words of a tool stay a tool's whoever quotes them."""
    assert candidates.least_trusted(["user", "tool", "assistant"]) == "tool"
    assert candidates.least_trusted(["assistant", "user"]) == "assistant"
