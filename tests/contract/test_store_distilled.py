"""What every store promises about distilled memories: the same whatever is read first, and what people did stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.batches import START_MS, Transcript
from tests.hashing import Synonyms
from tests.noting import NotingDistiller

from howcome.domain.memories import Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.errors import ProviderError
from howcome.learn.meaning import Meaning
from howcome.learn.run import Distillation, DistilReport
from howcome.memory.remember import Memories

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from howcome.store.base import Store

EVERYTHING = Scope.everything()
ALL = MemoryFilter(with_forgotten=True, with_superseded=True, with_purged=True)
WAIT = "KEEP decision: The tide poller waits 30s between reads."
WAIT_AGAIN = "KEEP decision: Between reads the tide poller waits 30s."
WAIT_LONGER = "KEEP decision: The tide poller waits 60s between reads."
CORE = "KEEP dependency #gauge-core: gauge-core is pinned to 1.20 in tide.toml."
NEWER_CORE = "KEEP dependency #gauge-core: gauge-core is pinned to 1.21 in tide.toml."
TASK = "KEEP context #quay-test: The quay migration has no test yet."


def distil(store: Store, version: int = 1, **options: Any) -> DistilReport:
    """One run over everything that is new."""
    return Distillation(store, NotingDistiller(version), lambda: START_MS, **options).run()


def memories(store: Store, wanted: MemoryFilter = ALL) -> list[Memory]:
    """What is kept, the oldest first."""
    return store.memories.select(EVERYTHING, wanted, 1000, oldest_first=True)


def live(store: Store) -> list[str]:
    """The texts of the live memories."""
    return sorted(memory.text for memory in memories(store, MemoryFilter()))


def one(store: Store, words: str) -> Memory:
    """The memory that says so."""
    [found] = [memory for memory in memories(store) if words in memory.text]
    return found


def everything(store: Store) -> list[tuple[object, ...]]:
    """All that a store says of its memories, in no order but its own."""
    rows = [
        (
            memory.key, memory.type, memory.text, memory.origin, memory.status, memory.created_ms, memory.said_ms,
            memory.subject, memory.source, memory.supersedes_id, memory.superseded_by_id, memory.evidence,
            store.memories.said(memory.row), store.candidates.wordings(memory.row),
        )
        for memory in memories(store)
    ]  # fmt: skip
    pairs = [(pair.older.id, pair.newer.id, pair.reason) for pair in store.reviews.waiting(EVERYTHING, 99)]
    return [*sorted(rows), *sorted(pairs)]


@pytest.fixture
def hand(store: Store) -> Memories:
    """What people do."""
    moments = iter(range(START_MS + 10**6, START_MS + 10**9, 1000))
    return Memories(store, lambda: next(moments))


def test_how_often_something_was_said_is_asked_as_it_was(store: Store) -> None:
    """In how many sessions, when last, and where, by then."""
    for number in range(3):
        talk = Transcript(store, f"/t/{number}.jsonl", session=f"s{number}")
        talk.add(talk.answer(WAIT, ts_ms=START_MS + 1000 * number))
    distil(store)
    memory, then_ms = one(store, "waits 30s"), START_MS + 1500
    assert store.candidates.told_of([memory.key])[memory.key].sessions == 3
    assert store.candidates.told_of([memory.key], then_ms)[memory.key].sessions == 2
    [before] = store.memories.select(EVERYTHING, MemoryFilter(before_ms=then_ms), 9)
    assert (before.said_ms, len(before.evidence), len(memory.evidence)) == (START_MS + 1000, 2, 3)
    assert store.memories.select(EVERYTHING, MemoryFilter(before_ms=START_MS), 9) == []


def test_what_was_said_becomes_memories_with_their_evidence(store: Store) -> None:
    """Once each, with every time it was said; the report counts."""
    rows = Transcript(store).say("why?", f"{WAIT}\nKEEP decision: tiny", "and?", WAIT, "more?", CORE)
    report = distil(store)
    counts = (report.sessions, report.candidates, report.added, report.updated, report.duplicates, report.rejected)
    assert counts == (1, 3, 2, 0, 1, {"noise": 1})
    memory = one(store, "poller")
    events = store.log.events(rows)
    assert memory.evidence == [events[row].id for row in (rows[1], rows[3])]
    assert store.memories.said(memory.row) == [(events[row].ts_ms, events[row].id) for row in (rows[1], rows[3])]
    assert (memory.source, memory.origin, memory.created_ms, memory.said_ms) == (
        "rules", "assistant", events[rows[1]].ts_ms, events[rows[3]].ts_ms
    )  # fmt: skip


def test_a_second_run_does_nothing(store: Store) -> None:
    """And looks at nothing."""
    Transcript(store).say("why?", WAIT)
    distil(store)
    before = everything(store)
    report = distil(store)
    assert (report.sessions, report.candidates, report.added, report.updated) == (0, 0, 0, 0)
    assert everything(store) == before


SESSIONS = {
    "one": ["why?", WAIT, "version?", CORE, "and?", TASK],
    "two": ["hm?", WAIT_AGAIN, "version?", NEWER_CORE],
    "three": ["again?", WAIT_LONGER, "else?", "UNFINISHED: The crane log is not rotated yet."],
}
"""Three sessions that say the same again, supersede, contradict."""


def tell(store: Store, order: Sequence[tuple[str, int, int]]) -> None:
    """Reads parts (session, from, to) of the sessions in some order, distilling after each; times are the sessions'."""
    names = list(SESSIONS)
    for name, start, end in order:
        talk = Transcript(store, f"/t/{name}.jsonl", session=name)
        for number, text in enumerate(SESSIONS[name]):
            moment = START_MS + 10_000 * names.index(name) + 1000 * number
            event = (talk.answer if number % 2 else talk.prompt)(text, ts_ms=moment)
            if start <= number < end:
                talk.add(event)
        distil(store)


