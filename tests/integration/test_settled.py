"""What was settled around what a question finds: told with prompts, shown with the first rows of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, Shell, write
from tests.integration.test_asking_the_past import CWD, told_of
from tests.processes import ask, run

from howcome.app import open_app
from howcome.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

ASKED = "why was the sluice gate so slow in winter, and what did we decide?"
FOUND = (
    "the sluice gate is too slow in winter, what would help?",
    "I measured the sluice gate: its motor and its chain take ninety seconds when the ice is thick.",
)
PROPOSED = (
    "Each end of the chain gets a motor of its own: one moves the left half of it and one the right, which takes forty"
    " seconds in all."
)


def write_talk(folder: Path, said: list[tuple[str, str]]) -> None:
    """A transcript of prompts and answers."""
    talk = Claude("gate", cwd=CWD)
    write(folder / "t" / "gate.jsonl", *(line for text, reply in said for line in (talk.user(text), talk.text(reply))))


@pytest.mark.parametrize("place", range(4))
def test_of_sentences_that_say_as_much_those_from_the_middle_come_first(tmp_path: Path, place: int) -> None:
    """How a turn begins and ends says less: of four sentences two have room."""
    words = ("The yard sent a letter", "The letter lies in the canteen", "The canteen has a new cook")
    said = [f"{text} {'who is long and friendly, ' * 5}and so on."[: len(PROPOSED) - 1] + "." for text in words]
    said.insert(place, PROPOSED)
    write_talk(tmp_path, [FOUND, ("what would the people from the yard do about it?", " ".join(said)), ("ok", "Done.")])
    assert (PROPOSED in told_of(tmp_path, ASKED)) == (place in {1, 2})


def test_a_short_sentence_stands_with_the_one_next_to_it(tmp_path: Path) -> None:
    """It may be the decision, and the other one its reason."""
    rule = "Two motors, always."
    reason = "With one of them the whole gate stands still when a chain breaks, and nobody can reach it in winter."
    write_talk(tmp_path, [FOUND, (f"I read all of it now. {rule} {reason} And tell the yard.", "Done.")])
    assert f"{rule} {reason}" in " ".join(told_of(tmp_path, ASKED))


def test_no_line_joins_what_stands_apart(tmp_path: Path) -> None:
    """A heading, code or another item of a list between two sentences may turn them round; nor does a question join."""
    rule = "Two motors, always."
    reason = "With one of them the whole gate stands still when a chain breaks, and nobody can reach it in winter."
    for name, between in (("code", "```\none motor\n```"), ("heading", "## Rejected"), ("items", "- first:\n- ")):
        write_talk(
            tmp_path / name, [FOUND, ("what now?", f"I read it.\n\n{rule}\n{between}\n{reason}"), ("ok", "Done.")]
        )
        told = told_of(tmp_path / name, ASKED)
        assert any(reason in line for line in told)
        assert not any(rule in line and reason in line for line in told)
    write_talk(tmp_path / "asks", [FOUND, (f"I read all of it now. {reason} Why not two?", "Done.")])
    assert not any("Why not two" in line for line in told_of(tmp_path / "asks", ASKED))


def test_what_was_told_is_not_told_again_beside_a_sentence(tmp_path: Path) -> None:
    """Not in the line of what stands next to it."""
    short = "The sluice gate is slow because its chain is frozen in winter."
    write_talk(tmp_path, [(FOUND[0], f"{short} So the yard pays for a heater of nine euros a night, and for a cook.")])
    told = told_of(tmp_path, ASKED)
    assert sum(short in line for line in told) == 1
    assert len(told) == 2


def test_a_later_session_that_says_as_much_has_a_line(tmp_path: Path) -> None:
    """It may have changed what the other one settled."""
    first, then = Claude("first", cwd=CWD), Claude("then", cwd=CWD, start=90_000)
    said = (
        "The sluice gate in winter gets a motor of its own for each end of its chain, which takes forty seconds in all."
    )
    more = "Each motor has a fuse and a cable in the cabinet next to the lock, as Ole wanted it when he looked at them."
    changed = (
        "The sluice gate in winter is opened by hand now, because both of its motors froze in the first cold night."
    )
    lines = (
        first.user(FOUND[0]),
        first.text(f"I looked at all of it. {said} {more} {more.replace('Ole', 'Ida')} Done."),
    )
    write(tmp_path / "t" / "first.jsonl", *lines)
    write(tmp_path / "t" / "then.jsonl", then.user("is the sluice gate open this winter?"), then.text(changed))
    assert changed in told_of(tmp_path, "what did we decide about the motor of the sluice gate in winter?")


def test_what_was_said_later_is_not_known_yet(tmp_path: Path) -> None:
    """Who looks back at a moment is told as then: a later "no" is not known."""
    write_talk(tmp_path, [FOUND, ("any way around the ice?", PROPOSED), ("no, that is wrong", "I took it out again.")])
    assert PROPOSED not in told_of(tmp_path, ASKED)
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as app:
        refused_ms = max(event.order_ms for event in app.events.session(1) if event.excerpt == "no, that is wrong")
        found = app.search.recall(ASKED, cwd=CWD, session="new", recent=str, then_ms=refused_ms)
        assert PROPOSED in [text for one in found for _, text in one.passages]


@pytest.mark.parametrize("answer", ["no, that is wrong", "undo that", "forget it, too expensive", "non"])
def test_what_the_user_turned_down_is_not_told(tmp_path: Path, answer: str) -> None:
    """However little else there is; what they said instead is."""
    write_talk(tmp_path, [FOUND, ("any way around the ice?", PROPOSED), (answer, "I took it out again.")])
    assert PROPOSED not in told_of(tmp_path, ASKED)


@pytest.mark.parametrize(
    "answer",
    ["no problem, go on", "No tests for this one, go on", "Don't forget the changelog", "Wait for CI, then merge it"],
)
def test_a_no_that_agrees_turns_nothing_down(tmp_path: Path, answer: str) -> None:
    """As in "no problem", or what is said of something else."""
    write_talk(tmp_path, [FOUND, ("any way around the ice?", PROPOSED), (answer, "Done.")])
    assert PROPOSED in told_of(tmp_path, ASKED)


@pytest.mark.parametrize("where", ["with the question", "after it"])
def test_a_paste_settles_nothing(tmp_path: Path, where: str) -> None:
    """Its sentences are long, and are nobody's words."""
    chapter = "Chapter {} of the booklet of the chain says that it is oiled at each end of the season by two people."
    paste = "\n\n".join(chapter.format(number) for number in range(40))
    pasted = (f"{FOUND[0]}\n\n{paste}", FOUND[1]) if where == "with the question" else (paste, "I read it.")
    write_talk(tmp_path, [FOUND, ("any way around the ice?", PROPOSED), pasted])
    told = told_of(tmp_path, ASKED)
    assert PROPOSED in told
    assert not any("Chapter" in line for line in told)


