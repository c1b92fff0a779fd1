"""Transcript files into the store: every complete record on disk is in it exactly once when a pass ends.

The file is the queue. A pass reads from the stored cursor to the last complete line, and commits rows and cursor
together in small batches, so it can be killed anywhere and run twice anywhere. Readers are at-least-once, keys are
unique: the effect is exactly-once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from howcome.clients.base import Status, is_plain
from howcome.clients.discover import known_transcripts, sniff, with_subagents
from howcome.clients.files import Line, LineReader, digest_of
from howcome.clients.registry import history_of, is_clients
from howcome.domain.sources import Batch, SourceState
from howcome.errors import CursorMovedError, StoreError, TranscriptError
from howcome.files import is_alive
from howcome.ingest.exclusion import Places
from howcome.ingest.file_pass import FilePass, FileReport, at_hand, position, read_fully, remembered
from howcome.ingest.identity import Identities
from howcome.ingest.writer import RecordWriter
from howcome.settings import Settings
from howcome.store.base import Store

TORN_IDLE_MS = 24 * 3600 * 1000
"""An unfinished last line of a file that nobody has touched for a day will not be finished."""

MAX_RETRIES = 20
"""How often a pass gives way to another process on the same file before it leaves the file to it."""

COSTLY_BYTES = 256 << 10
"""Reading so much takes some 30 ms at the usual rate: what is smaller is not worth a note, however slow a rule is."""

LEAST_S = 0.25
"""Who is ended at its deadline does not begin such a record with less time left than this."""

LONGEST_MS = 10 * 60 * 1000
"""A note that is older is nobody's any more, even if some process has the number of the one that wrote it."""

_under_way: set[tuple[str, int, int]] = set()
"""What threads of this process try: its own number alone does not tell whether a try goes on."""


class Trial:
    """One try at one record that may cost a pass all its time, as a context.

    A hook is ended at its deadline, whatever it is busy with. Without a note the next one would try the same record, be
    ended in it, too, and so on for ever. So it is noted before it is read, and set aside by who finds the note of the
    dead. Only large records are, because a note is a write of its own. An error leaves the note behind, an interrupt
    takes it back.

    The note of a record that was read goes with the commit of its rows, or at once when somebody else commits them.
    """

    def __init__(self, store: Store, state: SourceState, offset: int, now_ms: int, *, commits: bool = True) -> None:
        self._store, self._now_ms, self._commits = store, now_ms, commits
        self._record = state.path, state.generation, offset

    def is_hopeless(self) -> bool:
        """Whether a pass died in this record before.

        Raises:
            CursorMovedError: another pass is at it now.
        """
        noted = self._store.quarantine.trial(*self._record)
        if noted is None:
            return False
        pid, began_ms = noted
        is_recent = pid != os.getpid() and abs(self._now_ms - began_ms) < LONGEST_MS
        if self._record in _under_way or (is_recent and is_alive(pid)):
            raise CursorMovedError(f"{self._record[0]}: another process is reading it")
        return True

    def __enter__(self) -> None:
        self._store.quarantine.begin_trial(*self._record, os.getpid(), self._now_ms)
        _under_way.add(self._record)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        _under_way.discard(self._record)
        if not self._commits if kind is None else not issubclass(kind, Exception):
            self._store.quarantine.end_trial(*self._record)


