"""The worker: one thread of one MCP server on this machine that does what no hook has the time for.

Whoever holds the lock on HOWCOME_HOME/worker.lock works: the kernel lets go of it when its process dies, however that
happens, and another session's server takes over. Its content (`{"pid": …, "started_ms": …}`) is for people.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from contextlib import suppress

from howcome.app import now_ms
from howcome.log.place import has_database
from howcome.present.guarded import guarded
from howcome.present.patience import Patience

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.settings import Settings
    from howcome.worker.passes import CatchUp

LOCK_NAME = "worker.lock"
TAKE_OVER_S = 2.0
"""How often a server that does not hold the lock tries to."""

SCAN_EVERY_S = 30.0
MAX_PAUSE_S = 600.0
FIRST_PAUSE_S = 2.0
LOOK_EVERY_S = 1.0
"""How soon a pause ends when the store is taken away (whoever deletes it waits for the lock), and how often sessions
are listened to: what is unread twice is read, so that others hear it within three seconds."""

SWITCH_S = 0.001
"""How long one thread keeps the interpreter while another wants it: the default of 5 ms, once for each of a recall's
steps, would make a hook wait for 100 ms."""


class Worker:
    """The thread that works when it holds the lock, with the socket that hooks ask at.

    Args:
        settings: Of the server.
        scan_every_s: How often it looks for something new.
        embedder: The server's; None: one of its own.
        current: The settings as they are now, asked before each scan.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        scan_every_s: float = SCAN_EVERY_S,
        embedder: SharedEmbedder | None = None,
        current: Callable[[], Settings] | None = None,
    ) -> None:
        self._settings, self._scan_every_s = settings, scan_every_s
        self._embedder, self._current = embedder, current or (lambda: settings)
        self._patience = Patience()
        self._told: set[str] = set()
        self._had_store = False
        self._thread = threading.Thread(target=self._run, name="howcome-worker", daemon=True)

    def start(self) -> None:
        """Begins; returns at once. With `disable` set there is nothing to do."""
        if not self._settings.disable:
            sys.setswitchinterval(SWITCH_S)
            self._thread.start()

    def stop(self, timeout_s: float = 1.0) -> bool:
        """Ends the work; False when it did not end in time (it then ends with the process)."""
        self._patience.stop()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def giving_way(self) -> AbstractContextManager[None]:
        """While this is entered, the work rests after its next piece: the server's own tools are being used."""
        return self._patience.somebody_waits()

    def _run(self) -> None:
        home = self._settings.home
        if not self._is_gone():
            with suppress(OSError):
                os.makedirs(home, mode=0o700, exist_ok=True)
        while not self._patience.is_over:
            lock = None if self._is_gone() else take_lock(home)
            if lock is None:  # another server works: it has made the store, or is about to
                self._had_store = self._had_store or os.path.exists(os.path.join(home, LOCK_NAME))
                self._patience.rest(TAKE_OVER_S)
                continue
            try:
                self._work(lock)
            finally:
                with suppress(OSError):
                    os.ftruncate(lock, 0)
                os.close(lock)

    def _is_gone(self) -> bool:
        """Whether there was a store and somebody took it away: it must not come back by itself."""
        is_there = has_database(self._settings.home)
        self._had_store = self._had_store or is_there
        return self._had_store and not is_there

    def _work(self, lock: int) -> None:
        """Scans until the end, or until the store is gone or the lock's file no longer where others look for it."""
        from howcome.hooks.warm_server import WarmServer
        from howcome.present.shared_embedder import SharedEmbedder
        from howcome.worker.passes import CatchUp

        home, embedder = self._settings.home, self._embedder or SharedEmbedder()
        server = WarmServer(home, self._patience, embedder)
        catch_up = CatchUp(self._settings, self._patience, embedder=embedder, current=self._current)
        embedder.is_host = server.start()
        pause_s = FIRST_PAUSE_S
        try:
            while not self._patience.is_over and _is_at(lock, home) and not self._is_gone():
                done = guarded("worker", lambda: catch_up.scan(create=not self._had_store), home, self._told)
                self._had_store = self._had_store or catch_up.has_opened
                pause_s = self._scan_every_s if done else min(MAX_PAUSE_S, pause_s * 2)
                self._pause(pause_s, catch_up)
            if self._patience.is_over and catch_up.has_opened and _is_at(lock, home):
                guarded("worker", catch_up.last_look, home, self._told)
        finally:
            embedder.is_host = False
            server.stop()

    def _pause(self, seconds: float, catch_up: CatchUp) -> None:
        """Rests, but reads what sessions say meanwhile; not longer than there is a store."""
        end = time.monotonic() + seconds
        while (left_s := end - time.monotonic()) > 0 and self._patience.rest(min(LOOK_EVERY_S, left_s)):
            if self._is_gone():
                return
            guarded("worker", catch_up.follow, self._settings.home, self._told)


def take_lock(home: str) -> int | None:
    """The worker's lock as an open file, with this process's account in it; None when it cannot be had.

    A home that cannot be written has no worker: nothing could be stored there.
    """
    descriptor = None
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(os.path.join(home, LOCK_NAME), flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, home):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "started_ms": now_ms()}).encode(), 0)
            return descriptor
    except OSError:  # held by another server, or nowhere to write: both are no reason to say anything
        pass
    if descriptor is not None:
        os.close(descriptor)
    return None


def _is_at(descriptor: int, home: str) -> bool:
    """Whether an open lock file is still the one that others would try to lock."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(os.path.join(home, LOCK_NAME)))
    except OSError:
        return False


def worker_state(home: str) -> dict[str, object]:
    """For `status` and `doctor`: `working`, `pid` and `started_ms` of whoever works, `socket`."""
    from howcome.settings import SOCKET_NAME

    state: dict[str, object] = {"working": False, "pid": None, "started_ms": None}
    state["socket"] = os.path.exists(os.path.join(home, SOCKET_NAME))
    try:
        descriptor = os.open(os.path.join(home, LOCK_NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return state
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        state["working"] = True
        with suppress(ValueError, OSError):
            found = json.loads(os.pread(descriptor, 256, 0))
            if isinstance(found, dict):
                numbers = {name: found.get(name) for name in ("pid", "started_ms")}
                state |= {name: number for name, number in numbers.items() if type(number) is int and number > 0}
    except OSError:  # a file system without locks
        pass
    finally:
        os.close(descriptor)
    return state
