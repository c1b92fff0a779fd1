"""A vector index among processes: killed at any moment, read while it is written, refused, out of space."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from tests.processes import LIMIT_S, WITH_SMALL_FILES, WITHOUT_OVERRIDE
from tests.vectors import DIMENSIONS, filled, first_answers, open_index, turn, write

from howcome.index.vector_index import VectorIndex
from howcome.index.vector_writer import VectorWriter

ROWS = 40
ROUNDS = 12

CHILD = """
import random, sys
from pathlib import Path
import numpy as np
from tests.vectors import DIMENSIONS, open_index, turn
from howcome.index.vector_writer import VectorWriter

folder, seed = Path(sys.argv[1]), int(sys.argv[2])
chance, index = random.Random(seed), open_index(Path(sys.argv[1]))
print("ready", flush=True)
rows = index._snapshot().rows
epoch = int(rows["project"][0]) if len(rows) else 1
while True:
    with VectorWriter(index) as writer:
        if not writer.is_open:
            continue
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.1:
                writer.clear()
                epoch += 1
            first = writer.last_row + 1
            turns = [turn(row, project_id=epoch) for row in range(first, first + chance.randint(1, 60))]
            vectors = [np.random.default_rng([epoch, one.row]).standard_normal(DIMENSIONS) for one in turns]
            writer.append(turns, np.array(vectors))
            writer.commit(turns[-1].row)
            print(epoch, turns[-1].row, flush=True)
"""


def child(script: str, *arguments: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A process that can import the tests' modules."""
    words = [*before, sys.executable, "-c", script, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def line(stream: IO[str] | None) -> str:
    """The next line that a process says."""
    assert stream is not None
    return stream.readline().strip()


def assert_whole(index: VectorIndex) -> tuple[int, int]:
    """Every vector is of its row, rows are without gaps; (epoch, last row)."""
    snapshot = index._snapshot()
    rows = snapshot.rows["row"].tolist()
    assert rows == list(range(1, len(rows) + 1))
    assert index.last_row == len(rows)
    epochs = set(snapshot.rows["project"].tolist())
    assert len(epochs) <= 1
    epoch = epochs.pop() if epochs else 0
    for row, values in zip(rows, snapshot.values, strict=True):
        made = np.random.default_rng([epoch, row]).standard_normal(DIMENSIONS)
        assert values == pytest.approx(made / np.linalg.norm(made), abs=1e-3)
    return epoch, len(rows)


def test_kills_at_any_moment_leave_a_whole_index(tmp_path: Path) -> None:
    """What was committed is there, each vector at its row, nothing half; and the next writer goes on."""
    chance = random.Random(11)
    said = (0, 0)
    for number in range(ROUNDS):
        process = child(CHILD, tmp_path, number)
        assert line(process.stdout) == "ready"
        time.sleep(chance.choice([0, 0.003, 0.02, 0.1]) * chance.random())
        process.kill()
        rest, errors = process.communicate(timeout=LIMIT_S)
        assert not errors
        for told in rest.splitlines():
            said = max(said, tuple(map(int, told.split())))  # type: ignore[type-var]
        assert assert_whole(open_index(tmp_path)) >= said
    process = child(CHILD, tmp_path, ROUNDS)  # a busy machine may have begun no other before it was killed
    assert line(process.stdout) == "ready"
    told = line(process.stdout)
    process.kill()
    assert not process.communicate(timeout=LIMIT_S)[1]
    assert assert_whole(open_index(tmp_path)) >= tuple(map(int, told.split())) > (0, 0)


def test_readers_see_only_whole_states_while_another_process_writes(tmp_path: Path) -> None:
    """It appends, begins anew and removes the old files; nobody is refused, counts grow within an epoch."""
    process = child(CHILD, tmp_path, 99)
    try:
        assert line(process.stdout) == "ready"
        index, old = open_index(tmp_path), open_index(tmp_path)
        seen = [(0, 0)]
        until, limit = time.monotonic() + 1.5, time.monotonic() + LIMIT_S
        while (now := time.monotonic()) < until or (now < limit and len(set(seen)) <= 3):
            index.refresh()
            seen.append(assert_whole(index))
            if old.count == 0:
                old.refresh()
        assert seen == sorted(seen)
        assert len(set(seen)) > 3
        assert assert_whole(old) < seen[-1]
    finally:
        process.kill()
        process.communicate(timeout=LIMIT_S)


def test_two_writers_exclude_each_other(tmp_path: Path) -> None:
    """In one process and in two; a writer that is killed gives the lock back."""
    index, _ = filled(tmp_path)
    with VectorWriter(index) as first, VectorWriter(open_index(tmp_path)) as second:
        assert (first.is_open, second.is_open) == (True, False)
    hold = (
        "import sys, time\nfrom pathlib import Path\nfrom tests.vectors import *\n"
        "with VectorWriter(open_index(Path(sys.argv[1]))) as writer:\n"
        "    print(writer.is_open, flush=True)\n    time.sleep(600)"
    )
    process = child(hold, tmp_path)
    assert line(process.stdout) == "True"
    started = time.monotonic()
    with VectorWriter(index) as writer:
        assert not writer.is_open
    assert time.monotonic() - started < 30
    process.kill()
    process.communicate(timeout=LIMIT_S)
    with VectorWriter(index) as writer:
        assert writer.is_open
    assert not writer.is_open


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    """And writing there is refused in a sentence."""
    index, _ = filled(tmp_path)
    script = (
        "import sys\nfrom pathlib import Path\nimport numpy as np\nfrom tests.vectors import *\n"
        "from howcome.domain.stored import Filter, Scope\nfrom howcome.errors import StoreError\n"
        "index = open_index(Path(sys.argv[1]))\n"
        "print(len(index.search(np.ones(DIMENSIONS), Filter(Scope.everything()), 5)))\n"
        "try:\n    VectorWriter(index).__enter__()\nexcept StoreError as error:\n    print(error)\n"
    )
    os.chmod(Path(index.folder, "lock"), 0o400)
    os.chmod(index.folder, 0o500)
    try:
        process = child(script, tmp_path, before=(sys.executable, "-c", WITHOUT_OVERRIDE))
        said, errors = process.communicate(timeout=LIMIT_S)
    finally:
        os.chmod(index.folder, 0o700)
    assert not errors
    assert said.splitlines()[0] == "5"
    assert "cannot be written: Permission denied" in said.splitlines()[1]


def test_a_full_disk_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    """It is said in a sentence, and what is there stays."""
    index, vectors = filled(tmp_path, ROWS)
    limit = ROWS * DIMENSIONS * 2 + 5 * DIMENSIONS
    script = (
        "import sys, signal\nfrom pathlib import Path\nfrom tests.vectors import *\n"
        "from howcome.errors import StoreError\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "index = open_index(Path(sys.argv[1]))\n"
        "with VectorWriter(index) as writer:\n    try:\n"
        "        writer.append([turn(100 + row) for row in range(9)], clustered(9, DIMENSIONS, 1))\n"
        "    except StoreError as error:\n        print(error)\n"
    )
    process = child(script, tmp_path, before=(sys.executable, "-c", WITH_SMALL_FILES, str(limit)))
    said, errors = process.communicate(timeout=LIMIT_S)
    assert not errors
    assert "cannot be written: File too large" in said
    assert first_answers(open_index(tmp_path), vectors) == list(range(1, ROWS + 1))
    write(index, [turn(ROWS + 1)], vectors[:1])
    assert open_index(tmp_path).count == ROWS + 1
