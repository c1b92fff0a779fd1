"""Bringing the lexical index up to the rows: what is newer than its last row, grouped by session."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping

import tantivy
from tantivy import Query

from howcome.domain.stored import EVENTS, IndexRow
from howcome.index.binding import guarded
from howcome.index.documents import Document, documents
from howcome.index.index_files import make_folders, remove_others, sweep, write_stamp
from howcome.index.lexical import SCHEMAS, LexicalIndex
from howcome.log.event_log import EventLog
from howcome.log.faults import require_memory
from howcome.log.possession import is_taken

ROWS_A_STEP = 10_000
"""Projects are written one after the other within a step."""

ROWS_A_SHORT_STEP = 1000
"""Under a deadline: five thousand rows may take half a second."""

HEAP_BYTES = 15_000_000
MAX_WRITERS = 2
"""Projects that are written at a time: each has a dozen threads, and takes up to 45 MB. One more commits the first."""

LOCK_WAIT_S = 0.2


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
        if not is_taken(self._lock, fcntl.LOCK_EX, LOCK_WAIT_S):
            self.drop()
            return False
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
            self._newest = rows[-1].row
            for document in documents(self._log, rows, texts):
                self._add(document)
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

    def _add(self, one: Document) -> None:
        if one.name == EVENTS and not self._is_missing(one.row):
            return
        for row, project_id in one.replaced:
            self._changing(project_id)[one.name].delete_documents_by_term("key", str(row))
        document = tantivy.Document()
        if one.replaced:
            document.add_text("key", str(one.row.row))
        for field, number in (
            ("row", one.row.row), ("session", one.row.session_id), ("exchange", one.exchange), ("ts", one.ts_ms),
            ("kind", one.row.kind), ("origin", one.row.origin),
        ):  # fmt: skip
            document.add_unsigned(field, number)
        for field, text in one.fields.items():
            document.add_text(field, text)
        self._changing(one.row.project_id)[one.name].add_document(document)
