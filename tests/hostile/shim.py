"""System calls that fail, or that a process dies at: the C shim, compiled, and the environment that arms it."""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.hostile.scale import SEED

SOURCE = Path(__file__).with_name("shim.c")
EVERY_CALL = "create,write,fsync,rename,ftruncate,unlink"
"""What changes a file: between any two of them a process may die."""


class Fault(NamedTuple):
    """A kind of call, and the ways in which it fails: an error, of one call or of it and all that follow (`lasts`).

    The ways are taken in turn, so that every call fails in one run and, with other seeds, in every way.
    """

    calls: str
    ways: tuple[tuple[str, bool], ...]

    def way(self, nth: int) -> tuple[str, bool]:
        """How the nth call fails."""
        return self.ways[(nth + SEED) % len(self.ways)]

    def told(self, nth: int) -> str:
        """The same in words."""
        error, lasts = self.way(nth)
        return f"{error}{' from there on' if lasts else ''}"


FAULTS = (
    Fault("open", (("EMFILE", False), ("EACCES", True), ("EMFILE", True), ("EIO", False))),
    Fault("create", (("EROFS", True), ("ENOSPC", True), ("EACCES", False), ("EMFILE", False))),
    Fault("write", (("ENOSPC", True), ("EIO", False), ("ENOSPC", False), ("EIO", True))),
    Fault("fsync", (("EIO", False), ("ENOSPC", True))),
    Fault("rename", (("EACCES", True), ("ENOSPC", False))),
    Fault("mmap", (("ENOMEM", True), ("ENOMEM", False))),
    Fault("ftruncate", (("ENOSPC", True), ("EIO", False))),
)


def built(folder: Path) -> str:
    """The shim as a library in a folder; the test is skipped where there is no C compiler, or no Linux."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc or clang): faults of system calls cannot be tried here")
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc: faults of system calls can be tried on Linux only")
    library = folder / "shim.so"
    words = [compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(library)


def armed(library: str, home: Path, trace: Path, nth: int, fault: Fault) -> dict[str, str]:
    """The environment in which the nth call fails."""
    error, lasts = fault.way(nth)
    how = {"HOSTILE_LASTS": str(int(lasts)), "HOSTILE_ERRNO": str(getattr(errno, error))}
    return {**_counting(library, home, trace, nth, fault.calls), **how}


def deadly(library: str, home: Path, trace: Path, nth: int, when: str) -> dict[str, str]:
    """The environment in which a process is killed before, after or in the middle of its nth change of a file."""
    return {**_counting(library, home, trace, nth, EVERY_CALL), "HOSTILE_KILL": when}


def _counting(library: str, home: Path, trace: Path, nth: int, calls: str) -> dict[str, str]:
    return {
        "LD_PRELOAD": library, "HOSTILE_HOME": str(home), "HOSTILE_CALLS": calls, "HOSTILE_TRACE": str(trace),
        "HOSTILE_NTH": str(nth), "HOSTILE_ERRNO": "",
    }  # fmt: skip


def calls_counted(trace: Path) -> list[str]:
    """Every call that was counted, in order; the one that was hit begins with `!`."""
    try:
        return trace.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
