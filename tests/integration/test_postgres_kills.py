"""A server whose backends and whose own process are killed, in the middle of what its clients write."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.batches import RECORD_BYTES, Transcript
from tests.hostile.scale import of
from tests.integration.test_postgres_store import ROOT, WRITER
from tests.postgres_servers import programs

from howcome.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, WAIT_S = of(4, 6), 30
EVERY = of(8, 1)
"""Of a batch's statements every one is met, or every eighth."""

STOPPING = """
import sys
from tests.batches import Transcript
from howcome.store.postgres import PostgresStore
from tests.stopping import Stopping

Stopping.left = int(sys.argv[4])

store = PostgresStore(sys.argv[1], sys.argv[2])
transcript = Transcript(store, f"/t/{sys.argv[3]}.jsonl", session=f"s{sys.argv[3]}")
store.database.server.cursor_factory = Stopping
transcript.say("one", "two", "three")
print("done", flush=True)
"""
"""A client that waits before the statement of that number of a batch; one more than there are: it is done."""


class Server:
    """A server of its own, which can be killed and started again over the same data."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._bin = folder, Path(programs("pypi"))
        self._user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        self.dsn = make_conninfo(host=str(folder), user="postgres", dbname="postgres")
        self._run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start()
        self.wait()

    def _run(self, program: str, *arguments: str) -> None:
        words = [str(self._bin / program), *arguments]
        subprocess.run(words, user=self._user, cwd="/", check=True, capture_output=True)

    def start(self) -> None:
        """Starts it; what a killed one left running may be in its way for a moment."""
        words = [str(self._bin / "postgres"), "-D", str(self._folder / "data"), "-k", str(self._folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([*words, "-c", "listen_addresses="], user=self._user, cwd="/", **quiet)
        time.sleep(0.1)

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + WAIT_S
        while True:
            try:
                psycopg.connect(self.dsn).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until
                if self._process.poll() is None:
                    time.sleep(0.05)
                else:
                    self.start()
            else:
                return

    def kill(self, *, is_backend: bool) -> None:
        """Kills a client's backend, after which the server starts itself anew; or all of the server."""
        if not is_backend:
            self._process.kill()
            self._process.wait()
            self.start()
            self.wait()
            return
        other = psycopg.connect(self.dsn, autocommit=True)
        found = other.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'howcome'").fetchall()
        is_killed = False
        for (number,) in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                is_killed = True
        until = time.monotonic() + WAIT_S
        while is_killed and not other.closed:  # it ends every connection when it notices, and only then recovers
            assert time.monotonic() < until
            time.sleep(0.02)
            with contextlib.suppress(psycopg.OperationalError):
                other.execute("SELECT 1")
        other.close()
        self.wait()

    def end(self) -> None:
        """Ends it for good."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(WAIT_S)


@pytest.fixture
def server() -> Iterator[Server]:
    """In a folder whose name is short: a socket's path has at most 107 bytes."""
    if not os.access(os.path.join(programs("pypi"), "postgres"), os.X_OK):
        pytest.skip("no PostgreSQL from PyPI here")
    folder = Path(tempfile.mkdtemp(prefix="howcome-kill-", dir="/tmp"))
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    made = Server(folder)
    yield made
    made.end()
    shutil.rmtree(folder)


def test_a_server_that_is_killed_anywhere_has_whole_batches(server: Server, tmp_path: Path) -> None:
    """Each row is accounted for by its cursor, positions have no gap, and the next client goes on."""
    store = PostgresStore(str(tmp_path / "reader"), server.dsn)
    seen = 0
    for number in range(ROUNDS):
        path = f"/t/{number % 2}.jsonl"
        words = [sys.executable, "-c", WRITER, str(tmp_path / f"writer-{number}"), server.dsn, str(number % 2), "60"]
        client = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        try:
            until = time.monotonic() + WAIT_S
            while _last(server) <= seen and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.05 * number)
            server.kill(is_backend=number % 2 == 0)
            client.wait(WAIT_S)  # it is told that its batch is not stored, and ends
        finally:
            client.kill()
            client.wait()
        store.close()
        store = PostgresStore(str(tmp_path / "reader"), server.dsn)
        assert store.log.source(path) is not None
        seen, before = store.log.last_position(), seen
        assert seen > before
    events = store.accounts.counts()["events"]
    assert events == seen == sum(int(str(row["accepted"])) for row in store.accounts.sources())
    assert all(row["offset"] == RECORD_BYTES * int(str(row["records"])) for row in store.accounts.sources())
    assert store.check_integrity() == []
    store.close()


@pytest.mark.parametrize("victim", ["client", "backend", "server"])
def test_a_batch_is_whole_wherever_it_is_cut(server: Server, tmp_path: Path, victim: str) -> None:
    """Before each of its statements the client, its backend or the whole server is killed; then it is read again."""
    store = PostgresStore(str(tmp_path / "reader"), server.dsn)
    store.close()
    at, is_done = 1, False
    while not is_done:
        words = [sys.executable, "-c", STOPPING, str(tmp_path / "writer"), server.dsn, str(at), str(at)]
        client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, cwd=ROOT)  # fmt: skip
        assert client.stdout is not None
        is_done = client.stdout.readline() == "done\n"
        if not is_done:
            if victim == "client":
                client.kill()
            else:
                server.kill(is_backend=victim == "backend")
        client.communicate(None if is_done else "go on\n", timeout=WAIT_S)
        store = PostgresStore(str(tmp_path / "reader"), server.dsn)
        assert store.check_integrity() == []
        transcript = Transcript(store, f"/t/{at}.jsonl", session=f"s{at}")
        if transcript.state.offset == 0:  # nothing was stored: it is read from its beginning
            transcript.say("one", "two", "three")
        assert transcript.state.offset == 3 * RECORD_BYTES
        assert store.accounts.counts()["events"] == store.log.last_position()
        assert sum(int(str(row["accepted"])) for row in store.accounts.sources()) == store.log.last_position()
        store.close()
        at += 1 if is_done else EVERY
    assert at > 10  # statements


def _last(server: Server) -> int:
    with psycopg.connect(server.dsn) as other:
        try:
            found = other.execute("SELECT last FROM howcome.log_position").fetchone()
        except psycopg.errors.UndefinedTable:
            return 0
    return int(found[0]) if found else 0
