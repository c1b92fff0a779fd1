"""The viewer as a process: it ends with its terminal, with who started it, or when nobody looks, and nothing stays."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.processes import COMMAND, run
from tests.viewing import fill

LIMIT_S, SOME_LOOKS_S = 20, 1.2
STARTER = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:], stdin=sys.stdin); time.sleep(60)"
BRIEF = (
    "import os; from howcome.web.server import serve; serve(os.environ, '/', 1.0, lambda link: print(link, flush=True))"
)


@contextmanager
def started(words: list[str], stdin: int = subprocess.PIPE) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A viewer, and its link."""
    quiet = subprocess.DEVNULL
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, and it would do as they do
    with subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        signal.signal(signal.SIGHUP, before)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield process, json.loads(line)["link"] if line.startswith("{") else line.strip()
        finally:
            process.kill()


def is_open(link: str) -> bool:
    """Whether anybody listens there."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", urlsplit(link).port)) == 0


def answered(link: str) -> int:
    """The status of the answer to a link."""
    address = urlsplit(link)
    with closing(HTTPConnection(address.hostname or "", address.port, timeout=LIMIT_S)) as connection:
        connection.request("GET", f"{address.path}?{address.query}")
        return connection.getresponse().status


def closes(link: str) -> bool:
    """Whether nobody listens there soon."""
    until = time.monotonic() + LIMIT_S
    while is_open(link) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_open(link)


ENDS: dict[str, Callable[[subprocess.Popen[str]], None]] = {
    "Ctrl-C": lambda process: process.send_signal(signal.SIGINT),
    "asked to end": lambda process: process.terminate(),
    "terminal hung up": lambda process: process.send_signal(signal.SIGHUP),
    "input closed": lambda process: process.stdin.close(),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_it_ends(end: Callable[[subprocess.Popen[str]], None], store_folder: Path) -> None:
    """No process and no port is left, and the store's folder is as it was."""
    fill(store_folder)
    before = sorted(path.name for path in store_folder.rglob("*"))
    with started([*COMMAND, "view", "--json"]) as (process, link):
        assert is_open(link)
        assert answered(link.partition("?")[0]) == 403
        assert answered(link) == 303
        end(process)
        process.wait(LIMIT_S)
        assert not is_open(link)
    assert sorted(path.name for path in store_folder.rglob("*")) == before


def test_it_ends_with_its_terminal(store_folder: Path) -> None:
    """Also where it does not lead the terminal's session, and so is sent no signal."""
    fill(store_folder)
    ours, theirs = pty.openpty()
    with started([*COMMAND, "view", "--json"], theirs) as (process, link):
        os.close(theirs)
        time.sleep(SOME_LOOKS_S)
        assert is_open(link)
        os.close(ours)
        process.wait(LIMIT_S)
        assert not is_open(link)


def test_it_ends_with_whoever_started_it(store_folder: Path) -> None:
    """A shell or a script that is killed sends nothing."""
    fill(store_folder)
    with started([sys.executable, "-c", STARTER, *COMMAND, "view", "--json"], subprocess.DEVNULL) as (starter, link):
        time.sleep(SOME_LOOKS_S)
        assert is_open(link)  # an empty input that was never a terminal is no reason
        starter.kill()
        assert closes(link)


def test_it_ends_when_nobody_looks(store_folder: Path) -> None:
    """A request that is refused is no look."""
    fill(store_folder)
    with started([sys.executable, "-c", BRIEF], subprocess.DEVNULL) as (process, link):
        began = time.monotonic()
        while process.poll() is None and time.monotonic() < began + LIMIT_S:
            with suppress(OSError):
                answered(link.partition("?")[0])
            time.sleep(0.1)
        assert process.poll() == 0


def test_a_browser_that_goes_away_ends_nothing(store_folder: Path) -> None:
    """Commands end with their reader (SIGPIPE); a server does not."""
    fill(store_folder)
    with started([*COMMAND, "view", "--json"]) as (process, link):
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", urlsplit(link).port or 0)) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                client.recv(1)
        assert answered(link) == 303
        assert process.poll() is None


def test_it_makes_no_store() -> None:
    """Where there is none it says what to do."""
    done = run("view")
    assert done.returncode == 1
    assert "howcome init" in done.stderr


def test_it_says_which_extra_is_missing(store_folder: Path, tmp_path: Path) -> None:
    """Before anything is opened."""
    fill(store_folder)
    script = (
        "import sys; import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
        "sys.argv = ['howcome', 'view']; from howcome.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "the viewer needs jinja2: install its extra `view`: " in done.stderr
