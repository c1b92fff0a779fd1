"""Invented turns and vectors, and what a vector index has to answer, computed the plain way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from howcome.domain import events
from howcome.domain.stored import Filter, Scope, Turn
from howcome.index.vector_index import VectorIndex
from howcome.index.vector_snapshot import AFTER_PLACES, AFTER_WEIGHT
from howcome.index.vector_writer import VectorWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MODEL = "invented-1"
DIMENSIONS = 48


def turn(row: int, **fields: Any) -> Turn:
    """A turn; what is not said follows from its row."""
    known = {
        "session_id": 1 + row // 4, "exchange": row - row % 2, "project_id": 1 + row % 3, "ts_ms": 1000 * row,
        "kind": row % 2, "origin": row % 2, "text": "", "before": None,
    }  # fmt: skip
    return Turn(row, **{**known, **fields})


def clustered(count: int, dimensions: int, seed: int, spread: float = 0.9) -> np.ndarray:
    """Unit vectors around a hundred places, as texts about the same things are."""
    chance = np.random.default_rng(seed)
    places = np.random.default_rng(0).standard_normal((100, dimensions))
    found = places[chance.integers(0, len(places), count)] + spread * chance.standard_normal((count, dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def open_index(folder: Path, dimensions: int = DIMENSIONS, key_of: Callable[[int], str] | None = None) -> VectorIndex:
    """An index as one more process would open it."""
    return VectorIndex(str(folder), MODEL, dimensions, key_of)


def write(index: VectorIndex, turns: Sequence[Turn], vectors: np.ndarray, last_row: int | None = None) -> None:
    """Adds vectors and commits them."""
    with VectorWriter(index) as writer:
        assert writer.is_open
        writer.append(turns, vectors)
        writer.commit(turns[-1].row if last_row is None else last_row)


def filled(folder: Path, rows: int = 40) -> tuple[VectorIndex, np.ndarray]:
    """An index with vectors, and those."""
    index, vectors = open_index(folder), clustered(rows, DIMENSIONS, 5)
    write(index, [turn(row) for row in range(1, rows + 1)], vectors)
    return index, vectors


def first_answers(index: VectorIndex, vectors: np.ndarray) -> list[int]:
    """Which row is nearest to each vector."""
    return [index.search(vector, Filter(Scope.everything()), 1)[0].row for vector in vectors]


def is_wanted(one: Turn, wanted: Filter) -> bool:
    """What a filter says of a turn."""
    if not wanted.scope.is_everything and one.project_id != wanted.scope.project_id:
        return False
    if wanted.is_never or (wanted.before_ms is not None and one.ts_ms >= wanted.before_ms):
        return False
    if wanted.since_ms is not None and one.ts_ms < wanted.since_ms:
        return False
    if one.session_id in wanted.without or (wanted.sessions is not None and one.session_id not in wanted.sessions):
        return False
    if wanted.kinds is not None and events.KINDS[one.kind] not in wanted.kinds:
        return False
    return wanted.origins is None or events.ORIGINS[one.origin] in wanted.origins


def kept(vectors: np.ndarray) -> np.ndarray:
    """What half floats keep of vectors that were made one long."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    halves: np.ndarray = (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float16).astype(np.float64)
    return halves


def cosine(vector: np.ndarray, query: np.ndarray) -> float:
    """Of what has no direction: 0."""
    lengths = float(np.linalg.norm(vector) * np.linalg.norm(query))
    return float(vector @ query) / lengths if lengths else 0.0


def alone(turns: Sequence[Turn], vectors: np.ndarray, query: np.ndarray, wanted: Filter) -> dict[int, float]:
    """The cosine of every wanted turn by itself, by its row: which ones are found."""
    cosines = kept(vectors) @ (query / np.linalg.norm(query)).astype(np.float64)
    return {one.row: float(score) for one, score in zip(turns, cosines, strict=True) if is_wanted(one, wanted)}


def follower(turns: Sequence[Turn], place: int, before_ms: int | None) -> int | None:
    """The place of the turn that counts for the one at a place, too: the next one of a conversation, if it is near."""
    one = turns[place]
    session = [other for other in turns if other.session_id == one.session_id]
    prompts = [other for other in session if events.KINDS[other.kind] == events.USER_PROMPT]
    after = [at for at in range(place + 1, len(turns)) if turns[at].session_id == one.session_id]
    if 8 * len(prompts) < 3 * len(session) or not after or after[0] > place + AFTER_PLACES:
        return None
    is_seen = before_ms is None or turns[after[0]].ts_ms < before_ms
    return after[0] if is_seen and turns[after[0]].project_id == one.project_id else None


def expected(turns: Sequence[Turn], vectors: np.ndarray, query: np.ndarray, wanted: Filter) -> dict[int, float]:
    """The score of every wanted turn, by its row."""
    values, found = kept(vectors), alone(turns, vectors, query, wanted)
    for place, one in enumerate(turns):
        after = follower(turns, place, wanted.before_ms) if one.row in found else None
        if after is not None:
            found[one.row] = cosine(values[place] + AFTER_WEIGHT * values[after], query.astype(np.float64))
    return found
