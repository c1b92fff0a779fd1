"""The records of one file between two commits: lines become records, records become rows, rows are committed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from howcome.clients.decode import OVERSIZE, TOO_DEEP, TORN, clean_text
from howcome.clients.files import TAIL_BYTES, Line, digest_of
from howcome.clients.records import ReaderState
from howcome.clients.registry import history_of
from howcome.clients.sources import Status
from howcome.domain.events import Event
from howcome.domain.sources import COUNTERS, SET_ASIDE, Batch, NewRecord, SourceState
from howcome.errors import RecordError
from howcome.ingest.resuming import kept
from howcome.ingest.writer import RecordWriter, Settle

BATCH_RECORDS = 1000
BATCH_BYTES = 4 << 20


class FileReport:
    """What one pass over one file did: counts by the names of COUNTERS, and whether it reached the end."""

    __slots__ = ("bytes_read", "counts", "is_complete")

    def __init__(self) -> None:
        self.bytes_read = 0
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.is_complete = False


def settling(batch: Batch, report: FileReport, on_progress: Callable[[int], None] | None) -> Settle:
    """Adds what became of a batch to a report, once it is committed."""
    size = sum(record.size_bytes for record in batch.records)

    def settle(counts: dict[str, int]) -> None:
        for name, count in counts.items():
            report.counts[name] += count
        report.bytes_read += size
        if on_progress is not None:
            on_progress(size)

    return settle


class FilePass:
    """The records of one file that are read but not yet committed."""

    def __init__(
        self,
        writer: RecordWriter,
        state: SourceState,
        memory: ReaderState,
        head: bytes,
        window: bytes,
        report: FileReport,
        on_progress: Callable[[int], None] | None,
    ) -> None:
        self._writer, self._head, self._window, self._report = writer, head, window, report
        self._on_progress = on_progress
        self.state = state.copy()
        self._reader = history_of(state.client).read_record
        self._reader_state = memory
        self._fallback_session = writer.preparer().gate.text(clean_text(os.path.basename(state.path))).split(".")[0]
        self._records: list[NewRecord] = []
        self._found: list[tuple[NewRecord, list[tuple[Event, int]], bytes]] = []
        self._bytes = 0
        self.is_unhurried = False
        """Whether all events of a batch may be prepared together; one by one, a pass keeps to its deadline."""
        self.roots: dict[str, tuple[str, bool]] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to commit."""
        return len(self._records) >= BATCH_RECORDS or self._bytes >= BATCH_BYTES

    def add(self, line: Line, *, is_whole: bool = True) -> None:
        """One line. An unfinished last one that will not be finished is a record if it is one, else torn."""
        size = line.end - line.start
        if line.data is None:
            self._append(NewRecord(line.start, size, [], quarantined=OVERSIZE, digest=line.digest), line)
            return
        record = self.read(line.start, size, line.data)
        if not self.is_unhurried:
            self.prepare()
        if record.quarantined is not None and not is_whole:
            record.quarantined = TORN
        self._append(record, line)

    def set_aside(self, line: Line) -> None:
        """A line that a pass died in: where it is, and nothing else."""
        digest = digest_of(line.data or b"")
        record = NewRecord(line.start, line.end - line.start, [], quarantined=SET_ASIDE, digest=digest)
        self._append(record, line)

    def _append(self, record: NewRecord, line: Line) -> None:
        self._records.append(record)
        self._bytes += record.size_bytes
        self.state.offset += record.size_bytes
        if line.data is None:
            self._window = b""
            return
        end = b"\n" if line.end - line.start > len(line.data) else b""
        self._window = (self._window + line.data[-TAIL_BYTES:] + end)[-TAIL_BYTES:]

    def read(self, offset: int, size: int, data: bytes) -> NewRecord:
        """The record of a line; `prepare` makes its rows."""
        if not data or data.isspace():
            return NewRecord(offset, size, [])
        try:
            record = self._writer.decode(data, self.state.client)
            found = self._reader(record, self._reader_state)
            new = NewRecord(offset, size, [], unknown=found is None)
            if found:
                self._found.append((new, self._kept(found, offset), data))
        except RecordError as error:
            return NewRecord(offset, size, [], quarantined=error.reason, digest=digest_of(data))
        except RecursionError:
            return NewRecord(offset, size, [], quarantined=TOO_DEEP, digest=digest_of(data))
        return new

    def prepare(self) -> None:
        """The rows of what was read."""
        preparer = self._writer.preparer()
        with contextlib.suppress(RecursionError):  # each is tried by itself, too
            preparer.foresee(event for _, found, _ in self._found for event, _ in found)
        for record, found, data in self._found:
            try:
                record.events += [preparer.prepare(event, order_ms) for event, order_ms in found]
            except RecursionError:
                record.quarantined, record.digest = TOO_DEEP, digest_of(data)
        self._found = []

    def _kept(self, found: list[Event], offset: int) -> list[tuple[Event, int]]:
        """The events of a record, but for those of excluded folders, and their place in the session."""
        kept = []
        for event in found:
            cwd = event.cwd or ""
            if cwd not in self.roots:
                self.roots[cwd] = self._writer.root_of(cwd)
            if self._writer.places.is_excluded(cwd):
                self._reader_state.close_call(event.tool_use_id or "")
                continue
            event.session_id = event.session_id or self._fallback_session
            if not event.record_id and event.ts_ms is None:  # nothing but its place tells it from its equals
                event.record_id = f"{event.session_id}@{offset}"
            self.state.order_ms = max(self.state.order_ms, event.ts_ms or 0)
            kept.append((event, self.state.order_ms))
        return kept

    def commit(self, status: Status | None, again: Callable[[], object] | None = None) -> None:
        """Commits what was read. With `status` the file was read to its end as it was then; `again` reads it anew."""
        state = self.state
        self.prepare()
        if status is None and not self._records:
            return
        state.size_bytes, state.mtime_ns = (status.size_bytes, status.mtime_ns) if status else (-1, 0)
        if state.offset == 0 and not self._records and state.id is None and not state.tail_bytes:
            return
        state.head_bytes = min(len(self._head), state.offset)
        state.head_digest = digest_of(self._head[: state.head_bytes]) if state.head_bytes else ""
        if self._records:
            state.tail_digest = f"{len(self._window)}:{digest_of(self._window)}" if self._window else ""
        state.reader_state = kept(self._reader_state, self._writer.preparer().gate)
        batch = Batch(state.copy(), self._records, self.roots, self._writer.now_ms())
        self._writer.write(batch, settling(batch, self._report, self._on_progress), again)
        state.id = batch.after.id
        self._records, self._bytes = [], 0
