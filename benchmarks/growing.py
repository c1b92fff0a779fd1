"""A store of as many events as one likes: invented sessions, written as an import writes them, without transcripts.

What is skipped is reading and decoding lines (`import` measures that); redaction, keys, excerpts, packing, rows and the
index are the product's own. The vectors of the turns are invented: a local model takes hours for so many.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from howcome.domain import events
from howcome.domain.events import Event
from howcome.domain.sources import Batch, NewRecord, SourceState
from howcome.ingest.writer import Preparer
from words import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from howcome.index.vector_index import VectorIndex
    from howcome.store.base import Store
    from vectors import Source

INDEX_EVERY_ROWS = 60_000
VOCABULARY = 100_000
EXCHANGES = (1, 4, 10, 25, 60, 160)
ROUNDS = (0, 1, 1, 2, 3, 5)
PROMPT_WORDS = (6, 12, 25, 60, 250)
ANSWER_WORDS = (15, 40, 90, 250)
RESULT_WORDS = (12, 40, 120, 400)
"""So that sessions have some 330 events, of which .43 are turns: in 371 real sessions .43 of the events are."""

PROJECTS = 12
"""Their sizes fall like 1/rank: the largest holds a third of all events."""

SPREAD_S = 200 * 86_400
VECTORS_A_PIECE = 10_000
CLIENT = "claude-code"


class _Session:
    """One invented session, event by event."""

    def __init__(self, number: int, seed: int, now_ms: int) -> None:
        self._words = Vocabulary(f"{seed} grown {number}", VOCABULARY)
        self._random = random.Random(f"{seed} shape {number}")
        weights = [1 / rank for rank in range(1, PROJECTS + 1)]
        self.name = f"{seed:08x}-0000-4000-8000-{number:012x}"
        self.cwd = f"/home/dev/project-{self._random.choices(range(PROJECTS), weights)[0]:02d}"
        self._ts_ms = now_ms - 1000 * self._random.randrange(86_400, SPREAD_S)
        self._number = 0

    def events(self) -> Iterator[Event]:
        """All of them, in their order."""
        for _ in range(self._random.choice(EXCHANGES)):
            yield self._said(events.USER_PROMPT, PROMPT_WORDS)
            for _ in range(self._random.choice(ROUNDS)):
                if self._random.random() < 0.6:
                    yield self._said(events.ASSISTANT_TEXT, ANSWER_WORDS[:2])
                yield from self._traffic()
            yield self._said(events.ASSISTANT_TEXT, ANSWER_WORDS)

    def _said(self, kind: str, sizes: tuple[int, ...]) -> Event:
        origin = events.ORIGIN_USER if kind == events.USER_PROMPT else events.ORIGIN_ASSISTANT
        return self._event(kind, origin, " ".join(self._words.words(self._random.choice(sizes))))

    def _traffic(self) -> Iterator[Event]:
        file, call = self._words.file(), f"toolu_{self.name[-8:]}{self._number}"
        values: dict[str, object] = {"command": f"pytest {file} -k {self._words.name()}"}
        tool = "Bash"
        if self._random.random() < 0.5:
            tool, values = "Read", {"file_path": f"{self.cwd}/{file}"}
        told = {"tool": tool, "tool_use_id": call, "file": events.call_file(values)}
        yield self._event(events.TOOL_CALL, events.ORIGIN_TOOL, "", input=values, **told)
        words = self._words.words(self._random.choice(RESULT_WORDS))
        lines = [" ".join(words[start : start + 10]) for start in range(0, len(words), 10)]
        text = f"\n{self._random.getrandbits(160):040x} {file}\n".join(lines)
        yield self._event(events.TOOL_RESULT, events.ORIGIN_TOOL, text, **told)

    def _event(self, kind: str, origin: str, text: str, **more: object) -> Event:
        self._number += 1
        self._ts_ms += self._random.randrange(500, 60_000)
        return Event(
            client=CLIENT, kind=kind, record_id=f"{self.name}-{self._number}", block=0, session_id=self.name,
            text=text, origin=origin, ts_ms=self._ts_ms, cwd=self.cwd, branch="main", **more,  # type: ignore[arg-type]
        )  # fmt: skip


def grow(store: Store, count: int, seed: int, now_ms: int, say: Callable[[str], None]) -> None:
    """Adds sessions until the store has `count` events or a few more, and indexes them as an import does."""
    key = store.meta("key")
    preparer = Preparer(key if isinstance(key, bytes) else b"")
    texts: dict[int, str] = {}
    number, done, started = 0, 0, time.perf_counter()
    while done < count:
        session = _Session(number, seed, now_ms)
        rows = _add(store, preparer, session, now_ms)
        texts |= rows
        number, done = number + 1, done + len(rows)
        if len(texts) >= INDEX_EVERY_ROWS:
            store.index.catch_up(texts)
            texts.clear()
            say(f"{done:,} events, {done / (time.perf_counter() - started):,.0f} a second")
    store.index.catch_up(texts)
    store.index.release()


def _add(store: Store, preparer: Preparer, session: _Session, now_ms: int) -> dict[int, str]:
    """One session in one transaction; the search texts of its rows."""
    records, size = [], 0
    for event in session.events():
        size_bytes = len(event.text) + 1
        records.append(NewRecord(size, size_bytes, [preparer.prepare(event, event.ts_ms or 0)]))
        size += size_bytes
    after = SourceState(f"{session.cwd}/{session.name}.jsonl", CLIENT, {"offset": size, "size_bytes": size})
    return store.log.append(Batch(after, records, {session.cwd: (session.cwd, True)}, now_ms))[1]


def add_vectors(store: Store, index: VectorIndex, source: Source) -> int:
    """Writes an invented vector for every turn that has none, as the product writes its own; how many."""
    from howcome.index.vector_writer import VectorWriter

    added = 0
    with VectorWriter(index) as writer:
        while turns := store.log.turns_after(writer.last_row, VECTORS_A_PIECE):
            writer.append(turns, source.vectors(len(turns)))
            writer.commit(turns[-1].row)
            added += len(turns)
        writer.commit(max(writer.last_row, store.log.last_position()))
    return added
