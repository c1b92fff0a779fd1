"""What the hooks cost in the agents' real programs: `python -m tests.e2e.cost [AGENT …]`.

Sessions of one prompt, with and without the hooks in turn: the medians of whole sessions, and of each hook in them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tests.e2e.agents import HOOKED, Agent, ClaudeCode, agent_of

ROUNDS = 5
SAID = "We decided to keep upload chunks at 8 MiB, because the harbour proxy drops larger bodies."
ASKED = "Why are upload chunks limited to 8 MiB?"
TIMED = """#!/bin/sh
began=$(date +%s%N)
"$@"
echo "$6 $(( ($(date +%s%N) - began) / 1000 ))" >> "{log}"
"""
"""Runs a hook (interpreter, three options, program, event, …) and notes how many microseconds it took."""

TRUSTING = """
import os
from howcome.wiring import trust_hooks
trust_hooks(["codex", "app-server"], os.path.expanduser("~/.codex/hooks.json"), lambda command: True)
"""
"""Has Codex trust the hooks as they are timed."""

PLACES = (".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".copilot/hooks/howcome.json")


def connected(name: str, root: Path, log: Path) -> Agent | ClaudeCode:
    """An agent with its hooks, each timed."""
    agent = agent_of(name, root)
    agent.howcome("init", "--agent", name, "--yes", "--no-import")
    timed = root / "timed"
    timed.write_text(TIMED.replace("{log}", str(log)))
    timed.chmod(0o755)
    for path in (agent.home / place for place in PLACES):
        if path.exists():
            path.write_text(path.read_text().replace(f"{sys.executable} -I", f"{timed} {sys.executable} -I"))
    if isinstance(agent, Agent) and name == "codex":
        agent.run([sys.executable, "-c", TRUSTING])
    agent.ask(ASKED, SAID)
    return agent


def seconds_of(agent: Agent | ClaudeCode) -> float:
    """One session."""
    began = time.monotonic()
    agent.ask(ASKED)
    return time.monotonic() - began


def python_ms() -> float:
    """`python -c pass`, the unit."""
    times = []
    for _ in range(2 * ROUNDS):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(1000 * (time.monotonic() - began))
    return statistics.median(times)


def measure(name: str) -> None:
    """Prints an agent's rows."""
    with tempfile.TemporaryDirectory() as folder:
        root, log = Path(folder), Path(folder) / "hooks.log"
        alone, hooked = agent_of(name, root / "alone"), connected(name, root / "hooked", log)
        alone.ask(ASKED, SAID)
        log.write_text("")
        times = [(seconds_of(alone), seconds_of(hooked)) for _ in range(ROUNDS)]
        events: dict[str, list[float]] = defaultdict(list)
        for line in log.read_text().splitlines():
            event, microseconds = line.split()
            events[event].append(int(microseconds) / 1000)
    without_s, with_s = (statistics.median(one) for one in zip(*times, strict=True))
    unit_ms = python_ms()
    print(
        f"{name}: {without_s:.2f} s a session of one prompt, {with_s:.2f} s with hooks; python -c pass {unit_ms:.0f} ms"
    )
    for event, found in events.items():
        median_ms = statistics.median(found)
        count = len(found) / ROUNDS
        print(f"  {event:20} {count:.0f} a session  {median_ms:5.0f} ms  {median_ms / unit_ms:4.1f} x python -c pass")


def main(names: list[str]) -> int:
    """Each of the agents that have hooks, or those named."""
    for name in names or HOOKED:
        measure(name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
