"""The last words of a running transcript: found behind whatever the client keeps between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.builders import Claude, Record, write

from howcome.clients.tail import MAX_TAIL_BYTES, recent_text


def snapshot(size: int) -> Record:
    """What the client keeps of its own request: a message like a turn's, which nobody said now."""
    return {"type": "api-request-blob", "message": {"role": "user", "content": "x" * size}}


@pytest.mark.parametrize("snapshots", [0, 1, 5])
def test_what_was_touched_is_found_behind_the_snapshots_of_the_client(tmp_path: Path, snapshots: int) -> None:
    """A snapshot of 60 KB follows each call: five calls later the file that was opened is still known."""
    talk = Claude()
    records = [talk.call("Read", "toolu_1", file_path="/harbour/gauge_window.py")]
    for number in range(snapshots):
        records += [snapshot(60_000), talk.text(f"answer {number}")]
    said = recent_text(str(write(tmp_path / "running.jsonl", *records))).splitlines()
    assert said == ["/harbour/gauge_window.py", *(f"answer {number}" for number in range(snapshots))]


def test_the_last_words_come_once_and_in_their_order(tmp_path: Path) -> None:
    """Where the first look is too short a second one begins anew."""
    talk = Claude()
    records = [talk.text(f"turn {number}") for number in range(40)]
    records[30:30] = [snapshot(100_000)]
    said = recent_text(str(write(tmp_path / "running.jsonl", *records))).splitlines()
    assert said == [f"turn {number}" for number in range(20, 40)]


def test_no_more_than_a_megabyte_is_looked_at(tmp_path: Path) -> None:
    """A hook has no time to look for words behind everything."""
    talk = Claude()
    path = write(tmp_path / "running.jsonl", talk.text("too far"), snapshot(MAX_TAIL_BYTES), talk.text("near"))
    assert recent_text(str(path)) == "near"


@pytest.mark.parametrize(
    "line", ["", "[]", "null", '{"message": 1, "type": "user"}', '{"message":{"content":[1]},"user"']
)
def test_a_line_that_is_no_turn_is_passed_over(tmp_path: Path, line: str) -> None:
    """The last line may be unfinished, and lines of other kinds have no message."""
    path = tmp_path / "running.jsonl"
    path.write_text(json.dumps(Claude().text("said")) + "\n" + line, encoding="utf-8")
    assert recent_text(str(path)) == "said"


def test_there_may_be_no_transcript(tmp_path: Path) -> None:
    """The first prompt of a session comes before its file."""
    assert recent_text(str(tmp_path / "none.jsonl")) == ""
    assert recent_text(str(tmp_path)) == ""
