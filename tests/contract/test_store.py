"""What every store promises about rows and cursors: together or not at all, once, in order, accounted for."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.batches import CLIENT, RECORD_BYTES, START_MS, Transcript, ignored, quarantined

from howcome.domain import events
from howcome.domain.sources import COUNTERS, SourceState
from howcome.domain.stored import Scope
from howcome.errors import CursorMovedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.store.base import Store

BYTE_COUNTERS = [name for name in COUNTERS if name.endswith("_bytes")]
TEXTS = [f"thought number {number}" for number in range(12)]


def texts_of(found: list) -> list[str]:
    """What events say."""
    return [event.text for event in found]


def session_texts(store: Store, session: str) -> list[str]:
    """What a session says, in its order."""
    [row] = store.sessions.named(session)
    return texts_of(store.log.session(row, with_text=True))


def accounts(store: Store) -> list[tuple]:
    """Every source's path, generation, offset and counts."""
    names = ("path", "generation", "is_current", "offset", *COUNTERS)
    return [tuple(row[name] for name in names) for row in store.accounts.sources()]


def test_new_events_are_accepted_and_readable(store: Store) -> None:
    """Each gets a row, a short id, its whole text, its search text; the cursor stands behind them."""
    transcript = Transcript(store)
    counts, new = transcript.add(transcript.prompt("why is the build red?"), transcript.answer("a stale fixture"))
    assert counts == {**dict.fromkeys(COUNTERS, 0), "records": 2, "accepted": 2, "accepted_bytes": 2 * RECORD_BYTES}
    assert list(new.values()) == ["why is the build red?", "a stale fixture"]
    found = store.log.events(new, with_text=True)
    assert texts_of([found[row] for row in new]) == ["why is the build red?", "a stale fixture"]
    first = found[min(new)]
    assert (first.kind, first.origin, first.session, first.client) == ("user_prompt", "user", "session-one", CLIENT)
    assert (first.project, first.ts_ms, first.text_chars) == ("/home/mara/quay", START_MS + 1000, 21)
    assert store.log.source("/t/one.jsonl").offset == 2 * RECORD_BYTES


def test_every_column_comes_back(store: Store) -> None:
    """Tool, file, branch, agent, failure and exit code of an event are kept; a long text comes back whole."""
    transcript = Transcript(store)
    output = "line of output\n" * 3000
    [row] = transcript.add(
        transcript.result(
            output, file="a/b.py", branch="fix", agent_id="a1", failed=True, exit_code=2, tool_use_id="t1"
        )
    )[1]
    event = store.log.events([row], with_text=True)[row]
    assert (event.tool, event.file, event.branch, event.agent_id) == ("Bash", "a/b.py", "fix", "a1")
    assert (event.failed, event.exit_code, event.text_chars, event.text) == (True, 2, len(output), output)
    assert len(event.excerpt) == 300
    assert store.log.events([row])[row].text is None


def test_the_same_events_again_change_nothing(store: Store) -> None:
    """A copy of a transcript is counted as duplicate: no row, no second search text."""
    first, copy = Transcript(store), Transcript(store, "/t/copy.jsonl")
    first.say(*TEXTS)
    before = session_texts(store, "session-one")
    counts, new = copy.add(*(copy.prompt(t) if n % 2 == 0 else copy.answer(t) for n, t in enumerate(TEXTS)))
    assert (counts["accepted"], counts["duplicate"], counts["duplicate_bytes"]) == (0, 12, 12 * RECORD_BYTES)
    assert new == {}
    assert session_texts(store, "session-one") == before == TEXTS
    assert store.accounts.counts()["memberships"] == 0


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_replays_in_any_steps_add_each_event_once(store: Store, seed: int) -> None:
    """However often and in whatever pieces a session is read again, each of its events is there once, in order."""
    chance = random.Random(seed)
    for copy in range(4):
        transcript = Transcript(store, f"/t/{copy}.jsonl")
        turns = [transcript.prompt(text) for text in TEXTS[: chance.randint(4, 12)]]
        while turns:
            size = chance.randint(1, 5)
            transcript.add(*turns[:size])
            turns = turns[size:]
    last = Transcript(store, "/t/last.jsonl")
    last.add(*map(last.prompt, TEXTS))
    assert session_texts(store, "session-one") == TEXTS


