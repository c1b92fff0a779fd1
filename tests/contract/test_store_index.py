"""What every store promises about its derived index: it catches up after any crash, and is what a rebuild would be."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.batches import EVERYTHING, START_MS, Transcript, all_hits, find, scored
from tests.hostile.scale import of

from howcome.domain.stored import Filter, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.domain.events import Event
    from howcome.store.base import Store

QUESTIONS = (
    "gauge upsert",
    "median",
    "redis seen_set",
    "retry_policy FooBar",
    "sluice.py",
    "resend buffer schema",
    "bufer",
)
WORDS = [word for question in QUESTIONS[:-1] for word in question.split()]


def catch_up(store: Store, texts: dict[int, str] | None = None) -> int | None:
    """One pass of the index that then lets others write."""
    added = store.index.catch_up(texts)
    store.index.release()
    return added


def answers(store: Store) -> dict[str, dict[str, list[tuple[int, int, float]]]]:
    """Every kind of hit with its score, for a set of questions."""
    return {question: scored(all_hits(store, question)) for question in QUESTIONS}


def assert_same(found: dict, expected: dict) -> None:
    """The same hits and scores; of exchanges nearly the same scores.

    An exchange that grew was replaced: until the old documents are merged away they count in the average length.
    """
    for question, kinds in expected.items():
        for kind, hits in kinds.items():
            got = found[question][kind]
            assert [hit[:2] for hit in got] == [hit[:2] for hit in hits], f"{kind} for {question}"
            near = 0.25 if kind == "exchanges" else 1e-3
            assert [hit[2] for hit in got] == pytest.approx([hit[2] for hit in hits], rel=near), (
                f"{kind} for {question}"
            )


def documents(store: Store, word: str) -> dict[str, int]:
    """How many documents hold a word, of events and of exchanges."""
    hits = all_hits(store, word)
    return {"events": len(hits["events"]), "exchanges": len(hits["exchanges"])}


def conversation(transcript: Transcript, chance: random.Random, turns: int) -> list[Event]:
    """Exchanges of every shape: interrupted prompts, answers without one, tools, thoughts, long plans."""
    found = []
    for _ in range(turns):
        words = " ".join(chance.choices(WORDS, k=chance.choice([1, 5, 40])))
        kind = chance.choice(["prompt", "prompt", "answer", "answer", "call", "result", "thinking", "compaction"])
        if kind in ("thinking", "compaction"):
            kind = {"thinking": "assistant_thinking"}.get(kind, kind)
            found.append(transcript.event(words, kind))
        else:
            found.append(getattr(transcript, kind)(words))
    return found


def test_new_rows_are_searchable_after_catching_up(open_store: Callable[[], Store]) -> None:
    """Not before; afterwards for this process and for every one that opens the store."""
    store = open_store()
    [row] = Transcript(store).say("the median it is")
    assert (find(store, "median"), store.index.lag()) == ([], 1)
    assert catch_up(store) == 1
    assert (find(store, "median"), store.index.lag()) == ([row], 0)
    assert find(open_store(), "median") == [row]


def test_a_crash_between_rows_and_index_heals(open_store: Callable[[], Store]) -> None:
    """Rows that were committed by a process that died before indexing are found after the next one's pass."""
    dead = Transcript(open_store())
    dead.say("first words")
    catch_up(dead.store)
    lost = dead.say("median of the hour", "agreed")
    store = open_store()
    assert store.index.lag() == 2
    new = Transcript(store, "/t/two.jsonl", session="two")
    rows, texts = new.add(new.prompt("median again"))
    assert rows["accepted"] == 1
    catch_up(store, texts)
    assert set(find(store, "median")) == {lost[0], lost[1], *texts}  # the answer's window holds the question
    assert store.index.lag() == 0


