"""Reading transcripts within a time: a session's own, and whatever else on this machine is unread.

Records that were set aside, because a pass died in them, are read after all by somebody who has the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress

from howcome.clients.discover import known_transcripts, sniff, with_subagents
from howcome.clients.files import digest_of
from howcome.clients.registry import history_of, is_clients
from howcome.domain.sources import SourceState
from howcome.errors import TranscriptError
from howcome.ingest.file_pass import read_fully
from howcome.ingest.pipeline import Ingester
from howcome.store.base import Store


def catch_up(
    store: Store,
    ingester: Callable[[], Ingester],
    folders: Sequence[str],
    paths: Iterable[str],
    deadline: float,
    *,
    and_others: bool,
) -> int:
    """Reads what is new in a session's transcripts (its own and its subagents'), within the time.

    One unreadable file does not keep the others from being read.

    Args:
        store: Where cursors are.
        ingester: Gives what reads, when there is something to read.
        folders: Where transcripts may be, beside the clients' own folders.
        paths: The session's.
        deadline: When to end.
        and_others: Every other transcript on the machine with unread bytes follows.

    Returns:
        How many files are no client's: whoever names one to a hook may name any.
    """
    refused = 0
    for path in with_subagents(paths):
        if not is_clients(path, folders):
            refused += 1
        elif time.monotonic() < deadline:
            _quietly(store, ingester, path, deadline)
    if and_others:
        for found in known_transcripts(os.path.expanduser("~"), os.environ, newest_first=True):  # time is short
            if time.monotonic() > deadline:
                break
            _quietly(store, ingester, found.path, deadline, found.client)
    return refused


def _quietly(
    store: Store, ingester: Callable[[], Ingester], path: str, deadline: float, client: str | None = None
) -> None:
    with suppress(TranscriptError, OSError):
        known = store.log.source(path)
        chosen = client or (known.client if known else sniff(path))
        if chosen:
            ingester().ingest_file(path, chosen, deadline=deadline, is_ended_then=True)


def retry_set_aside(ingester: Ingester, store: Store, paths: Collection[str] | None = None) -> dict[str, int]:
    """Reads what was set aside, however long it takes; one that is not where it was stays as it is.

    Returns:
        What became of them, by the names of COUNTERS.
    """
    totals: dict[str, int] = {}
    for path, offset, size_bytes, digest in store.quarantine.set_aside():
        state = store.log.source(path) if paths is None or path in paths else None
        data = _found_again(state, offset, size_bytes) if state is not None else None
        if data is None or state is None or digest_of(data) != digest:
            continue
        counts = ingester.store_again(ingester.read_again(state, offset, size_bytes, data))
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    return totals


def _found_again(state: SourceState, offset: int, size_bytes: int) -> bytes | None:
    """The line at a place, without its line break; None when it cannot be read any more."""
    try:
        with history_of(state.client).open_lines(state.path) as stream:
            stream.seek(offset)
            return read_fully(stream, size_bytes).removesuffix(b"\n")
    except (TranscriptError, OSError, EOFError):
        return None
