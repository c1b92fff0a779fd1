"""Vectors for turns and memories that have none: a piece at a time, where the last one ended, whoever made that."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from howcome.domain.stored import Turn
    from howcome.index.turn_vectors import VectorWriting
    from howcome.providers.base import Embedder, FloatMatrix
    from howcome.store.base import Store

TURNS_A_PIECE = 8
"""Some 0.1 s of one core with the local model: what a deadline may be missed by."""

MEMORIES_A_PIECE = 16
COMMIT_EVERY_S = 2.0
BEFORE_WEIGHT = 0.25
BEFORE_PLACES = 2
"""How much of the turn before it a turn's vector holds: an answer says little alone. The prompt and its first answer
hold all of that, each later turn of an exchange less: what an agent says between its steps stands for itself. (At .25
for every turn a TypeScript project's any@5 loses one question of 199, at 0 LoCoMo's R@10 .6 points.) Turns that come
later are added by the search (`index.vector_index`), for what is written stays."""


def embed_new_turns(
    store: Store,
    embedder: Embedder,
    writer: VectorWriting,
    deadline: float | None = None,
    on_progress: Callable[[int], None] | None = None,
    prefix: str = "",
) -> int:
    """Writes vectors of the turns that are newer than the last one until there are none, or the deadline; how many.

    What is written is committed now and then, and at the end. `prefix` is put before each text (`providers.embed`).
    """
    added, committed = 0, time.monotonic()
    # Asked before the turns: what comes between is not missed.
    last_row, newest = writer.last_row, store.log.last_position()
    while turns := store.log.turns_after(last_row, TURNS_A_PIECE):
        writer.append(turns, _vectors(embedder, turns, prefix))
        last_row, added = turns[-1].row, added + len(turns)
        if on_progress is not None:
            on_progress(len(turns))
        is_over = deadline is not None and time.monotonic() > deadline
        if is_over or time.monotonic() - committed > COMMIT_EVERY_S:
            writer.commit(last_row)
            committed = time.monotonic()
        if is_over:
            return added
        newest = store.log.last_position()
    if max(last_row, newest) > writer.last_row or added:
        writer.commit(max(last_row, newest))
    return added


def embed_new_memories(store: Store, embedder: Embedder, deadline: float | None = None, prefix: str = "") -> int:
    """Writes vectors of live memories that have none, until there are none or the deadline; how many."""
    added = 0
    while waiting := store.memory_vectors.without(embedder.name, MEMORIES_A_PIECE):
        rows = embedder.embed([prefix + text for text in waiting.values()])
        made = {key: row.astype("float16").tobytes() for key, row in zip(waiting, rows, strict=True)}
        store.memory_vectors.keep(embedder.name, made)
        added += len(made)
        if deadline is not None and time.monotonic() > deadline:
            break
    return added


def _vectors(embedder: Embedder, turns: Sequence[Turn], prefix: str) -> FloatMatrix:
    """A vector a turn, with a little of the turn before it."""
    texts = list(dict.fromkeys(text for turn in turns for text in (turn.text, turn.before) if text is not None))
    found = embedder.embed([prefix + text for text in texts])
    place = {text: at for at, text in enumerate(texts)}
    vectors = found[[place[turn.text] for turn in turns]]
    for at, turn in enumerate(turns):
        if turn.before:
            vectors[at] += BEFORE_WEIGHT * min(1.0, BEFORE_PLACES / turn.place) * found[place[turn.before]]
    return vectors
