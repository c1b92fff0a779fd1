"""What distilling by rules costs beside the import of the same transcripts, and what it costs when nothing is new.

The worker distils in the process that imports; a command of its own starts once more, which is what it costs when
nothing is new.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from timing import measure, middle

if TYPE_CHECKING:
    from bench import Bench
    from timing import Cost

RUNS = 3
SHARE_PERCENT = 25
MEMORY_MB = 300


def run(bench: Bench) -> None:
    """Section `distil`: each run imports the corpus into a store of its own and distils that, both on one core."""
    figure = bench.report.figure
    imports, distils, again = zip(*(_once(bench, number) for number in range(RUNS)), strict=True)
    shares = [100 * distil.cpu / first.cpu for first, distil in zip(imports, distils, strict=True)]
    added = [
        100 * (distil.cpu - nothing.cpu) / first.cpu
        for first, distil, nothing in zip(imports, distils, again, strict=True)
    ]
    done = json.loads(distils[0].out)
    figure("sessions", done["sessions"])
    figure("candidates", done["candidates"])
    figure("import of them, processor time", middle([cost.cpu for cost in imports]), "s")
    figure("distilling them by rules, processor time", middle([cost.cpu for cost in distils]), "s")
    figure("the same, share of the import's: median of 3 runs, a command of its own", middle(shares), "%")
    figure("the same in the process that imports: without the command's start", middle(added), "%", most=SHARE_PERCENT)
    figure("the same, the worst of them", max(added), "%")
    figure("peak memory", max(cost.rss_mb for cost in distils), "MB", most=MEMORY_MB)
    figure("once more, with nothing new: processor time", middle([cost.cpu for cost in again]), "s")
    figure("sessions that were distilled again", json.loads(again[0].out)["sessions"], most=0)


def _once(bench: Bench, number: int) -> tuple[Cost, Cost, Cost]:
    """(an import, the first distilling, one with nothing to do), by words only: vectors are the embedder's cost."""
    home = os.path.join(bench.root, f"distil-{number}")
    env = bench.env(home) | {"HOWCOME_EMBEDDING": "off", "HOWCOME_DISTILLER": "rules"}
    commands = (["import", "--json", bench.source], ["distil", "--json"], ["distil", "--json"])
    costs = [measure([*bench.command, *command], env, core=bench.core) for command in commands]
    failed = next((cost for cost in costs if cost.code), None)
    if failed is not None:
        raise RuntimeError(f"distilling failed: {failed.err}")
    shutil.rmtree(home)
    return costs[0], costs[1], costs[2]
