"""The SQLite store's table of memories' words: always what the texts say, whoever wrote them and however."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain import bm25
from howcome.domain.bm25 import MEMORY_WEIGHT
from howcome.domain.candidates import without_frame
from howcome.domain.stored import Filter, Scope
from howcome.domain.text import with_extra_terms
from howcome.errors import StoreError
from howcome.index.lexical import analyzer
from howcome.memory.remember import Memories
from howcome.store.sqlite import SqliteStore, create_database
from howcome.upkeep import salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

QUAY, DIKE = "/home/mara/quay", "/home/mara/dike"
EVERYTHING = Filter(Scope.everything())
BEFORE, FRAMED = 14, 23
"""The last schema in which memories had an index in files, and the last in which all of their words were searched."""

TEXTS = (
    "The user, when the agent said “the buoy is off”: “leave it”.",
    "we keep gauge times in UTC, in gaugeTimes and gauge_times", "潮位は協定世界時で記録する", "the to of and",
    "x" * 200, "gauge " * 40,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An open, empty store."""
    opened = SqliteStore(str(tmp_path / "store"))
    yield opened
    opened.close()


@pytest.fixture
def kept(store: SqliteStore) -> Memories:
    """Memories by hand over it."""
    moments = iter(range(1_790_000_000_000, 1_790_000_100_000, 7))
    return Memories(store, lambda: next(moments))


def terms(text: str) -> list[str]:
    """What a text is found by."""
    return list(analyzer().analyze(with_extra_terms(without_frame(text))))


def written(connection: apsw.Connection) -> dict[int, dict[str, tuple[int, int]]]:
    """The words as they are stored, by memory."""
    found: dict[int, dict[str, tuple[int, int]]] = {}
    for term, row, count, words in connection.execute("SELECT * FROM memory_words"):
        found.setdefault(row, {})[term] = (count, words)
    return found


def expected(connection: apsw.Connection) -> dict[int, dict[str, tuple[int, int]]]:
    """The words that the texts have."""
    found = {}
    for row, text in connection.execute("SELECT id, text FROM memories"):
        if said := terms(text):
            found[row] = {"": (len(said), len(said))} | {term: (n, len(said)) for term, n in Counter(said).items()}
    return found


def old_store(folder: Path, texts: tuple[Any, ...] = TEXTS, version: int = BEFORE) -> None:
    """A store of the version before, with memories."""
    folder.mkdir(mode=0o700)
    create_database(str(folder / "howcome.db"), version)
    connection = apsw.Connection(str(folder / "howcome.db"))
    connection.create_scalar_function("memory_terms", lambda _: '{"": [1, 1], "agent": [1, 1]}', 1)
    for number, text in enumerate(texts, 1):
        connection.execute(
            "INSERT INTO memories (key, change, digest, type, text, origin, status, created_ms)"
            " VALUES (?, ?, ?, 'context', CAST(? AS TEXT), 0, 'open', 1)",
            (number.to_bytes(16, "big"), number, number.to_bytes(16, "big"), text),
        )
    connection.close()


@pytest.mark.parametrize("version", [BEFORE, FRAMED])
def test_memories_of_an_older_store_are_found(tmp_path: Path, version: int) -> None:
    """Opening it writes their words."""
    old_store(tmp_path / "store", version=version)
    store = SqliteStore(str(tmp_path / "store"))
    assert written(store.connection) == expected(store.connection)
    assert len(store.memory_search.search({"gaugetim": 1.0}, EVERYTHING, 9)) == 1
    assert store.connection.execute("SELECT * FROM marks").fetchall() == []
    assert store.check_integrity() == []
    store.close()


def test_a_text_that_is_none_keeps_no_store_from_being_opened(tmp_path: Path) -> None:
    """A bad disk, another program: the words beside it are found, and the other memories."""
    old_store(tmp_path / "store", (b"gauge \xff\xfe drift", "gauge of the quay"))
    store = SqliteStore(str(tmp_path / "store"))
    assert len(store.memory_search.search({"gaug": 1.0}, EVERYTHING, 9)) == 2
    store.close()


