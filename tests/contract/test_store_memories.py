"""What every store promises about memories: one text once, chains kept, scope held, forgetting soft, purging real."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.batches import Transcript, equal_weights
from tests.hostile.scale import examples

from howcome.domain import memories
from howcome.domain.memories import Memory, MemoryFilter
from howcome.domain.stored import Filter, Scope
from howcome.errors import NotFoundError, OwnerError, UsageError
from howcome.memory.remember import Memories

if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.store.base import Store

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
QUAY, DIKE = "/home/mara/quay", "/home/mara/dike"
EVERYTHING = Scope.everything()
TEXTS = st.text(min_size=1, max_size=60).filter(lambda text: text.strip() and "<" not in text)


class Clock:
    """Time that goes on by a second a look."""

    def __init__(self) -> None:
        self.now_ms = 1_790_000_000_000

    def __call__(self) -> int:
        """The next second."""
        self.now_ms += 1000
        return self.now_ms


@pytest.fixture
def kept(store: Store) -> Memories:
    """Memories by hand over an empty store."""
    return Memories(store, Clock())


def scope_of(store: Store, root: str) -> Scope:
    """A project's scope."""
    return Scope.project(store.projects.of_path(root))


def found(store: Store, text: str, scope: Scope = EVERYTHING, **narrow: object) -> list[str]:
    """Texts of the memories that answer a question."""
    weights = equal_weights(store, text)
    hits = store.memory_search.search(weights, Filter(scope, **narrow), 50)  # type: ignore[arg-type]
    rows = store.memories.by_row([hit.row for hit in hits])
    return [rows[hit.row].text for hit in hits]


def listed(kept: Memories, scope: Scope = EVERYTHING, **narrow: object) -> list[str]:
    """Texts of a listing."""
    return [memory.text for memory in kept.listed(scope, MemoryFilter(**narrow))]  # type: ignore[arg-type]


def test_a_memory_is_found_at_once(store: Store, kept: Memories) -> None:
    """Kept, listed, found by its words and by any beginning of its id."""
    memory, is_new = kept.add("We keep gauge times in UTC", type="decision", project=QUAY)
    assert is_new
    assert found(store, "gauge times") == listed(kept) == ["We keep gauge times in UTC"]
    assert kept.get(memory.id[:9]).key == memory.key
    assert (memory.type, memory.project, memory.status, memory.origin) == ("decision", QUAY, "open", "user")


def test_the_same_text_in_the_same_scope_is_one_memory(kept: Memories) -> None:
    """Whatever its case and spacing; another project's, owner's or type's is another."""
    first, _ = kept.add("Gauge  times are UTC", project=QUAY)
    again, is_new = kept.add("gauge times ARE utc ", project=QUAY)
    assert (again.key, is_new) == (first.key, False)
    own = {"project": QUAY}
    for other in ({"project": DIKE}, {"project": None}, {**own, "agent": "a"}, {**own, "type": "pattern"}):
        assert kept.add("gauge times are utc", **other)[1], other  # type: ignore[arg-type]


def test_a_project_sees_its_own_memories_and_those_of_everywhere(store: Store, kept: Memories) -> None:
    """Another project's are not listed, not searched."""
    kept.add("gauge of the quay", project=QUAY)
    kept.add("gauge of the dike", project=DIKE)
    kept.add("gauge of everywhere", project=None)
    expected = {"gauge of the quay", "gauge of everywhere"}
    assert set(found(store, "gauge", scope_of(store, QUAY))) == set(listed(kept, scope_of(store, QUAY))) == expected
    assert found(store, "gauge", Scope.project(None)) == ["gauge of everywhere"]
    assert listed(kept, is_global_only=True) == ["gauge of everywhere"]
    assert len(found(store, "gauge")) == 3


def test_every_filter_narrows(store: Store, kept: Memories) -> None:
    """Type, owner, time."""
    old, _ = kept.add("gauge one", type="decision", project=QUAY, agent="ann")
    new, _ = kept.add("gauge two", type="pattern", project=QUAY)
    assert found(store, "gauge", memory_types=["decision"]) == listed(kept, type="decision") == ["gauge one"]
    assert found(store, "gauge", agent="ann") == listed(kept, agent="ann") == ["gauge one"]
    assert found(store, "gauge", before_ms=new.created_ms) == ["gauge one"]
    assert found(store, "gauge", since_ms=old.created_ms + 1) == ["gauge two"]
    assert found(store, "gauge", before_ms=0) == []


