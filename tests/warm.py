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

from howcome.present import warm_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_S = 60
"""For what happens within moments on a machine that has nothing else to do."""

SERVER = """
import os, sys, time
from howcome.worker.thread import Worker
from howcome.settings import read_settings
worker = Worker(read_settings(os.environ), scan_every_s=float(sys.argv[1]))
worker.start()
sys.stdout.write("started\\n")
sys.stdout.flush()
for _ in sys.stdin:  # each line asks whether it knows of a store by now
    while not worker._had_store:
        time.sleep(0.01)
    sys.stdout.write("knows\\n")
    sys.stdout.flush()
is_over = worker.stop(timeout_s=30)  # in an agent's session the process ends after a second, whatever the thread does
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


def end(process: subprocess.Popen[str]) -> bool:
    """Closes a server's stdin and waits until the process is gone: whether its worker stopped, and was not left."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    code = process.wait(timeout=LIMIT_S)
    assert code == 0
    return process.stdout.read() == "stopped True\n"


def wait_until_it_knows(process: subprocess.Popen[str]) -> None:
    """Waits until a server has seen that there is a store, whether it works or not."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "knows\n"


def works(process: subprocess.Popen[str], folder: Path) -> bool:
    """Whether a server has the lock's file open, be it deleted: it is at work there, or about to see that it is not."""
    found = []
    for each in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed by now
            found.append(os.readlink(each))
    return any(path.startswith(f"{folder}/worker.lock") for path in found)


def eventually(condition: Callable[[], Any], limit_s: float = LIMIT_S, what: str | Callable[[], object] = "") -> Any:
    """Waits until a condition holds; `what` is what is said if it never does."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError((what() if callable(what) else what) or "it never happened")


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
