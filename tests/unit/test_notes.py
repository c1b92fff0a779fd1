"""Memories against readers' notes, on sets small enough to count by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.evaluate.notes import (
    Graded,
    Kept,
    Note,
    Share,
    catches,
    duplicates,
    matching,
    measure,
    says_trap,
    verbatim,
)

PROMPT = "Never retry  the upload by hand:\nthe queue does it, with a backoff of two minutes."
QUOTE = "Never retry the upload by hand"


def kept(text: str, *cited: str, session: str = "s1", name: str = "", source: str = "user") -> Kept:
    """A memory; its id is its text where nothing else is said."""
    return Kept(name or text, text, cited, frozenset([session]), source)


def note(*quotes: str, topic: str = "", session: str = "s1", value: int = 1, speaker: str = "user") -> Note:
    """A note."""
    return Note(session, quotes, topic, "preference", speaker, value)


@pytest.mark.parametrize(
    ("text", "cited", "is_caught"),
    [
        ("Uploads are never retried by hand", PROMPT, True),  # stems, and blanks that differ
        ("Uploads are slow", PROMPT, False),  # one stem of four: never, retri, upload, hand
        ("retry uploads", PROMPT, True),  # two of four are half
        ("Uploads are never retried by hand", "Somebody else said something", False),  # cites nothing that holds it
        ("backoff policy of the queue", PROMPT, True),  # by the topic: policy, backoff, queue
        ("backoff", PROMPT, False),
    ],
)
def test_a_memory_catches_a_note_by_what_it_cites_and_says(text: str, cited: str, *, is_caught: bool) -> None:
    """It cites an event that holds a quote, and has half of the stems of that quote or of the topic."""
    assert catches(kept(text, cited), note(QUOTE, topic="queue backoff policy")) is is_caught


def test_the_words_have_to_be_those_of_the_quote_that_is_cited() -> None:
    """Another quote of the same note counts only for who cites it, too."""
    both = note("the nightly job is green", QUOTE)
    assert not catches(kept("the nightly job is green", PROMPT), both)
    assert catches(kept("the nightly job is green", PROMPT, "Look: the nightly job is green."), both)


def test_a_quote_without_stems_is_caught_by_its_topic_only() -> None:
    """Stop words say nothing."""
    assert not catches(kept("do not", "do not do it"), note("do not"))
    assert catches(kept("amend commits", "do not do it"), note("do not", topic="amending a commit"))


def test_a_memory_catches_one_note() -> None:
    """Two notes of one prompt need two memories; the more valuable one is caught."""
    cheap, dear = note(QUOTE, value=1), note("with a backoff of two minutes", value=3)
    whole = kept("Never retry the upload by hand, with a backoff of two minutes", PROMPT)
    one = measure([whole], [cheap, dear], [])
    assert one.caught == {1: whole.id}
    assert (one.coverage["all"], one.coverage["value 3"]) == (Share(1, 2), Share(1, 1))
    two = measure([whole, kept("backoff two minutes", PROMPT)], [cheap, dear], [])
    assert two.caught == {0: whole.id, 1: "backoff two minutes"}  # the first gives way to the other


def test_notes_are_matched_for_the_greatest_value() -> None:
    """By augmenting paths: as many as can be, the dear ones first."""
    assert matching([[0], [0, 1], [1]], [1, 3, 2]) == {1: 0, 2: 1}
    assert matching([[0], [0, 1], [1, 2]], [1, 3, 2]) == {0: 0, 1: 1, 2: 2}
    assert matching([[], [0]], [3, 1]) == {1: 0}


@given(st.lists(st.lists(st.integers(0, 4), max_size=3, unique=True), max_size=6), st.data())
def test_no_other_matching_is_worth_more(edges: list[list[int]], data: st.DataObject) -> None:
    """Compared with every possible one."""
    values = data.draw(st.lists(st.integers(1, 3), min_size=len(edges), max_size=len(edges)))

    def best(note_at: int, used: frozenset[int]) -> int:
        if note_at == len(edges):
            return 0
        taken = [values[note_at] + best(note_at + 1, used | {one}) for one in edges[note_at] if one not in used]
        return max([best(note_at + 1, used), *taken])

    found = matching(edges, values)
    assert len(set(found.values())) == len(found)
    assert all(memory in edges[at] for at, memory in found.items())
    assert sum(values[at] for at in found) == best(0, frozenset())


def test_coverage_is_told_by_kind_speaker_and_value() -> None:
    """And of the user's words with value 3."""
    notes = [note(QUOTE, value=3), note("said by the agent", speaker="agent", value=3), note("said also", value=2)]
    found = measure([kept("never retry uploads", PROMPT)], notes, []).coverage
    assert found["all"] == Share(1, 3)
    assert (found["speaker user"], found["speaker agent"]) == (Share(1, 2), Share(0, 1))
    assert (found["value 2"], found["value 3"], found["speaker user, value 3"]) == (
        Share(0, 1),
        Share(1, 2),
        Share(1, 1),
    )
    assert found["kind preference"] == Share(1, 3)