def test_texts_at_hand_give_the_same_index_as_texts_read_again(open_store: Callable[[], Store]) -> None:
    """Whether the importer hands over its search texts or the index reads the rows: the same hits and scores."""
    store = open_store()
    transcript = Transcript(store)
    texts = transcript.add(*conversation(transcript, random.Random(5), 60))[1]
    catch_up(store, texts)
    handed = answers(store)
    store.index.rebuild()
    assert answers(store) == handed


def test_catching_up_twice_is_catching_up_once(open_store: Callable[[], Store]) -> None:
    """No row is written again, by whichever process."""
    store = open_store()
    transcript = Transcript(store)
    transcript.add(*conversation(transcript, random.Random(1), 40))
    catch_up(store)
    before = answers(store)
    for other in (store, open_store(), open_store()):
        catch_up(other)
        assert answers(other) == before
        assert other.index.lag() == 0


def test_a_growing_session_keeps_one_document_an_exchange(open_store: Callable[[], Store]) -> None:
    """The last exchange is replaced while it grows, by whichever process, and found by its first and last words."""
    rows = []
    for step in range(12):
        store = open_store()
        transcript = Transcript(store)
        transcript.number = step
        event = transcript.prompt("harbour plan") if step in (0, 6) else transcript.answer(f"word{step}x of the plan")
        rows += transcript.add(event)[1]
        catch_up(store)
    store = open_store()
    assert documents(store, "plan") == {"events": 12, "exchanges": 2}
    assert {hit.exchange for hit in all_hits(store, "harbour")["exchanges"]} == {rows[0], rows[6]}
    for word, exchange in (("word1x", rows[0]), ("word5x", rows[0]), ("word7x", rows[6]), ("word11x", rows[6])):
        assert exchange in [hit.exchange for hit in all_hits(store, word)["exchanges"]]


@pytest.mark.parametrize("seed", range(of(2, 8)))
def test_an_index_grown_in_random_steps_equals_a_rebuilt_one(open_store: Callable[[], Store], seed: int) -> None:
    """Three sessions that grow in turn, in steps of any size, by changing processes: the same hits and scores."""
    chance = random.Random(seed)
    store = open_store()
    sessions = [Transcript(store, f"/t/{n}.jsonl", session=f"s{n}", cwd=f"/home/mara/p{n % 2}") for n in range(3)]
    for _ in range(25):
        transcript = chance.choice(sessions)
        texts = transcript.add(*conversation(transcript, chance, chance.randint(1, 4)))[1]
        if chance.random() < 0.7:
            catch_up(store, texts if chance.random() < 0.5 else None)
        if chance.random() < 0.2:
            store = open_store()
            for session in sessions:
                session.store = store
    catch_up(store)
    grown = answers(store)
    assert store.index.rebuild() == store.log.last_position()
    assert_same(grown, answers(store))
    store.index.release()
    assert answers(open_store()) == answers(store)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_prompts_without_answers_look_back_the_same_in_any_steps(open_store: Callable[[], Store], step: int) -> None:
    """Interrupted prompts: the window of the third one holds both before it, however it came in."""
    store = open_store()
    transcript = Transcript(store)
    prompts = [
        transcript.prompt(text) for text in ("harbour one", "median two", "gauge three", "upsert four", "redis five")
    ]
    for start in range(0, len(prompts), step):
        transcript.add(*prompts[start : start + step])
        catch_up(store)
    grown = answers(store)
    store.index.rebuild()
    assert_same(grown, answers(store))


def test_a_clock_that_stands_still_gives_the_same_index_in_any_steps(open_store: Callable[[], Store]) -> None:
    """Many prompts of one millisecond (a clock set back) are told apart by their order."""
    store = open_store()
    transcript = Transcript(store)
    moments = [9, 9, 9, 2, 1, 3, 9, 4, 12]
    for number, moment in enumerate(moments):
        turn = transcript.prompt if number % 2 == 0 else transcript.answer
        transcript.add(turn(f"{WORDS[number]} {WORDS[number + 1]}", ts_ms=START_MS + moment))
        catch_up(store)
    grown = answers(store)
    store.index.rebuild()
    assert_same(grown, answers(store))