def test_every_change_of_a_text_is_one_of_its_words(store: SqliteStore, kept: Memories) -> None:
    """By hand, by an import, superseded, forgotten, restored, purged, taken away."""
    for text in TEXTS:
        memory, _ = kept.add(text, project=QUAY)
        newer = kept.update(memory.id, text=f"{text} drift")
        kept.forget(newer.id)
        kept.restore(newer.id)
        assert written(store.connection) == expected(store.connection)
    kept.purge(newer.id)
    store.connection.execute("UPDATE memories SET text = 'another' WHERE id = 1")
    store.connection.execute("DELETE FROM memories WHERE id = 4")
    assert written(store.connection) == expected(store.connection)
    assert {1, 2, 3} <= written(store.connection).keys()


def test_a_transaction_that_is_taken_back_leaves_no_words(store: SqliteStore) -> None:
    """They are written with the row or not at all."""

    def add_and_stop() -> None:
        with store.transaction():
            store.connection.execute(
                "INSERT INTO memories (key, change, digest, type, text, origin, status, created_ms)"
                " VALUES (x'00', 1, x'00', 'context', 'gauge', 0, 'open', 1)"
            )
            assert written(store.connection) == expected(store.connection) != {}
            raise StoreError("stopped")

    with pytest.raises(StoreError):
        add_and_stop()
    assert written(store.connection) == {}


def test_what_is_joined_to_another_project_is_found_there(store: SqliteStore, kept: Memories) -> None:
    """The rows say where a memory belongs."""
    kept.add("gauge of the dike", project=DIKE)
    kept.add("gauge of the quay", project=QUAY)
    quay, dike = (store.projects.of_path(root) for root in (QUAY, DIKE))
    assert quay is not None
    assert dike is not None
    store.projects.join(quay, dike, 1)
    assert len(store.memory_search.search({"gaug": 1.0}, Filter(Scope.project(quay)), 9)) == 2


def test_a_score_is_that_of_bm25(store: SqliteStore, kept: Memories) -> None:
    """With the weights as they are given, a word as often as it counts in memories, and the average length."""
    texts = ("gauge drift", "gauge drift in winter and gauge drift in spring", "the mole is closed")
    rows = {kept.add(text, project=QUAY)[0].row: terms(text) for text in texts}
    weights = {"gaug": 2.0, "winter": 5.0, "unknown": 9.0}
    average = sum(map(len, rows.values())) / len(rows)
    scores = {}
    for row, said in rows.items():
        k = (bm25.SATURATION - 1) * (1 - bm25.LENGTH_SHARE + bm25.LENGTH_SHARE * len(said) / average)
        often = {term: MEMORY_WEIGHT * said.count(term) for term in weights}
        scores[row] = sum(weights[term] * bm25.SATURATION * n / (n + k) for term, n in often.items())
    hits = store.memory_search.search(weights, EVERYTHING, 9)
    assert {hit.row: pytest.approx(hit.score) for hit in hits} == {row: score for row, score in scores.items() if score}
    assert hits[0].row == max(scores, key=lambda row: scores[row])


def test_a_salvaged_store_has_its_words(tmp_path: Path) -> None:
    """They come with the memories that can be read."""
    folder = tmp_path / "store"
    store = SqliteStore(str(folder))
    memories = Memories(store, lambda: 1_790_000_000_000)
    for text in TEXTS:
        memories.add(text, project=QUAY)
    [(page,)] = store.connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memory_words'")
    size = store.connection.pragma("page_size")
    store.close()
    with (folder / "howcome.db").open("r+b") as stream:
        stream.seek((page - 1) * size)
        stream.write(b"\xff" * size)
    assert salvage(str(folder)) is not None
    store = SqliteStore(str(folder))
    assert written(store.connection) == expected(store.connection) != {}
    assert len(store.memory_search.search({"gaug": 1.0}, EVERYTHING, 9)) == 2
    store.close()


@given(st.text(max_size=80))
def test_any_text_can_be_kept(text: str) -> None:
    """Quotes, zeros, backslashes, other scripts: as JSON and back they are the same words."""
    from howcome.log.database import GatedConnection

    connection = GatedConnection(":memory:")
    said = terms(text)
    sql = "SELECT key, value ->> 0, value ->> 1 FROM json_each(memory_terms(CAST(? AS BLOB)))"
    found = {key: (count, words) for key, count, words in connection.execute(sql, (text,))}
    assert found.pop("", (0, 0)) == (len(said), len(said))
    assert found == {term: (count, len(said)) for term, count in Counter(said).items()}
    connection.close()
