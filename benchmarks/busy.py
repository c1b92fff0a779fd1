"""How many prompts are answered on a busy machine: busy loops beside 60 prompts, each a hook's process of its own.

    python benchmarks/busy.py [--loops 13] [--prompts 60] [--deadline-ms 1200] [--alone]

Every prompt is one that the store answers when the machine is idle. Without --alone an MCP server runs beside, as in
a session, and is asked first. It prints figures of this machine: compare runs, not machines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LAUNCH = Path(__file__).parents[1] / "src" / "howcome" / "launch.py"
HOOK = [sys.executable, "-I", "-S", "-E", str(LAUNCH)]
PROJECT = "/home/mara/harbour"
EXCHANGES = 200
SETTLE_S = 3.0


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--loops", type=int, default=13)
    parser.add_argument("--prompts", type=int, default=60)
    parser.add_argument("--deadline-ms", type=int, default=0, help="0: the default of the settings")
    parser.add_argument("--alone", action="store_true", help="no server: every hook does the work itself")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "HOWCOME_HOME": f"{folder}/store", "HOWCOME_EMBEDDING": "off"}
        if options.deadline_ms:
            environment["HOWCOME_PROMPT_DEADLINE_MS"] = str(options.deadline_ms)
        _fill(Path(folder), environment)
        with _server(environment, is_there=not options.alone):
            print(f"idle  {_answered(options.prompts, environment, 'idle')}")
            with _loops(options.loops):
                print(f"busy  {_answered(options.prompts, environment, 'busy')}, beside {options.loops} busy loops")
    return 0


def _fill(folder: Path, environment: dict[str, str]) -> None:
    """A store with one thing to say to each prompt."""
    lines = []
    for number in range(EXCHANGES):
        for place, (role, text) in enumerate(
            (("user", f"why does planner{number} drop gauge{number}?"), ("assistant", f"table{number} of it is stale."))
        ):
            record = {"uuid": f"u{number}-{place}", "sessionId": f"past{number}", "cwd": PROJECT, "type": role}
            record |= {"timestamp": f"2026-03-02T09:{number // 60:02d}:{number % 60:02d}.{place:03d}Z"}
            lines.append(json.dumps({**record, "message": {"role": role, "content": text}}))
    path = folder / "past.jsonl"
    path.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "howcome", "import", str(path)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _answered(count: int, environment: dict[str, str], name: str) -> str:
    """How many prompts got an answer, and the middle and longest time of a hook."""
    said, times = 0, []
    for number in range(count):
        payload = {
            "hook_event_name": "UserPromptSubmit", "session_id": f"{name}{number}", "cwd": PROJECT,
            "transcript_path": "/none.jsonl", "prompt": f"planner{number} drops gauge{number} again, why?",
        }  # fmt: skip
        started = time.perf_counter()
        done = subprocess.run(
            [*HOOK, "UserPromptSubmit"], input=json.dumps(payload).encode(), env=environment, stdout=subprocess.PIPE,
            check=True,
        )  # fmt: skip
        times.append(time.perf_counter() - started)
        said += bool(done.stdout)
    times.sort()
    return f"{said:3} of {count} answered, median {times[count // 2]:.2f} s, longest {times[-1]:.2f} s"


@contextmanager
def _server(environment: dict[str, str], *, is_there: bool) -> Iterator[None]:
    if not is_there:
        yield
        return
    process = subprocess.Popen(
        [*HOOK, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdin is not None
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        socket = Path(environment["HOWCOME_HOME"]) / "worker.sock"
        end = time.monotonic() + 60
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(SETTLE_S)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def _loops(count: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(SETTLE_S)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
