"""What every store promises about consolidation: one stays of what says the same, all of it can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.batches import START_MS, Transcript
from tests.contract.test_store_distilled import EVERYTHING, distil, everything, live, one

from howcome.domain.ranking import DAY_MS
from howcome.domain.reconciliation import ASLEEP, MERGED, RESOLVED
from howcome.learn.consolidate import Consolidation
from howcome.memory.remember import Memories

if TYPE_CHECKING:
    from howcome.store.base import Store

SHORT = "KEEP pattern: The quay tests run with the harbour fixture before every release."
FULL = "KEEP pattern: The quay tests run with the harbour fixture before every release, and with the tide mocked."
OTHER = "KEEP pattern: The quay tests run with the crane fixture before every release, and with the tide mocked."
NOW_MS = START_MS + DAY_MS


def consolidation(store: Store, now_ms: int = NOW_MS) -> Consolidation:
    """At one moment."""
    return Consolidation(store, lambda: now_ms)


def talk(store: Store, *said: str, name: str = "s", at_ms: int = START_MS) -> None:
    """A session in which the agent says something once a turn."""
    session = Transcript(store, f"/t/{name}.jsonl", session=name)
    for number, text in enumerate(said):
        session.add(session.prompt("why?", ts_ms=at_ms + 2000 * number))
        session.add(session.answer(text, ts_ms=at_ms + 2000 * number + 1000))


def rows(store: Store) -> list[tuple[object, ...]]:
    """What a store says of its memories, and what they are made from."""
    wholes = store.database.rows("SELECT key, memory_key FROM candidates ORDER BY id")
    return [*everything(store), *wholes]


def test_what_another_memory_says_too_becomes_a_part_of_it(store: Store) -> None:
    """The fuller one stays, with all evidence; once more does nothing, and distilling again leaves it so."""
    talk(store, SHORT, FULL)
    distil(store)
    both = [*one(store, "release.").evidence, *one(store, "mocked").evidence]
    [step] = consolidation(store).run()
    assert (step.what, step.memory.text, step.kept.text) == (MERGED, SHORT[14:], FULL[14:])
    assert live(store) == [FULL[14:]]
    assert sorted(one(store, "mocked").evidence) == sorted(both)
    assert consolidation(store).run() == []
    distil(store)
    distil(store, version=2)
    whole = one(store, "mocked")
    assert (live(store), sorted(whole.evidence), len(store.memories.said(whole.row))) == ([FULL[14:]], sorted(both), 2)
    assert store.candidates.wordings(whole.row) == [SHORT[14:]]


def test_what_is_taken_back_is_as_it_was_and_is_not_done_again(store: Store) -> None:
    """Every row, whether sessions were distilled again meanwhile or not."""
    talk(store, SHORT, FULL)
    distil(store)
    before = rows(store)
    consolidation(store).run()
    distil(store)
    assert rows(store) != before
    [step] = consolidation(store).undo()
    distil(store)
    assert (step.what, rows(store)) == (MERGED, before)
    assert (consolidation(store).undo(), consolidation(store).run()) == ([], [])


@pytest.mark.parametrize("said", [[FULL, OTHER], [f"{SHORT}\n{FULL}"]], ids=["another word", "in one breath"])
def test_what_says_another_thing_stays(store: Store, said: list[str]) -> None:
    """A word is missing, however alike they are; and what is said at once is two things."""
    talk(store, *said)
    distil(store)
    assert (consolidation(store).run(), len(live(store))) == ([], 2)


def test_what_would_not_be_found_any_more_stays(store: Store) -> None:
    """Who asks for it in its own words would find others first: the one that says it all says too much beside."""
    hand = Memories(store, lambda: NOW_MS)
    short = "Grease for the old crane is in the shed."
    long = short + "".join(f" Then gauge {word} is read by mate {word}." for word in map(chr, range(97, 123)))
    for text in (short, long):
        hand.add(text, project="/home/mara/quay")
    assert [step.kept.text for step in consolidation(store).plan()] == [long]
    for place in ("left", "right", "large", "small"):
        hand.add(f"Grease for the {place} crane is in the shed.", project="/home/mara/quay")
    assert consolidation(store).run() == []


def test_what_somebody_keeps_is_not_replaced_by_what_was_distilled(store: Store) -> None:
    """It takes the place itself where it says as much, else both stay; it lends its evidence and gives it back."""
    talk(store, SHORT, OTHER)
    distil(store)
    kept = Memories(store, lambda: NOW_MS).add(FULL[14:], type="pattern", project="/home/mara/quay")[0]
    evidence = one(store, "release.").evidence
    [step] = consolidation(store).run()
    assert (step.kept.id, store.memories.by_row([kept.row])[kept.row].evidence) == (kept.id, evidence)
    consolidation(store).undo()
    again = store.memories.by_row([kept.row])[kept.row]
    assert (again.evidence, again.said_ms, again.supersedes) == ([], None, None)


def test_of_two_that_contradict_each_other_the_users_last_word_holds(store: Store) -> None:
    """The agent's does not: that pair goes on waiting."""
    session = Transcript(store)
    for number, (who, wait) in enumerate(((session.answer, 30), (session.prompt, 60), (session.answer, 90))):
        text = f"KEEP decision: The tide poller waits {wait}s between two reads of the gauge."
        session.add(who(text, ts_ms=START_MS + 1000 * number))
    distil(store)
    assert len(store.reviews.waiting(EVERYTHING, 9)) == 3
    [step] = [step for step in consolidation(store).run() if step.what == RESOLVED]
    assert ("30s" in step.memory.text, "60s" in step.kept.text) == (True, True)
    [pair] = store.reviews.waiting(EVERYTHING, 9)
    assert ("60s" in pair.older.text, "90s" in pair.newer.text) == (True, True)
    consolidation(store).undo()
    assert len(store.reviews.waiting(EVERYTHING, 9)) == 3


