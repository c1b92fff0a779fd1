"""`howcome eval --precedent`: how much of what came up had come up before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.builders import write
from tests.integration.test_patterns_command import session
from tests.processes import run


@pytest.mark.usefixtures("store_folder")
def test_a_failure_has_a_precedent_when_an_earlier_session_solved_it(tmp_path: Path) -> None:
    """And a prompt when readers found one; the first session has none."""
    for number in (1, 2, 3):
        write(tmp_path / "set" / "transcripts" / f"{number}.jsonl", *session(number))
    rows = [
        {"session": "1", "ts": "2026-03-02", "prompt": "x", "candidates": [{"grade": grade}]} for grade in (0, 1, 2)
    ]
    write(tmp_path / "set" / "judged_prompts.jsonl", *rows)
    done = run("eval", str(tmp_path), "--precedent", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["precedent"]["set"]
    assert found["failures with a precedent"].endswith(" 8/15")  # four of five kinds are ever solved
    assert found["solved, with one"].endswith(" 8/8")
    assert found["solved, without"].endswith(" 4/7")
    assert found["prompts with a precedent"].endswith(" 1/3")
    assert "No experiment" in run("eval", str(tmp_path), "--precedent").stdout
