"""Bulk: the memory that one very long transcript costs, and the time that very many small ones cost."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import TYPE_CHECKING

import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench import Bench

LONG_MB = 500
LONG_MEMORY_MB = 200
SMALL_FILES = 20_000
FILES_A_SECOND = 1500
PROJECTS = 20
EXCHANGES_AT_HAND = 50
"""Each is of another length; uuids are made new for each session."""


def run(bench: Bench) -> None:
    """Section `bulk`: `--bulk 0.1` measures with a tenth of it."""
    _long(bench, round(LONG_MB * bench.options.bulk))
    _small(bench, round(SMALL_FILES * bench.options.bulk))


def _long(bench: Bench, megabytes: int) -> None:
    figure, folder = bench.report.figure, os.path.join(bench.root, "one")
    path = os.path.join(folder, "long.jsonl")
    os.makedirs(folder)
    bench.say(f"inventing one transcript of {megabytes} MB")
    with open(path, "wb") as stream:
        stream.writelines(corpus.Session("long").lines(megabytes * 1_000_000))
    home = os.path.join(bench.root, "one-store")
    cost, report = bench.import_(home, folder, core=bench.core)
    size = report["bytes"] / 1e6
    figure(f"one transcript of {size:.0f} MB: peak memory", cost.rss_mb, "MB", most=LONG_MEMORY_MB)
    figure("the same: by processor time", size / cost.cpu, "MB/s")
    figure("the same: events", report["accepted"])
    figure("the same: rows that the index has not seen", bench.status(home)["index_lag_rows"], most=0)
    shutil.rmtree(folder)
    shutil.rmtree(home)


def _small(bench: Bench, files: int) -> None:
    figure, folder = bench.report.figure, os.path.join(bench.root, "many")
    bench.say(f"inventing {files} small transcripts")
    for number, lines in enumerate(_sessions(files)):
        place = os.path.join(folder, f"project-{number % PROJECTS}", f"{uuid.UUID(int=number, version=4)}.jsonl")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as stream:
            stream.writelines(lines)
    home = os.path.join(bench.root, "many-store")
    cost, report = bench.import_(home, folder, core=bench.core)
    figure(f"{files} small transcripts: files a second of processor time", files / cost.cpu, least=FILES_A_SECOND)
    figure("the same: by wall time", files / cost.seconds, note=f"({cost.seconds:.1f} s)")
    figure("the same: peak memory", cost.rss_mb, "MB")
    figure("the same: files not read", files - report["files"], most=0)
    figure("the same: rows that the index has not seen", bench.status(home)["index_lag_rows"], most=0)
    again, _ = bench.import_(home, folder, core=bench.core)
    figure("the same again, nothing new: files a second of processor time", files / again.cpu)
    shutil.rmtree(folder)
    shutil.rmtree(home)


def _sessions(count: int) -> Iterator[list[bytes]]:
    """Sessions of one prompt and its answer, in some folders."""
    source = corpus.Session("small")
    at_hand = [list(source.exchange()) for _ in range(EXCHANGES_AT_HAND)]
    for number in range(count):
        lines = at_hand[number % len(at_hand)]
        folder = f"{corpus.ROOT}-{number % PROJECTS}".encode()
        chosen = (line.replace(corpus.ROOT.encode(), folder) for line in (lines[0], *lines[-2:]))
        yield list(corpus.renamed(chosen, number + 1))
