"""Reading ahead: processes of their own make rows of the files that come next; this one commits them, in order.

A reader does all that needs no write: lines become records, secrets go, rows are keyed, cut and packed. It sends
batches as they are to be committed. The process that started it commits each with its cursor, in the order of the files
as they were given, so the store is the same as after reading them one by one. What no reader has begun when its turn
comes is read by that process itself. Whoever is killed has read nothing of what is not committed.
"""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from multiprocessing.connection import Connection, Pipe
from typing import Self

from howcome.clients.discover import Found
from howcome.clients.registry import history_of
from howcome.domain.sources import Batch
from howcome.errors import CursorMovedError, StoreError, TranscriptError
from howcome.ingest.file_pass import FileReport
from howcome.ingest.pipeline import Ingester
from howcome.ingest.writer import Again, Settle

PART_BYTES = 4 << 20
PART_FILES = 100
"""What a reader is given at once: there are parts for several readers, and many small files cost few messages."""

LONG_BYTES = 8 << 20
"""A part with a longer file is left to a reader even if that takes a while: nobody reads ahead while this one reads."""

WAIT_S = 0.02

MESSAGE_BYTES = 256 << 10
AHEAD_MESSAGES = 4
"""How far a reader goes on while nobody commits: so many messages, each of one batch at most or of small ones."""

END_WAIT_S = 5.0
"""A reader that was told to end and does not is busy with a costly record: it is killed."""

Message = tuple[Batch, bool] | tuple[type[Exception] | None, str]
"""A batch, and whether it may wait for others; or the end of a file, with the error that ended it."""


class ReadAhead:
    """The files that are to be read, in parts, and the processes that read them; a context.

    Args:
        found: The files in the order in which they will be asked for.
        command: Starts a reader (which calls `serve` with the number that is appended).
        readers: How many.
        starts_over: As `RecordWriter.starts_over`.
    """

    def __init__(self, found: Sequence[Found], command: Sequence[str], readers: int, *, starts_over: bool) -> None:
        self._parts = _parts([one for one in found if not history_of(one.client).holds_sessions(one.path)])
        self._part_of = {path: number for number, part in enumerate(self._parts) for path, _ in part}
        self._long = {self._part_of.get(one.path) for one in found if one.size_bytes > LONG_BYTES}
        self._given: dict[int, _Reader | None] = {}
        self._lock = threading.Lock()
        self._readers = [_Reader(self, command, starts_over=starts_over) for _ in range(readers)]

    def __enter__(self) -> Self:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._given = dict.fromkeys(range(len(self._parts)))
        for reader in self._readers:
            reader.end()

    def give(self, reader: _Reader) -> list[tuple[str, str]] | None:
        """The next part, for a reader; None when there is no more."""
        with self._lock:
            number = len(self._given)
            if number == len(self._parts):
                return None
            self._given[number] = reader
        return self._parts[number]

    def batches(self, path: str) -> Iterator[tuple[Batch, bool]] | None:
        """What a reader makes of a file, once; None when the caller has to read it."""
        number = self._part_of.pop(path, None)
        if number is None:
            return None
        while number in self._long and number not in self._given and any(map(_Reader.is_alive, self._readers)):
            time.sleep(WAIT_S)
        with self._lock:
            reader = self._given.setdefault(number, None)
        return None if reader is None or reader.is_dead else reader.batches(path)


class _Reader(threading.Thread):
    """One process, and the thread that gives it parts and takes what it sends."""

    def __init__(self, plan: ReadAhead, command: Sequence[str], *, starts_over: bool) -> None:
        super().__init__(daemon=True)
        self._plan, self._command, self._starts_over = plan, command, starts_over
        self._arrived: queue.Queue[list[Message] | None] = queue.Queue(AHEAD_MESSAGES)
        self._messages = chain.from_iterable(iter(self._arrived.get, None))
        self._process: subprocess.Popen[bytes] | None = None
        self.is_dead = False

    def run(self) -> None:
        """Until there is nothing left to read, or the process ends."""
        ours, its = Pipe()
        with ours, its:
            number = its.fileno()
            try:
                words = [*self._command, str(number)]
                self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[number])
                its.close()
                ours.send(self._starts_over)
                ours.recv()  # it is ready: until then its parts are read by who waits for them
                while part := self._plan.give(self):
                    ours.send(part)
                    files = len(part)
                    while files:
                        messages = ours.recv()
                        files -= sum(not isinstance(head, Batch) for head, _ in messages)
                        self._arrived.put(messages)
            except (OSError, EOFError):
                self._arrived.put(None)

    def batches(self, path: str) -> Iterator[tuple[Batch, bool]]:
        """Those of the next file.

        Raises:
            TranscriptError: it cannot be read on, or its reader has died.
            StoreError: see `Ingester.ingest_file`.
        """
        for head, rest in self._messages:
            if isinstance(head, Batch):
                yield head, bool(rest)
            elif head is None:
                return
            else:
                raise head(rest)
        self.is_dead = True
        raise TranscriptError(f"{path}: the process that read it died; the next import reads on")

    def end(self) -> None:
        """Ends the process, whatever it is at; waits for both."""
        until = time.monotonic() + END_WAIT_S
        if self._process is not None:
            self._process.terminate()
        while self.is_alive():
            if self._process is not None and time.monotonic() > until:
                self._process.kill()
            try:
                self._arrived.get(timeout=WAIT_S)
            except queue.Empty:
                continue
        if self._process is not None:
            try:
                self._process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _parts(found: Sequence[Found]) -> list[list[tuple[str, str]]]:
    parts: list[list[tuple[str, str]]] = []
    left = 0
    for one in found:
        if left <= 0 or len(parts[-1]) >= PART_FILES:
            parts.append([])
            left = PART_BYTES
        parts[-1].append((one.path, one.client))
        left -= one.size_bytes
    return parts


class SendingIngester(Ingester):
    """Reads files, and sends what it would commit."""

    commits = False

    def send_to(self, connection: Connection) -> None:
        """Reads the parts that arrive, until there are no more or nobody is there."""
        self._connection = connection
        self._messages: list[Message] = []
        self._bytes = 0
        self.starts_over = connection.recv()
        self._connection.send(None)
        while True:
            for path, client in connection.recv():
                try:
                    self._pass(path, client, FileReport(), None)
                except (CursorMovedError, TranscriptError, StoreError, OSError) as error:
                    kinds = (CursorMovedError, StoreError, TranscriptError)
                    kind = next((kind for kind in kinds if isinstance(error, kind)), TranscriptError)
                    self._messages.append((kind, str(error)))
                else:
                    self._messages.append((None, ""))
            self._send()

    def write(self, batch: Batch, settle: Settle, again: Again | None) -> None:  # noqa: ARG002 - who commits settles
        """Sends a batch, with others when it is small."""
        self._messages.append((batch, again is not None))
        self._bytes += sum(record.size_bytes for record in batch.records)
        if self._bytes >= MESSAGE_BYTES:
            self._send()

    def _send(self) -> None:
        try:
            self._connection.send(self._messages)
        except OSError as error:  # who would commit it is gone: nothing here has happened
            raise SystemExit(1) from error
        self._messages, self._bytes = [], 0


def serve(ingester: SendingIngester) -> None:
    """The work of a reader's process: see `ReadAhead`, which ends it; an interrupt is for the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # taking back the note of a record that is being tried
    with Connection(int(sys.argv[-1])) as connection:
        try:
            ingester.send_to(connection)
        except (EOFError, ConnectionResetError):
            return
