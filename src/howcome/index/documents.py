"""What a search index holds of a log: one document an event, and one an exchange, whichever index it is.

A document's fields are texts in which a word stands as often as it counts (`domain.bm25`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from howcome.domain import events
from howcome.domain.bm25 import EVENT_CHARS, NEAR_CHARS, OWN_WEIGHT, SAID_CLIP, SAID_WEIGHT, TURNS_BEFORE
from howcome.domain.stored import EVENTS, EXCHANGES, IndexRow
from howcome.domain.text import analyze, with_extra_terms
from howcome.log.event_log import EventLog

MAX_EXCHANGE_ROWS = 1000
"""Of a longer exchange the first and the last rows stand for it: it is written anew whenever it grows."""

_PROMPT = events.KINDS.index(events.USER_PROMPT)
_TURNS = frozenset(events.KINDS.index(kind) for kind in events.TURN_KINDS)
_CALL = events.KINDS.index(events.TOOL_CALL)
_RESULT = events.KINDS.index(events.TOOL_RESULT)
_INDEXED = _TURNS | {_CALL, _RESULT}


class Document:
    """One document of an index (`name`).

    Attributes:
        row: The event, or the exchange's first.
        exchange: The position of the exchange's first event.
        fields: Texts by the names of the index's fields; one that is not there is empty.
        replaced: Exchanges (position of the first event, project) whose document it takes the place of.
    """

    __slots__ = ("exchange", "fields", "name", "replaced", "row", "ts_ms")

    def __init__(
        self, name: str, row: IndexRow, exchange: int, ts_ms: int, fields: Mapping[str, str],
        replaced: Iterable[tuple[int, int]] = (),
    ) -> None:  # fmt: skip
        self.name, self.row, self.exchange, self.ts_ms = name, row, exchange, ts_ms
        self.fields, self.replaced = fields, tuple(replaced)


def documents(log: EventLog, rows: Sequence[IndexRow], texts: Mapping[int, str]) -> Iterator[Document]:
    """The documents that new rows of a log make or change, project by project; `texts` are search texts at hand."""
    by_session: dict[int, list[IndexRow]] = defaultdict(list)
    for row in rows:
        by_session[row.session_id].append(row)
    older = log.sessions_before(rows[0].row, by_session)
    for session_id, new in sorted(by_session.items(), key=lambda item: item[1][0].project_id):
        yield from _of_session(log, new, texts, is_new=session_id not in older)


def _of_session(
    log: EventLog, new: Sequence[IndexRow], texts: Mapping[int, str], *, is_new: bool
) -> Iterator[Document]:
    """New rows of one session, each with what it looks back at: nothing in a session that has no others."""
    new_ids = {row.row for row in new}
    if is_new:
        rows = sorted(new, key=lambda row: (row.order_ms, row.row))
    else:
        rows = [row for row in _look_back(log, new, new_ids) if row.row <= new[-1].row]
    exchanges = _split(rows)
    read = {row.row for exchange in exchanges for row in _shortened(exchange) if row.kind in _INDEXED} | new_ids
    missing = sorted(row for row in read if row not in texts)
    known = _Texts({**log.search_texts(missing), **texts} if missing else texts)
    yield from _of_events(exchanges, new_ids, known)
    before: set[str] = set()
    for exchange in exchanges:
        words = _Exchange(_shortened(exchange), known, before)
        if any(row.row in new_ids for row in exchange):
            yield _of_exchange(exchange, words, new_ids)
        before = words.said_words


def _look_back(log: EventLog, new: Sequence[IndexRow], new_ids: set[int]) -> list[IndexRow]:
    """A session's rows from the exchange before the first new row on, or as far back as its window reaches."""
    rows = log.session_rows(new[0].session_id, min(row.order_ms for row in new))
    while True:
        first = next(place for place, row in enumerate(rows) if row.row in new_ids)
        turns = sum(row.kind in _TURNS for row in rows[:first])
        prompts = sum(row.kind == _PROMPT for row in rows[: first + 1])
        if turns >= TURNS_BEFORE and prompts >= 2:
            return rows
        earlier = log.session_rows(new[0].session_id, rows[0].order_ms - 1)
        if len(earlier) <= len(rows):
            return rows
        rows = earlier


