"""Records that may cost a pass all its time: noted before they are read, set aside by who finds the note of the dead.

A hook is ended at its deadline, whatever it is busy with. Without a note the next one would try the same record, be
ended in it, too, and so on for ever. Only large records are noted, because a note is a write of its own.
"""

from __future__ import annotations

import os

from howcome.domain.sources import SourceState
from howcome.errors import CursorMovedError
from howcome.store.base import Store

COSTLY_BYTES = 256 << 10
"""Reading so much takes some 30 ms at the usual rate: what is smaller is not worth a note, however slow a rule is."""

LEAST_S = 0.25
"""Who is ended at its deadline does not begin such a record with less time left than this."""

LONGEST_MS = 10 * 60 * 1000
"""A note that is older is nobody's any more, even if some process has the number of the one that wrote it."""

_under_way: set[tuple[str, int, int]] = set()
"""What threads of this process try: its own number alone does not tell whether a try goes on."""


class Trial:
    """One try at one record, as a context: an error leaves the note behind, an interrupt takes it back.

    The note of a record that was read goes with the commit of its rows, or at once when somebody else commits them.
    """

    def __init__(self, store: Store, state: SourceState, offset: int, now_ms: int, *, commits: bool = True) -> None:
        self._store, self._now_ms, self._commits = store, now_ms, commits
        self._record = state.path, state.generation, offset

    def is_hopeless(self) -> bool:
        """Whether a pass died in this record before.

        Raises:
            CursorMovedError: another pass is at it now.
        """
        noted = self._store.quarantine.trial(*self._record)
        if noted is None:
            return False
        if self._record in _under_way or self._is_alive(*noted):
            raise CursorMovedError(f"{self._record[0]}: another process is reading it")
        return True

    def _is_alive(self, pid: int, began_ms: int) -> bool:
        if pid == os.getpid() or abs(self._now_ms - began_ms) >= LONGEST_MS:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # another user's
            return True
        return True

    def __enter__(self) -> None:
        self._store.quarantine.begin_trial(*self._record, os.getpid(), self._now_ms)
        _under_way.add(self._record)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        _under_way.discard(self._record)
        if not self._commits if kind is None else not issubclass(kind, Exception):
            self._store.quarantine.end_trial(*self._record)