def test_required_terms_must_all_be_there(store: Store, kept: Memories) -> None:
    """One concept of two is not enough."""
    kept.add("gauge drift", project=QUAY)
    kept.add("gauge drift in winter", project=QUAY)
    weights = equal_weights(store, "gauge winter")
    required = [store.index.analyze("gauge"), store.index.analyze("winter")]
    hits = store.memory_search.search(weights, Filter(EVERYTHING), 9, required)
    assert [store.memories.by_row([hit.row])[hit.row].text for hit in hits] == ["gauge drift in winter"]


FRAMED = (
    ("The user, when the agent said “Ice is rare.”: “drain it”. Then: drained.", "ice rare drain", "user agent said"),
    ("The user refused `rm -r gauge`: “never”. Instead: `mv gauge old`", "rm gauge mv old", "user refused instead"),
    ("The user, during a change of `quay.py`: “keep it”.", "change quay.py keep", "user during"),
    ("Asked “Which clock?”, the user chose “UTC”. Not: local.", "which clock utc local", "asked user chose not"),
    ("After “timeout”: the gauge is slow. Then changed: poll.py.", "timeout slow poll.py", "after then changed"),
    ("The user refused to move", "user refused move", ""),
    ("The user wants the agent to say what it asked", "user wants agent say asked", ""),
)


@pytest.mark.parametrize(("text", "words", "frame"), FRAMED, ids=[text[:24] for text, _, _ in FRAMED])
def test_the_words_around_what_was_said_find_nothing(
    store: Store, kept: Memories, text: str, words: str, frame: str
) -> None:
    """They are howcome's own; in a text that somebody wrote they are that person's."""
    kept.add(text, project=QUAY)
    for word in words.split():
        assert found(store, word) or not store.index.analyze(word)
    assert frame == "" or found(store, frame) == []


def test_an_update_supersedes_and_keeps_the_chain(store: Store, kept: Memories) -> None:
    """The last one is found, all of them are in the chain, an old one says what to update instead."""
    first, _ = kept.add("gauge times are local", type="decision", project=QUAY, agent="ann")
    second = kept.update(first.id, text="gauge times are UTC", agent="ann")
    third = kept.update(second.id, type="pattern", agent="ann")
    assert found(store, "gauge times") == listed(kept) == ["gauge times are UTC"]
    assert [memory.id for memory in kept.chain(second.id)] == [first.id, second.id, third.id]
    assert (third.type, third.agent, third.project, third.text) == ("pattern", "ann", QUAY, second.text)
    assert kept.get(first.id).state == "superseded"
    with pytest.raises(UsageError, match=third.id):
        kept.update(first.id, text="something else", agent="ann")
    assert len(listed(kept, with_superseded=True)) == 3


def test_a_status_is_set_in_place(kept: Memories) -> None:
    """Resolved is not another memory."""
    memory, _ = kept.add("gauge nine is broken", type="failure", project=QUAY)
    assert kept.update(memory.id, status="resolved").key == memory.key
    assert listed(kept, status="open") == []
    assert listed(kept, status="resolved") == ["gauge nine is broken"]
    with pytest.raises(UsageError, match="nothing to change"):
        kept.update(memory.id)


def test_memories_are_asked_as_they_were(store: Store, kept: Memories) -> None:
    """What was superseded, pinned or resolved since was not yet; what is forgotten is not brought back."""
    Transcript(store).say("gauge queue?", "Kafka.")
    first, _ = kept.add("the gauge queue is Kafka", project=QUAY)
    gone, _ = kept.add("the gauge queue leaks", project=QUAY)
    then_ms = gone.created_ms + 1
    kept.update(first.id, text="the gauge queue is NATS")
    open_end, _ = kept.add("the gauge queue has no test", project=QUAY)
    later_ms = open_end.created_ms + 1
    kept.update(open_end.id, status="resolved")
    kept.pin(open_end.id)
    kept.forget(gone.id)

    def at(moment_ms: int | None) -> list[str]:
        wanted = MemoryFilter(status="open", before_ms=moment_ms)
        return sorted(one.text for one in store.memories.select(scope_of(store, QUAY), wanted, 9))

    assert at(None) == ["the gauge queue is NATS"]
    assert at(then_ms) == ["the gauge queue is Kafka"]
    assert at(later_ms) == ["the gauge queue has no test", "the gauge queue is NATS"]
    assert found(store, "gauge queue Kafka", before_ms=then_ms, is_then=True) == ["the gauge queue is Kafka"]
    assert found(store, "gauge queue Kafka", before_ms=then_ms) == []
    assert store.memories.by_row([first.row], then_ms)[first.row].is_live
    assert store.memories.by_row([open_end.row], later_ms)[open_end.row].pinned_ms is None


