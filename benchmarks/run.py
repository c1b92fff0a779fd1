"""Measures howcome on this machine: speed, size, memory and what survives kills and crowds.

    .venv/bin/python benchmarks/run.py                       an invented corpus, every section, a few minutes
    .venv/bin/python benchmarks/run.py --data FOLDER         with the transcripts (.jsonl, .jsonl.gz) found there
    .venv/bin/python benchmarks/run.py --only import,hooks   some sections
    .venv/bin/python benchmarks/run.py --full --json out.json
    .venv/bin/python benchmarks/run.py --only scale --events 1000000

| section | what is measured |
|---|---|
| import  | `howcome import` as a process on one core: MB/s of unpacked input, memory, size of the store, accounts |
| jobs    | `howcome import --jobs 1`, 2 and 4: MB/s of the clock and of the processors, dense and given transcripts |
| bulk    | peak memory of importing one transcript of 500 MB; files a second of importing 20,000 small ones |
| distil  | `howcome distil` by rules as a process: processor time as a share of the import's, memory |
| search  | `App.search` in process, and `howcome search` as a process |
| start   | `--help`, `status`, `show`, `timeline`, `search` and the prompt hook as ratios, in a pipe, on a terminal |
| hooks   | the prompt hook as a process on a store of 100,000 events or more, against `python -c pass` |
| worker  | the same prompts with a warm server to ask; what the server costs and how it ends |
| stop    | the hooks that read transcripts, on the same store |
| mcp     | the MCP server: start, memory, searches; its hook against the command in the real client |
| view    | the viewer on 100,000 events: first page, other pages, searches |
| memory  | peak resident memory of an import, of hooks, of a file with a line of 100 MB |
| kills   | kill -9 of imports and hooks at random moments while transcripts grow: lost, twice, integrity |
| crowd   | processes that ingest and ask at the same time: errors, lost |
| secrets | redaction: MB/s with either engine, set-up, the worst lines |
| scale   | warm searches of 100,000 invented events (`--events`), by words and by meaning; turns embedded |
| postgres | PostgreSQL servers: vectors (time, recall, rows/s), appends, search beside the store's own index |
| vectors | the vector index at 10,000 to 1,000,000 rows (0.9 GB): time, recall against exact, what writing costs |

Processes are timed in turn with their base in one loop, so read ratios and medians: single times depend on what else
the machine does. Everything is written to a temporary folder that is removed at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable

import bulk
import distilling
import durability
import hooking
import importing
import postgres
import redaction
import scaling
import searching
import serving
import starting
import vectors
import viewing
import working
from bench import Bench

SECTIONS: dict[str, Callable[[Bench], None]] = {
    "import": importing.run,
    "jobs": importing.run_jobs,
    "bulk": bulk.run,
    "distil": distilling.run,
    "search": searching.run,
    "start": starting.run,
    "hooks": hooking.run_prompts,
    "worker": working.run,
    "stop": hooking.run_captures,
    "mcp": serving.run,
    "view": viewing.run,
    "memory": importing.run_memory,
    "kills": durability.run_kills,
    "crowd": durability.run_crowd,
    "secrets": redaction.run,
    "scale": scaling.run,
    "postgres": postgres.run,
    "vectors": vectors.run,
}


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER", help="measure with the transcripts found there")
    parser.add_argument("--only", metavar="NAMES", help=f"sections, comma-separated, of: {','.join(SECTIONS)}")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--full", action="store_true", help="more runs: 1,000 kills, 120 s of crowd, 200 runs a hook")
    parser.add_argument("--megabytes", type=float, default=64, help="size of the invented corpus (%(default)s)")
    parser.add_argument("--sessions", type=int, default=70, help="its sessions (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (%(default)s)")
    parser.add_argument("--runs", type=int, help="runs of each hook (40)")
    parser.add_argument("--kills", type=int, help="processes to kill (200)")
    parser.add_argument("--crowd-seconds", type=float, help="length of the crowd (30)")
    parser.add_argument("--events", type=int, default=100_000, help="of the store of `scale` (%(default)s)")
    parser.add_argument("--bulk", type=float, default=1.0, help="share of `bulk` to measure (%(default)s)")
    parser.add_argument("--store", metavar="FOLDER", help="that store: made there, and kept for the next time")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    options = parser.parse_args(arguments)
    options.runs = options.runs or (200 if options.full else 40)
    options.kills = options.kills or (1000 if options.full else 200)
    options.crowd_seconds = options.crowd_seconds or (120 if options.full else 30)
    names = options.only.split(",") if options.only else list(SECTIONS)
    unknown = set(names) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    options.sections = [name for name in SECTIONS if name in names]
    return options


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    # No random letters: a name that may be a secret loads the rules for these, which no plain path does.
    root = os.path.join(os.path.realpath(tempfile.gettempdir()), f"howcome-bench-{os.getpid()}")
    os.mkdir(root, 0o700)
    bench = Bench(options, root)
    started = time.monotonic()
    try:
        for name in options.sections:
            bench.say(f"{name} ({time.monotonic() - started:.0f} s)")
            bench.report.section = name
            SECTIONS[name](bench)
        bench.report.section = "all"
        bench.report.figure("processes left over after 5 s", durability.left_over(root), most=0)
        bench.report.figure("targets missed", bench.report.missed)
    finally:
        if options.keep:
            bench.say(f"kept {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    if options.json:
        about = {
            "corpus": "given" if options.data else "invented", "cores": os.cpu_count(), "platform": sys.platform,
            "python": sys.version.split()[0], "sections": options.sections, "runs": options.runs,
            "kills": options.kills,
        }  # fmt: skip
        bench.report.save(options.json, about)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