@pytest.mark.parametrize("ts_ms", [None, 0, -1, -86_400_000 * 3650, 253_402_300_799_999])
def test_an_odd_time_does_not_stop_the_index(store: Store, ts_ms: int | None) -> None:
    """A record from before 1970, from the year 9999 or from no time at all is found like any other."""
    transcript = Transcript(store)
    rows = transcript.say("harbour masterplan", "agreed on the masterplan", ts_ms=ts_ms)
    catch_up(store)
    assert set(find(store, "masterplan")) == set(rows)
    assert [hit.exchange for hit in all_hits(store, "masterplan")["exchanges"]] == [rows[0]]
    assert store.index.lag() == 0


def test_a_pass_out_of_time_is_finished_by_the_next(store: Store) -> None:
    """A deadline that is over stops the pass at a good place; nothing is lost or doubled."""
    transcript = Transcript(store)
    rows = transcript.say(*(f"gauge number{number}x" for number in range(30)))
    store.index.catch_up(deadline=0.0)
    store.index.release()
    catch_up(store)
    assert set(find(store, "gauge")) == set(rows)
    assert documents(store, "gauge") == {"events": 30, "exchanges": 15}


def test_one_process_writes_the_index_at_a_time(open_store: Callable[[], Store]) -> None:
    """The second one is told, and searches meanwhile; when the first lets go, the next pass adds what is missing."""
    first, second = open_store(), open_store()
    [one] = Transcript(first).say("median one")
    assert first.index.catch_up() == 1
    [two] = Transcript(second, "/t/two.jsonl", session="two").say("median two")
    assert second.index.catch_up() is None
    assert find(second, "median") == [one]
    first.index.release()
    assert second.index.catch_up() == 1
    assert set(find(second, "median")) == {one, two}


def test_a_long_running_reader_sees_what_others_indexed(open_store: Callable[[], Store]) -> None:
    """A store that has searched before finds what another process made searchable since, when it looks again."""
    reader, writer = open_store(), open_store()
    transcript = Transcript(writer)
    [one] = transcript.say("median one")
    catch_up(writer)
    assert find(reader, "median") == [one]
    [two] = transcript.say("median two")
    catch_up(writer)
    catch_up(reader)
    assert set(find(reader, "median")) == {one, two}


def test_a_rebuild_while_another_process_writes_harms_nobody(open_store: Callable[[], Store]) -> None:
    """Whatever it answers, both go on, and afterwards every row is found."""
    writer, rebuilder = open_store(), open_store()
    transcript = Transcript(writer)
    rows = transcript.say("median one", "median two")
    writer.index.catch_up()
    try:
        rebuilder.index.rebuild()
    except Exception as error:  # noqa: BLE001 - only a locked store may be the answer
        assert type(error).__name__ == "StoreLockedError"  # noqa: PT017 - either outcome is allowed
    rebuilder.index.release()
    rows += transcript.say("median three")
    catch_up(writer)
    fresh = open_store()
    catch_up(fresh)
    assert set(find(fresh, "median")) == set(rows)
    assert fresh.index.lag() == 0


def test_a_rebuild_brings_back_a_lost_index(open_store: Callable[[], Store]) -> None:
    """The index is derived: rebuilt from rows alone it holds everything, with filters and all."""
    store = open_store()
    rows = Transcript(store).say("median one", "median two")
    assert store.index.rebuild() == 2
    assert store.index.rebuild() == 2
    store.index.release()
    [session] = store.sessions.named("session-one")
    assert set(find(open_store(), "median", EVERYTHING)) == set(rows)
    assert find(store, "median", Filter(Scope.everything(), without=[session])) == []