def test_small_words_make_nothing_of_the_same_subject(tmp_path: Path) -> None:
    """In any language; what is about the same is told."""
    write_talk(tmp_path, [
        ("warum ist die Schleuse im Winter langsam?",
         "Die Schleuse ist im Winter langsam, weil der Motor und die Kette in der Nacht frieren."),
        ("und die Rechnung?",
         "Die Rechnung der Kantine ist bezahlt, und sie liegt in der Mappe, die im Büro bei den anderen steht."),
        ("und der Motor?",
         "Der Motor bekommt ab November eine Heizung, weil die Kette nach jeder kalten Nacht lange festsitzt."),
    ])  # fmt: skip
    told = told_of(tmp_path, "warum war die Schleuse im Winter so langsam, was haben wir beschlossen?")
    assert any("Heizung" in line for line in told)
    assert not any("Rechnung" in line for line in told)


@pytest.mark.usefixtures("store_folder")
def test_the_first_rows_of_a_search_show_what_was_settled_around_them(tmp_path: Path) -> None:
    """Before or after it, with who said it; not where a search is narrowed to a kind."""
    write_talk(tmp_path, [FOUND, ("any way around the ice?", PROPOSED), ("ok do that", "Done.")])
    ask("import", tmp_path / "t" / "gate.jsonl")
    question = ("search", "--all-projects", "how slow is the sluice gate")
    first = ask(*question)["results"][0]
    assert [(one["excerpt"], one["is_later"]) for one in first["around"]] == [(PROPOSED, True)]
    assert f"    then, agent: {PROPOSED}" in run(*question).stdout.splitlines()
    assert all(row["around"] == [] for row in ask(*question, "--type", "user_prompt")["results"])


@pytest.mark.usefixtures("store_folder")
def test_a_search_may_begin_between_a_prompt_and_its_answer(tmp_path: Path) -> None:
    """Then the answer is found, and what was said before is not shown."""
    write_talk(
        tmp_path,
        [("what would help?", PROPOSED), FOUND, ("any way around the ice?", "A heater takes nine euros a night.")],
    )
    ask("import", tmp_path / "t" / "gate.jsonl")
    answered = ask("search", "--all-projects", "how slow is the sluice gate")["results"][0]["ts"]
    first = ask("search", "--all-projects", "ninety seconds thick ice", "--since", answered)["results"][0]
    assert FOUND[1] in first["excerpt"]
    assert PROPOSED not in [one["excerpt"] for one in first["around"]]


@pytest.mark.usefixtures("store_folder")
def test_what_somebody_called_wrong_is_not_shown_around_a_row(tmp_path: Path) -> None:
    """Nor is any of its exchange."""
    wish = "We take a motor for each end of the chain, because one of them alone needs ninety seconds in the ice."
    write_talk(tmp_path, [FOUND, (wish, "Noted."), ("now the page of the dog", "It has a picture.")])
    ask("import", tmp_path / "t" / "gate.jsonl")
    assert run("distil").returncode == 0
    question = ("search", "--all-projects", "how slow is the sluice gate")
    assert wish in [one["excerpt"] for one in ask(*question)["results"][0]["around"]]
    (memory,) = ask("memories", "--all-projects")["memories"]
    assert run("forget", "--wrong", memory["id"]).returncode == 0
    assert wish not in [one["excerpt"] for row in ask(*question)["results"] for one in row["around"]]


@pytest.mark.usefixtures("store_folder")
def test_nothing_is_settled_around_what_a_tool_printed(tmp_path: Path) -> None:
    """Who looks for an error wants the error."""
    shell = Shell("gate", cwd=CWD)
    failed = shell.ran("gate open --slow", "Exit code 3\nGateStuckError: the chain is frozen at link 41")
    talk = [
        shell.user(FOUND[0]),
        *failed,
        shell.text("It is stuck."),
        shell.user("any way around?"),
        shell.text(PROPOSED),
    ]
    ask("import", write(tmp_path / "gate.jsonl", *talk))
    first = ask("search", "--all-projects", "GateStuckError frozen link 41")["results"][0]
    assert (first["type"], first["around"]) == ("tool_result", [])
