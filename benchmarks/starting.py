"""Commands and the prompt hook as whole processes, each timed in turn with an interpreter that does nothing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from hooking import RECALLS, payload_of, sorted_prompts
from howcome.settings import SOCKET_NAME
from searching import questions
from timing import base_command, measure, middle
from working import Server

if TYPE_CHECKING:
    from bench import Bench

EVENT = "UserPromptSubmit"
SCREEN = struct.pack("HHHH", 40, 120, 0, 0)
EMBED_S = 10
HELP, IN_A_PIPE, ON_A_TERMINAL, WITH_A_MODEL, COLD, WARM = 8, 6, 10, 12, 3.2, 1.6


class Case(NamedTuple):
    """A command: its words, its environment, on a terminal or in a pipe, and the most that it may take."""

    command: list[str]
    env: dict[str, str]
    most: float | None
    on_terminal: bool = False
    is_prompt: bool = False


def run(bench: Bench) -> None:
    """Section `start`."""
    env = bench.env(bench.store)
    bench.report.figure("events in the store", bench.status(bench.store)["counts"]["events"])
    recalls = sorted_prompts(bench, env, bench.hook(EVENT))[RECALLS]
    cases = {"python -c pass": Case(base_command(), env, None), **_commands(bench, env), **_with_model(bench)}
    hook = bench.hook(EVENT)
    _timed(bench, {**cases, "prompt hook, cold": Case(hook, env, COLD, is_prompt=True)}, recalls)
    server = Server(env)
    try:
        _wait_for(os.path.join(bench.store, SOCKET_NAME))
        warm = {"python -c pass": cases["python -c pass"], "prompt hook, warm": Case(hook, env, WARM, is_prompt=True)}
        _timed(bench, warm, recalls)
    finally:
        server.process.stdin.close()  # type: ignore[union-attr]
        server.process.wait(10)


def _commands(bench: Bench, env: dict[str, str]) -> dict[str, Case]:
    text = next(text for kind, text in questions(bench.said, 10, bench.options.seed) if kind == "words")
    found = json.loads(measure([*bench.command, "search", "--all-projects", "--json", "--", text], env).out)["results"]
    listed = json.loads(measure([*bench.command, "timeline", "--all-projects", "--json"], env).out)["sessions"]
    words = {
        "--help": ["--help"], "status": ["status"], "show": ["show", found[0]["id"]],
        "timeline": ["timeline", listed[0]["session_id"]], "search": ["search", "--all-projects", "--", text],
    }  # fmt: skip
    cases = {}
    for place, most in (("in a pipe", IN_A_PIPE), ("on a terminal", ON_A_TERMINAL)):
        for name, arguments in words.items():
            target = HELP if name == "--help" else most
            cases[f"{name}, {place}"] = Case([*bench.command, *arguments], env, target, place == "on a terminal")
    return cases


def _with_model(bench: Bench) -> dict[str, Case]:
    """A search that has to load the model, and one where it is installed but no vector is made yet.

    Nothing where its weights are not installed.
    """
    home = os.path.join(bench.root, "with-model")
    shutil.copytree(bench.store, home, ignore=shutil.ignore_patterns("*.sock"))
    env = bench.env(home)
    if measure([*bench.command, "model", "install", "--yes"], env).code:
        bench.say("no model is here: no search that loads it")
        return {}
    command = [*bench.command, "search", "--all-projects", "--", "why did the queue stall"]
    before = os.path.join(bench.root, "before-vectors")
    shutil.copytree(home, before)
    with contextlib.suppress(subprocess.TimeoutExpired):  # some are enough
        subprocess.run([*bench.command, "model", "embed"], env=env, capture_output=True, check=True, timeout=EMBED_S)
    return {
        "search with the model and no server": Case(command, env, WITH_A_MODEL),
        "the same, before there is a vector": Case(command, bench.env(before), WITH_A_MODEL),
    }


def _wait_for(path: str, limit_s: float = 20) -> None:
    until = time.monotonic() + limit_s
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.05)


def _timed(bench: Bench, cases: dict[str, Case], prompts: list[str]) -> None:
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for number in range(bench.options.runs + 1):
        for name, case in cases.items():
            stdin = payload_of(bench, EVENT, prompt=prompts[number % len(prompts)]) if case.is_prompt else ""
            cost = _once(bench, case, stdin)
            taken[name] += [cost] if number else []  # the first one only fills caches
    base, *others = cases
    for name in others:
        wall, least, cpu = (
            of([row[part] for row in taken[name]]) / of([row[part] for row in taken[base]])
            for of, part in ((middle, 0), (min, 0), (min, 1))
        )
        note = f"(least {least:.1f}, least processor time {cpu:.1f})"
        bench.report.figure(name, wall, "x base", most=cases[name].most, note=note)


def _once(bench: Bench, case: Case, stdin: str) -> tuple[float, float]:
    """(seconds by the clock, seconds of processor time) of a process."""
    fed = os.path.join(bench.root, "start-in")
    with open(fed, "w", encoding="utf-8") as stream:
        stream.write(stdin)
    terminal, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, SCREEN)
    actions = [(os.POSIX_SPAWN_OPEN, 0, fed, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    if case.on_terminal:
        actions = [(os.POSIX_SPAWN_DUP2, screen, number) for number in (0, 1, 2)]
    reader = threading.Thread(target=_drain, args=(terminal,))
    reader.start()
    started = time.perf_counter()
    environment = {**case.env, "TERM": "xterm", "PAGER": "cat"}
    child = os.posix_spawn(case.command[0], case.command, environment, file_actions=actions)
    _, _, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    os.close(screen)
    reader.join()
    os.close(terminal)
    return seconds, usage.ru_utime + usage.ru_stime


def _drain(terminal: int) -> None:
    with contextlib.suppress(OSError):  # the last process has closed the other side
        while os.read(terminal, 1 << 16):
            pass
