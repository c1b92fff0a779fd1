"""Sessions, servers and hooks on one store at once, as on a busy day; and what the servers hold meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tests.builders import Claude, write
from tests.hostile import scale
from tests.hostile.doors import DOORS, complaints, opened
from tests.mcp_server import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.hostile.stage import Stage

SESSIONS = 12
SERVERS = 5
PAUSE_S = 1.0
"""Of a writing session between two exchanges."""


class Held(NamedTuple):
    """What a server holds at a moment."""

    kilobytes: int
    descriptors: int


class Sessions:
    """Transcripts that grow, each by a thread of its own; some records in two writes."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.written = 0

    def write(self, number: int, is_over: threading.Event) -> None:
        """One session until the end."""
        choice = scale.chooser(f"session {number}")
        claude = Claude(f"soak-{number}", f"/gone/soak{number % 3}")
        path = self._stage.transcripts / f"-gone-soak{number % 3}" / f"{claude.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        while not is_over.wait(choice.uniform(0, 2 * PAUSE_S)):
            records = claude.exchange(f"derrick{number}x{claude.number}")
            self._append(path, b"".join(_line(record) for record in records), choice.random())
            self.written += len(records)

    def _append(self, path: Path, data: bytes, share: float) -> None:
        cut = int(share * len(data))
        write(path, data[:cut], append=True)
        write(path, data[cut:], append=True)


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


class Soak:
    """One soak: its threads, its servers, and every complaint."""

    def __init__(self, stage: Stage, seconds: float) -> None:
        self.stage, self.seconds = stage, seconds
        self.sessions = Sessions(stage)
        self.complaints: list[str] = []
        self.runs = Counter[str]()
        self.held: dict[int, list[Held]] = {}
        self._over = threading.Event()

    def run(self) -> None:
        """Until the time is over; every server has ended by itself then."""
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(McpServer(environment=self.stage.environment)) for _ in range(SERVERS)]
            threads = [*self._threads(servers)]
            for thread in threads:
                thread.start()
            self._watch(servers)
            self._over.set()
            for thread in threads:
                thread.join()
            for server in servers:
                self._end(server)

    def _threads(self, servers: list[McpServer]) -> Iterator[threading.Thread]:
        for number in range(SESSIONS):
            yield self._thread(self.sessions.write, number, self._over)
        for number, server in enumerate(servers):
            yield self._thread(self._ask, number, server)
        for name in ("Stop", "UserPromptSubmit", "SessionStart", "import"):
            yield self._thread(self._open, name)

    def _thread(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        def guarded() -> None:
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - a thread's failure is the test's
                self.complaints.append(f"{work.__name__}{arguments[:1]}: {type(error).__name__}: {error}"[:500])

        return threading.Thread(target=guarded)

    def _watch(self, servers: list[McpServer]) -> None:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            for server in servers:
                if found := held(server.process.pid):
                    self.held.setdefault(server.process.pid, []).append(found)
            time.sleep(min(1.0, self.seconds / 20))

    def _ask(self, number: int, server: McpServer) -> None:
        choice = scale.chooser(f"server {number}")
        while not self._over.wait(choice.uniform(0, 0.5)):
            tool = choice.choice(("search_memory", "get_timeline", "remember", "memory_status", "list_stale"))
            self.runs[tool] += 1
            if tool == "search_memory":
                answer = server.call(tool, query=f"why does derrick{choice.randrange(12)} fail", project="all")
            elif tool == "remember":
                text = f"Server {number} greased derrick {self.runs[tool]} with the blue grease."
                answer = server.call(tool, text=text)
                if not answer.is_error:
                    self.stage.kept.append(text)
            else:
                answer = server.call(tool)
            if answer.is_error:
                self.complaints.append(f"{tool}: {answer!r}"[:300])

    def _open(self, name: str) -> None:
        choice = scale.chooser(name)
        while not self._over.wait(choice.uniform(0, 0.5)):
            self.runs[name] += 1
            self.complaints += complaints(DOORS[name], outcome := opened(DOORS[name], self.stage))
            if name == "import" and outcome.code:
                self.complaints.append(f"import ended with {outcome.code}: {outcome.err[-200:]!r}")

    def _end(self, server: McpServer) -> None:
        code, _, err, _ = server.end()
        if code or err:
            self.complaints.append(f"a server ended with {code}: {err[-300:]!r}")

    # -- figures -----------------------------------------------------------------------------------------------------
    def growth(self) -> tuple[int, int, float]:
        """Of all servers: the most descriptors, the most megabytes, and what the last third took over the second."""
        descriptors = max(one.descriptors for found in self.held.values() for one in found)
        megabytes = max(one.kilobytes for found in self.held.values() for one in found) // 1024
        ratios = [_ratio([one.kilobytes for one in found]) for found in self.held.values()]
        return descriptors, megabytes, max(ratios)


def _ratio(sizes: list[int]) -> float:
    third = max(1, len(sizes) // 3)
    return median(sizes[-third:]) / median(sizes[third : 2 * third] or sizes)


def held(pid: int) -> Held | None:
    """What a process holds; None where that cannot be seen."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return Held(kilobytes, len(os.listdir(f"/proc/{pid}/fd")))
    except (OSError, StopIteration):
        return None


def left_running(home: Path, wait_s: float = 10) -> list[str]:
    """The processes of a store that are still there after a while."""
    end = time.monotonic() + wait_s
    while (found := _running(home)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def _running(home: Path) -> list[str]:
    mark, found = f"HOWCOME_HOME={home}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc") if Path("/proc").exists() else []):
        with contextlib.suppress(OSError):
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return found