@pytest.mark.parametrize(
    "order",
    [
        [("three", 0, 9), ("two", 0, 9), ("one", 0, 9)],
        [("two", 0, 3), ("one", 0, 2), ("three", 0, 4), ("two", 3, 9), ("one", 2, 9)],
        [("one", 0, 1), ("one", 1, 2), ("one", 2, 3), ("one", 3, 9), ("three", 0, 3), ("three", 3, 4), ("two", 0, 9)],
    ],
)
def test_the_order_of_reading_changes_nothing(store: Store, order: list[tuple[str, int, int]]) -> None:
    """Whole or in parts, one after the other or the newest first: the same memories, byte for byte."""
    tell(store, order)
    found = everything(store)
    wipe(store)
    distil(store)  # the same rows all at once: as if they had been read in one go
    assert everything(store) == found
    assert live(store) == [
        "The crane log is not rotated yet.", "The quay migration has no test yet.",
        "The tide poller waits 30s between reads.", "The tide poller waits 60s between reads.",
        "gauge-core is pinned to 1.21 in tide.toml.",
    ]  # fmt: skip
    assert [pair.reason for pair in store.reviews.waiting(EVERYTHING, 9)] == ["number"]


def wipe(store: Any) -> None:
    """Takes away everything that is derived."""
    with store.transaction():
        for table in (
            "memory_reviews", "memory_said", "memory_evidence", "memories", "candidates", "distilled",
            "distilled_marks", "unreconciled",
        ):  # fmt: skip
            store.database.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names


def test_what_was_unfinished_is_taken_away_when_the_session_goes_on(store: Store) -> None:
    """Unless somebody has read it or was told of it."""
    talk = Transcript(store)
    talk.say("so?", "UNFINISHED: The crane log is not rotated yet.")
    distil(store)
    assert live(store) == ["The crane log is not rotated yet."]
    talk.say("now?", "rotated")
    report = distil(store)
    assert (live(store), report.removed, report.candidates) == ([], 1, 0)


@pytest.mark.parametrize("act", ["read", "told", "pin", "resolve"])
def test_what_somebody_touched_stays(store: Store, hand: Memories, act: str) -> None:
    """It is theirs now."""
    talk = Transcript(store)
    talk.say("so?", "UNFINISHED: The crane log is not rotated yet.")
    distil(store)
    memory = one(store, "crane")
    if act == "read":
        store.memories.record_access([memory.row], START_MS)
    elif act == "told":
        store.injections.record("s", "UserPromptSubmit", START_MS, (), [(memory.row, 0.5)])
    elif act == "pin":
        hand.pin(memory.id)
    else:
        hand.update(memory.id, status="resolved")
    talk.say("now?", "rotated")
    distil(store)
    assert live(store) == ["The crane log is not rotated yet."]


def test_another_version_of_a_distiller_distils_everything_anew(store: Store) -> None:
    """The same words are the same memories."""
    Transcript(store).say("why?", WAIT)
    distil(store)
    before = everything(store)
    report = distil(store, version=2)
    assert (report.sessions, report.added, report.removed) == (1, 0, 0)
    assert everything(store) == before


