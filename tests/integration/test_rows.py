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


def test_a_slip_in_a_short_question_finds_what_was_meant() -> None:
    """It is no foreign word."""
    assert search("uplaods")
