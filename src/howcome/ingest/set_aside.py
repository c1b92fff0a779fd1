"""Records that were set aside, because a pass died in them, are read after all: by somebody who has the time."""

from __future__ import annotations

from collections.abc import Collection

from howcome.clients.files import digest_of
from howcome.clients.registry import history_of
from howcome.errors import TranscriptError
from howcome.ingest.generations import read_fully
from howcome.ingest.pipeline import Ingester
from howcome.store.base import Store


def retry_set_aside(ingester: Ingester, store: Store, paths: Collection[str] | None = None) -> dict[str, int]:
    """Reads what was set aside, however long it takes; one that is not where it was stays as it is.

    Returns:
        What became of them, by the names of COUNTERS.
    """
    totals: dict[str, int] = {}
    for path, offset, size_bytes, digest in store.quarantine.set_aside():
        data = _found_again(store, path, offset, size_bytes) if paths is None or path in paths else None
        state = store.log.source(path)
        if data is None or state is None or digest_of(data) != digest:
            continue
        counts = ingester.store_again(ingester.read_again(state, offset, size_bytes, data))
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
    return totals


def _found_again(store: Store, path: str, offset: int, size_bytes: int) -> bytes | None:
    """The line at a place, without its line break; None when it cannot be read any more."""
    state = store.log.source(path)
    if state is None:
        return None
    try:
        with history_of(state.client).open_lines(path) as stream:
            stream.seek(offset)
            return read_fully(stream, size_bytes).removesuffix(b"\n")
    except (TranscriptError, OSError, EOFError):
        return None
