"""The vector index on one core: invented vectors, as near to each other as those of real texts are."""

from __future__ import annotations

import importlib.util
import os
import time
from typing import TYPE_CHECKING

from howcome.domain.stored import Filter, Scope, Turn
from timing import middle, pinned, share

if TYPE_CHECKING:
    import numpy as np

    from bench import Bench
    from howcome.index.vector_index import VectorIndex

SIZES = {10_000: 3, 100_000: 5, 1_000_000: 45}
"""Rows, and within how many milliseconds 95 of 100 searches must end."""

DIMENSIONS = 384
PLACES = 2000
SPREAD = 0.8
DECAY = 0.5
"""Vectors lie around 2,000 places and spread like 1/√k along their k-th direction: so those of 31,680 real turns do,
made by a local model, by their spectrum and the cosines of their neighbours (.76, the tenth .62, the hundredth .49)."""

PROJECTS = 10
QUESTIONS = 100
PIECE = 10_000
LEAST_RECALL = 0.99
EVERYTHING = Filter(Scope.everything())
ASKED = {
    "everything": EVERYTHING,
    "a project of 10 %": Filter(Scope.project(3)),
    "turns of before, not of a session": Filter(
        Scope.everything(), before_ms=10**12, kinds=("user_prompt",), without=(5,)
    ),
}


def run(bench: Bench) -> None:
    """Section `vectors`."""
    if importlib.util.find_spec("numpy") is None:
        bench.say("numpy is not installed: nothing is searched by meaning")
        return
    with pinned(bench.core):
        from howcome.index.vector_index import VectorIndex

        source, rows = Source(bench.options.seed), 0
        queries = source.vectors(QUESTIONS)
        index = VectorIndex(os.path.join(bench.root, "vectors"), "invented", DIMENSIONS)
        for size, most_ms in SIZES.items():
            rate, commit_ms = _grow(index, source, rows, size)
            rows = size
            _searches(bench, index, queries, most_ms)
            _recall(bench, index, queries)
            bench.report.figure(f"{size:,} rows: written", rate, "rows/s", note=f"(commit {commit_ms:.1f} ms)")
    size_bytes = sum(entry.stat().st_size for entry in os.scandir(index.folder))
    bench.report.figure("bytes a row", size_bytes / rows, "B")


class Source:
    """Vectors around the same places, ever more of them."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._chance = np.random.default_rng(seed)
        turned = np.linalg.qr(self._chance.standard_normal((DIMENSIONS, DIMENSIONS)))[0]
        lengths = np.arange(1, DIMENSIONS + 1) ** -DECAY
        self._directions = (lengths[:, np.newaxis] * turned).astype(np.float32)
        self._places = self._scattered(PLACES)

    def vectors(self, count: int) -> np.ndarray:
        """The next vectors, one long."""
        import numpy as np

        found = self._places[self._chance.integers(0, PLACES, count)] + SPREAD * self._scattered(count)
        normal: np.ndarray = found / np.linalg.norm(found, axis=1, keepdims=True)
        return normal

    def _scattered(self, count: int) -> np.ndarray:
        import numpy as np

        return self._chance.standard_normal((count, DIMENSIONS), np.float32) @ self._directions


def turns_of(start: int, stop: int) -> list[Turn]:
    """The turns behind one row, up to another."""
    return [
        Turn(row, row // 20, row, row % PROJECTS, row, row % 2, row % 3, text="", before=None)
        for row in range(start + 1, stop + 1)
    ]


def _grow(index: VectorIndex, source: Source, start: int, stop: int) -> tuple[float, float]:
    """Writes rows up to `stop`, a commit a piece: rows a second, the median commit."""
    from howcome.index.vector_writer import VectorWriter

    seconds, commits = 0.0, []
    for first in range(start, stop, PIECE):
        vectors = source.vectors(PIECE)
        turns = turns_of(first, first + PIECE)
        started = time.perf_counter()
        with VectorWriter(index) as writer:
            writer.append(turns, vectors)
            before = time.perf_counter()
            writer.commit(turns[-1].row)
        seconds += time.perf_counter() - started
        commits.append((time.perf_counter() - before) * 1000)
    return (stop - start) / seconds, middle(commits)


def _searches(bench: Bench, index: VectorIndex, queries: np.ndarray, most_ms: float) -> None:
    index.refresh()
    started = time.perf_counter()
    index.search(queries[0], EVERYTHING, 10)
    figure, size = bench.report.figure, f"{index.count:,} rows"
    figure(f"{size}: the first search after a commit", (time.perf_counter() - started) * 1000, "ms")
    for name, wanted in ASKED.items():
        for limit in (10, 200):
            wall, busy = [], []
            for query in queries:
                started, started_busy = time.perf_counter(), time.thread_time()
                index.search(query, wanted, limit)
                wall.append((time.perf_counter() - started) * 1000)
                busy.append((time.thread_time() - started_busy) * 1000)
            note = f"(by the clock {share(wall, 0.95):.1f})"
            figure(f"{size}: {limit} of {name}, median", middle(wall), "ms")
            figure(f"{size}: {limit} of {name}, 95 of 100, processor", share(busy, 0.95), "ms", most=most_ms, note=note)


def _recall(bench: Bench, index: VectorIndex, queries: np.ndarray) -> None:
    """How many of the truly nearest are found, from the values as they are in the file."""
    import numpy as np

    [path] = (entry.path for entry in os.scandir(index.folder) if entry.name.startswith("values-"))
    values = np.memmap(path, np.float16, "r").reshape(-1, DIMENSIONS)
    scores = np.empty((len(queries), len(values)), np.float32)
    for start in range(0, len(values), PIECE):
        scores[:, start : start + PIECE] = queries @ values[start : start + PIECE].astype(np.float32).T
    for limit in (10, 200):
        best = np.argpartition(-scores, limit, axis=1)[:, :limit]
        hits = ({hit.row - 1 for hit in index.search(query, EVERYTHING, limit)} for query in queries)
        found = sum(len(near & set(exact.tolist())) for near, exact in zip(hits, best, strict=True))
        name = f"{index.count:,} rows: recall@{limit} against exact"
        bench.report.figure(name, found / limit / len(queries), least=LEAST_RECALL if limit == 10 else None)
