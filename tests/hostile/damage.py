"""Damage to the files of a store: which bytes of which file become what, chosen by a seed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import apsw
from tests.hostile.doors import DOORS, Door, opened

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.hostile.stage import Stage

HOW = ("bit", "byte", "byte", "zeroes", "cut", "emptied", "longer", "noise")
"""What happens to a file; bytes that change are the most usual case."""


_DERIVED = ("index", "vectors")


def files(home: Path, area: str) -> list[Path]:
    """The files of an area: the database, its log, everything that is derived, or all the rest.

    In an order that does not depend on names of chance, so that a seed gives the same damage.
    """
    found = [path for path in home.rglob("*") if path.is_file() and _area(path.relative_to(home)) == area]
    return sorted(found, key=lambda path: (path.parent, path.suffix, path.stat().st_size))


def _area(path: Path) -> str:
    if path.name.endswith((".db-wal", ".db-shm")):
        return "log"
    if path.suffix == ".db":
        return "database"
    return "derived" if path.parts[0] in _DERIVED else "rest"


def damaged(path: Path, choice: random.Random) -> str:
    """Damages a file in one of the ways; what was done, in words."""
    data, how = bytearray(path.read_bytes()), choice.choice(HOW)
    place = choice.randrange(len(data)) if data else 0
    if not data:
        how = "longer"
    if how == "bit":
        data[place] ^= 1 << choice.randrange(8)
    elif how == "byte":
        data[place] ^= choice.randrange(1, 256)
    elif how == "zeroes":
        data[place : place + 64] = bytes(len(data[place : place + 64]))
    elif how == "noise":
        data[place : place + 16] = choice.randbytes(len(data[place : place + 16]))
    elif how == "longer":
        data += choice.randbytes(choice.randrange(1, 100))
    else:
        del data[place if how == "cut" else 0 :]
    path.write_bytes(data)
    return f"{how} at {place} of {path.name}"


def with_log(stage: Stage, root: Path) -> Stage:
    """A copy whose last writes are only in the write-ahead log, as a crash leaves it."""
    stage.grow(5)
    holder = apsw.Connection(str(stage.home / "howcome.db"))
    holder.execute("SELECT count(*) FROM events").fetchall()  # while one reads, the last writer leaves the log
    outcome = opened(DOORS["import"], stage)
    assert (outcome.code, outcome.err) == (0, b""), outcome.err[-3000:]
    copy = stage.with_same_transcripts(root)
    holder.close()
    assert os.path.getsize(copy.home / "howcome.db-wal")
    return copy


def with_every_file(stage: Stage) -> Stage:
    """The store with what else may lie in its folder: settings, the hooks' log, observations that wait."""
    (stage.home / "config.toml").write_text('recall_limit = 2\nexclude = ["/gone/secret"]\n')
    (stage.home / "hook-errors.log").write_text("2026-03-02T09:00:00Z Stop StoreLockedError\n" * 20)
    observed = {"session_id": "observed", "cwd": "/gone/harbour", "text": "the lock of quay 9 sticks", "role": "user"}
    opened(Door("observe", ("observe",)), stage, data=json.dumps(observed).encode())
    return stage
