"""What survives: processes killed at random moments, and a crowd of processes on one store, while transcripts grow.

Afterwards one clean import must leave exactly what a fresh store with the same key gets from the finished files.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

import corpus
from bench import MARK, Bench
from howcome import launch
from howcome.app import open_app
from howcome.domain import events
from howcome.settings import read_settings
from timing import middle

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_GROWN_BYTES = 60_000_000
PROMPT_DEADLINE_S = 0.8


class Grown:
    """Transcripts of one user that a client keeps writing to, a record at a time, some in two writes."""

    def __init__(self, bench: Bench, name: str, count: int) -> None:
        self.user = os.path.join(bench.root, name)
        self.home = os.path.join(bench.root, name + "-store")
        self.folder = os.path.join(self.user, ".claude", "projects", name)
        os.makedirs(self.folder)
        self.sessions = [corpus.Session(f"{bench.options.seed} {name} {number}") for number in range(count)]
        self.paths = [os.path.join(self.folder, f"{session.id}.jsonl") for session in self.sessions]
        self.env = bench.env(self.home, self.user)
        self._random = random.Random(f"{bench.options.seed} {name}")
        self._written = 0
        for number in range(count):
            self.grow(number)

    def grow(self, number: int) -> None:
        """One more exchange in one transcript."""
        with open(self.paths[number], "ab", buffering=0) as stream:
            for line in self.sessions[number].exchange():
                cut = self._random.randrange(len(line)) if self._random.random() < 0.1 else 0
                stream.write(line[:cut])
                stream.write(line[cut:])
                self._written += len(line)

    @contextmanager
    def growing(self, pause: float) -> Iterator[None]:
        """A thread writes on until the block ends; every line is whole then."""
        over = threading.Event()

        def work() -> None:
            while not over.wait(pause) and self._written < MAX_GROWN_BYTES:
                self.grow(self._random.randrange(len(self.paths)))

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def payload(self, event: str, number: int, **fields: str) -> str:
        """What the client would send to a hook."""
        session = self.sessions[number].id
        payload = {"hook_event_name": event, "session_id": session, "cwd": corpus.ROOT, **fields}
        return json.dumps({"transcript_path": self.paths[number], **payload})

    @property
    def events(self) -> int:
        """How many events were written."""
        return sum(session.events for session in self.sessions)


def run_kills(bench: Bench) -> None:
    """Section `kills`."""
    grown, source = Grown(bench, "killed", 4), random.Random(f"{bench.options.seed} kills")
    typical = {kind: _typical(bench, grown, kind) for kind in ("import", "import with readers", "Stop")}
    killed = Counter[str]()
    with grown.growing(0.02):
        for turn in range(bench.options.kills):
            kind = ("Stop", "import", "Stop", "import with readers")[turn % 4]
            process = _start(bench, grown, kind, source.randrange(len(grown.paths)))
            time.sleep(source.uniform(0, 1.3 * typical[kind]))
            process.send_signal(signal.SIGKILL)
            code = process.wait()
            was_killed = code == -signal.SIGKILL
            killed[f"{kind}, killed" if was_killed else f"{kind}, ended before"] += 1
            typical[kind] *= 1.03 if was_killed else 0.9  # so that some end by themselves, however long they take
    for name, count in sorted(killed.items()):
        bench.report.figure(name, count)
    _check(bench, grown)


def _typical(bench: Bench, grown: Grown, kind: str) -> float:
    times = []
    for number in range(3):
        grown.grow(number)
        started = time.monotonic()
        _start(bench, grown, kind, number).wait()
        times.append(time.monotonic() - started)
    return middle(times)


def _start(bench: Bench, grown: Grown, kind: str, number: int) -> subprocess.Popen[bytes]:
    if kind.startswith("import"):
        jobs = "3" if kind != "import" else "1"
        command, payload = [*bench.command, "import", "--json", "--jobs", jobs, grown.folder], b""
    else:
        hook = os.path.abspath(str(launch.__file__))
        command, payload = [sys.executable, "-I", "-S", "-E", hook, kind], grown.payload(kind, number).encode()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=grown.env, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
    assert process.stdin is not None
    process.stdin.write(payload)
    process.stdin.close()
    return process


def _check(bench: Bench, grown: Grown) -> None:
    """One clean pass, then the store against a fresh one of the same files."""
    figure = bench.report.figure
    cost, _ = bench.import_(grown.home, grown.folder, user=grown.user)
    fresh = grown.home + "-fresh"
    _make_with_key_of(grown.home, fresh)
    bench.import_(fresh, grown.folder, user=grown.user)
    rows, expected = _rows(grown.home), _rows(fresh)
    figure("events written", grown.events)
    figure("events lost", (expected - rows).total() + abs(grown.events - expected.total()), most=0)
    figure("events twice", (rows - expected).total(), most=0)
    status = bench.status(grown.home, "--check", user=grown.user)
    figure("integrity errors", 0 if status["integrity"] == ["ok"] else len(status["integrity"]), most=0)
    read = status["bytes"]
    known = sum(read[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))
    figure("bytes unaccounted for", abs(known - corpus.unpacked_bytes(grown.paths)), most=0)
    figure("records quarantined", read["quarantined"], most=0)
    figure("rows that the index has not seen", status["index_lag_rows"], most=0)
    figure("documents of the index, too many or too few", _documents_missing(grown.home), most=0)
    figure("errors that hooks logged", _logged(grown.home), most=0)
    figure("stderr of the clean pass", len(cost.err), "chars", most=0)


def _make_with_key_of(home: str, fresh: str) -> None:
    """An empty store that names and redacts as another one does."""
    for folder in (home, fresh):
        open_app(read_settings({"HOWCOME_HOME": folder})).close()
    key = _connection(home).execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0]
    _connection(fresh).execute("UPDATE meta SET value = ? WHERE name = 'key'", (key,))


def _connection(home: str) -> apsw.Connection:
    return apsw.Connection(os.path.join(home, "howcome.db"))


def _rows(home: str) -> Counter[tuple[object, ...]]:
    """What a store holds: of each event where it stood and what it says."""
    sql = (
        "SELECT e.key, s.name, f.path, e.offset, e.kind, e.tool_use_id, e.ts_ms, e.excerpt, e.payload FROM events e"
        " JOIN sources f ON f.id = e.source_id JOIN sessions s ON s.id = e.session_id"
    )
    return Counter(_connection(home).execute(sql))


def _documents_missing(home: str) -> int:
    """How many documents of events the index holds too many or too few (thinking is kept, not searched)."""
    kinds = [events.KINDS.index(kind) for kind in (*events.TURN_KINDS, events.TOOL_CALL, events.TOOL_RESULT)]
    marks = ", ".join("?" * len(kinds))
    wanted = _connection(home).execute(f"SELECT count(*) FROM events WHERE kind IN ({marks})", kinds).fetchone()[0]  # noqa: S608 - question marks
    with open_app(read_settings({"HOWCOME_HOME": home})) as app:
        return abs(int(app.store.index.name_frequencies([])[0]) - wanted)


def _logged(home: str) -> int:
    try:
        with open(os.path.join(home, "hook-errors.log"), encoding="utf-8") as stream:
            return len(stream.readlines())
    except FileNotFoundError:
        return 0


class _Crowd:
    """Eight threads, each starting one process after the other: three capture, two ask, one searches, two import."""

    def __init__(self, bench: Bench, grown: Grown) -> None:
        self._bench, self._grown = bench, grown
        self._end = time.monotonic() + bench.options.crowd_seconds
        self.runs, self.times = Counter[str](), dict[str, list[float]]()
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def run(self) -> None:
        roles = ("Stop", "Stop", "SessionStart", "UserPromptSubmit", "UserPromptSubmit", "search", "import", "import")
        threads = [threading.Thread(target=self._work, args=(role, number)) for number, role in enumerate(roles)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, role: str, number: int) -> None:
        source = random.Random(f"crowd {number}")
        while time.monotonic() < self._end:
            mine = number % len(self._grown.paths)
            words = " ".join(self._grown.sessions[mine].words.names[source.randrange(60)] for _ in range(3))
            command, text = self._command(role, mine, words)
            started = time.monotonic()
            done = subprocess.run(command, env=self._grown.env, input=text, capture_output=True, text=True, check=False)
            elapsed = time.monotonic() - started
            with self._lock:
                self.runs[role] += 1
                self.times.setdefault(role, []).append(elapsed)
                if done.returncode or done.stderr:
                    self.problems.append(f"{role} ended with {done.returncode}: {done.stderr.strip()[-300:]}")

    def _command(self, role: str, number: int, words: str) -> tuple[list[str], str]:
        if role == "search":
            return [*self._bench.command, "search", "--all-projects", words], ""
        if role == "import":
            return [*self._bench.command, "import", "--json", self._grown.paths[number]], ""
        fields = {"prompt": words, "session_id": str(uuid.uuid4())} if role == "UserPromptSubmit" else {}
        return [*self._bench.command, "hook", role], self._grown.payload(role, number, **fields)


def run_crowd(bench: Bench) -> None:
    """Section `crowd`."""
    grown = Grown(bench, "crowd", 8)
    bench.import_(grown.home, grown.folder, user=grown.user)
    crowd = _Crowd(bench, grown)
    with grown.growing(0.01):
        crowd.run()
    for role, count in sorted(crowd.runs.items()):
        bench.report.figure(f"{role}: processes", count, note=f"(median {middle(crowd.times[role]) * 1000:.0f} ms)")
    late = sum(seconds > PROMPT_DEADLINE_S for seconds in crowd.times.get("UserPromptSubmit", ()))
    bench.report.figure("prompt hooks that took longer than their deadline with start-up", late)
    bench.report.figure("processes with an error", len(crowd.problems), most=0)
    for problem in crowd.problems[:5]:
        bench.say(problem)
    _check(bench, grown)


def left_over(root: str, wait_s: float = 5) -> int:
    """Processes of this run that are still there after a while (this one aside)."""
    deadline = time.monotonic() + wait_s
    while (found := _marked(root)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return len(found)


def _marked(root: str) -> list[str]:
    mark = f"{MARK}={root}"
    if not os.path.isdir("/proc/self"):
        lines = subprocess.run(["ps", "eaxww"], capture_output=True, text=True, check=False).stdout.splitlines()
        return [line.split()[0] for line in lines if mark in line]
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as stream:
                if mark.encode() in stream.read().split(b"\0"):
                    found.append(pid)
        except OSError:  # ended meanwhile, or somebody else's
            continue
    return found