def test_what_somebody_forgot_stays_forgotten(store: Store, hand: Memories) -> None:
    """Distilled anew, said again, said in other words."""
    talk = Transcript(store)
    talk.say("why?", WAIT)
    distil(store)
    hand.forget(one(store, "poller").id)
    talk.say("again?", WAIT, "hm?", WAIT_AGAIN)
    distil(store)
    distil(store, version=2)
    assert live(store) == []
    assert len(store.memories.said(one(store, "poller").row)) == 3


def test_what_somebody_changed_stays_changed(store: Store, hand: Memories) -> None:
    """The chain is kept, whatever is distilled later."""
    talk = Transcript(store)
    talk.say("why?", CORE)
    distil(store)
    changed = hand.update(one(store, "1.20").id, text="gauge-core is pinned to 1.20.7, by hand")
    talk.say("again?", CORE)
    distil(store, version=2)
    assert live(store) == [changed.text]
    assert [memory.text for memory in hand.chain(changed.id)] == [CORE.partition(": ")[2], changed.text]
    talk.say("newer?", NEWER_CORE, ts_ms=START_MS + 10**9 + 1)
    distil(store)
    assert len(live(store)) == 2
    assert [(pair.older.id, pair.reason) for pair in store.reviews.waiting(EVERYTHING, 9)] == [(changed.id, "subject")]


def test_what_somebody_erased_does_not_come_back(store: Store, hand: Memories) -> None:
    """Nor do the other words that said the same; the store keeps none of them but in what the session said."""
    talk = Transcript(store)
    talk.say("why?", WAIT, "hm?", WAIT_AGAIN)
    distil(store)
    report = hand.purge(one(store, "poller").id)
    assert (len(report.events), report.memories) == (1, [])
    talk.say("again?", WAIT, "hm?", WAIT_AGAIN)
    distil(store)
    distil(store, version=2)
    assert live(store) == []
    assert all(memory.text == "" for memory in memories(store))


def test_what_is_kept_by_hand_is_not_said_twice(store: Store, hand: Memories) -> None:
    """Its words are known, whatever the type and the order."""
    hand.add("between reads the tide poller waits 30s", project="/home/mara/quay")
    Transcript(store).say("why?", WAIT)
    report = distil(store)
    assert (report.added, report.duplicates, len(live(store))) == (0, 1, 1)


def test_projects_know_nothing_of_each_other(store: Store) -> None:
    """The same words in two projects are two memories, and supersede nothing there."""
    Transcript(store).say("why?", CORE)
    Transcript(store, "/t/two.jsonl", session="two", cwd="/home/mara/dike").say("why?", CORE, "and?", NEWER_CORE)
    distil(store)
    assert len(live(store)) == 2
    [quay] = [memory for memory in memories(store, MemoryFilter()) if memory.project == "/home/mara/quay"]
    assert "1.20" in quay.text


def test_a_fork_says_nothing_twice(store: Store) -> None:
    """Whichever of the two is read first."""
    Transcript(store).say("why?", WAIT, "so?", "UNFINISHED: The crane log is not rotated yet.")
    distil(store)
    fork = Transcript(store, "/t/fork.jsonl", session="fork", records="session-one")
    fork.say("why?", WAIT, "so?", "UNFINISHED: The crane log is not rotated yet.")
    fork.records = "fork"
    fork.say("done?", "nothing more")
    distil(store)
    assert len(store.memories.said(one(store, "poller").row)) == 1


def test_the_least_trusted_word_decides(store: Store) -> None:
    """A tool said it, too: it is a tool's."""
    talk = Transcript(store)
    talk.say("why?", WAIT)
    talk.add(talk.prompt("look"), talk.result(WAIT))
    distil(store)
    assert one(store, "poller").origin == "tool"


@pytest.mark.parametrize("secret", ["ghp_" + "a1B2" * 9, "[redacted:github-token:0a1b2c3d]"])
def test_a_secret_is_never_a_memory(store: Store, secret: str) -> None:
    """Neither one that a distiller puts together nor the place where one was."""

    class Leaky(NotingDistiller):
        def distil(self, stream: Any, place: int) -> Any:
            found = super().distil(stream, place)
            for candidate in found.candidates:
                candidate.text += f" The deploy token is {secret}."
            return found

    Transcript(store).say("why?", WAIT)
    report = Distillation(store, Leaky(), lambda: START_MS).run()
    assert (report.rejected, memories(store)) == ({"secret": 1}, [])
    assert store.purging.files_with(secret) == []


