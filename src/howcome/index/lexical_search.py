"""The lexical index beside a log, and keeping the two together."""

from __future__ import annotations

import contextlib
import os

from howcome.errors import IndexDamagedError, StoreLockedError
from howcome.index.index_files import read_stamp
from howcome.index.lexical import LexicalIndex
from howcome.log.event_log import ensure_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from howcome.index.lexical_writer import LexicalWriter
    from howcome.log.event_log import EventLog


class LexicalSearch(LexicalIndex):
    """Searches are answered from the index; the log is the truth it is caught up from.

    Args:
        folder: Of the store.
        log: The truth.
        is_current: Whether that log still stands in the folder: who has one open that was replaced writes no index,
            for the one there is another log's.
    """

    def __init__(self, folder: str, log: EventLog, is_current: Callable[[], bool] = lambda: True) -> None:
        super().__init__(os.path.join(folder, "index"), log.mark_at)
        self._log, self._is_current = log, is_current
        self._index_writer: LexicalWriter | None = None

    def lag(self) -> int:
        """How many rows the index has not seen yet."""
        stamp = read_stamp(self.folder, self.mark_of)  # as it is on disk now
        return max(0, self._log.last_position() - (stamp[1] if stamp else 0))

    def catch_up(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """Adds the rows that the index does not hold yet, and makes them searchable.

        Args:
            texts: Search texts already at hand, by row id; others are read from the rows.
            deadline: `time.monotonic()` after which it stops; the rest is left to the next pass.

        Returns:
            How many rows were added, or None when another process is at it (it, or the next pass, adds ours too).

        Raises:
            IndexDamagedError: it cannot be written, not even when it is made anew.
        """
        try:
            return self._catch_up(texts or {}, deadline)
        except IndexDamagedError:  # it is given up: everything in it comes from the rows
            return self._catch_up(texts or {}, deadline)

    def _catch_up(self, texts: Mapping[int, str], deadline: float | None) -> int | None:
        writer = self._index_writer or self._take_index()
        if writer is None:
            return None
        with self._given_up_on_failure():
            added = writer.add_new_rows(texts, deadline)
            if added:
                writer.commit()
        return added

    @contextlib.contextmanager
    def _given_up_on_failure(self) -> Iterator[None]:
        """A writer that failed once takes nothing more: the next one begins where the last commit ended."""
        try:
            yield
        except BaseException:
            if self._index_writer is not None:
                self._index_writer.drop()
            self._index_writer = None
            raise

    def release(self) -> None:
        """Gives the index's write lock back to other processes, after the merges under way."""
        writer, self._index_writer = self._index_writer, None
        if writer is not None:
            writer.close()

    def rebuild(self) -> int:
        """Builds the index anew from the rows. Returns how many rows it holds.

        Raises:
            StoreLockedError: another process is writing the index.
        """
        self.release()
        writer = self._take_index()
        if writer is None:
            raise StoreLockedError("another process is writing the index; try again")
        with self._given_up_on_failure():
            writer.begin()
            added = writer.add_new_rows({})
            writer.commit()
        return added

    def _take_index(self) -> LexicalWriter | None:
        """The index's writer with its lock; None when another process has it, or it is another log's by now."""
        from howcome.index.lexical_writer import LexicalWriter

        if not self._is_current():
            return None
        ensure_marks(self._log)
        writer = LexicalWriter(self._log, self)
        self._index_writer = writer if writer.open() else None
        return self._index_writer