def test_a_session_with_a_subagent_is_indexed_whole(store: Store) -> None:
    """A subagent's file that is read later lands in the exchange in which it ran; the exchange stays one document."""
    main, sub = Transcript(store), Transcript(store, "/t/agent.jsonl", records="agent")
    [prompt, _] = list(
        main.add(main.prompt("survey the gauges", ts_ms=START_MS), main.answer("done", ts_ms=START_MS + 9000))[1]
    )
    catch_up(store)
    sub.add(sub.answer("median buffer found", ts_ms=START_MS + 4000, agent_id="a1"))
    catch_up(store)
    assert [hit.exchange for hit in all_hits(store, "buffer")["exchanges"]] == [prompt]
    assert documents(store, "survey") == {"events": 3, "exchanges": 1}


def test_earlier_words_of_a_session_that_are_read_later_leave_no_stale_exchange(store: Store) -> None:
    """A second file of a session, older than the first one, whose end has no prompt of its own: still no doubles."""
    late, early = Transcript(store), Transcript(store, "/t/early.jsonl", records="early")
    late.add(late.answer("and so the median", ts_ms=START_MS + 9000), late.answer("is final", ts_ms=START_MS + 9500))
    catch_up(store)
    early.add(early.prompt("which level?", ts_ms=START_MS), early.answer("let me see", ts_ms=START_MS + 100))
    catch_up(store)
    assert documents(store, "median") == {"events": 2, "exchanges": 1}
    store.index.rebuild()
    assert documents(store, "median") == {"events": 2, "exchanges": 1}


def test_the_index_stays_in_few_pieces(open_store: Callable[[], Store]) -> None:
    """Sixty passes of short-lived processes do not make a search sixty times as dear: at most 30 pieces."""
    number = 0
    for number in range(60):
        transcript = Transcript(open_store())
        transcript.number = number
        transcript.say(f"median number{number}x")
        catch_up(transcript.store)
        transcript.store.close()
    store = open_store()
    for name in ("events", "exchanges"):
        terms = list(Path(store.path).parent.glob(f"index/*/{name}/*.term"))
        assert len(terms) <= 30, name
    assert documents(store, "median") == {"events": 60, "exchanges": 60}


def test_what_another_commits_before_the_lock_is_had_is_not_added_again(open_store: Callable[[], Store]) -> None:
    """Who has searched before looks again once nobody else can write: each event is one document."""
    first, second = open_store(), open_store()
    Transcript(first).say("the gauge drifts", "it is old")
    assert documents(second, "gauge") == {"events": 0, "exchanges": 0}
    assert catch_up(first) == 2
    assert catch_up(second) == 0
    second.index.refresh()
    assert documents(second, "gauge") == {"events": 2, "exchanges": 1}


def one_each(store: Store, projects: int) -> list[int]:
    """One event in each of so many projects; their rows."""
    return [
        Transcript(store, f"/t/{n}.jsonl", session=f"s{n}", cwd=f"/home/mara/p{n}").say(f"gauge number{n}x")[0]
        for n in range(projects)
    ]


def test_a_hundred_projects_of_one_event_are_found_apart_and_together(open_store: Callable[[], Store]) -> None:
    """More projects than are written at a time: each event in its own project, all of them everywhere."""
    store = open_store()
    rows = one_each(store, 100)
    assert catch_up(store) == 100
    assert set(find(store, "gauge")) == set(rows)
    for number in (0, 57, 99):
        scope = Scope.project(store.projects.of_path(f"/home/mara/p{number}"))
        assert find(store, "gauge", Filter(scope)) == [rows[number]]
        assert store.index.name_frequencies([], scope)[0] == 1
    assert find(store, "gauge", Filter(Scope.project(None))) == []
    assert store.index.weigh(["gaug"]).totals == {"events": 100, "exchanges": 100}


