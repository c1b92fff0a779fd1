"""How a thread that works in somebody's MCP server stays out of the way: it rests, it gives way, it ends when told."""

from __future__ import annotations

import contextlib
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WAIT_S = 1.0
"""Nobody who is answered takes that long; whoever forgot to say that they are done must not stop the work for ever."""


class Patience:
    """Shared by the thread that works and the threads that answer, to which it gives way for so long at most."""

    def __init__(self, max_wait_s: float = MAX_WAIT_S) -> None:
        self._max_wait_s = max_wait_s
        self._stopping, self._idle = threading.Event(), threading.Event()
        self._waiting, self._lock = 0, threading.Lock()
        self._idle.set()

    def stop(self) -> None:
        """Ends every rest, now and from now on."""
        self._stopping.set()
        self._idle.set()

    @property
    def is_over(self) -> bool:
        """Whether the work has to end."""
        return self._stopping.is_set()

    def rest(self, seconds: float) -> bool:
        """Sleeps, and on until nobody is being answered; False when the work has to end."""
        if not self._stopping.wait(seconds):
            self._idle.wait(self._max_wait_s)
        return not self._stopping.is_set()

    @contextlib.contextmanager
    def somebody_waits(self) -> Iterator[None]:
        """While somebody is being answered, the work stops at its next rest."""
        with self._lock:
            self._waiting += 1
            self._idle.clear()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._idle.set()