def test_a_record_of_several_events_is_one_record(store: Store) -> None:
    """A record counts once, its events each; it is a duplicate only when all of it was known."""
    first, copy = Transcript(store), Transcript(store, "/t/copy.jsonl")
    counts, _ = first.add([first.prompt("one"), first.prompt("two")])
    assert (counts["records"], counts["accepted"], counts["accepted_bytes"]) == (1, 2, RECORD_BYTES)
    counts, _ = copy.add([copy.prompt("one"), copy.prompt("two"), copy.prompt("three")])
    assert (counts["accepted"], counts["duplicate"], counts["accepted_bytes"]) == (1, 2, RECORD_BYTES)
    assert counts["duplicate_bytes"] == 0


def test_rows_and_cursor_move_together(open_store: Callable[[], Store]) -> None:
    """After every step another process sees exactly as many rows as the cursor says."""
    transcript, other = Transcript(open_store()), open_store()
    for number in range(1, 6):
        transcript.add(transcript.prompt(f"step {number}"))
        assert other.log.source("/t/one.jsonl").offset == number * RECORD_BYTES
        assert other.accounts.counts()["events"] == number


def test_a_moved_cursor_is_refused(open_store: Callable[[], Store]) -> None:
    """Two processes at one place of one file: the second is told, and nothing of its batch is written."""
    store, rival = open_store(), open_store()
    transcript = Transcript(store)
    transcript.say("agreed")
    late = Transcript(rival)
    late.number = 1
    late_batch = late.batch(late.prompt("late"), quarantined())
    transcript.say("early")
    before = (store.accounts.counts(), accounts(store))
    with pytest.raises(CursorMovedError):
        rival.log.append(late_batch)
    assert (store.accounts.counts(), accounts(store)) == before
    again = Transcript(rival)
    again.number = 2
    again.say("and on")
    assert session_texts(store, "session-one") == ["agreed", "early", "and on"]


def test_only_one_of_two_processes_begins_a_file(open_store: Callable[[], Store]) -> None:
    """Both found no cursor; the second to commit reads again."""
    first, second = Transcript(open_store()), Transcript(open_store())
    batch = second.batch(second.prompt("same"), second.prompt("more"))
    first.say("same")
    with pytest.raises(CursorMovedError):
        second.store.log.append(batch)
    assert first.store.accounts.counts()["events"] == 1
    assert [row[3] for row in accounts(first.store)] == [RECORD_BYTES]


def test_a_batch_from_the_middle_of_an_unknown_file_is_refused(store: Store) -> None:
    """A cursor that the store never had is no cursor."""
    transcript = Transcript(store)
    transcript.state.offset = 500
    with pytest.raises(CursorMovedError):
        transcript.add(transcript.prompt("where from?"))
    assert store.accounts.counts()["events"] == store.accounts.counts()["sources"] == 0


def test_a_file_with_new_content_begins_a_new_generation(store: Store) -> None:
    """The new one is current and starts at zero; what the old one gave stays, with its accounts."""
    transcript = Transcript(store)
    transcript.say("old words", "old answer")
    old = transcript.state
    transcript.state = old.next_generation()
    transcript.say("new words")
    current = store.log.source("/t/one.jsonl")
    assert (current.generation, current.offset) == (2, RECORD_BYTES)
    assert [row[:4] for row in accounts(store)] == [("/t/one.jsonl", 1, 0, 200), ("/t/one.jsonl", 2, 1, 100)]
    assert [state.generation for state in store.log.sources()] == [2]
    assert session_texts(store, "session-one") == ["old words", "old answer", "new words"]
    transcript.state = old
    with pytest.raises(CursorMovedError):
        transcript.add(transcript.prompt("from the old content"))


def test_a_renamed_file_keeps_its_cursor(store: Store) -> None:
    """It is found by its first bytes, and read on under its new name."""
    transcript = Transcript(store)
    transcript.say("before")
    [state] = store.log.sources_like("head of session-one")
    assert state.path == "/t/one.jsonl"
    store.log.move_source(state.id, "/t/new.jsonl")
    assert store.log.source("/t/one.jsonl") is None
    moved = Transcript(store, "/t/new.jsonl")
    moved.number = 1
    moved.say("after")
    assert session_texts(store, "session-one") == ["before", "after"]
    assert [row[:4] for row in accounts(store)] == [("/t/new.jsonl", 1, 1, 200)]


def test_the_reader_state_comes_back(store: Store) -> None:
    """What a reader must remember is kept with the cursor."""
    transcript = Transcript(store)
    transcript.state.reader_state = {"calls": {"t1": ["Bash", None]}, "cwd": "/ü"}
    transcript.state.tail_digest, transcript.state.tail_bytes, transcript.state.mtime_ns = "3:abc", 7, 12345678901234567
    transcript.say("one")
    found = store.log.source("/t/one.jsonl")
    for name in set(SourceState.__slots__):
        assert getattr(found, name) == getattr(transcript.state, name), name