def test_meaning_tells_what_says_the_same_in_other_words(store: Store) -> None:
    """Where something embeds; each text is embedded once."""
    asked: list[str] = []

    class Counting(Synonyms):
        def embed(self, texts: Sequence[str]) -> Any:
            asked.extend(texts)
            return super().embed(texts)

    talk = Transcript(store)
    lorry, truck = "the lorry carries cargo to quay nine", "the truck carries load to quay nine"
    talk.say("why?", f"KEEP decision: {lorry}", "hm?", f"KEEP decision: {truck}")
    meaning = Meaning(store, Counting(), lambda: START_MS)
    report = distil(store, meaning=lambda: meaning)
    assert (report.added, live(store)) == (1, [lorry])
    talk.say("and?", "KEEP decision: bells ring at noon on the pier")
    distil(store, meaning=lambda: meaning)
    assert (len(asked), len(set(asked))) == (3, 3)


def test_two_that_distil_at_once_do_the_same_twice(open_store: Callable[[], Store]) -> None:
    """What one has read is out of date when the other has written: it begins again."""
    ours, theirs = open_store(), open_store()
    talk = Transcript(ours)
    talk.say("why?", WAIT)
    distil(ours)
    talk.say("and?", CORE)

    class Slow(NotingDistiller):
        def distil(self, stream: Any, place: int) -> Any:
            if "gauge-core" in str([event.text for event in stream[place].all_events]):
                talk.say("newer?", NEWER_CORE)
                distil(theirs)
            return super().distil(stream, place)

    Distillation(ours, Slow(), lambda: START_MS).run()
    distil(ours)
    assert live(ours) == ["The tide poller waits 30s between reads.", "gauge-core is pinned to 1.21 in tide.toml."]


def test_a_run_that_has_to_end_is_gone_on_with(store: Store) -> None:
    """What was done is kept."""
    for number in range(4):
        talk = Transcript(store, f"/t/{number}.jsonl", session=f"s{number}")
        talk.say("why?", f"KEEP decision: berth number{number} has its own crane", "and?", TASK)
    rests: list[int] = []

    class Patient(NotingDistiller):
        def distil(self, stream: Any, place: int) -> Any:
            import time

            time.sleep(0.06)
            return super().distil(stream, place)

    def rest() -> bool:
        rests.append(1)
        return len(rests) % 5 != 0

    runs = 0
    while not (report := Distillation(store, Patient(), lambda: START_MS).run(rest=rest)).is_whole:
        runs += 1
        assert runs < 60
    assert runs > 0
    assert report.is_whole
    assert len(live(store)) == 5


def test_a_model_that_comes_later_looks_at_what_is_there(store: Store) -> None:
    """Memories that were told apart by words only are compared once by meaning; then nothing is left to do."""
    lorry, truck = "the lorry carries cargo to quay nine", "the truck carries load to quay nine"
    Transcript(store).say("why?", f"KEEP decision: {lorry}", "hm?", f"KEEP decision: {truck}")
    assert distil(store, model="hashing-1").added == 2
    meaning = Meaning(store, Synonyms(), lambda: START_MS)
    report = distil(store, meaning=lambda: meaning, model="hashing-1")
    assert (report.sessions, report.removed, live(store)) == (0, 1, [lorry])
    assert store.memory_vectors.projects_without("hashing-1") == []


def test_an_embedder_that_fails_is_left_alone_for_a_while(store: Store) -> None:
    """Memories are told apart by words meanwhile, and compared by meaning when it is back."""
    now_ms, asked = [START_MS], [0]

    class Down(Synonyms):
        def embed(self, texts: Sequence[str]) -> Any:
            asked[0] += 1
            if now_ms[0] < START_MS + 10**6:
                raise ProviderError("it is down")
            return super().embed(texts)

    Transcript(store).say("why?", WAIT, "hm?", WAIT_AGAIN, "and?", CORE)
    meaning = Meaning(store, Down(), lambda: now_ms[0])
    runs = [Distillation(store, NotingDistiller(), lambda: now_ms[0], lambda: meaning, "hashing-1") for _ in range(3)]
    assert [run.run().added for run in runs] == [2, 0, 0]
    assert asked == [1]
    now_ms[0] += 10**6
    assert runs[0].run().is_whole
    assert asked == [2]
    assert store.memory_vectors.projects_without("hashing-1") == []


CELERY = "KEEP decision: Celery over RQ for the task queue: RQ has no retries"
RQ = "KEEP decision: We use RQ instead of Celery, which is too heavy for us"


def test_the_other_way_round_later_takes_the_place(store: Store, hand: Memories) -> None:
    """What sessions said and what is kept by hand alike; once, and it stays so however often it is distilled."""
    talk = Transcript(store)
    talk.say("which?", CELERY)
    distil(store)
    mine, _ = hand.add("Celery over RQ for the queue, as RQ cannot retry", project="/home/mara/quay")
    later_ms = START_MS + 10**8
    talk.add(talk.prompt(RQ, ts_ms=later_ms))
    for version in (1, 2, 3):
        distil(store, version)
        newer = one(store, "RQ instead")
        assert live(store) == [newer.text]
        assert [memory.text for memory in hand.chain(newer.id)] == [CELERY.partition(": ")[2], mine.text, newer.text]
        assert store.reviews.waiting(EVERYTHING, 9) == []


