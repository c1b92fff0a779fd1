"""`howcome eval --questions`: whether the rows of a search show the answer, and nothing for nonsense."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write
from tests.labelled import rows
from tests.processes import run

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = "The zebra counter loses ticks because its buffer holds only eight of them."


@pytest.mark.usefixtures("store_folder")
def test_answers_are_looked_for_in_what_is_shown(tmp_path: Path) -> None:
    """A quote that a row shows, one that only its exchange holds, one that is nowhere; a question without an answer."""
    folder = tmp_path / "one"
    talk = Claude(session="zebra")
    write(
        folder / "transcripts" / "zebra.jsonl", talk.user("why does the zebra counter lose ticks?"), talk.text(ANSWER),
        talk.text("| port | baud |\n|---|---|\n| seven | fast |"), talk.user("paint the fence"), talk.text("Done."),
    )  # fmt: skip
    asked = tmp_path / "asked.jsonl"
    question = {"question": "why does the zebra counter lose ticks?", "session": "zebra"}
    rows(
        asked, {**question, "quotes": [ANSWER]}, {**question, "quotes": ["| seven | fast |"]},
        {**question, "quotes": ["nobody said that"]}, {"question": "who plays the cello in the opera", "quotes": []},
    )  # fmt: skip
    done = run("eval", folder, "--questions", asked, "--json")
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    assert answers["nonsense"] == {
        "nothing_found": {"share": 1.0, "of": 1}, "nothing_near": {"share": 1.0, "of": 1},
        "session_told": {"share": 0.0, "of": 1}
    }  # fmt: skip
    assert answers["asked"]["sure"] == {"share": 1.0, "of": 3}
    assert answers["asked"]["session_told"] == {"share": 1.0, "of": 3}
    assert answers["asked"]["block_answers"] == answers["asked"]["block_says_half"] == {"share": 0.3333, "of": 3}
    assert answers["asked"]["answer_in_first_row"] == {"share": 0.3333, "of": 3}
    assert answers["asked"]["first_row_right"] == {"share": 0.6667, "of": 3}
    assert run("eval", folder, folder, "--questions", asked).returncode == 2