def test_what_an_import_brings_does_not_sleep_before_anybody_could_use_it(store: Store) -> None:
    """However long its project had been worked on before."""
    for day in range(40):
        said = "KEEP decision: The north gauge is read by the harbour master." if day == 0 else "And on."
        talk(store, said, name=f"day {day}", at_ms=START_MS - (100 - day) * DAY_MS)
    distil(store)
    assert consolidation(store).run() == []


def test_what_faded_and_nobody_used_sleeps_until_it_is_read(store: Store) -> None:
    """By the days on which its project was worked on since it is here; not what was read, or said in three sessions."""
    old, read, often = (
        f"KEEP decision: The {name} gauge is read by the harbour master." for name in ("north", "east", "west")
    )
    talk(store, old, read)
    for number in range(3):
        talk(store, often, name=f"often{number}")
    distil(store)
    store.memories.record_access([one(store, "east").row], NOW_MS)
    assert consolidation(store, START_MS + 300 * DAY_MS).run() == []
    talk(store, "And on.", name="half a year later", at_ms=START_MS + 180 * DAY_MS)
    assert consolidation(store).run() == []
    for day in range(1, 30):
        talk(store, "And on.", name=f"day {day}", at_ms=START_MS + (180 + day) * DAY_MS)
    [step] = consolidation(store).run()
    assert (step.what, one(store, "north").is_asleep, one(store, "east").is_asleep) == (ASLEEP, True, False)
    assert not store.memories.by_row([step.memory.row], START_MS + 10 * DAY_MS)[step.memory.row].is_asleep
    store.memories.record_access([step.memory.row], NOW_MS)
    assert not one(store, "north").is_asleep
    consolidation(store).undo()
    assert consolidation(store).run() == []


def test_what_changed_meanwhile_is_looked_at_again(store: Store) -> None:
    """A plan of what was there before is not carried out."""
    talk(store, SHORT, FULL)
    distil(store)
    stamp, steps = store.in_step.stamp(), consolidation(store).plan()
    store.memories.set_pinned(one(store, "mocked").row, START_MS)
    assert not store.consolidated.apply(stamp, steps, NOW_MS)
    assert len(live(store)) == 2


def test_a_memory_that_no_session_bears_out_any_more_gives_back_what_it_stood_for(store: Store) -> None:
    """The candidates of the one that stayed are gone: the other lives again."""
    talk(store, SHORT, name="one")
    talk(store, FULL, name="two")
    distil(store)
    consolidation(store).run()
    with store.database.transaction():
        store.database.execute("DELETE FROM candidates WHERE text = ?", (FULL[14:],))
        store.database.execute("INSERT OR IGNORE INTO unreconciled SELECT id FROM projects")
    distil(store)
    assert live(store) == [SHORT[14:]]


def test_a_ring_of_memories_has_no_last_word(store: Store) -> None:
    """Each took the other's place, as two machines once could make them: who asks what holds now gets an answer."""
    talk(store, FULL, OTHER)
    distil(store)
    first, second = one(store, "harbour").row, one(store, "crane").row
    store.reviews.relate([(first, second), (second, first)], (), NOW_MS)
    taught = [row for (row,) in store.database.rows("SELECT exchange FROM candidates")]
    assert store.reviews.overruled(taught) == {}