def test_a_fork_is_whole_and_leaves_its_origin_alone(store: Store) -> None:
    """What a fork copied belongs to the session that had it first, and to the fork's timeline as well."""
    origin = Transcript(store)
    origin.say("plan", "agreed", "go")
    fork = Transcript(store, "/t/fork.jsonl", session="fork", records="session-one")
    fork.say("plan", "agreed")
    fork.records = "fork"
    fork.say("another way", "done")
    assert session_texts(store, "fork") == ["plan", "agreed", "another way", "done"]
    assert session_texts(store, "session-one") == ["plan", "agreed", "go"]
    assert (store.accounts.counts()["events"], store.accounts.counts()["memberships"]) == (5, 2)
    replay = Transcript(store, "/t/fork-again.jsonl", session="fork", records="session-one")
    replay.say("plan", "agreed")
    assert store.accounts.counts()["memberships"] == 2
    assert session_texts(store, "fork") == ["plan", "agreed", "another way", "done"]


def test_a_session_keeps_its_order_whatever_the_clock_did(store: Store) -> None:
    """A clock that jumps back, stands still or is missing does not shuffle what was said."""
    transcript = Transcript(store)
    clock = [50_000, 90_000, 10_000, None, 10_000, 91_000, 20_000]
    for number, ts_ms in enumerate(clock):
        transcript.add(transcript.prompt(TEXTS[number], ts_ms=None if ts_ms is None else START_MS + ts_ms))
    assert session_texts(store, "session-one") == TEXTS[: len(clock)]
    [row] = store.sessions.named("session-one")
    assert [event.ts_ms for event in store.log.session(row)] == [t and START_MS + t for t in clock]


def test_two_files_of_one_session_are_told_in_time_order(store: Store) -> None:
    """A subagent's events stand where they happened, although its file is read later."""
    main, sub = Transcript(store), Transcript(store, "/t/agent.jsonl", records="agent")
    main.add(main.prompt("ask", ts_ms=START_MS), main.answer("done", ts_ms=START_MS + 9000))
    sub.add(sub.answer("look around", ts_ms=START_MS + 4000), sub.answer("found it", ts_ms=START_MS + 5000))
    assert session_texts(store, "session-one") == ["ask", "look around", "found it", "done"]


def test_every_byte_is_accounted_for(store: Store) -> None:
    """Bytes read are accepted, duplicate, ignored or quarantined, whatever comes."""
    chance = random.Random(3)
    for file in range(4):
        transcript = Transcript(store, f"/t/{file}.jsonl")
        for _ in range(10):
            part = chance.choice([
                lambda t=transcript: t.prompt(chance.choice(TEXTS), record_id=str(chance.randint(0, 9))),
                ignored, lambda: ignored(unknown=True), quarantined,
            ])  # fmt: skip
            transcript.add(*(part() for _ in range(chance.randint(0, 3))))
    rows = store.accounts.sources()
    assert len(rows) == 4
    for row in rows:
        assert row["offset"] == sum(row[name] for name in BYTE_COUNTERS) == row["records"] * RECORD_BYTES
        assert row["unknown"] <= row["ignored"]
    assert store.accounts.counts()["quarantine"] == sum(row["quarantined"] for row in rows)
    assert store.accounts.counts()["events"] == sum(row["accepted"] for row in rows)


def test_quarantined_records_say_where_and_why_but_not_what(store: Store) -> None:
    """Newest first, with reason, place and digest; reasons are counted."""
    transcript = Transcript(store)
    transcript.add(transcript.prompt("fine"), quarantined("not-json"), quarantined("oversize"), quarantined("not-json"))
    assert store.quarantine.reasons() == {"not-json": 2, "oversize": 1}
    newest = store.quarantine.newest(2)
    assert [(row["offset"], row["reason"]) for row in newest] == [(300, "not-json"), (200, "oversize")]
    assert set(newest[0]) == {"path", "generation", "offset", "size_bytes", "reason", "digest"}


def test_many_writers_lose_nothing_and_double_nothing(open_store: Callable[[], Store]) -> None:
    """Four writers at once, each with its own file and a copy of a shared one: every event once."""
    open_store()

    def write(number: int) -> int:
        store, accepted = open_store(), 0
        own = Transcript(store, f"/t/own{number}.jsonl", session=f"own{number}")
        shared = Transcript(store, f"/t/shared{number}.jsonl", session="shared")
        for step in range(15):
            accepted += own.add(own.prompt(f"own {step}"))[0]["accepted"]
            accepted += shared.add(shared.prompt(f"shared {step}"))[0]["accepted"]
        return accepted

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(write, range(4))) == 5 * 15
    store = open_store()
    assert store.accounts.counts()["events"] == 75
    assert session_texts(store, "shared") == [f"shared {step}" for step in range(15)]


