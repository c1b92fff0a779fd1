"""Blinded sheets and grades, on two invented sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.hashing import Synonyms
from tests.labelled import rows

from howcome.domain import events
from howcome.domain.stored import StoredEvent
from howcome.errors import UsageError
from howcome.evaluate.note_report import NoteReport
from howcome.evaluate.note_run import Distilled, alike, said_in
from howcome.evaluate.note_sheets import BAG, FOREIGN, MEMORY, VERBATIM, graded, read_grades, row_id, write_sheets
from howcome.evaluate.notes import Kept, Note, verbatim

SPEAKERS = {"user": events.USER_PROMPT, "assistant": events.ASSISTANT_TEXT, "tool": events.TOOL_CALL}


def event(row: int, session: str, origin: str, text: str) -> StoredEvent:
    """An event as a store gives it back."""
    values: dict[str, object] = dict.fromkeys(StoredEvent.__slots__)
    kind = events.STORED_KINDS.index(SPEAKERS[origin])
    values |= {"row": row, "key": bytes([row]) * 16, "kind": kind, "origin": events.ORIGINS.index(origin)}
    values |= {"session": session, "ts_ms": row * 60_000, "order_ms": row, "excerpt": text}
    return StoredEvent(values, text)


def project(name: str, *memories: str) -> Distilled:
    """A project with a read session, in which the same turn of the agent is cited by each memory."""
    session = f"{name}-session"
    said = [
        ("user", f"Let us talk about the {name} now, please."), ("assistant", f"{name} {name} is a buoy."),
        ("assistant", "Far from all."),
        ("user", "go on"), ("assistant", f"The {name} floats, as the {name} is hollow."),
        ("assistant", "Nothing else."), ("user", "thanks"), ("assistant", "Bye."),
    ]  # fmt: skip
    told = [event(row, session, origin, text) for row, (origin, text) in enumerate(said, 1)]
    kept = [Kept(f"{name}{at}", text, (said[4][1],), frozenset([session])) for at, text in enumerate(memories)]
    kept.append(Kept(f"{name}-unread", f"The {name} is painted.", (), frozenset(["unread"])))
    prompts = verbatim((one.id, session, one.text or "") for one in told if one.kind == events.USER_PROMPT)
    notes = [Note(session, ("floats, as the",), f"{name} hollow")]
    return Distilled(name, notes, [], kept, prompts, set(), {session: told}, {})


@pytest.fixture
def sets() -> list[Distilled]:
    """Two of them; one project's memory is said twice."""
    return [project("red", "The red floats, being hollow", "Red is nice"), project("blue", "The blue is hollow", "Bye")]


def parts(folder: Path, reader: str) -> list[list[dict[str, str]]]:
    """The rows of a reader's parts."""
    return [
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(folder.glob(f"*.{reader}-*.jsonl"))
    ]


def test_the_first_reader_sees_single_texts_and_nothing_of_what_they_are(sets: list[Distilled], tmp_path: Path) -> None:
    """Memories, prompts of six words, bags and other projects' memories, in parts, in the same order each time."""
    written = write_sheets(tmp_path / "one", sets, chunk=4)
    assert [path.name for path in written if "first" in path.name and path.suffix == ".md"] == [
        "one.first-01.md", "one.first-02.md", "one.first-03.md",
    ]  # fmt: skip
    seen = [row for part in parts(tmp_path, "first") for row in part]
    key = {row["id"]: row for row in json.loads((tmp_path / "one.key.json").read_text(encoding="utf-8"))}
    assert all(set(row) == {"id", "text"} for row in seen)
    assert len(seen) == len(key) == 10  # two memories, a prompt, a bag, a stranger, each twice
    assert [row["what"] for row in key.values()].count(FOREIGN) == 2
    assert {row["text"] for row in key.values() if row["what"] == VERBATIM} == {
        "Let us talk about the red now, please.", "Let us talk about the blue now, please.",
    }  # fmt: skip
    assert {row["text"] for row in key.values() if row["what"] == FOREIGN} == {
        "The red is painted.",
        "The blue is painted.",
    }
    assert {row["text"] for row in key.values() if row["what"] == BAG} == {"red", "blue"}
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write_sheets(tmp_path / "one", sets, chunk=4)] == before
    text = (tmp_path / "one.first-01.md").read_text(encoding="utf-8")
    assert all(f"## {row['id']}\n\n> {row['text']}" in text for row in parts(tmp_path, "first")[0])
    assert "`alone`" in text
    assert "`right`" not in text


