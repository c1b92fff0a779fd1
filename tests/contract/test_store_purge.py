"""What every store promises about purging: it looks wherever words may rest, and claims nothing that it did not see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.batches import Transcript

from howcome.domain import events
from howcome.domain.stored import Filter, Scope
from howcome.errors import StoreLockedError
from howcome.memory.remember import Memories
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.store.base import Store

QUAY = "/home/mara/quay"
EVERYTHING = Scope.everything()
LONG = "the unicorn parade " + " ".join(f"passes gate {number:04d}" for number in range(380))
QUOTED = 'The "vault" code of the aardvark is seven,\nbecause the old lock jams: ' + "say nothing of the door; " * 12


@pytest.fixture
def kept(store: Store) -> Memories:
    """Memories by hand over an empty store."""
    moments = iter(range(1_790_000_000_000, 1_790_000_100_000, 7))
    return Memories(store, lambda: next(moments))


def own_call(store: Store, text: str) -> str:
    """The agent's own call of the tool that keeps memories, as its transcript has it; the id of the event."""
    talk = Transcript(store, "/t/own.jsonl", session="own")
    call = talk.event("", events.TOOL_CALL, tool="mcp__howcome__remember", input={"text": text, "type": "decision"})
    [row] = store.log.append(talk.batch(call))[1]
    return store.log.events([row])[row].id


def test_a_text_of_several_pages_is_seen_where_it_lies(store: Store, kept: Memories) -> None:
    """No file holds it in one piece, and it is found; purged, not even a part of it is left."""
    memory, _ = kept.add(LONG, project=QUAY)
    store.purging.vacuum()
    assert not any(LONG.encode() in path.read_bytes() for path in Path(store.path).parent.rglob("*.db*"))
    assert store.purging.files_with(LONG) == ["howcome.db"]
    report = kept.purge(memory.id)
    assert (report.is_gone, report.files, report.events, report.memories) == (True, [], [], [])
    for path in Path(store.path).parent.rglob("*"):
        assert not path.is_file() or b"passes gate" not in path.read_bytes(), path


def test_a_part_of_a_long_text_is_enough(store: Store, kept: Memories) -> None:
    """What lies in a freed page need not be all of it: 127 bytes are always found."""
    memory, _ = kept.add(LONG, project=QUAY)
    (Path(store.path).parent / "spool").mkdir()
    for start in (0, 1, 63, 1000, 4001):
        (Path(store.path).parent / "spool" / "rest").write_bytes(b"\0" * 37 + LONG[start : start + 127].encode())
        assert store.purging.files_with(LONG) == ["howcome.db-wal", "spool/rest"]
    report = kept.purge(memory.id)
    assert (report.is_gone, report.files) == (False, ["spool/rest"])


@pytest.mark.parametrize("text", [LONG, QUOTED])
def test_the_call_that_kept_it_is_found_though_it_is_packed(store: Store, kept: Memories, text: str) -> None:
    """A transcript's event is not the memory's to erase, and never passed over in silence."""
    event = own_call(store, text)
    memory, _ = kept.add(text, project=QUAY)
    report = kept.purge(memory.id)
    assert (report.is_gone, report.events, report.memories) == (False, [event], [])


def test_another_memory_with_the_same_words_is_named(kept: Memories) -> None:
    """The one before it in its chain, or a twin that was forgotten."""
    first, _ = kept.add(LONG, project=QUAY)
    second = kept.update(first.id, text=LONG + " and more")
    assert kept.purge(second.id).memories == [first.id]
    assert kept.purge(first.id).is_gone


def test_a_purge_that_failed_looks_when_it_is_done_again(open_store: Callable[[], Store]) -> None:
    """Another process reads an older state: the memory is forgotten, and its text is still there to be looked for."""
    one, two = open_store(), open_store()
    kept = Memories(one, lambda: 1_790_000_000_000)
    memory, _ = kept.add("the launch code is zebracrossing", project=QUAY)
    own_call(one, "the launch code is zebracrossing")
    assert isinstance(one, SqliteStore)
    assert isinstance(two, SqliteStore)
    one.connection.set_busy_timeout(20)
    two.connection.execute("BEGIN")
    two.memories.counts()
    kept.add("something else", project=QUAY)
    with pytest.raises(StoreLockedError, match="not erased"):
        one.purging.purge(memory.row, 1_790_000_000_000)
    assert (kept.get(memory.id).state, kept.get(memory.id).text) == ("forgotten", "the launch code is zebracrossing")
    two.connection.execute("COMMIT")
    report = kept.purge(memory.id)
    assert (report.is_gone, len(report.events)) == (False, 1)
    assert kept.get(memory.id).text == ""


