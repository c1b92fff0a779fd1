"""What a reader remembers between passes, beside the cursor: as it is, or not at all when it holds a secret or words.

What somebody typed while the agent works rests nowhere before it is an event: it might be a secret, or an excluded
folder's. Such words wait for seconds; a pass in between reads the file again up to its cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import BinaryIO

from howcome.clients.files import LineReader
from howcome.clients.records import ReaderState
from howcome.clients.registry import history_of
from howcome.errors import RecordError
from howcome.redact.gate import Gate

WITHHELD = "withheld"
"""Stands for what must not rest: the next pass reads it in the file again, so that ids and keys are the same."""


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