def test_forgetting_is_soft(store: Store, kept: Memories) -> None:
    """Out of every search and listing, shown when asked for, restored as it was; twice is once."""
    memory, _ = kept.add("gauge nine is broken", project=QUAY)
    assert kept.forget(memory.id).deleted_ms == kept.forget(memory.id).deleted_ms
    assert found(store, "gauge") == listed(kept) == []
    assert listed(kept, with_forgotten=True) == ["gauge nine is broken"]
    kept.restore(memory.id)
    assert found(store, "gauge") == listed(kept) == ["gauge nine is broken"]
    with pytest.raises(NotFoundError, match="mem-"):
        kept.forget("mem-ffff")


def test_what_was_superseded_comes_back_when_its_successor_goes(kept: Memories) -> None:
    """Not before, and the two stand apart then; whatever is named in a row of several."""
    rows = [kept.add("gauge nine is broken", project=QUAY)[0]]
    for number in (1, 2):
        rows.append(kept.update(rows[-1].id, text=f"gauge nine was mended, time {number}"))
    first, middle, last = (memory.id for memory in rows)
    with pytest.raises(UsageError, match=f"update {last} instead, or forget that first"):
        kept.restore(first)
    kept.forget(last)
    with pytest.raises(UsageError, match=f"howcome restore {middle}"):
        kept.update(middle, text="gauge nine was mended for good")
    assert kept.restore(middle).is_live
    assert (kept.get(middle).superseded_by, kept.get(last).supersedes) == (None, None)
    assert listed(kept) == ["gauge nine was mended, time 1"]
    assert kept.restore(last).is_live


def test_what_is_said_again_is_not_brought_back_beside_it(kept: Memories) -> None:
    """Two live memories that say the same would be one in an export."""
    first, _ = kept.add("gauge nine is broken", project=QUAY)
    kept.forget(first.id)
    second, _ = kept.add("Gauge nine is broken", project=QUAY)
    with pytest.raises(UsageError, match=second.id):
        kept.restore(first.id)
    kept.forget(second.id)
    assert kept.restore(first.id).is_live


def test_a_chain_survives_a_clock_that_steps_back(store: Store) -> None:
    """An export is in the order of writing, whatever the clock said."""
    clock = Clock()
    kept = Memories(store, clock)
    first, _ = kept.add("gauge times are local", project=QUAY)
    clock.now_ms -= 90_000
    second = kept.update(first.id, text="gauge times are UTC")
    exported = list(kept.export(EVERYTHING))
    assert [value["key"] for value in exported[1:]] == [first.key.hex(), second.key.hex()]
    assert exported[2]["supersedes"] == first.key.hex()


def test_an_owner_is_known_by_its_name_however_it_is_written(kept: Memories) -> None:
    """Blanks around it are no part of it, when a memory is kept and when it is forgotten."""
    memory, _ = kept.add("a rule", project=None, agent=" ann ")
    assert kept.forget(memory.id, agent=" ann\n").deleted_ms is not None


def test_only_the_owner_changes_or_forgets_a_memory(kept: Memories) -> None:
    """Another agent, or one that does not say who it is, is refused; a person at the command line is not."""
    memory, _ = kept.add("gauge nine is broken", project=QUAY, agent="ann")
    for other in ("bob", None, "Ann"):
        with pytest.raises(OwnerError, match="ann"):
            kept.forget(memory.id, agent=other)
        with pytest.raises(OwnerError, match="ann"):
            kept.update(memory.id, text="mine now", agent=other)
    with pytest.raises(OwnerError):
        kept.forget(memory.id, agent="bob", is_person=True)
    assert kept.forget(memory.id, agent="ann").deleted_ms
    kept.restore(memory.id)
    assert kept.forget(memory.id, is_person=True).deleted_ms


def test_purging_leaves_no_byte(store: Store, kept: Memories) -> None:
    """Of many memories, changed and moved about, the purged one's words are in no file; the others still answer."""
    many = [kept.add(f"gauge {number} zebracrossing{number} " + "word " * 50, project=QUAY)[0] for number in range(60)]
    for memory in many[::3]:
        kept.forget(memory.id)
        kept.restore(memory.id)
    assert store.purging.files_with("zebracrossing33")
    assert kept.purge(many[33].id).is_gone
    assert store.purging.files_with("zebracrossing33") == []
    folder = Path(store.path).parent
    assert not [path for path in folder.rglob("*") if path.is_file() and b"zebracrossing33" in path.read_bytes()]
    assert found(store, "zebracrossing32")
    assert not found(store, "zebracrossing33")
    stone = kept.get(many[33].id)
    assert (stone.state, stone.text) == ("purged", "")
    assert len(listed(kept, with_forgotten=True, with_superseded=True)) == 50  # the limit
    with pytest.raises(UsageError, match="purged"):
        kept.restore(stone.id)


