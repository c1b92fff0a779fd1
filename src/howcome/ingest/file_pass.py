"""The records of one file between two commits: lines become records, records become rows, rows are committed.

And where to go on in a file, and whether it is still the one that was read: the fingerprints of its generations. What
its reader remembers between passes rests beside the cursor: as it is, or not at all when it holds a secret or words.
What somebody typed while the agent works rests nowhere before it is an event: it might be a secret, or an excluded
folder's. Such words wait for seconds; a pass in between reads the file again up to its cursor.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Mapping
from typing import BinaryIO

from howcome.clients.base import Status, is_there
from howcome.clients.decode import OVERSIZE, TOO_DEEP, TORN, clean_text
from howcome.clients.files import HEAD_BYTES, READ_ERRORS, TAIL_BYTES, Line, LineReader, digest_of
from howcome.clients.records import ReaderState
from howcome.clients.registry import history_of
from howcome.domain.events import Event
from howcome.domain.sources import COUNTERS, SET_ASIDE, Batch, NewRecord, SourceState
from howcome.errors import RecordError
from howcome.ingest.writer import RecordWriter, Settle
from howcome.redact.gate import Gate
from howcome.store.base import Store

BATCH_RECORDS = 1000
BATCH_BYTES = 4 << 20


class FileReport:
    """What one pass over one file did: counts by the names of COUNTERS, and whether it reached the end.

    `on_progress` is called with the unpacked bytes of each committed batch.
    """

    def __init__(self) -> None:
        self.bytes_read = 0
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.is_complete = False
        self.on_progress: Callable[[int], None] | None = None

    def settling(self, batch: Batch) -> Settle:
        """Adds what became of a batch, once it is committed."""
        size = sum(record.size_bytes for record in batch.records)

        def settle(counts: dict[str, int]) -> None:
            for name, count in counts.items():
                self.counts[name] += count
            self.bytes_read += size
            if self.on_progress is not None:
                self.on_progress(size)

        return settle


class FilePass:
    """The records of one file that are read but not yet committed."""

    def __init__(
        self, writer: RecordWriter, place: tuple[SourceState, bytes, bytes], memory: ReaderState, report: FileReport
    ) -> None:
        state, self._head, self._window = place
        self._writer, self._report = writer, report
        self.state = state.copy()
        self._reader = history_of(state.client).read_record
        self._reader_state = memory
        self._fallback_session = writer.preparer.gate.text(clean_text(os.path.basename(state.path))).split(".")[0]
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
        except (RecordError, RecursionError) as error:
            reason = getattr(error, "reason", TOO_DEEP)
            return NewRecord(offset, size, [], quarantined=reason, digest=digest_of(data))
        return new

    def prepare(self) -> None:
        """The rows of what was read."""
        preparer = self._writer.preparer
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
        state.reader_state = kept(self._reader_state, self._writer.preparer.gate)
        batch = Batch(state.copy(), self._records, self.roots, self._writer.now_ms())
        self._writer.write(batch, self._report.settling(batch), again)
        state.id = batch.after.id
        self._records, self._bytes = [], 0


# -- between two passes -----------------------------------------------------------------------------------------------
WITHHELD = "withheld"
"""Stands for what must not rest: the next pass reads it in the file again, so that ids and keys are the same."""


def position(
    store: Store, state: SourceState | None, path: str, client: str, stream: BinaryIO
) -> tuple[SourceState, bytes, bytes]:
    """The cursor of the right generation, with the bytes at the head of the file and before the cursor.

    The stream is then at the cursor. A renamed file keeps the cursor it had.
    """
    head = read_fully(stream, HEAD_BYTES)
    if state is None:
        state = _renamed(store, path, client, head) or SourceState(path, client)
    state.path = path
    if not _is_same_generation(state, head, stream):
        state = state.next_generation()
    window = min(state.offset, TAIL_BYTES)
    stream.seek(state.offset - window)
    return state, head, read_fully(stream, window)


def _renamed(store: Store, path: str, client: str, head: bytes) -> SourceState | None:
    for state in store.log.sources_like(digest_of(head)) if head else ():
        if state.client == client and state.id is not None and not is_there(state.path):
            store.log.move_source(state.id, path)
            return store.log.source(path)
    return None


def _is_same_generation(state: SourceState, head: bytes, stream: BinaryIO) -> bool:
    """Whether the bytes that were read before are still there: the first ones, and those just before the offset."""
    if state.offset == 0:
        return True
    if len(head) < state.head_bytes or digest_of(head[: state.head_bytes]) != state.head_digest:
        return False
    size, _, digest = state.tail_digest.partition(":")
    length = int(size or 1)
    try:
        stream.seek(state.offset - length)
        tail = read_fully(stream, length)
        return len(tail) == length and (not digest or digest_of(tail) == digest)
    except READ_ERRORS:  # a packed file that is shorter now, or damaged
        return False


def read_fully(stream: BinaryIO, size: int) -> bytes:
    """`size` bytes, or as many as there are before the end or the damage: whoever reads on is told of that."""
    take = stream.read1 if isinstance(stream, io.BufferedIOBase) else stream.read
    parts = b""
    try:
        while len(parts) < size and (part := take(size - len(parts))):
            parts += part
    except READ_ERRORS:
        return parts
    return parts


def kept(state: ReaderState, gate: Gate) -> dict[str, object]:
    """What may rest of a reader's state."""
    names = [state.session_id, state.cwd, state.branch, state.agent_id]
    names += [name for call_id, call in state.calls.items() for name in (call_id, *call)]
    is_clean = not state.queue.holds_words and all(not name or gate.text(name) == name for name in names)
    return state.to_values() if is_clean else {WITHHELD: True}


def at_hand(state: SourceState) -> ReaderState:
    """A reader's state without a look into its file: what was withheld is as at the beginning."""
    values = state.reader_state
    is_kept = values and WITHHELD not in values
    return ReaderState(values if is_kept else history_of(state.client).place_of(state.path))


def remembered(
    state: SourceState, decode: Callable[[bytes, str], Mapping[str, object]], stream: BinaryIO
) -> ReaderState:
    """A reader's state at its offset; what was withheld is what the reader makes of the file up to there."""
    memory = at_hand(state)
    if WITHHELD not in state.reader_state:
        return memory
    stream.seek(0)
    for line in LineReader(stream, 0):
        if line.end > state.offset:
            break
        if line.data and not line.data.isspace():
            with contextlib.suppress(RecordError, RecursionError):
                history_of(state.client).read_record(decode(line.data, state.client), memory)
    stream.seek(state.offset)
    return memory
