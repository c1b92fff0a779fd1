"""A process that is warm: the worker and its socket as the MCP server runs them, without the protocol."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.present import warm_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVER = """
import os, sys
from recollect.present.worker import Worker
from recollect.settings import read_settings
worker = Worker(read_settings(os.environ), scan_every_s=float(sys.argv[1]))
worker.start()
sys.stdout.write("started\\n")
sys.stdout.flush()
sys.stdin.read()
is_over = worker.stop()
sys.stdout.write(f"stopped {is_over}\\n")
sys.stdout.flush()
os._exit(0)
"""


@contextlib.contextmanager
def server(
    scan_every_s: float = 0.2, before: tuple[str, ...] = (), **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """A server's process; killed at the end if a test has not ended it. `before` is what starts it."""
    process = subprocess.Popen(
        [*before, sys.executable, "-c", SERVER, str(scan_every_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "started\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def end(process: subprocess.Popen[str], limit_s: float = 5) -> tuple[bool, float]:
    """Closes a server's stdin: whether its worker stopped in time, and the seconds until the process was gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    started = time.monotonic()
    process.stdin.close()
    code = process.wait(timeout=limit_s)
    assert code == 0
    return process.stdout.read() == "stopped True\n", time.monotonic() - started


def eventually(condition: Callable[[], Any], limit_s: float = 10, what: str = "") -> Any:
    """Waits until a condition holds."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(what or "it never happened")


def holder(folder: Path) -> int | None:
    """The process that the lock file names."""
    try:
        return int(json.loads((folder / "worker.lock").read_text())["pid"])
    except (OSError, ValueError, LookupError):
        return None


def socket_of(folder: Path) -> Path:
    """Where hooks ask, once there is somebody who answers."""
    path = folder / "worker.sock"

    def is_answering() -> bool:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            try:
                warm_client.at_socket(str(folder), connection.connect)
            except OSError:
                return False
            return True

    eventually(is_answering, what="no socket")
    return path
