"""Bringing the lexical index up to the rows: what is newer than its last row, grouped by session."""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping

import tantivy
from tantivy import Query

from howcome.domain import events
from howcome.domain.stored import EVENTS, EXCHANGES, IndexRow
from howcome.domain.term_weights import EVENT_CHARS, NEAR_CHARS, OWN_WEIGHT, SAID_CLIP, SAID_WEIGHT, TURNS_BEFORE
from howcome.domain.text import analyze, with_extra_terms
from howcome.index.binding import guarded
from howcome.index.index_files import make_folders, remove_others, sweep, write_stamp
from howcome.index.lexical import SCHEMAS, LexicalIndex
from howcome.log.event_log import EventLog
from howcome.log.faults import require_memory

ROWS_A_STEP = 10_000
"""Projects are written one after the other within a step."""

ROWS_A_SHORT_STEP = 1000
"""Under a deadline: five thousand rows may take half a second."""

HEAP_BYTES = 15_000_000
MAX_WRITERS = 2
"""Projects that are written at a time: each has a dozen threads, and takes up to 45 MB. One more commits the first."""

MAX_EXCHANGE_ROWS = 1000
"""Of a longer exchange the first and the last rows stand for it: it is written anew whenever it grows."""

LOCK_WAIT_S = 0.2

_PROMPT = events.KINDS.index(events.USER_PROMPT)
_TURNS = frozenset(events.KINDS.index(kind) for kind in events.TURN_KINDS)
_CALL = events.KINDS.index(events.TOOL_CALL)
_RESULT = events.KINDS.index(events.TOOL_RESULT)
_INDEXED = _TURNS | {_CALL, _RESULT}


