"""Whether a file still begins with what was read of it: the fingerprints that tell one generation from the next."""

from __future__ import annotations

import io

from recollect.capture.files import READ_ERRORS, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from recollect.domain.sources import SourceState


def is_same_generation(state: SourceState, head: bytes, stream: BinaryIO) -> bool:
    """Whether the bytes that were read before are still there: the first ones, and those just before the offset."""
    if state.offset == 0:
        return True
    if len(head) < state.head_bytes or digest_of(head[: state.head_bytes]) != state.head_digest:
        return False
    size, _, digest = state.tail_digest.partition(":")
    length = int(size or 0)
    try:
        stream.seek(state.offset - length)
        tail = read_fully(stream, length)
    except READ_ERRORS:  # a packed file that is shorter now, or damaged
        return False
    return len(tail) == length and (not length or digest_of(tail) == digest) and _reaches(stream, state.offset)


def _reaches(stream: BinaryIO, offset: int) -> bool:
    try:
        stream.seek(offset - 1)
        return len(stream.read(1)) == 1
    except READ_ERRORS:
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
