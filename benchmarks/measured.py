"""Runs one command and writes what it cost: `python -I -S measured.py REPORT CORE COMMAND…` (CORE -1: any core).

A process of its own, because a child's peak memory counts what its parent held when it was started: this parent is
small. REPORT becomes a JSON object: seconds, cpu, rss_bytes, code.
"""

import json
import os
import sys
import time


def main(report: str, core: int, command: list[str]) -> int:
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    unit = 1 if sys.platform == "darwin" else 1024
    cost = {
        "seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "rss_bytes": usage.ru_maxrss * unit,
        "code": os.waitstatus_to_exitcode(status),
    }  # fmt: skip
    with open(report, "w", encoding="utf-8") as stream:
        json.dump(cost, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
