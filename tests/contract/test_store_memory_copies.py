"""What every store promises about memories from elsewhere: as they are there, in one step, under their keys."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batches import equal_weights

from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Filter, Scope
from howcome.errors import UsageError
from howcome.log.memories import Memories as MemoryRows
from howcome.memory.remember import ImportReport, Memories
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from howcome.domain.memories import Memory, NewMemory
    from howcome.store.base import Store

QUAY = "/home/mara/quay"
EVERYTHING = Scope.everything()
HEAD: dict[str, object] = {"howcome": "memories", "version": 1}


class Stopped(BaseException):
    """The process ends here."""


def clock() -> Callable[[], int]:
    """Time that goes on by a second a look."""
    moments: Iterator[int] = iter(range(1_790_000_000_000, 1_800_000_000_000, 1000))
    return lambda: next(moments)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Opens stores of their own, each empty."""
    opened: list[SqliteStore] = []

    def open_one() -> SqliteStore:
        opened.append(SqliteStore(str(tmp_path / f"store-{len(opened)}")))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


def line(number: int, text: str = "gauges drift", **fields: Any) -> dict[str, object]:
    """A line of an export."""
    return {
        "key": f"{number:032x}", "type": "context", "text": text, "project": None, "agent": None, "origin": "user",
        "status": "open", "created_ms": 1_790_000_000_000, "deleted_ms": None, "supersedes": None, "evidence": [],
        **fields,
    }  # fmt: skip


def take_in(store: Store, *lines: dict[str, object]) -> ImportReport:
    """An import of some lines of one's own."""
    return Memories(store, clock()).import_values(enumerate((HEAD, *lines), 1), is_mine=True)


def found(store: Store, text: str) -> list[str]:
    """Texts of the memories that answer a question."""
    hits = store.memory_search.search(equal_weights(store, text), Filter(EVERYTHING), 50)
    rows = store.memories.by_row([hit.row for hit in hits])
    return [rows[hit.row].text if hit.row in rows else "?" for hit in hits]


def test_what_a_purged_memory_superseded_stays_superseded(stores: Callable[[], SqliteStore]) -> None:
    """The stone comes along: an old port number is not alive again because the right one was erased."""
    one, two = Memories(stores(), clock()), Memories(there := stores(), clock())
    first, _ = one.add("the port is 8080", project=QUAY)
    second = one.update(first.id, text="the port is 9090")
    third = one.update(second.id, text="the port is 7070")
    alone, _ = one.add("the mole is closed", project=QUAY)
    old = list(enumerate(one.export(EVERYTHING), 1))
    one.purge(second.id)
    one.purge(third.id)
    one.purge(alone.id)
    exported = list(one.export(EVERYTHING))
    assert [value.get("text") for value in exported[1:]] == ["the port is 8080", None, None, None]
    report = two.import_values(enumerate(exported, 1), is_mine=True)
    assert (report.added, report.stones, report.known, report.problems) == (1, 3, 0, [])
    assert [memory.state for memory in two.chain(first.id)] == ["superseded", "purged", "purged"]
    assert found(there, "port") == []
    assert [{**one, "mac": ""} for one in two.export(EVERYTHING)][1:] == [{**one, "mac": ""} for one in exported[1:]]
    assert two.import_values(enumerate(exported, 1), is_mine=True).known == 4, "twice is once"
    assert two.import_values(old, is_mine=True).purged == 3, "an older export does not raise what was purged there"


def test_a_stone_does_not_erase(store: Store) -> None:
    """What is known here stays as it is, whatever was done elsewhere."""
    take_in(store, line(1))
    report = take_in(store, line(1, purged_ms=1_790_000_000_001) | {"text": None})
    assert (report.known, report.stones, report.still_here) == (0, 0, ["mem-000000000000"])
    assert found(store, "gauges") == ["gauges drift"]


def test_a_forgotten_memory_is_never_alive_here(open_store: Callable[[], Store]) -> None:
    """It comes in one step: an import that ends right after it has not brought it back."""

    class EndsAfterOne(MemoryRows):
        def add(self, new: NewMemory) -> tuple[Memory, bool]:
            super().add(new)
            raise Stopped

    store = open_store()
    ending = open_store()
    ending.memories = EndsAfterOne(ending.database)
    with pytest.raises(Stopped):
        take_in(ending, line(1, deleted_ms=1_790_000_000_005))
    assert Memories(store, clock()).get("mem-000000000000").state == "forgotten"
    assert take_in(store, line(1, deleted_ms=1_790_000_000_005)).known == 1