class LexicalWriter:
    """Adds rows to the indexes of a store's projects. One writer at a time on the machine: a lock for all sees to it.

    Rows that another writer committed before it was killed are looked for in the index of their project: one line says
    how far all of them are, and it is written when all have committed.
    """

    title = "search index"

    def __init__(self, log: EventLog, index: LexicalIndex) -> None:
        self._log = log
        self._index = index
        self._lock = -1
        self._writers: dict[int, dict[str, tantivy.IndexWriter]] = {}
        self._changed: set[int] = set()
        self._there: dict[int, frozenset[int]] = {}
        self._stamp = (0, 0, "")
        self._is_new = False
        self._newest = self.last_row = 0

    @property
    def folder(self) -> str:
        """Where the index's files are."""
        return self._index.folder

    def give_up(self) -> None:
        """The files are damaged: what was not committed is lost, and the next writer begins anew."""
        self.drop()
        self._index.give_up()

    @guarded
    def open(self) -> bool:
        """Takes the writers' lock and finds how far the indexes are; False when another process writes.

        What a killed writer left behind goes; what is of other rows, too.
        """
        require_memory()
        if not self._take_lock():
            return False
        self._index.refresh()  # what others have committed since is there to be found, whether or not there is more
        if self._index.stamp is None:
            self.begin()
        else:
            self._stamp = self._index.stamp
            self.last_row = self._stamp[1]
            remove_others(self.folder, self._stamp[2])
        return True

    def _take_lock(self) -> bool:
        make_folders(os.path.dirname(self.folder), self.folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._lock = os.open(os.path.join(self.folder, "lock"), flags, 0o600)
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self.drop()
                    return False
                time.sleep(0.01)
            else:
                return True

    @guarded
    def begin(self) -> None:
        """Begins another generation, without documents; readers see the old one until the next commit."""
        self._writers.clear()
        self._changed.clear()
        self._there.clear()
        self._stamp, self._is_new, self.last_row = (0, 0, os.urandom(4).hex()), True, 0

    def _changing(self, project_id: int) -> dict[str, tantivy.IndexWriter]:
        """The writers of a project's indexes, for a change."""
        self._changed.add(project_id)
        found = self._writers.get(project_id)
        if found is None:
            while len(self._writers) >= MAX_WRITERS:
                self._close(next(iter(self._writers)))
            found = {}
            for name in SCHEMAS:
                path = self._index.path_of(self._stamp[2], project_id, name)
                index = self._index.make(path)
                found[name] = index.writer(HEAP_BYTES, 1)
                sweep(path)
                if name == EVENTS and project_id not in self._there:
                    self._there[project_id] = self._rows_behind(index)
            self._writers[project_id] = found
        return found

    def _is_missing(self, row: IndexRow) -> bool:
        self._changing(row.project_id)
        return row.row not in self._there[row.project_id]

    def _rows_behind(self, index: tantivy.Index) -> frozenset[int]:
        """The rows of a project that a killed writer committed: those behind what is done."""
        last, done, _ = self._stamp
        if last <= done:
            return frozenset()
        index.reload()
        searcher = index.searcher()
        behind = Query.range_query(index.schema, "row", tantivy.FieldType.Unsigned, done + 1, None)
        places = [place for _, place in searcher.search(behind, max(1, searcher.num_docs), count=False).hits]
        return frozenset(map(int, filter(None, searcher.fast_field_values("row", places))))

    @guarded
    def add_new_rows(self, texts: Mapping[int, str], deadline: float | None = None) -> int:
        """Adds documents for rows after the last one; `texts` are search texts already at hand, by row id."""
        added = 0
        step = ROWS_A_STEP if deadline is None else ROWS_A_SHORT_STEP
        while rows := self._log.after(self.last_row, step):
            by_session: dict[int, list[IndexRow]] = defaultdict(list)
            for row in rows:
                by_session[row.session_id].append(row)
            older = self._log.sessions_before(rows[0].row, by_session)
            self._newest = rows[-1].row
            for session_id, new in sorted(by_session.items(), key=lambda item: item[1][0].project_id):
                self._add_session(session_id, new, texts, is_new=session_id not in older)
            self.last_row = rows[-1].row
            added += len(rows)
            if deadline is not None and time.monotonic() > deadline:
                break
        return added

    @guarded
    def commit(self) -> None:
        """Makes what was added searchable."""
        for project_id in self._writers:
            self._commit(project_id)
        self._say(self.last_row, self.last_row)
        if self._is_new:
            self._is_new = False
            remove_others(self.folder, self._stamp[2])
        self._index.refresh()

    def _commit(self, project_id: int) -> None:
        if project_id in self._changed:
            if not self._is_new and self._stamp[0] < self._newest:
                self._say(self._newest, self._stamp[1])
            for writer in self._writers[project_id].values():
                writer.commit()
            self._changed.remove(project_id)

    def _say(self, last: int, done: int) -> None:
        """Replaces the stamp."""
        self._stamp = (last, done, self._stamp[2])
        write_stamp(self.folder, last, self._index.mark_of, done, self._stamp[2])

    def _close(self, project_id: int) -> None:
        """Commits a project and ends its writers, after the merges under way.

        One that outlived its lock would remove files under the next writer; one that is never waited for, because the
        process ends with its commit, leaves the index in ever more pieces.
        """
        self._commit(project_id)
        for writer in self._writers.pop(project_id).values():
            writer.wait_merging_threads()

    @guarded
    def close(self) -> None:
        """Gives the lock back; what was not committed is lost."""
        try:
            self._changed.clear()
            for project_id in list(self._writers):
                self._close(project_id)
        finally:
            self.drop()

    def drop(self) -> None:
        """Gives the lock back at once."""
        self._writers.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _add_session(self, session_id: int, new: list[IndexRow], texts: Mapping[int, str], *, is_new: bool) -> None:
        """New rows of one session, each with what it looks back at: nothing in a session that has no others."""
        new_ids = {row.row for row in new}
        if is_new:
            rows = sorted(new, key=lambda row: (row.order_ms, row.row))
        else:
            rows = [row for row in self._look_back(session_id, new, new_ids) if row.row <= new[-1].row]
        exchanges = _split(rows)
        read = {row.row for exchange in exchanges for row in _shortened(exchange) if row.kind in _INDEXED} | new_ids
        missing = sorted(row for row in read if row not in texts)
        known = _Texts({**self._log.search_texts(missing), **texts} if missing else texts)
        self._add_events(exchanges, new_ids, known)
        before: set[str] = set()
        for exchange in exchanges:
            words = _Exchange(_shortened(exchange), known, before)
            if any(row.row in new_ids for row in exchange):
                self._replace_exchange(exchange, words, new_ids)
            before = words.said_words

    def _look_back(self, session_id: int, new: list[IndexRow], new_ids: set[int]) -> list[IndexRow]:
        """A session's rows from the exchange before the first new row on, or as far back as its window reaches."""
        rows = self._log.session_rows(session_id, min(row.order_ms for row in new))
        while True:
            first = next(place for place, row in enumerate(rows) if row.row in new_ids)
            turns = sum(row.kind in _TURNS for row in rows[:first])
            prompts = sum(row.kind == _PROMPT for row in rows[: first + 1])
            if turns >= TURNS_BEFORE and prompts >= 2:
                return rows
            earlier = self._log.session_rows(session_id, rows[0].order_ms - 1)
            if len(earlier) <= len(rows):
                return rows
            rows = earlier

    def _add_events(self, exchanges: list[list[IndexRow]], new_ids: set[int], texts: _Texts) -> None:
        near: deque[IndexRow] = deque(maxlen=TURNS_BEFORE)
        for exchange in exchanges:
            for row in exchange:
                if row.kind not in _INDEXED:
                    continue
                is_turn = row.kind in _TURNS
                if row.row in new_ids and self._is_missing(row):
                    own, names = texts.event(row)
                    document = _document(row, exchange[0].row)
                    said = [own] * OWN_WEIGHT + [texts.near(turn) for turn in near] if is_turn else [own]
                    document.add_text("text", " ".join(said))
                    if names:
                        document.add_text("names", names)
                    self._changing(row.project_id)[EVENTS].add_document(document)
                if is_turn:
                    near.append(row)

    def _replace_exchange(self, exchange: list[IndexRow], words: _Exchange, new_ids: set[int]) -> None:
        first = exchange[0]
        known = next((row for row in exchange if row.row not in new_ids), first)  # it was the first until now
        for row, project_id in {(each.row, each.project_id) for each in (known, first)}:
            self._changing(project_id)[EXCHANGES].delete_documents_by_term("key", str(row))
        document = tantivy.Document()
        document.add_text("key", str(first.row))
        document.add_unsigned("row", max(row.row for row in exchange))
        document.add_unsigned("exchange", first.row)
        document.add_unsigned("session", first.session_id)
        document.add_unsigned("ts", max(0, *(row.ts_ms or 0 for row in exchange)))
        document.add_unsigned("kind", first.kind)
        document.add_unsigned("origin", first.origin)
        document.add_text("said", words.said)
        document.add_text("did", words.did)
        self._changing(first.project_id)[EXCHANGES].add_document(document)


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


def _document(row: IndexRow, exchange: int) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("row", row.row)
    document.add_unsigned("session", row.session_id)
    document.add_unsigned("exchange", exchange)
    document.add_unsigned("ts", max(row.ts_ms or 0, 0))
    document.add_unsigned("kind", row.kind)
    document.add_unsigned("origin", row.origin)
    return document
