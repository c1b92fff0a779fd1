"""Processes with what they cost, medians, and the report: one line a figure, with its target beside it."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))


class Cost(NamedTuple):
    """What a process took, and how it ended."""

    seconds: float
    cpu: float
    rss_bytes: int
    code: int
    out: str
    err: str

    @property
    def rss_mb(self) -> float:
        """Its peak resident memory."""
        return self.rss_bytes / 1e6


def measure(command: Sequence[str], env: Mapping[str, str], *, stdin: str = "", core: int = -1) -> Cost:
    """Runs a command to its end through a small parent, for a true peak of memory; `core` pins it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        runner = [sys.executable, "-I", "-S", os.path.join(HERE, "measured.py"), report.name, str(core), *command]
        done = subprocess.run(runner, env=env, input=stdin, capture_output=True, text=True, check=True)
        cost = json.load(report)
    return Cost(cost["seconds"], cost["cpu"], cost["rss_bytes"], cost["code"], done.stdout, done.stderr)


class Stopwatch:
    """Times whole processes, started in the cheapest way, with their input in a file and their output in another."""

    def __init__(self, folder: str) -> None:
        self._in, self._out = os.path.join(folder, "watch-in"), os.path.join(folder, "watch-out")

    def run(self, command: Sequence[str], env: Mapping[str, str], stdin: str = "") -> tuple[float, str]:
        """(milliseconds from start to end, what it printed)."""
        with open(self._in, "w", encoding="utf-8") as stream:
            stream.write(stdin)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, self._in, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self._out, flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, self._out + "-err", flags, 0o600),
        ]
        started = time.perf_counter()
        os.waitpid(os.posix_spawn(command[0], list(command), dict(env), file_actions=actions), 0)
        elapsed = time.perf_counter() - started
        with open(self._out, encoding="utf-8", errors="replace") as stream:
            return elapsed * 1000, stream.read()


def base_command() -> list[str]:
    """What ratios are against: an interpreter of this environment that does nothing."""
    return [sys.executable, "-c", "pass"]


def core_for_measuring() -> int:
    """The last core this process may use, or -1 where cores cannot be chosen."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else -1


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """On one core, where cores can be chosen."""
    if core < 0:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def share(values: Sequence[float], part: float) -> float:
    """The value below which a part (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


class Report:
    """Prints figures as they come and keeps them for JSON.

    A target is a bound: `most` for figures that must stay below, `least` for those that must reach it.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self.section = ""

    def figure(self, name: str, value: float, unit: str = "", *, most: float | None = None, least: float | None = None,
               note: str = "") -> None:  # fmt: skip
        """One line: what, how much, the target and whether it is met."""
        bound = most if most is not None else least
        met = None if bound is None else value <= bound if most is not None else value >= bound
        row = {"section": self.section, "name": name, "value": round(value, 4), "unit": unit}
        self.rows.append({**row, "target": bound, "met": met, "note": note})
        shown = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.2f}"
        target = "" if bound is None else f"target {'<=' if most is not None else '>='} {bound:g}{note and ' ' + note}"
        verdict = "" if met is None else "met" if met else "NOT MET"
        print(f"{self.section:<8} {name:<72} {shown:>12} {unit:<6} {target or note:<34} {verdict}".rstrip(), flush=True)

    def save(self, path: str, about: Mapping[str, object]) -> None:
        """Writes every figure as JSON."""
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"about": about, "figures": self.rows}, stream, indent=1)

    @property
    def missed(self) -> int:
        """How many targets were not met."""
        return sum(row["met"] is False for row in self.rows)
