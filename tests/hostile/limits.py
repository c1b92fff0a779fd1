"""Processes with less than they need: limits that the kernel keeps, set between fork and exec."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.processes import python

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMITED = """
import os, resource, sys
name, amount = sys.argv[1], int(sys.argv[2])
resource.setrlimit(getattr(resource, "RLIMIT_" + name), (amount, amount))
interpreter, *words = sys.argv[3:]  # -B: Python 3.11 keeps bytecode that was cut, and every later process fails on it
os.execv(interpreter, [interpreter, "-B", *words])
"""
_AS_SOMEBODY = """
import ctypes, os, struct, sys
user, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
libc.prctl(8, 1, 0, 0, 0)  # the capabilities stay permitted
os.setgroups([]), os.setgid(user), os.setuid(user)
read = 1 << 1 | 1 << 2  # to read what only root may: the interpreter, perhaps
data = struct.pack("6I", read, read, read, 0, 0, 0)
assert libc.capset(struct.pack("Ii", 0x20080522, 0), data) == 0
for capability in (1, 2):
    assert libc.prctl(47, 2, capability, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
SOMEBODY = 54321
"""A user with no processes: the kernel counts root's by no limit."""

NEEDED = "import apsw, tantivy, click, msgspec, re2, zstandard, json, subprocess"


class Limit(NamedTuple):
    """A resource, and the amounts of it that are tried."""

    name: str
    amounts: tuple[int, ...]
    installed: bool = False
    """Whether it ends processes that no code of theirs can answer for: hooks then run as agents run them."""

    deaths: tuple[int, ...] = ()
    """Exit codes by which a command may end: a library that cannot allocate aborts, the kernel ends who is too slow."""


LIMITS = (
    Limit("FSIZE", (0, 4096, 40_000, 150_000, 400_000, 600_000)),
    Limit("NOFILE", (8, 10, 12, 14, 16, 20, 24, 32)),
    Limit(
        "AS",
        tuple(megabytes << 20 for megabytes in (192, 256, 320, 384, 448, 512, 640, 1024)),
        installed=True,
        deaths=(-6,),
    ),
    Limit("CPU", (1,), installed=True, deaths=(-24, -9)),
    Limit("NPROC", (1, 2, 4)),
)


def limited(limit: Limit, amount: int) -> tuple[str, ...]:
    """The words that start a process with so much of it."""
    words = python(_LIMITED, limit.name, str(amount))
    return (*python(_AS_SOMEBODY, str(SOMEBODY)), *words) if is_somebody(limit) else words


def is_somebody(limit: Limit) -> bool:
    """Whether the process has to be another user's for the limit to hold."""
    return limit.name == "NPROC" and os.geteuid() == 0


@contextlib.contextmanager
def room_for(limit: Limit, room: Path) -> Iterator[Path]:
    """A folder for the stages: where another user has to come in, one to which the way is open."""
    if not is_somebody(limit):
        yield room
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - another user comes in here
        yield Path(folder)


def give_to_somebody(folder: Path) -> None:
    """Makes everything in a folder another user's; the way to it stays open."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)


def is_enough_to_start(limit: Limit, amount: int) -> bool:
    """Whether an interpreter gets as far as the product's first line with so much."""
    words = [*limited(limit, amount), sys.executable, "-c", NEEDED]
    return subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 0