def test_an_event_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    """With or without `ev-`, in either case of letters; what is no id finds nothing."""
    rows = Transcript(store).say(*TEXTS)
    for event in store.log.events(rows, with_text=True).values():
        for prefix in (event.id, event.id[:8], event.id.removeprefix("ev-"), event.id[3:].upper()):
            assert event.text in texts_of(store.log.find(prefix))
        assert texts_of(store.log.find(event.id)) == [event.text]
    for wrong in ("", "ev-", "ev-xyz", "xyz", event.id + "0", "%", "ev-%", "'", "\x00", "é"):
        assert store.log.find(wrong) == [], wrong
    assert len(store.log.find("ev-" + event.id[3], limit=1)) == 1


def test_a_session_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    """The exact one alone, else all that begin so; wildcards are letters."""
    for number, name in enumerate(("abc", "abcd", "abde", "x%y")):
        Transcript(store, f"/t/{number}.jsonl", session=name).say("hello")
    names = lambda prefix: [name for _, name, _ in store.sessions.find(prefix)]  # noqa: E731 - shorter read than told
    assert names("abc") == ["abc"]
    assert names("ab") == ["abc", "abcd", "abde"]
    assert names("abd") == ["abde"]
    assert names("x%") == ["x%y"]
    assert names("%") == names("_bc") == names("") == names("zz") == []
    assert [root for _, _, root in store.sessions.find("abd")] == ["/home/mara/quay"]


def test_a_folder_knows_its_project(store: Store) -> None:
    """A worktree belongs to its repository; a folder that moved on within the project stays in it."""
    transcript = Transcript(store, cwd="/home/mara/quay-fix")
    transcript.roots = {"/home/mara/quay-fix": ("/home/mara/quay", True), "/home/mara/dike": ("/home/mara/dike", True)}
    transcript.say("in a worktree")
    transcript.say("in a subfolder", cwd="/home/mara/quay/src")
    transcript.say("elsewhere", cwd="/home/mara/dike")
    assert [root for _, root in store.projects.roots()] == ["/home/mara/dike", "/home/mara/quay"]
    quay, dike = (store.projects.of_path(path) for path in ("/home/mara/quay", "/home/mara/dike"))
    assert store.projects.of_path("/home/mara/quay-fix") == quay != dike
    assert store.projects.of_path("/home/mara") is None
    [row] = store.sessions.named("session-one")
    assert [event.project.rsplit("/")[-1] for event in store.log.session(row)] == ["quay", "quay", "dike"]


def test_what_was_said_to_a_session_is_remembered(open_store: Callable[[], Store]) -> None:
    """Per session, also for the next process."""
    store = open_store()
    rows = Transcript(store).say(*TEXTS)
    store.injections.record("s1", "UserPromptSubmit", START_MS, [(rows[0], 0.5), (rows[1], 0.4)])
    store.injections.record("s1", "UserPromptSubmit", START_MS, [(rows[2], 0.5)])
    store.injections.record("s2", "UserPromptSubmit", START_MS, [])
    assert open_store().injections.events_known("s1") == set(rows[:3])
    assert store.injections.events_known("s2") == store.injections.events_known("") == set()
    assert store.accounts.counts()["injections"] == 3


def test_the_last_answers_of_an_exchange_are_found(store: Store) -> None:
    """Between a prompt and the next one, by the agent itself and not by its subagents, in their order."""
    transcript = Transcript(store)
    rows = list(
        transcript.add(
            transcript.prompt("first"), transcript.answer("a"), transcript.call("ls"),
            transcript.answer("sub", agent_id="x"),
            transcript.answer("b"), transcript.prompt("second"), transcript.answer("c"),
        )[1]
    )  # fmt: skip
    assert texts_of(store.log.answers(rows[0], 1)) == ["b"]
    assert texts_of(store.log.answers(rows[0], 9)) == ["a", "b"]
    assert texts_of(store.log.answers(rows[5], 9)) == ["c"]
    assert store.log.answers(10**9, 1) == []
    assert [(call.row, call.text) for call in store.log.answers(rows[0], 9, events.TOOL_CALL)] == [(rows[2], None)]