def test_purging_says_when_a_transcript_holds_the_words_too(store: Store, kept: Memories) -> None:
    """What a session said is not the memory's to erase."""
    Transcript(store, "/t/a.jsonl", session="s").say("the gauge password is zebracrossing")
    memory, _ = kept.add("the gauge password is zebracrossing", project=QUAY)
    assert not kept.purge(memory.id).is_gone


@pytest.mark.parametrize(
    ("text", "narrow"),
    [
        ("", {}), ("  \n ", {}), ("<private>all of it</private>", {}), ("x" * 8001, {}), ("gauge", {"type": "rumour"}),
        ("gauge", {"status": "maybe"}), ("gauge", {"agent": ""}), ("gauge", {"agent": "a\nb"}),
        ("gauge", {"agent": "a" * 121}),
    ],
)  # fmt: skip
def test_what_is_no_memory_is_refused(store: Store, kept: Memories, text: str, narrow: dict[str, str]) -> None:
    """With a message, and nothing is written."""
    with pytest.raises(UsageError):
        kept.add(text, project=QUAY, **narrow)  # type: ignore[arg-type]
    assert store.memories.counts()["by_state"] == {}


def test_evidence_is_of_events_that_are_there(store: Store, kept: Memories) -> None:
    """By any unique beginning of their ids."""
    [row] = Transcript(store, "/t/a.jsonl", session="s").say("the gauge drifts")
    event = store.log.events([row])[row]
    memory, _ = kept.add("gauges drift", project=QUAY, evidence=[event.id[:8]])
    assert memory.evidence == [event.id]
    with pytest.raises(NotFoundError, match="ev-00ff"):
        kept.add("gauges do not drift", project=QUAY, evidence=["ev-00ff"])


def test_secrets_are_redacted_before_anything_is_written(store: Store, kept: Memories) -> None:
    """In no file of the store."""
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"
    memory, _ = kept.add(f"the gauge token is {secret}", project=QUAY)
    assert "[redacted:" in memory.text
    assert store.purging.files_with(secret) == []


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.tuples(TEXTS, st.sampled_from(memories.TYPES), st.sampled_from([None, QUAY, DIKE])), max_size=8),
    gone=st.sets(st.integers(0, 7)), changed=st.sets(st.integers(0, 7)),
)  # fmt: skip
def test_an_export_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str | None]], gone: set[int],
    changed: set[int],
) -> None:  # fmt: skip
    """Into an empty store: the same values in the same order, under its own mark; a second time: nothing new."""
    from howcome.memory.export import MARK
    from howcome.store.sqlite import SqliteStore

    def unmarked(kept: Memories) -> list[dict[str, object]]:
        return [{name: each for name, each in value.items() if name != MARK} for value in kept.export(EVERYTHING)]

    folder = tmp_path_factory.mktemp("export")
    with_store: list[Memories] = []
    for name in ("one", "two"):
        opened = SqliteStore(str(folder / name))
        with_store.append(Memories(opened, Clock()))
    one, two = with_store
    added: list[Memory] = [one.add(text, type=kind, project=project)[0] for text, kind, project in texts]
    for place in sorted(changed & set(range(len(added)))):
        if one.get(added[place].id).is_live:
            one.update(added[place].id, text=f"{added[place].text} (changed {place})")
    for place in sorted(gone & set(range(len(added)))):
        one.forget(added[place].id)
    exported = list(one.export(EVERYTHING))
    report = two.import_values(enumerate(exported, 1), is_mine=True)
    assert (report.added, report.known, report.problems) == (len(exported) - 1, 0, [])
    assert unmarked(two) == unmarked(one)
    again = two.import_values(enumerate(exported, 1), is_mine=True)
    assert (again.added, again.known) == (0, len(exported) - 1)
    assert sorted(listed(one)) == sorted(listed(two))


