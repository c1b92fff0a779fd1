"""What a turn's vector is made of: the turn, and less of the turn before it the later it stands in its exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.batches import Transcript
from tests.hashing import HashingEmbedder
from tests.vectors import open_index

from howcome.index.vector_writer import VectorWriter
from howcome.ingest.embedding import BEFORE_PLACES, BEFORE_WEIGHT, TURNS_A_PIECE, embed_new_turns
from howcome.log.event_log import FAR_PLACE
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIMENSIONS = 256
NEAR = 1e-3
"""What half floats leave of a number below 1."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    opened = SqliteStore(str(tmp_path / "store"))
    yield opened
    opened.close()


def written(store: SqliteStore, folder: Path) -> np.ndarray:
    """The vectors of all turns, in the order of their rows."""
    index, embedder = open_index(folder, DIMENSIONS), HashingEmbedder(DIMENSIONS)
    with VectorWriter(index) as writer:
        embed_new_turns(store, embedder, writer)
    values: np.ndarray = index._snapshot().values.astype(np.float32)
    return values


def made(text: str, before: str | None = None, weight: float = 0.0) -> np.ndarray:
    """A text's vector with a part of another's, one long."""
    texts = [text, before or text]
    own, other = HashingEmbedder(DIMENSIONS).embed(texts)
    both: np.ndarray = own + weight * other
    return both / np.linalg.norm(both)


def test_a_turn_holds_less_of_the_one_before_it_the_later_it_stands(store: SqliteStore, tmp_path: Path) -> None:
    """Up to BEFORE_PLACES all of that, then less; the next prompt all of it again."""
    talk, said = Transcript(store), ["ebb", "flood", "quay", "mole", "slip", "dock"]
    talk.add(talk.prompt("ebb"), *(talk.answer(word) for word in said[1:5]), talk.prompt("dock"))
    weights = [0, *(min(1.0, BEFORE_PLACES / place) for place in (2, 3, 4, 5, 1))]
    assert weights[-1] > weights[-2] > 0
    found = written(store, tmp_path)
    for number, (word, before, weight) in enumerate(zip(said, [None, *said], weights, strict=False)):
        assert found[number] == pytest.approx(made(word, before, BEFORE_WEIGHT * weight), abs=NEAR), word


def test_pieces_make_no_difference(store: SqliteStore, tmp_path: Path) -> None:
    """The turn before the first one of a piece is that of the piece before; what is said twice is embedded once."""
    talk, count = Transcript(store), 3 * TURNS_A_PIECE + 1
    said = [f"word{number % 5} tide" for number in range(count)]
    talk.say(*said)
    found = written(store, tmp_path)
    assert len(found) == count
    for number, (text, before) in enumerate(zip(said, [None, *said], strict=False)):
        assert found[number] == pytest.approx(made(text, before, BEFORE_WEIGHT if before else 0), abs=NEAR)


def test_places_are_counted_no_further_than_they_matter(store: SqliteStore) -> None:
    """An exchange may have thousands of turns."""
    talk = Transcript(store)
    talk.add(talk.prompt("first"), *(talk.answer(f"step {number}") for number in range(2, FAR_PLACE + 4)))
    assert [turn.place for turn in store.log.turns_after(0, 1000)][-5:] == [FAR_PLACE - 1, *[FAR_PLACE] * 4]
    assert BEFORE_WEIGHT * BEFORE_PLACES / FAR_PLACE < 0.01