def _of_events(exchanges: list[list[IndexRow]], new_ids: set[int], texts: _Texts) -> Iterator[Document]:
    near: deque[IndexRow] = deque(maxlen=TURNS_BEFORE)
    for exchange in exchanges:
        for row in exchange:
            if row.kind not in _INDEXED:
                continue
            is_turn = row.kind in _TURNS
            if row.row in new_ids:
                own, names = texts.event(row)
                said = [own] * OWN_WEIGHT + [texts.near(turn) for turn in near] if is_turn else [own]
                fields = {"text": " ".join(said), **({"names": names} if names else {})}
                yield Document(EVENTS, row, exchange[0].row, max(row.ts_ms or 0, 0), fields)
            if is_turn:
                near.append(row)


def _of_exchange(exchange: list[IndexRow], words: _Exchange, new_ids: set[int]) -> Document:
    first = exchange[0]
    known = next((row for row in exchange if row.row not in new_ids), first)  # it was the first until now
    replaced = {(row.row, row.project_id) for row in (known, first)}
    ts_ms = max(0, *(row.ts_ms or 0 for row in exchange))
    return Document(EXCHANGES, first, first.row, ts_ms, {"said": words.said, "did": words.did}, replaced)


class _Texts:
    """The texts of a session's rows, each analysed once."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._analyzed: dict[int, tuple[str, str]] = {}
        self._near: dict[int, str] = {}

    def words(self, row: IndexRow) -> tuple[str, str]:
        """A row's whole search text and its extra terms and names as (extra, names)."""
        found = self._analyzed.get(row.row)
        if found is None:
            text = self._texts.get(row.row, "")
            extra, names = analyze(text) if row.kind != _RESULT else ([], [])
            found = self._analyzed[row.row] = (" ".join(extra), " ".join(dict.fromkeys(names)))
        return found

    def event(self, row: IndexRow) -> tuple[str, str]:
        """What an event's document says, and the names in it."""
        extra, names = self.words(row)
        return f"{events.head_and_tail(self._texts.get(row.row, ''), EVENT_CHARS)} {extra}", names

    def near(self, row: IndexRow) -> str:
        """The first words of a turn, for the windows of the turns after it."""
        found = self._near.get(row.row)
        if found is None:
            text = self._texts.get(row.row, "")
            is_long = len(text) > NEAR_CHARS
            found = with_extra_terms(text[:NEAR_CHARS]) if is_long else f"{text} {self.words(row)[0]}"
            self._near[row.row] = found
        return found

    def said(self, row: IndexRow) -> list[str]:
        """All words of a row, lower case."""
        return f"{self._texts.get(row.row, '')} {self.words(row)[0]}".lower().split()


class _Exchange:
    """The words of one exchange, each written as often as it counts."""

    def __init__(self, rows: list[IndexRow], texts: _Texts, before: set[str]) -> None:
        said: Counter[str] = Counter()
        did: Counter[str] = Counter()
        for row in rows:
            if row.kind in _TURNS:
                said.update(texts.said(row))
            elif row.kind == _CALL:
                did.update(texts.said(row))
        self.said_words = set(said)
        self.said = f"{_spell(said)} {' '.join(before)}"
        self.did = _spell(did)


def _spell(counts: Mapping[str, int]) -> str:
    parts: list[str] = []
    for times in range(1, SAID_CLIP + 1):
        words = " ".join(counts if times == 1 else [word for word, count in counts.items() if count >= times])
        parts += [words] * SAID_WEIGHT
    return " ".join(parts)


def _split(rows: Iterable[IndexRow]) -> list[list[IndexRow]]:
    """A session's rows in exchanges: each begins with a prompt, the first perhaps without one."""
    found: list[list[IndexRow]] = []
    for row in rows:
        if row.kind == _PROMPT or not found:
            found.append([])
        found[-1].append(row)
    return found


def _shortened(exchange: list[IndexRow]) -> list[IndexRow]:
    """An exchange, or the first and the last half of what it may have at most."""
    half = MAX_EXCHANGE_ROWS // 2
    return exchange if len(exchange) <= MAX_EXCHANGE_ROWS else exchange[:half] + exchange[-half:]
