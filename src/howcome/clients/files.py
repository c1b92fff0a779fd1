"""A transcript file as a stream of complete lines from an offset, and the fingerprints that tell its generations apart.

The file is mostly append-only: it can be truncated, rewritten, rotated or replaced. A generation is recognised by the
hash of its first bytes and of the bytes just before the offset, never by its inode (re-used at once) or its name.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import zlib
from _blake2 import blake2b  # `hashlib` loads OpenSSL: 3 ms
from collections.abc import Iterator
from typing import BinaryIO

from howcome.errors import TranscriptError

HEAD_BYTES = 4096
TAIL_BYTES = 256
CHUNK_BYTES = 1 << 20
READ_ERRORS = (OSError, EOFError, zlib.error)
"""What reading (or seeking in) a transcript may raise; the last two when a packed file is cut or damaged."""

MAX_LINE_BYTES = 16 << 20
"""A longer record is one row with its size and hash; its content is skipped and counted."""

MAX_DOCUMENT_BYTES = 256 << 20
"""A transcript that is one document is held in memory; no session of any client comes near this."""


class Line:
    """One complete line: `data` without its line break, or None with `size` and `digest` when it is too long."""

    __slots__ = ("data", "digest", "end", "start")

    def __init__(self, start: int, end: int, data: bytes | None, digest: str = "") -> None:
        self.start, self.end, self.data, self.digest = start, end, data, digest


def digest_of(data: bytes) -> str:
    """A short hash for fingerprints (not for secrets)."""
    return blake2b(data, digest_size=12).hexdigest()


def open_transcript(path: str) -> BinaryIO:
    """Opens a transcript for reading in binary; `.gz` is unpacked on the way.

    Raises:
        TranscriptError: a symlink, not a regular file, another user's file, or unreadable.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a name that no file system holds
        is_link = getattr(error, "errno", None) == errno.ELOOP
        reason = "a symbolic link, which is not followed" if is_link else getattr(error, "strerror", None) or error
        raise TranscriptError(f"{path}: {reason}") from error
    try:
        _check(path, os.fstat(descriptor))
    except TranscriptError:
        os.close(descriptor)
        raise
    raw = os.fdopen(descriptor, "rb", buffering=0)
    if not path.endswith(".gz"):
        return raw
    import gzip  # most transcripts are not packed

    packed = gzip.GzipFile(fileobj=raw)
    packed.myfileobj = raw  # so that closing one closes the other
    return packed  # type: ignore[return-value]


def look_at(path: str) -> os.stat_result:
    """How a file is on disk now, without reading it."""
    try:
        return os.lstat(path)
    except (OSError, ValueError) as error:  # deleted since it was found, or a name that no file system holds
        raise TranscriptError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def check_ours(path: str) -> os.stat_result:
    """The status of a file that something else will open (a database library follows links and waits for FIFOs)."""
    status = look_at(path)
    _check(path, status)
    return status


def _check(path: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise TranscriptError(f"{path}: a symbolic link, which is not followed")
    if not stat.S_ISREG(status.st_mode):
        raise TranscriptError(f"{path}: not a regular file")
    if os.geteuid() not in (0, status.st_uid):
        raise TranscriptError(f"{path}: belongs to another user")


def read_whole(path: str) -> bytes:
    """A document, as it is."""
    try:
        with open_transcript(path) as stream:
            if os.fstat(stream.fileno()).st_size > MAX_DOCUMENT_BYTES:
                raise TranscriptError(f"{path}: larger than {MAX_DOCUMENT_BYTES >> 20} MB")
            return stream.read()
    except READ_ERRORS as error:
        raise TranscriptError(f"{path}: cannot be read: {error}") from error


class LineReader:
    """The lines of a stream from an `offset` of unpacked bytes on; afterwards `rest` is an unfinished last one."""

    def __init__(self, stream: BinaryIO, offset: int) -> None:
        self._offset = offset
        self.rest: Line | None = None
        # A packed stream fails where its damage is: read1 hands out what comes before it, read would swallow that.
        self._take = stream.read1 if isinstance(stream, io.BufferedIOBase) else stream.read

    def __iter__(self) -> Iterator[Line]:
        start, kept, chunk = self._offset, b"", self._read()
        while chunk:
            begin = 0
            while (end := chunk.find(b"\n", begin)) >= 0:
                data = kept + chunk[begin:end] if kept else chunk[begin:end]
                kept, begin = b"", end + 1
                line = Line(start, start + len(data) + 1, data)
                if len(data) > MAX_LINE_BYTES:
                    line.data, line.digest = None, digest_of(data)
                start = line.end
                yield line
            kept, chunk = kept + chunk[begin:], b""
            if len(kept) > MAX_LINE_BYTES:
                oversize = self._skip(start, kept)
                if oversize is None:
                    return
                line, chunk = oversize
                start, kept = line.end, b""
                yield line
            chunk = chunk or self._read()
        if kept:
            self.rest = Line(start, start + len(kept), kept)

    def _read(self) -> bytes:
        try:
            return self._take(CHUNK_BYTES)
        except READ_ERRORS as error:
            raise TranscriptError(f"cannot be read on: {error}") from error

    def _skip(self, start: int, kept: bytes) -> tuple[Line, bytes] | None:
        """Reads on to the end of an oversize line, keeping only its hash: the line, and what was read after it.

        None when the file ends first.
        """
        running, size = blake2b(kept, digest_size=12), len(kept)
        while chunk := self._read():
            end = chunk.find(b"\n")
            part = chunk if end < 0 else chunk[:end]
            running.update(part)
            size += len(part)
            if end >= 0:
                return Line(start, start + size + 1, None, running.hexdigest()), chunk[end + 1 :]
        self.rest = Line(start, start + size, None, running.hexdigest())
        return None
