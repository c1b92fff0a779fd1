"""Where to go on in a file, and whether it is still the one that was read: the fingerprints of its generations."""

from __future__ import annotations

import io
from typing import BinaryIO

from howcome.clients.files import HEAD_BYTES, READ_ERRORS, TAIL_BYTES, digest_of
from howcome.clients.sources import is_there
from howcome.domain.sources import SourceState
from howcome.store.base import Store


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
