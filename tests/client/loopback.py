"""A network namespace that holds nothing but loopback, entered by one thread of this process.

Sockets and child processes made by that thread live in the namespace; everything else stays outside. This is what
`unshare -n` does to a whole program, without leaving the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1

Result = TypeVar("Result")


class Loopback:
    """Runs functions in the namespace, or in place when there is none to be had."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool

    @property
    def isolated(self) -> bool:
        """True when nothing but loopback can be reached."""
        return self._pool is not None

    def run(self, function: Callable[[], Result]) -> Result:
        """Call a function inside."""
        return function() if self._pool is None else self._pool.submit(function).result()


@cache
def loopback() -> Loopback:
    """Return this process's namespace, made on first use; a plain one without the rights for it."""
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loopback")
    with contextlib.suppress(OSError, AttributeError):
        pool.submit(_enter).result()
        return Loopback(pool)
    pool.shutdown()
    return Loopback(None)


def _enter() -> None:
    """Move the calling thread into a new namespace and raise its `lo`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        name, flags = struct.unpack("16sh14x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | IFF_UP))