def test_calls_are_found_by_their_file_and_by_their_tool(store: Store) -> None:
    """A file by the end of its path, whole names only; a call without one by the name in its words; of one project."""
    transcript = Transcript(store)
    edit = {"kind": events.TOOL_CALL, "tool": "Edit", "tool_use_id": "t1"}
    transcript.add(
        transcript.prompt("mend src/cart.py"),
        transcript.event("", **edit, file="/home/mara/quay/src/cart.py", input={"file_path": "src/cart.py"}),
        transcript.event("ok", events.TOOL_RESULT, tool="Edit", tool_use_id="t1", file="src/cart.py"),
        transcript.event("", **edit, file="C:\\quay\\src\\cart.py", input={"file_path": "x"}),
        transcript.event("", **edit, file="/home/mara/quay/oldsrc/cart.py", input={"file_path": "y"}),
        transcript.call("sed -i s/a/b/ cart.py"), transcript.result("cart.py done"), transcript.call("ls"),
    )  # fmt: skip
    other = Transcript(store, "/t/other.jsonl", session="other", cwd="/home/mara/dike")
    other.add(other.call("rm cart.py"))
    quay = store.projects.of_path("/home/mara/quay")
    assert quay is not None
    found = store.log.calls_on(quay, "src/cart.py")
    assert [(event.kind, event.tool, event.order_ms - START_MS) for event in found] == [
        ("tool_call", "Edit", 2000), ("tool_result", "Edit", 3000), ("tool_call", "Edit", 4000),
        ("tool_call", "Bash", 6000),
    ]  # fmt: skip
    assert texts_of(found)[1] == "ok"
    shell = store.log.calls_of(quay, {"bash"}, START_MS + 6000, START_MS + 7000)
    assert [event.kind for event in shell] == ["tool_call", "tool_result"]
    assert store.log.calls_of(quay, {"bash"}, START_MS, START_MS + 5999) == []


def test_sessions_are_listed_by_when_something_happened_last(store: Store) -> None:
    """Not by when they were stored (an import reads the newest transcript first); only as many as are asked for."""
    for name, start in (("newest", 50_000), ("oldest", 1000), ("middle", 20_000)):
        talk = Transcript(store, f"/t/{name}.jsonl", session=name)
        talk.add(talk.prompt(f"{name}?", ts_ms=START_MS + start), talk.answer("yes", ts_ms=START_MS + start + 10))
    talk = Transcript(store, "/t/elsewhere.jsonl", session="elsewhere", cwd="/home/mara/dike")
    talk.add(talk.prompt("elsewhere?", ts_ms=START_MS + 30_000))
    quay = Scope.project(store.projects.of_path("/home/mara/quay"))
    assert [one.name for one in store.sessions.recent(quay, 9)] == ["newest", "middle", "oldest"]
    assert [one.name for one in store.sessions.recent(Scope.everything(), 2)] == ["newest", "elsewhere"]
    [first] = store.sessions.recent(quay, 1)
    assert (first.first_ms, first.last_ms, first.count) == (START_MS + 50_000, START_MS + 50_010, 2)
    late = Transcript(store, "/t/oldest.jsonl", session="oldest")
    late.add(late.answer("again", ts_ms=START_MS + 60_000, record_id="late"))
    assert store.sessions.recent(quay, 1)[0].name == "oldest"
    before = store.sessions.recent(quay, 9, before_ms=START_MS + 50_005)
    assert [one.name for one in before] == ["newest", "middle", "oldest"]
    assert [one.name for one in store.sessions.recent(quay, 9, before_ms=START_MS + 50_000)] == ["middle", "oldest"]
    [row], project = store.sessions.named("newest"), quay.project_id
    asked, ended = store.sessions.ends(row, project)
    assert ended is not None
    assert store.sessions.ends(row, project, START_MS + 50_005) == (asked, None)


def test_the_store_counts_what_it_holds(store: Store) -> None:
    """Rows, kinds, the newest time; an empty store counts zero; nothing is damaged."""
    assert (store.log.last_position(), store.accounts.last_ms(), store.accounts.kinds()) == (0, 0, {})
    assert not any(store.accounts.counts().values())
    transcript = Transcript(store)
    transcript.add(transcript.prompt("a"), transcript.answer("b"), transcript.prompt("c", ts_ms=None))
    assert store.log.last_position() == 3
    assert store.accounts.last_ms() == START_MS + 2000
    assert store.accounts.kinds() == {events.KINDS.index("user_prompt"): 2, events.KINDS.index("assistant_text"): 1}
    assert store.check_integrity() == []


def test_the_key_of_a_store_is_its_own_and_stays(open_store: Callable[[], Store]) -> None:
    """Made once, at least 128 bits, the same for every process; an unknown name is None."""
    key = open_store().meta("key")
    assert isinstance(key, bytes)
    assert len(set(key)) > 8
    assert open_store().meta("key") == key
    assert open_store().meta("no such thing") is None
