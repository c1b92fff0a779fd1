"""Where to go on in a file, and whether it is still the one that was read: the fingerprints of its generations.

What its reader remembers between passes rests beside the cursor: as it is, or not at all when it holds a secret or
words. What somebody typed while the agent works rests nowhere before it is an event: it might be a secret, or an
excluded folder's. Such words wait for seconds; a pass in between reads the file again up to its cursor.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import BinaryIO

from howcome.clients.files import HEAD_BYTES, READ_ERRORS, TAIL_BYTES, LineReader, digest_of
from howcome.clients.records import ReaderState
from howcome.clients.registry import history_of
from howcome.clients.sources import is_there
from howcome.domain.sources import SourceState
from howcome.errors import RecordError
from howcome.redact.gate import Gate
from howcome.store.base import Store

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


def kept(state: ReaderState, gate: Gate) -> dict[str, object]:
    """What may rest of a reader's state."""
    names = [state.session_id, state.cwd, state.branch, state.agent_id]
    names += [name for call_id, call in state.calls.items() for name in (call_id, *call)]
    is_clean = not state.queue.holds_words and all(not name or gate.text(name) == name for name in names)
    return state.to_values() if is_clean else {WITHHELD: True}


def at_hand(values: Mapping[str, object], path: str, client: str) -> ReaderState:
    """A reader's state without a look into its file: what was withheld is as at the beginning."""
    return ReaderState(values if values and WITHHELD not in values else history_of(client).place_of(path))


def remembered(
    values: Mapping[str, object],
    path: str,
    client: str,
    decode: Callable[[bytes, str], Mapping[str, object]],
    stream: BinaryIO,
    offset: int,
) -> ReaderState:
    """A reader's state at an offset; what was withheld is what the reader makes of the file up to there."""
    state = at_hand(values, path, client)
    if WITHHELD not in values:
        return state
    stream.seek(0)
    for line in LineReader(stream, 0):
        if line.end > offset:
            break
        try:
            if line.data and not line.data.isspace():
                history_of(client).read_record(decode(line.data, client), state)
        except (RecordError, RecursionError):
            continue
    stream.seek(offset)
    return state