@pytest.mark.parametrize(
    "line",
    [
        None, 7, [], {}, {"key": "xyz"}, {"key": "0" * 32}, {"key": "g" * 32}, {"key": "0" * 32, "type": "rumour"},
        {"key": "0" * 32, "type": "decision", "text": 7}, {"key": "0" * 32, "type": "decision", "text": ""},
        {"key": "0" * 32, "type": "decision", "text": "gauge", "origin": "user", "status": "open", "created_ms": -1},
        {"key": "0" * 32, "type": "decision", "text": "gauge", "origin": "user", "status": "open", "created_ms": True},
        {"key": "0" * 32, "type": "decision", "text": "gauge", "origin": "user", "status": "open", "created_ms": 1,
         "evidence": "ev-1"},
        {"key": "0" * 32, "type": "decision", "text": "gauge", "origin": "user", "status": "open", "created_ms": 1,
         "project": ""},
        {"key": "0" * 32, "type": "decision", "text": "gauge", "origin": "user", "status": "open", "created_ms": 1,
         "agent": "a\nb"},
    ],
)  # fmt: skip
def test_a_bad_line_does_not_spoil_the_others(store: Store, kept: Memories, line: object) -> None:
    """It is named with its number; the good line after it is kept."""
    good = {
        "key": "a" * 32, "type": "decision", "text": "gauges are good", "origin": "user", "status": "open",
        "created_ms": 1, "project": QUAY, "agent": None, "deleted_ms": None, "supersedes": None, "evidence": [],
    }  # fmt: skip
    head = {"howcome": "memories", "version": 1}
    report = kept.import_values([(1, head), (2, line), (3, good)])
    assert [number for number, _ in report.problems] == [2]
    assert report.added == 1
    assert found(store, "gauges good") == ["gauges are good"]


def test_an_export_under_the_former_name_is_one(store: Store, kept: Memories) -> None:
    """What was kept by hand moves that way."""
    line = {
        "key": "a" * 32, "type": "decision", "text": "gauges are good", "origin": "user", "status": "open",
        "created_ms": 1, "project": QUAY, "agent": None, "deleted_ms": None, "supersedes": None, "evidence": [],
    }  # fmt: skip
    assert kept.import_values([(1, {"recollect": "memories", "version": 1}), (2, line)]).added == 1
    assert found(store, "gauges good") == ["gauges are good"]


@pytest.mark.parametrize("head", [{}, [], None, {"howcome": "events"}, {"howcome": "memories", "version": 2}])
def test_what_is_no_export_is_refused(kept: Memories, head: object) -> None:
    """Nothing is written."""
    with pytest.raises(UsageError):
        kept.import_values([(1, head)])


def test_a_purged_memory_does_not_come_back(kept: Memories) -> None:
    """Its id stays as a stone: an old export does not raise it."""
    memory, _ = kept.add("gauge nine is broken", project=QUAY)
    exported = list(kept.export(EVERYTHING))
    kept.purge(memory.id)
    report = kept.import_values(enumerate(exported, 1))
    assert (report.added, report.known, report.purged) == (0, 0, 1)
    assert listed(kept) == []


def test_a_trial_import_writes_nothing(store: Store, kept: Memories) -> None:
    """It counts as the real one would."""
    kept.add("gauge nine is broken", project=QUAY)
    exported = list(kept.export(EVERYTHING))
    exported[1] = exported[1] | {"key": "b" * 32, "text": "gauge ten is broken"}
    assert kept.import_values(enumerate(exported, 1), is_trial=True).added == 1
    assert len(listed(kept)) == 1
    assert store.memories.counts()["by_state"] == {"live": 1}


def test_a_store_opened_elsewhere_sees_it_at_once(open_store: Callable[[], Store]) -> None:
    """What another process has committed is found, and what it took back is not."""
    one, two = open_store(), open_store()
    Memories(one, Clock()).add("gauge one", project=QUAY)
    assert found(two, "gauge") == ["gauge one"]
    second, _ = Memories(one, Clock()).add("gauge two", project=QUAY)
    assert sorted(found(two, "gauge")) == ["gauge one", "gauge two"]
    Memories(one, Clock()).forget(second.id)
    assert found(two, "gauge") == ["gauge one"]


def test_many_writers_at_once_lose_nothing(open_store: Callable[[], Store]) -> None:
    """Eight at once, each with memories of its own and one that all of them keep."""

    def write(number: int) -> None:
        opened = open_store()
        mine = Memories(opened, Clock())
        for turn in range(5):
            mine.add(f"gauge of writer {number} turn {turn}", project=QUAY)
        mine.add("gauge of all", project=QUAY)

    open_store()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_store()
    assert len(listed(Memories(store, Clock()))) == 41
    assert len(found(store, "gauge")) == 41
