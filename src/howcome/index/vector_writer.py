"""Adding vectors to an index: one writer at a time on the machine, no waiting, whole or not at all under any crash."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import zlib

import numpy as np

from howcome.errors import IndexDamagedError, StoreError
from howcome.files import sync
from howcome.index.index_files import make_folders
from howcome.index.vector_files import HEAD_NAME, LOCK_NAME, Head, data_path, row_bytes, write_head
from howcome.index.vector_snapshot import ROW, data_types, signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from howcome.domain.stored import Turn
    from howcome.index.vector_index import VectorIndex
    from howcome.index.vector_snapshot import Array

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_DATA_FILE = re.compile(r"(?:rows|codes|values)-(\d+)\.bin")


class VectorWriter:
    """The writer of an index within a `with` block; not `is_open` there when another process writes.

    What is appended is there for others with the next `commit`. An index that is damaged, or of other rows, is begun
    anew as soon as the writer is open. Files that a reader may have mapped never get shorter: where vectors are to go,
    new files are begun, and the old ones only lose their names.
    """

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._folder = index.folder
        self._lock: int | None = None
        self._files: dict[str, int] = {}
        self._head = Head(index.model, index.dimensions, 0, checksums={})
        self._last_appended = 0

    @property
    def is_open(self) -> bool:
        """Whether this is the one that writes."""
        return self._lock is not None

    @property
    def last_row(self) -> int:
        """The last event row that was considered: where to go on."""
        return self._head.last_row

    def __enter__(self) -> VectorWriter:  # noqa: PYI034 - `typing` is dear
        """Takes the lock."""
        try:
            with _explained(self._folder):
                if self._take_lock():
                    self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def append(self, turns: Sequence[Turn], vectors: npt.NDArray[np.float32]) -> None:
        """Adds the vectors of turns, in the order of their rows; they are made one long, those of length 0 stay."""
        values = halves(turns, vectors, self._index.dimensions, self._last_appended)
        if not turns:
            return
        columns = ((t.row, t.session_id, t.exchange, t.project_id, t.ts_ms, t.kind, t.origin, b"") for t in turns)
        rows = np.array(list(columns), ROW)
        parts: dict[str, Array] = {"rows": rows, "codes": signs(values), "values": values}
        with _explained(self._folder):
            for name, part in parts.items():
                data = part.tobytes()
                _write_at(self._files[name], data, self._head.count * (part.nbytes // len(part)))
                self._head.checksums[name] = zlib.crc32(data, self._head.checksums[name])
        self._head.count += len(turns)
        self._last_appended = int(rows["row"][-1])

    def commit(self, last_row: int) -> None:
        """Makes what was appended last, and there for everybody."""
        self._head.last_row = max(last_row, self._last_appended)
        self._last_appended = self._head.last_row
        if self._index.key_of is not None:
            self._head.last_key = self._index.key_of(self._head.last_row) if self._head.last_row else ""
        with _explained(self._folder):
            for descriptor in self._files.values():
                os.fsync(descriptor)
            sync(self._folder)
            write_head(self._folder, self._head)
            self._remove_other_files()
        self._index.refresh()

    def clear(self) -> None:
        """Begins anew, without vectors; readers see the old ones until the next commit."""
        with _explained(self._folder):
            self._begin()

    def _take_lock(self) -> bool:
        make_folders(os.path.dirname(self._folder), self._folder)
        descriptor = os.open(os.path.join(self._folder, LOCK_NAME), _FLAGS, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def _open(self) -> None:
        self._index.refresh()
        try:
            found = self._index.committed()
            if found is not None and self._index.count >= 0:  # its files are there, and long enough
                self._head = found
        except IndexDamagedError:
            found = None
        if found is None:
            self._begin()
            if os.path.exists(os.path.join(self._folder, HEAD_NAME)):
                self.commit(0)  # nobody should go on finding by what is of no use
        else:
            self._last_appended = self._head.last_row
            self._open_files()
            self._remove_other_files()

    def _begin(self) -> None:
        """New files, of a number that no file here has: somebody may still read those."""
        taken = [self._head.generation, *(generation for _, generation in self._data_files())]
        checksums = dict.fromkeys(row_bytes(self._index.dimensions), 0)
        self._head = Head(self._index.model, self._index.dimensions, max(taken) + 1, checksums=checksums)
        self._last_appended = 0
        self._open_files()

    def _open_files(self) -> None:
        """Opens the files where they end; what a crash left behind that goes: nobody has ever seen it."""
        self._close_files()
        for name, (kind, shape) in data_types(self._index.dimensions).items():
            path = data_path(self._folder, name, self._head.generation)
            self._files[name] = os.open(path, _FLAGS, 0o600)
            os.ftruncate(self._files[name], self._head.count * kind.itemsize * int(np.prod(shape)))

    def _data_files(self) -> Iterator[tuple[str, int]]:
        for name in os.listdir(self._folder):
            is_data = _DATA_FILE.fullmatch(name)
            if is_data:
                yield name, int(is_data[1])

    def _remove_other_files(self) -> None:
        for name, generation in self._data_files():
            if generation != self._head.generation:
                os.unlink(os.path.join(self._folder, name))

    def _close_files(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def _close(self) -> None:
        """Gives the lock back; what was not committed is nobody's."""
        self._close_files()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def halves(turns: Sequence[Turn], vectors: npt.NDArray[np.float32], dimensions: int, last_row: int) -> Array:
    """The vectors of turns behind a row as half floats, made one long; those of length 0 stay.

    Raises:
        StoreError: they are not as many as the turns, or not in order, or not finite, or of other dimensions.
    """
    vectors = np.asarray(vectors, np.float32)
    if vectors.shape != (len(turns), dimensions) or not np.isfinite(vectors).all():
        raise StoreError(f"{len(turns)} turns have vectors of shape {vectors.shape}, or such with no finite length")
    if (np.diff([last_row, *(turn.row for turn in turns)]) <= 0).any():
        raise StoreError(f"rows up to {last_row} have vectors already, or these are not in order")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Array = (vectors / np.where(lengths == 0, 1, lengths)).astype("<f2")
    return found


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written


@contextlib.contextmanager
def _explained(folder: str) -> Iterator[None]:
    """What the system refuses, in a sentence."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"the vector index in {folder} cannot be written: {error.strerror or error}") from error