def test_the_second_reader_sees_sessions_with_what_was_said_around(sets: list[Distilled], tmp_path: Path) -> None:
    """What the user said, what is cited with a turn before and after it, and the end; no bags; sessions stay whole."""
    write_sheets(tmp_path / "one", sets, chunk=3)
    first, second = parts(tmp_path, "second")
    assert [set(row) for row in first] == [{"session", "said"}, *({"id", "text"},) * 4]
    assert {first[0]["session"], second[0]["session"]} == {"red-session", "blue-session"}
    said = first[0]["said"]
    assert [line.split(": ")[1] for line in said.split("\n\n")] == [
        "Let us talk about the blue now, please.", "blue blue is a buoy.", "go on",
        "The blue floats, as the blue is hollow.", "Nothing else.",
        "thanks", "Bye.",
    ]  # fmt: skip
    assert said.startswith("[1970-01-01 00:01] user: ")
    assert "`right`" in (tmp_path / "one.second-02.md").read_text(encoding="utf-8")


def test_only_what_passes_both_readers_counts(sets: list[Distilled]) -> None:
    """Understandable alone, useful and right; what has no grade does not, and is said."""
    red, blue = (
        row_id(name, MEMORY, text) for name, text in (("red", "The red floats, being hollow"), ("blue", "Bye"))
    )
    bag = {row_id("red", BAG, "red"): {"alone": False, "useful": False}}
    yes = {"alone": True, "useful": True, "right": True}
    found = graded(sets, {red: yes, blue: {**yes, "right": False}, "elsewhere": yes, **bag})
    assert (set(found.memories["red"].passed), set(found.memories["red"].wrong)) == ({"red0"}, set())
    assert (set(found.memories["blue"].passed), set(found.memories["blue"].wrong)) == (set(), {"blue1"})
    assert (found.missing, found.unknown, found.void) == (2, 1, "")


@pytest.mark.parametrize(
    ("grades", "void"),
    [
        ({row_id("red", BAG, "red"): {"alone": True, "useful": True}}, "1 of 1 keyword bags passed the first reader"),
        ({row_id("red", BAG, "red"): {"alone": True, "useful": False}}, ""),
        ({}, "no keyword bag was graded"),
        (
            {
                row_id("red", BAG, "red"): {"alone": False},
                row_id("red", FOREIGN, "The blue is painted."): {"alone": True, "useful": True, "right": True},
            },
            "1 of 1 memories of other projects passed the second reader",
        ),
    ],
)
def test_readers_who_let_decoys_pass_have_not_read(
    sets: list[Distilled], grades: dict[str, dict[str, bool]], void: str
) -> None:
    """More than a tenth of the bags, or of the other projects' memories: the grades are void."""
    found = graded(sets, grades)
    assert found.void == void
    assert NoteReport({}, found).void == void


def test_grades_of_two_readers_are_put_together(tmp_path: Path) -> None:
    """By the row's id, in any of the usual words; what is neither yes nor no is refused."""
    rows(tmp_path / "a.jsonl", {"id": "x", "alone": True, "useful": "no"}, {"id": "y", "alone": "Yes", "right": None})
    rows(tmp_path / "b.jsonl", {"id": "x", "right": 1})
    found = read_grades([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found == {"x": {"alone": True, "useful": False, "right": True}, "y": {"alone": True}}
    rows(tmp_path / "b.jsonl", {"id": "x", "right": "perhaps"})
    with pytest.raises(UsageError, match="right is 'perhaps'"):
        read_grades([tmp_path / "b.jsonl"])


def test_a_call_is_quoted_as_a_reader_sees_it() -> None:
    """Its input is kept as JSON; quotes are of what that means."""
    call = event(1, "s", "tool", json.dumps({"command": 'echo "a"\nb', "more": [{"text": "c"}]}))
    assert said_in(call).endswith('\necho "a"\nb\nc')
    assert said_in(event(1, "s", "tool", "no JSON")) == "no JSON"


def test_an_embedder_tells_what_says_the_same() -> None:
    """Pairs of places, the earlier one first; nobody is asked where there is none."""
    texts = ["thread safety here", "another thing", "race condition here"]
    assert alike(Synonyms(), texts) == {(0, 2)}
    assert alike(None, texts) == alike(Synonyms(), []) == set()
