"""`howcome patterns`: failures of several sessions in classes, with what they cost and what helped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Record, write
from tests.integration.test_stats import DAY, Working
from tests.processes import run

UNREAD = "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>"
UNKNOWN = "Exit code 2\n/srv/harbor/tide.py:{}: error: unexpected argument '--every' found"
CANCELLED = "Cancelled: another call of the same batch errored"
LINT = "Exit code 1\nerror: {} unused imports found in berths"


def session(number: int) -> list[Record]:
    """One that makes the same mistakes as the others, at other files and lines."""
    talk = Working(f"{number}1111111-abcd", start=number * DAY)
    file = f"/srv/harbor/crane{number}.py"
    records = [
        talk.user("go on"),
        *talk.edits(file, "a = 1", "b = 1", fails=UNREAD),
        *talk.did("Read", file_path=file),
        *talk.edits(file, "a = 1", "b = 1"),
        *talk.did("Bash", command="tide --every list", fails=UNKNOWN.format(number)),
        *talk.did("Bash", command="tide list"),
        *talk.did("Bash", command="make lint", fails=LINT.format(number + 1)),
        *talk.edits(file, "import b", "b = 2"),
        *talk.did("Bash", command="make lint"),
        *talk.did("Skill", skill="moor", fails="Unknown skill: moor"),
    ]
    for tool in ("Grep", "Read", "Skill"):
        records += talk.did(tool, path=f"x{number}", fails=CANCELLED)
    return records


def found(*words: str) -> dict[str, Any]:
    """What it says to programs."""
    done = run("patterns", "--all-projects", "--json", *words)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def mistaken(tmp_path: Path, store_folder: Path) -> None:
    """Three sessions with the same mistakes."""
    assert store_folder
    for number in (1, 2, 3):
        write(tmp_path / f"{number}.jsonl", *session(number))
    assert run("import", str(tmp_path)).returncode == 0


@pytest.mark.usefixtures("mistaken")
def test_each_class_has_the_fix_that_worked() -> None:
    """Other words, a look at the file, a change of it; or none ever did. What the client says is no class."""
    classes = {one["name"]: one for one in found()["failures"]}
    assert {name: (one["size"], one["sessions"], one["solved"], one["fix"]) for name, one in classes.items()} == {
        "Edit: File has not been read yet. Read it first.": (3, 3, 3, "`Read` the file first"),
        "tide: error: unexpected argument '--every' found": (3, 3, 3, "leave out `--every`"),
        "make lint: error: 4 unused imports found in berths": (3, 3, 3, "mend the files that it names"),
        "Skill: Unknown skill: moor": (3, 3, 0, "nothing called with `moor` worked here"),
    }
    lint = classes["make lint: error: 4 unused imports found in berths"]
    assert (lint["trend"], lint["calls"]) == ({"earlier_half": 2, "later_half": 1}, 6)
    said = "Avoid “error: 4 unused imports found in berths” of `make lint`: mend the files that it names."
    assert lint["sentence"] == said


@pytest.mark.usefixtures("mistaken")
def test_what_failed_in_one_session_only_is_no_pattern() -> None:
    """A time leaves sessions out; and for people it is said in words."""
    assert found("--since", "2026-03-05")["failures"] == []
    said = run("patterns", "--all-projects", "--limit", "1").stdout
    assert "3 times in 3 sessions" in said
    assert run("patterns", "--all-projects", "--since", "2026-03-05").stdout.startswith("Nothing failed in two")
