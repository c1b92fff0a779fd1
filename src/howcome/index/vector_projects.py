"""Vectors of a project that became a part of another: their rows name a project, and nothing else of them changes."""

from __future__ import annotations

import os

from howcome.index.vector_head import FORMAT, data_path, read_head

ROW_BYTES, PROJECT_AT = 32, 12
"""Of `vector_snapshot.ROW`; numpy is not needed to write a number."""


def move_vectors(home: str, joined: int, kept: int) -> None:
    """Writes another project into the rows of one, in every model's vectors of a store's folder."""
    folder = os.path.join(home, "index")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        path = os.path.join(folder, name)
        head = read_head(path) if name.startswith(f"vectors-{FORMAT}-") else None
        if head is not None:
            _rewrite(data_path(path, "rows", head.generation), joined.to_bytes(4, "little"), kept.to_bytes(4, "little"))


def _rewrite(path: str, before: bytes, after: bytes) -> None:
    with open(path, "r+b") as stream:
        rows = stream.read()
        for start in range(PROJECT_AT, len(rows) - ROW_BYTES + PROJECT_AT + 1, ROW_BYTES):
            if rows[start : start + 4] == before:
                stream.seek(start)
                stream.write(after)
