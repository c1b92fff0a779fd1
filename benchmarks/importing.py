"""Import: speed, size and accounts of the whole corpus; and the peak memory of whatever reads transcripts."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import corpus
from howcome.clients.discover import named_transcripts
from timing import measure, middle

if TYPE_CHECKING:
    from bench import Bench
    from timing import Cost

MB_A_SECOND = 32
MEMORY_MB = 300
LONG_LINE_BYTES = 100_000_000
JOBS = (1, 2, 4)
JOBS_TURNS = 3


def run(bench: Bench) -> None:
    """Section `import`."""
    figure = bench.report.figure
    home, cost, report = bench.store, bench.imports["first"], bench.imported
    size = corpus.unpacked_bytes(bench.files)
    figure("files", report["files"])
    figure("unpacked input", size / 1e6, "MB")
    figure("events", report["accepted"])
    figure(
        "whole process on one core, by wall time", size / 1e6 / cost.seconds, "MB/s", least=MB_A_SECOND, note="(aim 60)"
    )
    figure("the same, by processor time", size / 1e6 / cost.cpu, "MB/s", least=MB_A_SECOND, note="(aim 60)")
    figure("peak memory", cost.rss_mb, "MB", most=MEMORY_MB)
    status = bench.status(home)
    rows, index = status["sizes"]["database_bytes"], status["sizes"]["index_bytes"]
    figure("size of rows, share of the unpacked input", 100 * rows / size, "%")
    figure("size of the index, share of the unpacked input", 100 * index / size, "%")
    read = status["bytes"]
    figure("bytes on disk that were not read", abs(size - read["read"]), most=0)
    known = sum(read[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))
    figure("bytes read that no account holds", abs(read["read"] - known), most=0)
    figure("rows that the index has not seen", status["index_lag_rows"], most=0)
    again, second = bench.import_(home, bench.source, core=bench.core)
    figure("second import: events added", second["accepted"], most=0)
    figure("second import: time, share of the first", 100 * again.seconds / cost.seconds, "%")


def run_jobs(bench: Bench) -> None:
    """Section `jobs`: in turns, because what else the machine does differs from minute to minute."""
    folder = os.path.join(bench.root, "dense")
    options = bench.options
    corpus.invent(folder, megabytes=options.megabytes, sessions=options.sessions, seed=options.seed, dense=True)
    given = {"given": os.path.abspath(options.data)} if options.data else {}
    for name, source in {"dense": folder, **given}.items():
        costs: dict[int, list[Cost]] = {jobs: [] for jobs in JOBS}
        size = corpus.unpacked_bytes([found.path for found in named_transcripts([source])]) / 1e6
        for turn in range(JOBS_TURNS):
            for jobs, measured in costs.items():
                home = os.path.join(bench.root, f"jobs-{name}-{jobs}-{turn}")
                measured.append(bench.import_(home, "--jobs", str(jobs), source)[0])
                shutil.rmtree(home)
        for jobs, measured in costs.items():
            what = f"{name}, {size:.0f} MB, {jobs} process{'es' * (jobs > 1)}"
            fastest = min(cost.seconds for cost in measured)
            note = f"(best of {JOBS_TURNS}: {size / fastest:.1f})"
            bench.report.figure(what, size / middle([cost.seconds for cost in measured]), "MB/s", note=note)
            cpu = middle([cost.cpu for cost in measured])
            bench.report.figure(f"{what}: a processor second", size / cpu, "MB")


def run_memory(bench: Bench) -> None:
    """Section `memory`."""
    figure = bench.report.figure
    figure("import of the corpus", (bench.store and bench.imports["first"]).rss_mb, "MB", most=MEMORY_MB)
    home, env = bench.big, bench.env(bench.big, bench.user)
    path = os.path.join(bench.root, "memory.jsonl")
    session = corpus.Session("memory", cwd=bench.cwd)
    with open(path, "wb") as stream:
        stream.writelines(session.lines(500_000))
    payload = {"session_id": session.id, "transcript_path": path, "cwd": bench.cwd}
    for event, more in (("Stop", {}), ("UserPromptSubmit", {"prompt": bench.said[0][2][:200]})):
        text = json.dumps({**payload, "hook_event_name": event, **more})
        cost = measure(bench.hook(event), env, stdin=text)
        figure(f"{event} hook", cost.rss_mb, "MB", most=MEMORY_MB)
    long = os.path.join(bench.root, "long")
    _write_long_line(os.path.join(long, f"{session.id}.jsonl"), session)
    cost, report = bench.import_(os.path.join(bench.root, "long-store"), long)
    figure("import of a file with a line of 100 MB", cost.rss_mb, "MB", most=MEMORY_MB)
    figure("records of that file quarantined", report["quarantined"], note="(the line of 100 MB)")
    figure("records read after it", report["accepted"], least=1)
    shutil.rmtree(long)
    assert home


def _write_long_line(path: str, session: corpus.Session) -> None:
    os.makedirs(os.path.dirname(path))
    lines = list(session.exchange())
    with open(path, "wb") as stream:
        stream.writelines(lines[:2])
        stream.write(b'{"type":"user","uuid":"long","message":{"role":"user","content":"')
        stream.writelines(b"long words " * 90_909 for _ in range(LONG_LINE_BYTES // 1_000_000))
        stream.write(b'"}}\n')
        stream.writelines(lines[2:])
