"""The MCP server as a session pays for it: start, memory, answers; its hook against the command in the real client."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import MARK
from howcome.wiring.commands import server_words
from searching import questions
from timing import base_command, middle, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench import Bench

START_RATIO = 4
SEARCHES = 100
CATCH_UP_BYTES = 30_000_000
PATIENCE_S = 240
PROMPTS = 24
CLIENT_VERSION = "2.1.329"
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ABOUT}).encode() + b"\n"
SDK_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("hello")
@server.tool()
def hello() -> str:
    return "hello"
server.run()
"""


class Served:
    """One server and its client, from the start of the process on."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0

    def hello(self) -> float:
        """Says hello; milliseconds since the start of the process."""
        self._exchange(HELLO)
        return self._age_ms()

    def call(self, tool: str, **arguments: object) -> str:
        """What a tool says."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        answer = json.loads(self._exchange(json.dumps(message).encode() + b"\n"))
        return str(answer["result"]["content"][0]["text"])

    def first_search(self, text: str) -> float:
        """Asks; milliseconds since the start of the process."""
        self.call("search_memory", query=text)
        return self._age_ms()

    def _age_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000

    def _exchange(self, line: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def memory(self) -> tuple[float, float]:
        """(MB resident, of it MB of its own: not of files that the system shares and may take back)."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        return tuple(int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "RssAnon"))  # type: ignore[return-value]

    def end(self) -> float:
        """Closes its input; milliseconds until it is gone."""
        started = time.perf_counter()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        return (time.perf_counter() - started) * 1000


def run(bench: Bench) -> None:
    """Section `mcp`."""
    env = bench.env(bench.big, bench.user) | {"CLAUDE_PROJECT_DIR": bench.cwd}
    asked = [text[:500] for _, text in questions(bench.said, SEARCHES, bench.options.seed + 5)]
    _start(bench, env, asked)
    if os.path.exists("/proc/self/status"):
        _memory(bench, env, asked)
    _hooks(bench)


def _start(bench: Bench, env: dict[str, str], asked: list[str]) -> None:
    has_sdk = importlib.util.find_spec("mcp") is not None
    base: list[float] = []
    times: dict[str, list[float]] = {"first answer": [], "first search, 100,000 events": [], "end": []}
    sdk: list[float] = []
    for number in range(max(15, bench.options.runs // 2)):
        started = time.perf_counter()
        subprocess.run(base_command(), env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        base.append((time.perf_counter() - started) * 1000)
        server = Served(server_words(), env)
        times["first answer"].append(server.hello())
        times["first search, 100,000 events"].append(server.first_search(asked[number % len(asked)]))
        times["end"].append(server.end())
        if has_sdk and number < 15:
            hello = Served([sys.executable, "-c", SDK_SERVER], env)
            sdk.append(hello.hello())
            hello.end()
    for name, values in times.items():
        note = f"(medians {middle(values):.1f} and {middle(base):.1f} ms)"
        most = START_RATIO if name == "first answer" else None
        bench.report.figure(f"{name}: median", middle(values) / middle(base), "x base", most=most, note=note)
    if sdk:
        note = f"(median {middle(sdk):.0f} ms)"
        bench.report.figure("first answer of the SDK's smallest server: median", middle(sdk) / middle(base), "x base",
                            note=note)  # fmt: skip


def _memory(bench: Bench, env: dict[str, str], asked: list[str]) -> None:
    def show(name: str, server: Served) -> None:
        resident, own = server.memory()
        bench.report.figure(name, resident, "MB", note=f"({own:.0f} MB of its own)")

    server = Served(server_words(), env)
    server.hello()
    time.sleep(3)  # the worker has looked at every transcript by then
    show("memory, idle on 100,000 events", server)
    times = []
    for text in asked:
        started = time.perf_counter()
        server.call("search_memory", query=text)
        times.append((time.perf_counter() - started) * 1000)
    show(f"memory after {SEARCHES} searches", server)
    server.end()
    bench.report.figure("search_memory through the protocol: median", middle(times), "ms")
    bench.report.figure("search_memory through the protocol: 95 of 100 within", share(times, 0.95), "ms")
    _catch_up(bench, show)
    if importlib.util.find_spec("mcp") is not None:
        hello = Served([sys.executable, "-c", SDK_SERVER], env)
        hello.hello()
        show("memory of the SDK's smallest server", hello)
        hello.end()


def _catch_up(bench: Bench, show: Any) -> None:
    """A server that finds 30 MB of transcripts which nobody has read."""
    user, home = os.path.join(bench.root, "unread-user"), os.path.join(bench.root, "unread")
    folder, size = os.path.join(user, ".claude", "projects", "bench"), 0
    os.makedirs(folder)
    for path in bench.files:
        if path.endswith(".jsonl") and size < CATCH_UP_BYTES:
            shutil.copy(path, folder)
            size += os.path.getsize(path)
    started = time.monotonic()
    server = Served(server_words(), bench.env(home, user))
    server.hello()
    while time.monotonic() - started < PATIENCE_S:
        time.sleep(0.5)
        unread = bench.status(home, user=user)["unread"]["bytes"]
        if unread == 0 and "not searchable" not in server.call("memory_status"):
            break
    seconds = time.monotonic() - started
    time.sleep(2)
    show(f"memory after catching up {size / 1e6:.0f} MB", server)
    rate = f"({size / 1e6 / seconds:.1f} MB/s)"
    bench.report.figure("seconds in which the worker caught up", seconds, "s", note=rate)
    server.end()


# -- the real client ---------------------------------------------------------------------------------------------
def _hooks(bench: Bench) -> None:
    """A prompt's hook as the client waits for it: the same prompts in three sessions, one for each form."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".e2e" / f"claude-{CLIENT_VERSION}").is_dir():
        bench.say(f"no client {CLIENT_VERSION} in .e2e (`make e2e` installs it): its hooks are not measured")
        return
    sys.path.insert(0, str(root))
    from tests.client import installed
    from tests.e2e.desk import Desk

    desk = Desk(Path(bench.root) / "client", installed(CLIENT_VERSION), CLIENT_VERSION)
    desk.client.extra[MARK] = bench.root
    _fill(bench, desk)
    asked = [text[:300] for kind, text in questions(bench.said, 3 * PROMPTS, bench.options.seed + 6) if kind == "words"]
    asked = asked[:PROMPTS]
    cold: list[float] = []
    for form in ("command, without a server", "command, which asks the server's socket", "mcp_tool"):
        _wire(desk, form)
        times, arrivals, answered = _session(desk, asked)
        cold = cold or times
        note = f"({middle(cold) / middle(times):.1f} times as fast; {answered} of {len(asked)} recalled)"
        bench.report.figure(f"hook in the client, {form}: median", middle(times), "ms", note=note)
        bench.report.figure(f"hook in the client, {form}: 95 of 100", share(times, 0.95), "ms")
        bench.report.figure(f"prompt to the model's request, {form}: median", middle(arrivals), "ms")
    times = tool_hooks(desk)
    bench.report.figure("hook of a tool call in the client, mcp_tool: median", middle(times), "ms")
    bench.report.figure("hook of a tool call in the client, mcp_tool: 95 of 100", share(times, 0.95), "ms")


def tool_hooks(desk: Any) -> list[float]:
    """Milliseconds that the client waited before each shell call of a session, as it notes them, but for the first."""
    from tests.client import call, say

    calls = [call("Bash", command=f"echo {number}", description="count") for number in range(PROMPTS + 1)]
    records = desk.ask("count", [*calls, say("Done.")]).transcript()
    notes = [record["attachment"] for record in records if isinstance(record.get("attachment"), dict)]
    return [float(note["durationMs"]) for note in notes if note.get("hookEvent") == "PreToolUse"][1:]


def _fill(bench: Bench, desk: Any) -> None:
    """A store of the corpus as if it had been said in the desk's project."""
    folder = desk.home / ".claude" / "projects" / "bench"
    folder.mkdir(parents=True)
    for number, path in enumerate(bench.files):
        if path.endswith(".jsonl"):
            data = Path(path).read_bytes().replace(bench.cwd.encode(), str(desk.project).encode())
            (folder / f"{number}-{os.path.basename(path)}").write_bytes(data)
    desk.howcome("import")


def _wire(desk: Any, form: str) -> None:
    shelf = desk.home / "shelf"
    shelf.mkdir(exist_ok=True)
    (shelf / "claude").unlink(missing_ok=True)
    (shelf / "claude").symlink_to(desk.client.executable)
    path = {"PATH": f"{shelf}{os.pathsep}{desk.client.environment()['PATH']}"}
    desk.howcome("init", "--yes", "--no-import", "--hook-form", "mcp" if form == "mcp_tool" else "command", env=path)
    state = desk.home / ".claude.json"
    if form == "command, without a server":
        values = json.loads(state.read_text(encoding="utf-8"))
        values["mcpServers"].pop("howcome")
        state.write_text(json.dumps(values), encoding="utf-8")


@contextmanager
def _client(desk: Any, turns: int) -> Iterator[tuple[subprocess.Popen[str], list[float]]]:
    """A session that is fed its prompts, and the moments at which the model was asked."""
    from tests.client import Script, StubModel, say
    from tests.client.stub import listen

    arrivals: list[float] = []

    class Model(StubModel):
        def record(self, route: str, *rest: Any) -> None:
            arrivals.append(time.perf_counter())
            super().record(route, *rest)

    words = [str(desk.client.executable), "-p", "--verbose", "--include-hook-events", "--input-format", "stream-json",
             "--output-format", "stream-json"]  # fmt: skip
    with Model(Script([say("ok")] * turns), desk.client.network.run(listen)) as model:
        env = {**desk.client.environment(), "ANTHROPIC_BASE_URL": model.url}
        process = desk.client.network.run(
            lambda: subprocess.Popen(
                words, cwd=desk.project, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )
        )  # fmt: skip
        try:
            yield process, arrivals
        finally:
            process.stdin.close()
            process.wait(30)
            process.stdout.close()


def _session(desk: Any, asked: list[str]) -> tuple[list[float], list[float], int]:
    """(ms of each prompt's hook as the client reports it, ms until the model was asked, how many were answered)."""
    times, waits, answered = [], [], 0
    with _client(desk, len(asked) + 1) as (process, arrivals):
        for number, text in enumerate(["say hello first", *asked]):
            before, sent, started = len(arrivals), time.perf_counter(), 0.0
            process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                event = json.loads(line)
                if event.get("hook_event") == "UserPromptSubmit" and event["subtype"] == "hook_started":
                    started = time.perf_counter()
                elif event.get("hook_event") == "UserPromptSubmit" and number:
                    times.append((time.perf_counter() - started) * 1000)
                    answered += "additionalContext" in event["output"]
                elif event.get("type") == "result":
                    break
            if number:  # the first one waits for the client to start
                waits.append((arrivals[before] - sent) * 1000)
    return times, waits, answered
