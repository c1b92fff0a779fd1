"""What a search shows: one row an exchange, phrases as they stand, nothing where nothing answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write
from tests.processes import ask, run

if TYPE_CHECKING:
    from pathlib import Path

WHY = "Uploads are retried three times because the proxy drops idle connections."


@pytest.fixture(autouse=True)
def talk(store_folder: Path, tmp_path: Path) -> None:
    """Two exchanges: one answers, the other shares its words."""
    assert store_folder
    claude = Claude("talk")
    ask("import", write(
        tmp_path / "talk.jsonl",
        claude.user("why do uploads retry?"),
        claude.text("Let me look at how the uploads retry first."),
        claude.text(f"I read the client. {WHY} The tests pass."),
        claude.user("raise the limit of the queue, and retry it"),
        claude.text("The limit of the queue is raised to forty messages."),
    ))  # fmt: skip


def search(text: str) -> list[dict[str, object]]:
    """The rows for a question."""
    found: list[dict[str, object]] = ask("search", "--all-projects", text)["results"]
    return found


def test_an_exchange_is_one_row_that_begins_with_its_answer() -> None:
    """The prompt beside it; narration comes last."""
    first, *others = search("why are uploads retried")
    assert str(first["excerpt"]).startswith(WHY)
    assert str(first["excerpt"]).rpartition(" … ")[2].startswith("Let me look")
    assert first["prompt"] == "why do uploads retry?"
    assert all(row["prompt"] != first["prompt"] for row in others)
    shown = run("search", "--all-projects", "why are uploads retried").stdout.splitlines()
    assert shown[0].startswith(WHY)
    assert f"    asked: {first['prompt']}" in shown


def test_a_quoted_phrase_stands_there_as_it_is() -> None:
    """Both exchanges have the words; one has the phrase, and none another order of it."""
    assert len(search("limit queue retry")) >= 1
    [only] = search('"limit of the queue"')
    assert "forty" in str(only["excerpt"])
    assert search('"queue of the limit"') == []


def test_a_question_that_nothing_answers_finds_nothing() -> None:
    """Although one of its words was said."""
    assert search("which proxy sells cello strings near the museum") == []
    assert run("search", "--all-projects", "which proxy sells cello strings near the museum").stdout.startswith(
        "Nothing"
    )


def test_what_is_near_is_shown_as_such() -> None:
    """Half of the question's words were said: it may be meant, and is no answer for a program."""
    question = "which engineer measured the idle connections of that balancer in the Lisbon office"
    found = ask("search", "--all-projects", question)
    assert found["results"] == []
    assert [str(row["excerpt"]).startswith(WHY) for row in found["nearest"]] == [True]
    shown = run("search", "--all-projects", question).stdout
    assert shown.startswith(WHY)
    assert " near " in shown
    assert "Nothing surely answers that" in shown
    assert "leave out --since" in run("search", "--all-projects", "--since", "1y", question).stdout
    few = ask("search", "--all-projects", "--limit", "1", question)
    assert (few["results"], len(few["nearest"])) == ([], 1)


def test_a_slip_in_a_short_question_finds_what_was_meant() -> None:
    """It is no foreign word."""
    assert search("uplaods")


def test_the_first_rows_show_more_than_the_others(tmp_path: Path) -> None:
    """Who looks reads those; of the others a glance is enough."""
    claude = Claude("pumps")
    said = [
        f"Pump {number} of bay {bay} leaks where its gasket was cut too short."
        for bay in range(5)
        for number in range(9)
    ]
    talk = [(claude.user(f"look at bay {bay}"), claude.text(" ".join(said[9 * bay : 9 * bay + 9]))) for bay in range(5)]
    ask("import", write(tmp_path / "pumps.jsonl", *(line for pair in talk for line in pair)))
    lengths = [len(str(row["excerpt"])) for row in search("which pump leaks at its gasket?")]
    assert len(lengths) == 5
    assert all(320 < length <= 640 for length in lengths[:3])
    assert all(length <= 320 for length in lengths[3:])


def test_what_taught_a_memory_that_answers_counts_more(tmp_path: Path) -> None:
    """Its row says how much, and names the memory."""
    claude = Claude("money")
    ask("import", write(
        tmp_path / "money.jsonl",
        claude.user("add the tax"),
        claude.text("The tax is added to the amounts of money."),
        claude.user("print the bill"),
        claude.text("The bill is printed."),
        claude.user("no, never keep amounts of money as floats in this project, always keep whole cents"),
        claude.text("The amounts of money are whole cents now."),
    ))  # fmt: skip
    ask("distil")
    rows = ask("search", "--all-projects", "--explain", "how do we keep amounts of money")["results"]
    [taught] = [row for row in rows if row.get("memories")]
    assert taught["explain"]["adjustments"]["memory"] > 1
    assert [row for row in rows if "tax" in row["excerpt"] and "memory" not in row["explain"]["adjustments"]]


def test_a_row_goes_on_in_the_order_of_what_was_said_and_says_who_said_it(tmp_path: Path) -> None:
    """The best sentence first; sentences that follow each other are not parted."""
    claude = Claude("kiln")
    ask("import", write(
        tmp_path / "kiln.jsonl",
        claude.user("The kiln sensor reports zero degrees. Does the kiln read it too early?"),
        claude.text("The kiln sensor needs a second before it reads. A kiln that is cold reads zero. I read it."),
    ))  # fmt: skip
    [row] = search("kiln sensor needs a second")
    assert row["origin"] == "assistant"
    assert row["excerpt"] == (
        "The kiln sensor needs a second before it reads. … user: The kiln sensor reports zero degrees. "
        "… agent: A kiln that is cold reads zero."
    )