def test_a_project_scores_as_if_it_were_alone(open_store: Callable[[], Store]) -> None:
    """Lengths and weights are its own: what other projects say changes no score, nor which of its words are known."""
    store = open_store()
    own = Transcript(store, cwd="/home/mara/own")
    own.add(*conversation(own, random.Random(3), 30))
    catch_up(store)
    scope = Scope.project(store.projects.of_path("/home/mara/own"))

    def scores() -> dict[str, object]:
        return {question: scored(all_hits(store, question, Filter(scope))) for question in QUESTIONS}

    alone = scores()
    other = Transcript(store, "/t/other.jsonl", session="other", cwd="/home/mara/other")
    other.add(*conversation(other, random.Random(4), 60), other.prompt("harbour"))
    catch_up(store)
    assert scores() == alone
    assert "harbour" in store.index.weigh(["harbour"]).known
    assert "harbour" not in store.index.weigh(["harbour"], scope).known


def test_a_session_that_goes_to_another_project_is_found_in_each(open_store: Callable[[], Store]) -> None:
    """Its events where they were said, its exchanges where they began; an exchange that grows elsewhere is one."""
    store = open_store()
    transcript = Transcript(store, cwd="/home/mara/one")
    [prompt] = transcript.say("the gauge drifts")
    catch_up(store)
    rows = transcript.add(
        transcript.answer("the median helps", cwd="/home/mara/two"),
        transcript.prompt("now the buffer", cwd="/home/mara/two"),
    )[1]
    answer, second = rows
    catch_up(store)
    one, two = (Filter(Scope.project(store.projects.of_path(f"/home/mara/{name}"))) for name in ("one", "two"))
    assert find(store, "median", one) == []
    assert find(store, "median", two)[0] == answer
    found = {name: [hit.exchange for hit in all_hits(store, "median", where)["exchanges"]] for name, where in
             {"one": one, "two": two}.items()}  # fmt: skip
    assert found["one"] == [prompt]
    assert [hit.exchange for hit in all_hits(store, "buffer", two)["exchanges"]] == [second]
    grown = answers(store)
    store.index.rebuild()
    assert_same(grown, answers(store))


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_crash_between_two_projects_heals(open_store: Callable[[], Store], done: int) -> None:
    """Who is killed when some projects have committed: the next pass adds what is missing, and nothing twice."""
    first = open_store()
    one_each(first, 2)
    catch_up(first)
    sessions = [Transcript(first, f"/u/{n}.jsonl", session=f"u{n}", cwd=f"/home/mara/p{n}") for n in range(2)]
    for step in range(3):
        for session in sessions:
            session.say(f"median step{step}x", "agreed")
    writer = first.index._take_index()  # type: ignore[attr-defined]
    assert writer.add_new_rows({}) == 12
    for project_id in list(writer._writers)[:done]:
        writer._commit(project_id)
    writer.drop()
    first.index._index_writer = None  # type: ignore[attr-defined]
    store = open_store()
    assert store.index.lag() == 12
    assert catch_up(store) == 12
    healed = answers(store)
    assert documents(store, "median")["exchanges"] == 6
    assert store.index.lag() == 0
    store.index.rebuild()
    assert_same(healed, answers(store))


def test_a_rebuild_leaves_no_older_index_on_disk(open_store: Callable[[], Store]) -> None:
    """Neither the generation before nor the index of an older version: what was purged stands in no file."""
    store = open_store()
    one_each(store, 3)
    catch_up(store)
    index = Path(store.path).parent / "index"
    [before] = index.glob("lexical-*/*/")
    for name in ("lexical-1", "lexical-2", "lexical-2-damaged-77"):
        (index / name / "events").mkdir(parents=True)
        (index / name / "events" / "words").write_text("number1x")
    store.database.execute("UPDATE events SET project_id = 1 WHERE id = 2")  # type: ignore[attr-defined]
    assert find(open_store(), "gauge number1x", Filter(Scope.project(1))) == [1]
    store.index.rebuild()
    [after] = index.glob("lexical-*/*/")
    assert (after.parent, after == before) == (before.parent, False)
    assert sorted(path.name for path in after.iterdir()) == ["1", "3"]
    assert [path.name for path in index.iterdir()] == [after.parent.name]
    assert find(store, "number1x", Filter(Scope.project(1))) == [2]