def test_a_reader_that_holds_the_log_stops_a_purge_before_it_erases(tmp_path: Path) -> None:
    """What is erased can not be looked for any more; the second time does both."""
    store, reader = (SqliteStore(str(tmp_path), busy_ms=20) for _ in range(2))
    kept = Memories(store, lambda: 1_790_000_000_000)
    memory, _ = kept.add(LONG, project=QUAY)
    reader.connection.execute("BEGIN")
    reader.memories.counts()
    kept.add("something else", project=QUAY)
    with pytest.raises(StoreLockedError, match="not erased"):
        kept.purge(memory.id)
    assert kept.get(memory.id).text == LONG
    reader.connection.execute("COMMIT")
    assert kept.purge(memory.id).is_gone
    for opened in (store, reader):
        opened.close()


def test_what_was_not_looked_for_is_not_claimed(kept: Memories) -> None:
    """Erased before, so that nobody knows its words; or a word that any file may hold by chance."""
    memory, _ = kept.add("the launch code is zebracrossing", project=QUAY)
    assert kept.purge(memory.id).is_gone is True
    when = kept.get(memory.id).purged_ms
    again = kept.purge(memory.id)
    assert kept.get(memory.id).purged_ms == when
    assert (again.is_gone, again.problem) == (None, "it was erased before: no words are left")
    short, _ = kept.add("tabs", project=QUAY)
    report = kept.purge(short.id)
    assert (report.is_gone, report.problem) == (None, "it is too short to be looked for")


def test_what_lies_elsewhere_is_looked_into_or_not_claimed(store: Store, kept: Memories, tmp_path: Path) -> None:
    """A link to a file is followed; behind one to a folder nobody knows how far it goes."""
    memory, _ = kept.add(LONG, project=QUAY)
    folder = Path(store.path).parent
    (tmp_path / "copy").write_text(LONG)
    (folder / "link").symlink_to(tmp_path / "copy")
    assert kept.purge(memory.id).files == ["link"]
    again, _ = kept.add(LONG, project=QUAY)
    (folder / "place").symlink_to(tmp_path)
    report = kept.purge(again.id)
    assert report.is_gone is None
    assert "place" in report.problem


@pytest.mark.parametrize("number", [0, 31, 59])
def test_of_a_purged_memory_no_word_of_its_own_is_left(store: Store, kept: Memories, number: int) -> None:
    """Not in a page that was taken apart or put together since either; the words of the others are found."""
    words = [" ".join(f"w{number:02d}x{place * place:05d}q" for place in range(60)) for number in range(60)]
    many = [kept.add(f"gauge {each}", project=QUAY)[0] for each in words]
    for memory in many[::4]:
        kept.update(memory.id, text=f"{memory.text} and more")
    chain = kept.chain(many[number].id)
    for memory in chain:
        kept.purge(memory.id)
    files = [path for path in Path(store.path).parent.rglob("*") if path.is_file()]
    assert not [path for path in files if f"w{number:02d}x".encode() in path.read_bytes()]
    assert store.memory_search.search({f"w{number + 1 if number < 59 else 1:02d}x00025q": 1.0}, Filter(EVERYTHING), 9)
    assert not store.memory_search.search({f"w{number:02d}x00025q": 1.0}, Filter(EVERYTHING), 9)


def test_what_is_held_of_a_project_is_counted(store: Store, kept: Memories) -> None:
    """Its events and its memories, forgotten ones too; not those of others or of everywhere, nor purged ones."""
    Transcript(store, "/t/quay.jsonl", session="quay", cwd=QUAY).say("one", "two")
    Transcript(store, "/t/pier.jsonl", session="pier", cwd="/home/mara/pier").say("three")
    quay = store.projects.of_root(QUAY)
    assert quay is not None
    first, second = (kept.add(f"Gate {name} stays shut.", project=QUAY)[0] for name in ("four", "seven"))
    kept.add("Every gate of each quay is blue.", project=None)
    kept.forget(first.id)
    assert store.accounts.of_project(quay) == (2, 2)
    kept.purge(second.id)
    assert store.accounts.of_project(quay) == (2, 1)
