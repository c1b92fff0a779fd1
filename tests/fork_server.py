"""Forks commands and hooks of howcome from a process that has imported what they need (see `tests/forking.py`).

Most of a command's time goes into starting Python and reading modules; a fork has them. This process imports only: no
thread, no open file, nothing that was computed, so a fork differs from `python -m howcome` in what is in `sys.modules`
alone. But for one thing: the automaton of the rules for secrets, which each process makes once, in 12 ms.

A server for commands is started as `python -m howcome` is, one for hooks as an agent's settings start `launch.py`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import NamedTuple

LAUNCH = Path(__file__).parents[1] / "src" / "howcome" / "launch.py"
STREAMS = 3
"""File descriptors that a command begins with: what it reads, says, and complains."""

WARNINGS = "PYTHONWARNINGS"

NUMBER = struct.Struct("i")
"""How a command's number is told when it begins, and its exit code when it ends."""

WITH_THREADS = ("numpy", "onnx", "onnxruntime", "tokenizers")
"""Packages that start threads when they are imported, which no fork survives: who needs one reads it by itself."""

READ_LATE = (
    "click._textwrap", "importlib.readers", "importlib.resources.readers", "msgspec", "multiprocessing.synchronize",
    "resource",
)  # fmt: skip
"""What commands import while they run."""


class Request(NamedTuple):
    """A command or a hook to be run, and its surroundings."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    umask: int


def read_modules() -> None:
    """Imports the package and all that it needs, but what starts threads."""
    for name in WITH_THREADS:
        sys.modules[name] = None  # type: ignore[assignment]  # the language's own way to forbid an import
    import howcome

    for found in pkgutil.walk_packages(howcome.__path__, "howcome."):
        if not found.name.endswith(("__main__", ".launch")):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    for name in READ_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in WITH_THREADS:
        del sys.modules[name]
    importlib.import_module("howcome.redact.search").selection("auto")


class Forks:
    """The commands that run, and whom to tell how each ended."""

    def __init__(self, client: socket.socket) -> None:
        self._client, self._asking = client, dict[int, socket.socket]()
        self._ended, self._wakes = socket.socketpair()
        self._ended.setblocking(False)
        self._wakes.setblocking(False)
        self._interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who waits, and for the commands
        self._child = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno())

    def next_command(self) -> Request:
        """Returns in each fork, with what it is to run; the server itself ends with its client."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._client, selectors.EVENT_READ, self._start)
            selector.register(self._ended, selectors.EVENT_READ, self._tell)
            while True:
                for key, _ in selector.select():
                    if request := key.data():
                        return request

    def _start(self) -> Request | None:
        word, streams, _, _ = socket.recv_fds(self._client, 1, STREAMS + 1)
        if not word:
            os._exit(0)
        asking = socket.socket(fileno=streams.pop())
        if pid := os.fork():
            for stream in streams:
                os.close(stream)
            self._asking[pid] = asking
            asking.sendall(NUMBER.pack(pid))
            return None
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        request = Request(*json.loads(b"".join(iter(lambda: asking.recv(1 << 16), b""))))
        self._leave(asking)
        return request

    def _leave(self, asking: socket.socket) -> None:
        """Takes back, in a fork, what the server is."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._child)
        signal.signal(signal.SIGINT, self._interrupt)
        for one in (asking, self._client, self._ended, self._wakes, *self._asking.values()):
            one.detach()  # `become` closes them by number; none may close one later that is somebody else's by then

    def _tell(self) -> None:
        """Says how each command ended that did."""
        with contextlib.suppress(BlockingIOError):
            self._ended.recv(1 << 10)
        while self._asking:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._asking.pop(pid) as asking, contextlib.suppress(OSError):
                asking.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


def become(request: Request, path: list[str]) -> None:
    """Gives a fork what a process of its own would have begun with."""
    os.closerange(STREAMS, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(request.environment)
    os.umask(request.umask)
    os.chdir(request.folder)
    time.tzset()
    sys.path[:] = path
    if sys.flags.isolated:
        sys.argv = [str(LAUNCH), *request.arguments]
        return
    sys.path[0] = request.folder
    sys.argv = ["howcome", *request.arguments]
    sys.warnoptions += [option for option in request.environment.get(WARNINGS, "").split(",") if option]
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]  # as `warnings` does when it is imported


def end(code: int) -> None:
    """Ends a fork as the interpreter would, but for freeing what it has imported: that takes longer than a command.

    What goes wrong here is left to the interpreter, and so is all where it warns of what was left open.
    """
    if sys.warnoptions:
        return
    with contextlib.suppress(OSError):
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the interpreter does
        atexit._run_exitfuncs()
        gc.collect()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Waits for commands, or for hooks; in each fork, runs one."""
    path = list(sys.path)
    if sys.flags.isolated:
        launch = runpy.run_path(str(LAUNCH))
        sys.path[:0] = [launch["_PACKAGES"], launch["_ENVIRONMENT"]]
    read_modules()
    gc.collect()
    gc.freeze()
    assert len(os.listdir("/proc/self/task")) == 1, "a package started a thread when it was imported"
    become(Forks(socket.socket(fileno=int(sys.argv[1]))).next_command(), path)
    if sys.flags.isolated:
        runpy.run_path(str(LAUNCH), run_name="__main__")
    try:
        runpy.run_module("howcome", run_name="__main__", alter_sys=True)
    except SystemExit as done:
        code = done.code
    if isinstance(code, int):
        end(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
