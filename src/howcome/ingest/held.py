"""Batches of small files that wait for each other: a transaction costs more than what most of them say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from howcome.domain.sources import Batch
from howcome.errors import TranscriptError
from howcome.store.base import Store

Settle = Callable[[dict[str, int]], None]
OnRows = Callable[[dict[int, str]], None]

HELD_BATCHES = 256
HELD_RECORDS = 2000
HELD_BYTES = 4 << 20


class HeldBatches:
    """The last batches of files that were read to their end, in the order in which they were read.

    Each cursor still moves with its rows, and whoever is killed has read nothing of what is held.
    """

    def __init__(self, store: Store, on_rows: OnRows) -> None:
        self._store, self._on_rows = store, on_rows
        self._held: list[tuple[Batch, Settle, Callable[[], object]]] = []
        self._records = self._bytes = 0

    def add(self, batch: Batch, settle: Settle, again: Callable[[], object]) -> None:
        """Holds a batch.

        Args:
            batch: All that is new of one source.
            settle: Is told what was counted, once it is committed.
            again: Reads the source anew, when another process has moved its cursor meanwhile.
        """
        self._held.append((batch, settle, again))
        self._records += len(batch.records)
        self._bytes += sum(record.size_bytes for record in batch.records)
        if len(self._held) >= HELD_BATCHES or self._records >= HELD_RECORDS or self._bytes >= HELD_BYTES:
            self.commit()

    def commit(self) -> None:
        """Commits what is held."""
        held, self._held, self._records, self._bytes = self._held, [], 0, 0
        if not held:
            return
        moved = []
        appended = self._store.log.append_all([batch for batch, *_ in held])
        for (_, settle, again), found in zip(held, appended, strict=True):
            if found is None:
                moved.append(again)
                continue
            counts, new_rows = found
            settle(counts)
            self._on_rows(new_rows)
        for again in moved:
            with contextlib.suppress(TranscriptError):  # gone meanwhile: nothing of it is lost that is still there
                again()
