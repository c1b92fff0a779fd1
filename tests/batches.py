"""Invented events for stores: what a pass over a transcript hands to `EventLog.append`, without any file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howcome.domain import events
from howcome.domain.events import Event
from howcome.domain.sources import Batch, NewRecord, SourceState
from howcome.domain.stored import Filter, Scope
from howcome.ingest.writer import Preparer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from howcome.domain.stored import Hit
    from howcome.store.base import Store

CLIENT = "claude-code"
START_MS = 1_790_000_000_000
RECORD_BYTES = 100
EVERYTHING = Filter(Scope.everything())
_PREPARER = Preparer(b"a key for tests, thirty-two byte")


class Transcript:
    """One transcript file of one session: numbers and times its events, and keeps its cursor.

    Two transcripts with the same `records` name hold the same records (a copy, a replay, a fork).
    """

    def __init__(
        self, store: Store, path: str = "/t/one.jsonl", *, session: str = "session-one", cwd: str = "/home/mara/quay",
        records: str | None = None, client: str = CLIENT,
    ) -> None:  # fmt: skip
        self.store, self.session, self.cwd, self.records = store, session, cwd, records or session
        self.state = store.log.source(path) or SourceState(path, client)
        self.roots: dict[str, tuple[str, bool]] = {}
        self.number = 0

    def event(self, text: str, kind: str = events.USER_PROMPT, **fields: Any) -> Event:
        """The next event: one second after the last one, said by whom such events are said."""
        self.number += 1
        origin = {events.USER_PROMPT: "user", events.TOOL_RESULT: "tool"}.get(kind, "assistant")
        known: dict[str, Any] = {
            "client": self.state.client, "kind": kind, "record_id": f"{self.records}/{self.number}", "block": 0,
            "session_id": self.session, "text": text, "origin": origin, "ts_ms": START_MS + 1000 * self.number,
            "cwd": self.cwd,
        }  # fmt: skip
        return Event(**{**known, **fields})

    def prompt(self, text: str, **fields: Any) -> Event:
        """What a person said."""
        return self.event(text, events.USER_PROMPT, **fields)

    def answer(self, text: str, **fields: Any) -> Event:
        """What the agent said."""
        return self.event(text, events.ASSISTANT_TEXT, **fields)

    def call(self, command: str, **fields: Any) -> Event:
        """A call of the shell."""
        return self.event("", events.TOOL_CALL, tool="Bash", input={"command": command}, **fields)

    def result(self, text: str, **fields: Any) -> Event:
        """What the shell printed."""
        return self.event(text, events.TOOL_RESULT, tool="Bash", **fields)

    def batch(self, *parts: Event | NewRecord | list[Event]) -> Batch:
        """Consecutive records (an event, or several of one record) and the cursor behind them."""
        after, records = self.state.copy(), []
        for part in parts:
            record = part if isinstance(part, NewRecord) else self._record(after, part)
            record.offset = after.offset
            after.offset += record.size_bytes
            records.append(record)
        after.head_bytes, after.head_digest = min(after.offset, 1), f"head of {self.records}"
        return Batch(after, records, self.roots, START_MS)

    def _record(self, after: SourceState, part: Event | list[Event]) -> NewRecord:
        prepared = []
        for event in part if isinstance(part, list) else [part]:
            after.order_ms = max(after.order_ms, event.ts_ms or 0)
            prepared.append(_PREPARER.prepare(event, after.order_ms))
        return NewRecord(after.offset, RECORD_BYTES, prepared)

    def add(self, *parts: Event | NewRecord | list[Event]) -> tuple[dict[str, int], dict[int, str]]:
        """Adds records to the store, and moves on."""
        batch = self.batch(*parts)
        found = self.store.log.append(batch)
        self.state = batch.after
        return found

    def say(self, *texts: str, **fields: Any) -> list[int]:
        """Adds prompts and answers in turn; the rows they became."""
        turns = [
            self.answer(text, **fields) if index % 2 else self.prompt(text, **fields)
            for index, text in enumerate(texts)
        ]
        return list(self.add(*turns)[1])


def quarantined(reason: str = "not-json") -> NewRecord:
    """A record that could not be read."""
    return NewRecord(0, RECORD_BYTES, [], quarantined=reason, digest="d1")


def ignored(*, unknown: bool = False) -> NewRecord:
    """A record that says nothing."""
    return NewRecord(0, RECORD_BYTES, [], unknown=unknown)


def equal_weights(store: Store, text: str) -> dict[str, float]:
    """The terms of a text, each worth the same."""
    return dict.fromkeys(store.index.analyze(text), 1.0)


def find(store: Store, text: str, wanted: Filter = EVERYTHING, limit: int = 100) -> list[int]:
    """The rows of the events that hold a word of a text, best first."""
    return [hit.row for hit in store.index.search("events", equal_weights(store, text), wanted, limit)]


def all_hits(store: Store, text: str, wanted: Filter = EVERYTHING, limit: int = 1000) -> dict[str, list[Hit]]:
    """What every kind of search finds for a text."""
    weights = equal_weights(store, text)
    names = dict.fromkeys(text.lower().split(), 1.0)
    return {
        "events": store.index.search("events", weights, wanted, limit),
        "exchanges": store.index.search("exchanges", weights, wanted, limit),
        "names": store.index.search("names", names, wanted, limit),
        "fuzzy": store.index.search("fuzzy", weights, wanted, limit),
    }


def scored(found: Mapping[str, Iterable[Hit]]) -> dict[str, list[tuple[int, int, float]]]:
    """Hits in a form that can be compared: exchange, row and score of each, in a stable order."""
    return {kind: sorted((hit.exchange, hit.row, round(hit.score, 4)) for hit in hits) for kind, hits in found.items()}
