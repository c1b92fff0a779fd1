"""The MCP server as one process of many: none outlives its client, one of them works, nobody waits for them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, assert_indexed
from tests.mcp_server import INSTALLED, McpServer
from tests.processes import ask, failures, hook, payload, started_hook
from tests.warm import eventually, holder

from howcome.store.sqlite import SqliteStore
from howcome.worker.thread import worker_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
SERVERS = 20
GONE_S = 45.0
CLIENT = """
import json, os, subprocess, sys, time
words, count, is_held = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "held"
hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode() + b"\\n"
servers = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
for server in servers:
    server.stdin.write(hello)
    server.stdin.flush()
    server.stdout.readline()
pids = [server.pid for server in servers]
if is_held:  # somebody else keeps both ends of every pipe open
    ends = [end for server in servers for end in (server.stdin.fileno(), server.stdout.fileno())]
    pids.append(subprocess.Popen(["sleep", "600"], pass_fds=ends, stdout=subprocess.DEVNULL).pid)
print(*pids, flush=True)
time.sleep(600)
"""


@pytest.fixture
def transcripts(home: Path) -> Path:
    """The folder of one project's transcripts."""
    return home / ".claude" / "projects" / "-home-mara-harbour"


@contextlib.contextmanager
def running(count: int) -> Iterator[list[McpServer]]:
    """So many servers that have said hello."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(McpServer()) for _ in range(count)]


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for somebody to notice does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:  # no such thing on this system, or gone by now
        return not Path("/proc").exists()


def wait_for_end(pids: list[int]) -> None:
    """Until none of them runs."""
    eventually(lambda: not [pid for pid in pids if is_running(pid)], GONE_S, "some are still running")


@pytest.mark.usefixtures("store_folder")
def test_twenty_servers_end_with_their_input() -> None:
    """Soon after its own end of input, with exit code 0, the one that worked too."""
    with running(SERVERS) as servers:
        for server in servers:
            assert server.process.stdin is not None
            server.process.stdin.close()
        wait_for_end([server.process.pid for server in servers])
        assert {server.process.wait(GONE_S) for server in servers} == {0}


@pytest.mark.usefixtures("store_folder")
def test_twenty_servers_end_when_told_to() -> None:
    """SIGTERM, while their input is still open."""
    with running(SERVERS) as servers:
        for server in servers:
            server.process.terminate()
        wait_for_end([server.process.pid for server in servers])


@pytest.mark.parametrize("pipes", ["closed", "held"])
def test_twenty_servers_end_when_their_client_is_killed(store_folder: Path, pipes: str) -> None:
    """SIGKILL of the client, also when another process holds the write ends so that no end of input ever comes."""
    words = [sys.executable, "-c", CLIENT, json.dumps(INSTALLED), str(SERVERS), pipes]
    client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    pids = [int(word) for word in client.stdout.readline().split()]
    servers = pids[:SERVERS]
    try:
        assert all(is_running(pid) for pid in pids)
        client.kill()
        client.wait()
        wait_for_end(servers)
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert worker_state(str(store_folder))["working"] is False


def test_of_five_servers_one_works_and_when_it_is_killed_another_does(store_folder: Path, transcripts: Path) -> None:
    """Every server answers, one holds the lock and its socket; after kill -9 of it the next transcript is read too."""
    write(transcripts / "one.jsonl", *Claude("one").conversation(4))
    with running(5) as servers:
        pids = {server.process.pid for server in servers}
        eventually(lambda: holder(store_folder) in pids)
        for server in servers:
            eventually(lambda server=server: "20 events" in server.call("memory_status"))
        worked = holder(store_folder)
        [killed] = [server for server in servers if server.process.pid == worked]
        killed.process.kill()
        killed.process.wait()
        write(transcripts / "two.jsonl", *Claude("two").conversation(2))
        eventually(lambda: holder(store_folder) in pids - {worked})
        left = [server for server in servers if server is not killed]
        for server in left:
            eventually(lambda server=server: "30 events" in server.call("memory_status"))
            search = partial(server.call, "search_memory", query="berth1", project="all")
            eventually(lambda search=search: "fixture is stale" in search())
        assert [server.end()[:3] for server in left] == [(0, b"", b"")] * 4
    store = SqliteStore(str(store_folder))
    assert_indexed(store)
    assert_accounted(store)
    store.close()
    assert worker_state(str(store_folder))["working"] is False
    eventually(lambda: leaves_no_socket(store_folder))
    assert failures(store_folder) == []


def leaves_no_socket(folder: Path) -> bool:
    """Whether a server that worked took its socket away; one that had no time left for it leaves it to the next."""
    with McpServer() as server:
        eventually(lambda: worker_state(str(folder))["socket"] and holder(folder) == server.process.pid)
        assert server.end()[:3] == (0, b"", b"")
    return worker_state(str(folder))["socket"] is False


def test_hooks_and_commands_beside_five_busy_servers_do_their_work(
    store_folder: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one of them reads a long history: prompts are answered, turns are stored, searches find, in good time."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")  # which answers every prompt here
    write(transcripts / "past.jsonl", *Claude("past").conversation(20, "windlass capstan mole"))
    ask("import", transcripts)
    growing = Claude("growing")
    path = write(transcripts / "growing.jsonl", *growing.conversation(1, "quay"))

    def timed(name: str, act: Callable[[], Any]) -> Any:
        started = time.monotonic()
        done = act()
        took[name].append(time.monotonic() - started)
        return done

    def work(number: int) -> None:
        write(path, *growing.conversation(1, f"pier{number}x"), append=True)
        asked = f"why does windlass capstan mole{number} fail?"
        for event, fields in (("UserPromptSubmit", {"prompt": asked}), ("Stop", {})):
            data = payload(event, path, f"asking{number}", **fields)
            done = timed(event, lambda event=event, data=data: started_hook(event, data))
            assert (done.returncode, done.stderr) == (0, b"")
            assert bool(done.stdout) is (event == "UserPromptSubmit"), number
        assert timed("search", lambda: ask("search", f"mole{number}", "--all-projects", fresh=True)["results"])

    took = quiet = defaultdict[str, list[float]](list)
    for number in range(3):
        work(number)
    took = busy = defaultdict[str, list[float]](list)
    write(transcripts / "long.jsonl", *Claude("long").conversation(4000))
    with running(5) as servers:
        for number in range(3, 11):
            work(number)
        assert servers[0].call("search_memory", query="mole1", project="all").text
    for name, seconds in busy.items():
        assert median(seconds) < max(3, 10 * median(quiet[name])), (name, seconds, quiet[name])

    def is_stored() -> bool:
        hook("Stop", payload("Stop", path, "growing"))  # the last one may have met a stalled writer
        store = SqliteStore(str(store_folder))
        found = [len(store.log.session(row)) for row, name, _ in store.sessions.find("growing") if name == "growing"]
        store.close()
        return found == [60]

    eventually(is_stored)
    assert failures(store_folder) == []
