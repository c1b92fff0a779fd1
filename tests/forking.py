"""Commands and hooks of howcome as forks of a process that has imported what they need (`fork_server.py`), on Linux.

A fork is a process of its own in all that tests look at: arguments, environment, folder, streams, exit code, signals.
HOWCOME_TEST_FRESH=1 starts Python for each instead, as everywhere else.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tests.fork_server import NUMBER, WARNINGS, Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERVER = Path(__file__).with_name("fork_server.py")
FROM_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "GLIBC_", "MALLOC_")
"""What the interpreter and the loader read before the first line of a program: a fork cannot have another."""

_PIPE_BYTES = 1 << 16
"""What a pipe holds, so that input is handed over before anybody reads."""


def _from_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in environment if name.startswith(FROM_THE_START) and name != WARNINGS]
    return {name: environment[name] for name in names}


_START = _from_the_start(os.environ)
_IS_FRESH = sys.platform != "linux" or "HOWCOME_TEST_FRESH" in os.environ


def can_fork(environment: Mapping[str, str], data: bytes) -> bool:
    """Whether a command in these surroundings may be a fork."""
    return not _IS_FRESH and len(data) < _PIPE_BYTES and _from_the_start(environment) == _START


class _Server:
    """The process that forks; it ends with this one."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *options, str(SERVER), str(theirs.fileno())], pass_fds=[theirs.fileno()],
                env={**_START, "PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._lock = threading.Lock()
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def started(self, request: Request, *streams: int) -> socket.socket:
        """A command with these streams, which are closed here; on the socket come its number and its exit code."""
        asking, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self._socket, [b"!"], [*streams, theirs.fileno()])
        for stream in streams:
            os.close(stream)
        asking.sendall(json.dumps(request).encode())
        asking.shutdown(socket.SHUT_WR)
        return asking


@functools.cache
def _server(options: tuple[str, ...]) -> _Server:
    return _Server(options)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: str, data: bytes, limit_s: float,
    options: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """A command of howcome to its end, as `subprocess.run` would have it; with a hook's options of Python, a hook.

    Raises:
        TimeoutExpired: it took longer than the limit, and was killed.
    """
    until = time.monotonic() + limit_s
    (reads, feed), (out, says), (errors, complains) = os.pipe(), os.pipe(), os.pipe()
    with open(feed, "wb") as stream:
        stream.write(data)
    with open(out, "rb") as said, open(errors, "rb") as complained:
        request = Request(list(arguments), dict(environment), folder, _umask())
        with _server(options).started(request, reads, says, complains) as asking:
            (number,) = NUMBER.unpack(asking.recv(NUMBER.size))
            try:
                texts = _read_to_the_end([said, complained], until)
                asking.settimeout(max(0.01, until - time.monotonic()))
                (code,) = NUMBER.unpack(asking.recv(NUMBER.size))
            except TimeoutError:
                os.kill(number, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["howcome", *arguments], limit_s) from None
    return subprocess.CompletedProcess(["howcome", *arguments], code, *texts)


def _umask() -> int:
    """This process's own, without setting it: other threads run commands too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))


def _read_to_the_end(streams: Sequence[BinaryIO], until: float) -> list[bytes]:
    """What was said on each until all who had it closed it.

    Raises:
        TimeoutError: somebody still has one.
    """
    texts = {stream: bytearray() for stream in streams}
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                texts[key.fileobj].extend(piece)
                if not piece:
                    selector.unregister(key.fileobj)
    return [bytes(text) for text in texts.values()]