def test_only_memories_of_read_sessions_are_counted() -> None:
    """Those of others are measured by nothing, and what is said again of them is."""
    memories = [
        kept("the mast is steel", session="unread"),
        kept("never retry uploads", PROMPT),
        kept("the mast is steel", name="again", source="tool"),
    ]
    notes = [note(QUOTE), note("never said", session="s2")]
    found = measure(memories, notes, ["the mast is of steel"])
    assert found.noteworthiness == {"all": Share(1, 2), "user": Share(1, 1), "tool": Share(0, 1)}
    assert found.traps == {"all": Share(1, 2), "user": Share(0, 1), "tool": Share(1, 1)}
    assert found.duplicates["all"] == Share(1, 2)
    assert found.memories_per_session == 1.0  # two memories, two sessions that were read
    assert found.sources == {"tool": 0, "user": 1}


def test_a_note_that_is_caught_already_is_noteworthy_all_the_same() -> None:
    """What says it again is a duplicate, not beside the point; it covers nothing more."""
    found = measure([kept("never retry uploads", PROMPT), kept("retry no upload by hand", PROMPT)], [note(QUOTE)], [])
    assert found.coverage["all"] == Share(1, 1)
    assert found.noteworthiness["all"] == Share(2, 2)


@pytest.mark.parametrize(
    ("text", "is_trap"),
    [("All 1187 tests pass on ferry", True), ("1187 tests pass", False), ("ferry tests pass, all 1187 of them", True)],
)
def test_a_trap_is_told_by_most_of_its_words(text: str, *, is_trap: bool) -> None:
    """Seven tenths of the stems of its quote, whatever is cited; three of these five are not enough."""
    assert says_trap(kept(text), ["All 1187 tests of the ferry pass now, Ida"]) is is_trap


def test_duplicates_are_the_later_ones() -> None:
    """The same words, nearly the same stems, or the same by meaning; the first of them is none."""
    texts = [
        "Masts are steel, painted in white twice a year",
        "masts  are STEEL, painted in white twice a year",
        "Ropes",
    ]
    assert duplicates(texts, range(3)) == {1}
    assert duplicates([*texts, "A mast is steel, painted white twice each year"], range(4)) == {1, 3}
    assert duplicates(texts, [0, 2]) == set()
    assert duplicates(texts, range(3), alike=[(0, 2)]) == {1, 2}


def test_the_baseline_keeps_prompts_of_six_words() -> None:
    """Each whole, citing itself; shorter ones are none."""
    found = verbatim([("a", "s1", "fix it now, please"), ("b", "s1", PROMPT)])
    assert [(one.id, one.text, one.cited, one.sessions) for one in found] == [
        ("b", PROMPT, (PROMPT,), frozenset(["s1"]))
    ]
    assert measure(found, [note(QUOTE)], []).coverage["all"] == Share(1, 1)


def test_what_readers_did_not_pass_catches_nothing() -> None:
    """And a trap is what the second of them calls wrong."""
    memories = [kept("never retry uploads", PROMPT), kept("retry no upload", PROMPT)]
    traps = ["never retry uploads"]
    found = measure(memories, [note(QUOTE)], traps, graded=Graded({"retry no upload"}, {"retry no upload"}))
    assert found.caught == {0: "retry no upload"}
    assert found.noteworthiness["all"] == Share(1, 2)
    assert found.traps["all"] == Share(1, 2)


def test_shares_have_intervals() -> None:
    """Wilson's, by hand for 8 of 10; nothing of nothing is 0."""
    assert Share(8, 10).interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert Share(0, 0).interval == (0.0, 0.0)
    assert Share(0, 20).interval[0] == pytest.approx(0.0)