class Ingester(RecordWriter):
    """Reads transcript files into one store; see `RecordWriter` for its arguments."""

    ahead: Callable[[str], Iterator[tuple[Batch, bool]] | None] | None = None
    """What other processes make of a file before its turn comes: see `ReadAhead.batches`."""

    def ingest_file(
        self,
        path: str,
        client: str,
        *,
        deadline: float | None = None,
        on_progress: Callable[[int], None] | None = None,
        is_ended_then: bool = False,
        report: FileReport | None = None,
    ) -> FileReport:
        """Reads what is new in one file.

        Args:
            path: The transcript.
            client: Whose format it is (a name of `clients/registry`).
            deadline: `time.monotonic()` after which the pass stops at the next record (of a packed file: batch); the
                cursor keeps its place. What stops has read something: passes without any time left end, too.
            on_progress: Called with the unpacked bytes of each committed batch.
            is_ended_then: Somebody ends the process soon after the deadline: a costly record is not begun just before.
            report: One to add to.

        Raises:
            TranscriptError: the file cannot be read (or on); what was committed stays.
            StoreError: the store failed; what was committed stays.
        """
        report = report or FileReport()
        report.on_progress = on_progress or report.on_progress
        self._is_ended_then = is_ended_then and deadline is not None
        read = self._pass_over_sessions if history_of(client).holds_sessions(path) else self._pass
        for _ in range(MAX_RETRIES):
            with contextlib.suppress(CursorMovedError):
                read(path, client, report, deadline)
                break
        return report

    @contextlib.contextmanager
    def in_bulk(self) -> Iterator[None]:
        """While this is entered, files that are read to their end in one batch are committed together with others.

        Their reports are filled in when they are committed, at the end at the latest.
        """
        self._held = []
        try:
            yield
        finally:
            held, self._held, self._held_records, self._held_bytes = self._held or (), None, 0, 0
        self.commit_all(held)

    def _pass_over_sessions(self, path: str, client: str, report: FileReport, deadline: float | None) -> None:
        """A database of many sessions: each is a source, and the database's own row only says when all were read."""
        history = history_of(client)
        status = history.status(path)
        state = self._known(path, client)
        if state is not None and self._is_read(state, status):
            report.is_complete = True
            return
        state, failed = state or SourceState(path, client), None
        state.size_bytes, state.mtime_ns, state.tail_bytes = status.size_bytes, status.mtime_ns, 0
        sessions = history.sessions_in(path)
        if deadline is not None:  # time is short: what is newest is asked for first
            sessions.reverse()
        for session, session_status in sessions:
            before_bytes = report.bytes_read
            try:
                self._pass(session, client, report, deadline, session_status)
            except TranscriptError as error:  # one that cannot be read must not keep the others from being read
                failed = failed or error
            if deadline is not None and time.monotonic() > deadline and report.bytes_read > before_bytes:
                report.is_complete = False
                return
            known = self._store.log.source(session)
            state.tail_bytes += known.tail_bytes if known else 0
        if failed is not None:
            raise failed
        self.store_batch(Batch(state, [], {}, self.now_ms()))
        report.is_complete = True

    def _known(self, path: str, client: str) -> SourceState | None:
        """The cursor of a source; of one that was read as another client's before nothing is known yet."""
        state = self._store.log.source(path)
        if self.starts_over and path not in self._started:
            self._started.add(path)
            return state.next_generation(client) if state else None
        return state if state is None or state.client == client else state.next_generation(client)

    def _pass(
        self, path: str, client: str, report: FileReport, deadline: float | None, status: Status | None = None
    ) -> None:
        if self.ahead is not None and (batches := self.ahead(path)) is not None:
            self._commit_each(batches, path, client, report)
            return
        is_session, status = status is not None, status or history_of(client).status(path)
        state = self._known(path, client)
        if state is not None and self._is_read(state, status):
            report.is_complete = True
            return
        is_idle = self._is_idle(status)
        with history_of(client).open_lines(path, is_idle=is_idle) as stream:
            place = position(self._store, state, path, client, stream)
            reader = LineReader(stream, place[0].offset)
            work = FilePass(self, place, remembered(place[0], self.decode, stream), report)
            work.is_unhurried = deadline is None
            try:
                for line in reader:
                    if not self._add(work, line, deadline):
                        work.commit(None)
                        return
            except TranscriptError:  # the lines before the damage are kept; the file is tried again next time
                work.commit(None)
                raise
            rest = reader.rest
            if rest and (is_idle or path.endswith(".gz")):
                self._add(work, rest, None, is_whole=False)
            else:
                work.state.tail_bytes = rest.end - rest.start if rest else 0
            work.commit(status, None if is_session else lambda: self.ingest_file(path, client, report=report))
        report.is_complete = True

    def _commit_each(self, batches: Iterator[tuple[Batch, bool]], path: str, client: str, report: FileReport) -> None:
        """What another process makes of a file, with what needs a write or comes of one."""
        source_id: int | None = None
        for batch, may_wait in batches:
            batch.after.id = batch.after.id or source_id
            for cwd in batch.roots:
                self.root_of(cwd)
            again = (lambda: self.ingest_file(path, client, report=report)) if may_wait else None
            try:
                self.write(batch, report.settling(batch), again)
            except (CursorMovedError, StoreError, TranscriptError, OSError):  # the rest is not of the next file
                with contextlib.suppress(StoreError, TranscriptError):
                    for _ in batches:
                        pass
                raise
            source_id = batch.after.id
        report.is_complete = True

    def _add(self, work: FilePass, line: Line, deadline: float | None, *, is_whole: bool = True) -> bool:
        """One line to what is to be committed; False when the pass has to stop, because its time is over.

        A costly one is committed by itself, behind a note that it is tried.
        """
        if line.data is None or len(line.data) < COSTLY_BYTES:
            work.add(line, is_whole=is_whole)
        else:
            work.commit(None)
            self.commit_held()
            if self._is_ended_then and time.monotonic() > (deadline or 0) - LEAST_S:
                return False
            trial = Trial(self._store, work.state, line.start, self.now_ms(), commits=self.commits)
            if trial.is_hopeless():
                work.set_aside(line)
                return True
            with trial:
                work.add(line, is_whole=is_whole)
                work.commit(None)
        is_late = deadline is not None and time.monotonic() > deadline
        if work.is_full or (is_late and is_plain(work.state.path)):
            work.commit(None)
            return not is_late
        return True

    def _is_read(self, state: SourceState, status: Status) -> bool:
        """Whether a pass would find nothing new; an unfinished part of a session changes without a sign of it."""
        if (state.size_bytes, state.mtime_ns) != (status.size_bytes, status.mtime_ns):
            return False
        is_whole = is_plain(state.path) or history_of(state.client).holds_sessions(state.path)
        return not state.tail_bytes or (is_whole and not self._is_idle(status))

    def _is_idle(self, status: Status) -> bool:
        return self.now_ms() - status.mtime_ns // 1_000_000 > TORN_IDLE_MS

    def catch_up(self, folders: Sequence[str], paths: Iterable[str], deadline: float, *, and_others: bool) -> int:
        """Reads what is new in a session's transcripts (its own and its subagents'), within the time.

        One unreadable file does not keep the others from being read. Transcripts may be in the clients' own folders and
        in `folders`. With `and_others` every other transcript on the machine with unread bytes follows.

        Returns:
            How many files are no client's: whoever names one to a hook may name any.
        """
        refused = 0
        for path in with_subagents(paths):
            if not is_clients(path, folders):
                refused += 1
            elif time.monotonic() < deadline:
                self._read_quietly(path, deadline)
        if and_others:
            for found in known_transcripts(os.path.expanduser("~"), os.environ, newest_first=True):  # time is short
                if time.monotonic() > deadline:
                    break
                self._read_quietly(found.path, deadline, found.client)
        return refused

    def _read_quietly(self, path: str, deadline: float, client: str | None = None) -> None:
        with contextlib.suppress(TranscriptError, OSError):
            known = self._store.log.source(path)
            chosen = client or (known.client if known else sniff(path))
            if chosen:
                self.ingest_file(path, chosen, deadline=deadline, is_ended_then=True)

    def retry_set_aside(self, paths: Collection[str] | None = None) -> dict[str, int]:
        """Reads what was set aside, because a pass died in it, however long it takes; what is not there stays as it is.

        Returns:
            What became of them, by the names of COUNTERS.
        """
        totals: Counter[str] = Counter()
        for path, offset, size_bytes, digest in self._store.quarantine.set_aside():
            state = self._store.log.source(path) if paths is None or path in paths else None
            if state is None:
                continue
            try:
                with history_of(state.client).open_lines(state.path) as stream:
                    stream.seek(offset)
                    data = read_fully(stream, size_bytes).removesuffix(b"\n")
            except (TranscriptError, OSError, EOFError):
                continue
            if digest_of(data) == digest:
                totals.update(self._read_again(state, offset, size_bytes, data))
        return dict(totals)

    def _read_again(self, state: SourceState, offset: int, size_bytes: int, data: bytes) -> dict[str, int]:
        """Commits a record that was set aside, with its rows in the order of their own times."""
        work = FilePass(self, (state, b"", b""), at_hand(state), FileReport())
        work.state.order_ms = 0
        record = work.read(offset, size_bytes, data)
        work.prepare()
        counts, new_rows = self._store.quarantine.readmit(Batch(state, [record], work.roots, self.now_ms()))
        self._hand_on(new_rows)
        return counts


def open_ingester(
    store: Store,
    settings: Settings,
    fixed_root: str | None,
    now_ms: Callable[[], int],
    on_rows: Callable[[dict[int, str]], None],
) -> Ingester:
    """Reads transcripts into a store; folders that it has not seen are looked at (see `Ingester`)."""
    places = Places(settings.exclude, fixed_root)
    meet = None if fixed_root is not None else Identities(store, now_ms).meet
    return Ingester(store, places, now_ms=now_ms, on_rows=on_rows, meet=meet)