def test_a_forgotten_twin_comes_beside_the_live_one(store: Store) -> None:
    """Only live ones are compared by what they say."""
    assert take_in(store, line(1), line(2, deleted_ms=1_790_000_000_005), line(3)).added == 2
    assert found(store, "gauges") == ["gauges drift"]


@pytest.mark.parametrize("key", ["cd " * 10 + "cd", " " * 32, "0" * 31 + "\n", "٣" * 32, "0" * 33])
def test_a_key_is_hex_digits_and_nothing_else(store: Store, key: str) -> None:
    """Blanks between them would be a shorter key."""
    [(number, reason)] = take_in(store, line(1, key=key)).problems
    assert (number, reason) == (2, "the key is not 32 hex digits")


@pytest.mark.parametrize("event", ["ev-", "ev-xyz", "ev-12\n", "ev-</howcome-memory>", "ev-" + "a" * 33, "EV-12"])
def test_evidence_is_ids_and_nothing_else(store: Store, event: str) -> None:
    """It is shown as it is: words in it would be somebody's words in an agent's context."""
    [(number, reason)] = take_in(store, line(1, evidence=["ev-12ab", event])).problems
    assert number == 2
    assert "event ids" in reason
    assert take_in(store, line(1, evidence=["ev-12ab"])).added == 1


@pytest.mark.parametrize("more", [0, 1, 40])
def test_an_older_database_that_is_put_back_finds_its_own(tmp_path: Path, more: int) -> None:
    """What came after it is not found, and what comes now is."""
    store = SqliteStore(str(tmp_path / "store"))
    Memories(store, clock()).add("the pier is old", project=QUAY)
    store.close()
    shutil.copytree(tmp_path / "store", tmp_path / "backup")
    store = SqliteStore(str(tmp_path / "store"))
    for text in ("walrus one", "walrus two"):
        Memories(store, clock()).add(text, project=QUAY)
    store.close()
    for name in ("howcome.db", "howcome.db-wal", "howcome.db-shm"):
        (tmp_path / "store" / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "backup" / "howcome.db", tmp_path / "store")
    store = SqliteStore(str(tmp_path / "store"))
    if more:
        take_in(store, *(line(number, f"penguin {number}") for number in range(more)))
    assert (found(store, "walrus"), len(found(store, "penguin"))) == ([], more)
    assert found(store, "pier") == ["the pier is old"]
    store.close()


def test_what_was_forgotten_meanwhile_is_not_superseded(open_store: Callable[[], Store]) -> None:
    """An update that read it alive finds out in its own transaction."""

    class ForgetsFirst(MemoryRows):
        def add(self, new: NewMemory) -> tuple[Memory, bool]:
            if new.supersedes is not None:
                Memories(store, clock()).forget(self.by_row([new.supersedes])[new.supersedes].id)
            return super().add(new)

    store, slow = open_store(), open_store()
    slow.memories = ForgetsFirst(slow.database)
    memory, _ = Memories(slow, clock()).add("lemur rule one", project=QUAY)
    with pytest.raises(UsageError, match="forgotten"):
        Memories(slow, clock()).update(memory.id, text="lemur rule two")
    assert Memories(store, clock()).listed(EVERYTHING, MemoryFilter()) == []


def test_a_new_text_is_open_again(store: Store) -> None:
    """What was resolved is resolved; another type of the same words keeps it, another text is a new thing to do."""
    kept = Memories(store, clock())
    memory, _ = kept.add("gauge nine is broken", type="failure", project=QUAY)
    kept.update(memory.id, status="resolved")
    typed = kept.update(memory.id, type="discovery")
    assert typed.status == "resolved"
    assert kept.update(typed.id, text="gauge ten is broken, too").status == "open"
    settled = kept.update(memory_id := kept.chain(typed.id)[-1].id, text="no gauge is broken", status="resolved")
    assert (settled.status, kept.get(memory_id).state) == ("resolved", "superseded")
