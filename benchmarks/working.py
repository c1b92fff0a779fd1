"""The MCP server's worker: what a warm process saves a prompt, what it costs its session, and how soon it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from hooking import payload_of, ratios, sorted_prompts
from howcome import launch
from timing import base_command, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench import Bench

WARM_RATIO = 2.5
CATCH_UP_MB = 30
CORE_SHARE = 75
"""Half a core, and what the hooks that are answered meanwhile take."""

MEMORY_MB = 100
EVENT = "UserPromptSubmit"
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}


class Server:
    """One MCP server as an agent starts it."""

    def __init__(self, env: dict[str, str]) -> None:
        words = [sys.executable, "-I", "-S", "-E", launch.__file__, "mcp"]
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask(HELLO)

    def ask(self, message: dict[str, object]) -> object:
        """One request and its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def cpu_s(self) -> float:
        """Processor time so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stream:
            fields = stream.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """Resident memory now."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self) -> float:
        """Closes its input; seconds until it is gone."""
        assert self.process.stdin is not None
        started = time.perf_counter()
        self.process.stdin.close()
        self.process.wait(timeout=30)
        return time.perf_counter() - started


@contextlib.contextmanager
def _server(env: dict[str, str]) -> Iterator[Server]:
    server = Server(env)
    try:
        _wait_for(lambda: _is_answering(env["HOWCOME_HOME"]))
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def _wait_for(condition: Callable[[], bool], limit_s: float = 300) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it never happened")
        time.sleep(0.05)


def _is_answering(home: str) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.connect(os.path.join(home, "worker.sock"))
        except OSError:
            return False
        return True


def run(bench: Bench) -> None:
    """Section `worker`."""
    _run_prompts(bench)
    _run_catch_up(bench)


def _run_prompts(bench: Bench) -> None:
    env, hook = bench.env(bench.big, bench.user), bench.hook(EVENT)
    prompts = sorted_prompts(bench, env, hook)
    alone = {text: _answer(bench, env, text) for texts in prompts.values() for text in texts}
    with _server(env) as server:
        different = sum(_answer(bench, env, text) != answer for text, answer in alone.items())
        bench.report.figure("prompts that the warm server answers differently", different, most=0)
        for kind, texts in prompts.items():
            base, times = [], []
            for number in range(bench.options.runs):
                payload = payload_of(bench, EVENT, prompt=texts[number % len(texts)])
                base.append(bench.watch.run(base_command(), env)[0])
                times.append(bench.watch.run(hook, env, payload)[0])
            ratios(bench, f"prompt, {kind}", base, {"asking a warm server": times}, WARM_RATIO, "")
        bench.report.figure("memory of a server after that", server.rss_mb(), "MB", most=MEMORY_MB)


def _answer(bench: Bench, env: dict[str, str], text: str) -> str:
    return bench.watch.run(bench.hook(EVENT), env, payload_of(bench, EVENT, prompt=text))[1]


def _run_catch_up(bench: Bench) -> None:
    """A server that starts with 30 MB of transcripts that nobody has read, and a prompt every now and then."""
    user, figure = os.path.join(bench.root, "backlog"), bench.report.figure
    env = bench.env(os.path.join(bench.root, "backlog-store"), user)
    with _server(env) as server:
        time.sleep(1)
        figure("memory of a server with nothing to do", server.rss_mb(), "MB", most=MEMORY_MB / 2)
        figure("end of a server with nothing to do", server.end(), "s", most=1)
    size = _copy(bench.files, os.path.join(user, ".claude", "projects", "backlog"), CATCH_UP_MB * 1_000_000)
    payload, hook = payload_of(bench, EVENT, prompt=bench.said[0][2][:200]), bench.hook(EVENT)
    with _server(env) as server:
        started, cpu, times = time.perf_counter(), server.cpu_s(), []
        while bench.status(env["HOWCOME_HOME"], user=user)["unread"]["bytes"]:
            times.append(bench.watch.run(hook, env, payload)[0])
        seconds = time.perf_counter() - started
        figure(f"catching up {size / 1e6:.0f} MB", size / 1e6 / seconds, "MB/s", note="(beside prompts and `status`)")
        figure("share of a core meanwhile", 100 * (server.cpu_s() - cpu) / seconds, "%", most=CORE_SHARE)
        figure("prompt meanwhile: 95 of 100", share(times, 0.95), "ms")
        time.sleep(1)
        figure("memory of a server after that", server.rss_mb(), "MB", most=MEMORY_MB)
    shutil.rmtree(env["HOWCOME_HOME"])
    with _server(env) as server:
        time.sleep(0.7)
        figure("end of a server in the middle of that", server.end(), "s", most=1)


def _copy(files: list[str], folder: str, size_bytes: int) -> int:
    """Copies transcripts until there are so many bytes."""
    os.makedirs(folder)
    copied = 0
    for number, path in enumerate(files):
        if copied >= size_bytes:
            break
        shutil.copy(path, os.path.join(folder, f"{number}-{os.path.basename(path)}"))
        copied += os.path.getsize(path)
    return copied