def test_what_is_taken_back_gives_back_what_somebody_kept(store: Store, hand: Memories) -> None:
    """What a session turned round lives again, however often it is distilled; the two stand apart."""
    mine, _ = hand.add("Celery over RQ for the queue, as RQ cannot retry", project="/home/mara/quay")
    talk = Transcript(store)
    talk.add(talk.prompt(RQ, ts_ms=START_MS + 10**8))
    distil(store)
    later = one(store, "RQ instead")
    assert (later.supersedes, live(store)) == (mine.row, [later.text])
    hand.forget(later.id)
    assert live(store) == [mine.text]
    Transcript(store, "/t/two.jsonl", session="two").say("why?", WAIT)  # the project's memories are made anew
    assert distil(store).added == 1
    assert mine.text in live(store)
    assert later.text not in live(store)
    hand.restore(later.id)
    Transcript(store, "/t/three.jsonl", session="three").say("and?", CORE)
    distil(store)
    assert later.text in live(store)
    assert mine.text not in live(store)


def test_what_became_part_of_another_is_not_said_to_be_gone(store: Store, hand: Memories) -> None:
    """A session still bears it out: it was folded into one that is kept by hand, or into an earlier one."""
    talk = Transcript(store)
    talk.say("why?", WAIT)
    distil(store)
    hand.add("between reads the tide poller waits 30s", project="/home/mara/quay")
    talk.say("and?", CORE)
    report = distil(store)
    assert (report.removed, report.folded) == (1, 1)
    talk.say("so?", "UNFINISHED: The crane log is not rotated yet.")
    distil(store)
    talk.say("now?", "rotated")
    report = distil(store)
    assert (report.removed, report.folded) == (1, 0)


def test_what_is_called_wrong_is_never_learnt_again(store: Store, hand: Memories) -> None:
    """In other words, of another type, in another session, distilled anew; until it is restored."""
    talk = Transcript(store)
    talk.say("why?", WAIT)
    distil(store)
    wrong = one(store, "poller")
    assert hand.forget(wrong.id, is_wrong=True).wrong_ms is not None
    other = Transcript(store, "/t/two.jsonl", session="two")
    other.say("again?", WAIT.replace("decision", "discovery #tide"), "hm?", WAIT_AGAIN.replace("decision", "context"))
    for version in (1, 2):
        distil(store, version)
        assert (live(store), one(store, "tide poller waits").wrong_ms) == (
            [],
            wrong.wrong_ms or hand.get(wrong.id).wrong_ms,
        )
    hand.restore(wrong.id)
    assert hand.get(wrong.id).wrong_ms is None
    distil(store, 3)
    assert wrong.text in live(store)


def test_a_plain_forgotten_one_becomes_wrong(store: Store, hand: Memories) -> None:
    """Whoever notices it later."""
    Transcript(store).say("why?", WAIT)
    distil(store)
    hand.forget(one(store, "poller").id)
    assert hand.forget(one(store, "poller").id, is_wrong=True).wrong_ms
    assert hand.forget(one(store, "poller").id).wrong_ms


def test_what_contradicts_each_other_says_so(store: Store, hand: Memories) -> None:
    """Both, as long as both live and nobody has settled it."""
    Transcript(store).say("why?", WAIT, "hm?", WAIT_LONGER)
    distil(store)
    short, long = one(store, "30s"), one(store, "60s")
    assert (short.contradicts, long.contradicts) == ([long.id], [short.id])
    hand.forget(long.id)
    assert (one(store, "30s").contradicts, one(store, "60s").contradicts) == ([], [])
    hand.restore(long.id)
    [pair] = store.reviews.waiting(EVERYTHING, 9)
    store.reviews.settle(pair.row, START_MS)
    assert one(store, "30s").contradicts == []


def test_sessions_are_measured_by_what_was_said(store: Store) -> None:
    """In characters, with how much else there is; a session in which nobody said anything has no size."""
    talk, silent = Transcript(store), Transcript(store, "/t/silent.jsonl", session="silent")
    talk.add(talk.prompt("123"), talk.answer("4567"), talk.call("ls"), talk.result("a\nb"))
    silent.add(silent.call("ls"))
    assert store.distil_batches.session_sizes() == [(7, 2)]
