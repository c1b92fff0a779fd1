"""A process, and all that it starts, that the kernel kills when it makes a socket of any kind but Unix's own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

WITHOUT_NETWORK = """
import ctypes, os, platform, socket, struct, sys
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
number = {"x86_64": 41, "aarch64": 198}[platform.machine()]  # of the call `socket`
filters = b"".join(struct.pack("=HBBI", *step) for step in (
    (LOAD, 0, 0, 0), (EQUAL, 0, 2, number), (LOAD, 0, 0, 16), (EQUAL, 0, 1, socket.AF_UNIX), (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, KILL_PROCESS),
))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filters", ctypes.c_char_p)]
system = ctypes.CDLL(None, use_errno=True)
program = Program(len(filters) // 8, filters)
assert system.prctl(38, 1, 0, 0, 0) == 0
assert system.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
"""For `tests.processes.python`. What is swallowed by some `except` does not go unnoticed: there is nobody left."""


def needs_a_filter() -> None:
    """Skips the test where the system cannot filter calls."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("system calls are filtered on Linux only")
    words = [sys.executable, "-c", WITHOUT_NETWORK, sys.executable, "-c", ""]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody filter system calls")
