"""The viewer on a store of 100,000 events: its first page, every other page, and searches, as a browser waits."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from howcome.web.pages import PAGES
from searching import questions
from timing import middle, share

if TYPE_CHECKING:
    from bench import Bench

FIRST_MS, SEARCH_P95_MS = 300, 100
SEARCHES, TIMES, WARM = 200, 5, 5
SLOW = ("health",)
"""It starts other programs."""


def run(bench: Bench) -> None:
    """Section `view`."""
    words = [*bench.command, "view", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=bench.env(bench.big, bench.user), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        link = urlsplit(json.loads(process.stdout.readline())["link"])
        with closing(HTTPConnection(link.hostname or "", link.port)) as connection:
            _measure(bench, connection, f"{link.path}?{link.query}", process.pid)
        process.terminate()


def processor_ms(pid: int) -> float:
    """What a process has used of processors: that does not depend on what else runs (Linux)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")


def _measure(bench: Bench, connection: HTTPConnection, entry: str, pid: int) -> None:
    connection.request("GET", entry)
    answer = connection.getresponse()
    answer.read()
    cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
    root = answer.headers["Location"]

    def took_ms(name: str) -> float:
        started = time.perf_counter()
        connection.request("GET", root + name, headers=cookie)
        shown = connection.getresponse()
        shown.read()
        assert shown.status == 200, name
        return (time.perf_counter() - started) * 1000

    figure = bench.report.figure
    used = processor_ms(pid)
    figure("first page, ms", took_ms("today"), most=FIRST_MS)
    figure("first page, processor ms", processor_ms(pid) - used)
    for name in (name for name, page in PAGES.items() if page.title and name not in SLOW):
        figure(f"{name}, median ms", middle([took_ms(name) for _ in range(TIMES)]))
    asked = [text for _, text in questions(bench.said, SEARCHES, bench.options.seed)]
    used = processor_ms(pid)
    times = [took_ms(f"search?q={quote(text[:1000])}") for text in asked][WARM:]
    figure("a search, mean processor ms", (processor_ms(pid) - used) / len(asked))
    figure("a search, median ms", middle(times))
    figure("a search, p95 ms", share(times, 0.95), most=SEARCH_P95_MS)
