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
        *talk.did("Grep", says=f"{file}:1:a = 1", pattern="a ="),
        *talk.edits(file, "a = 1", "b = 1", fails=UNREAD),
        *talk.did("Read", file_path=file),
        *talk.edits(file, "a = 1", "b = 1"),
        *talk.did("Bash", command="tide --every list", fails=UNKNOWN.format(number)),
        *talk.did("Bash", command="tide list"),
        *talk.did("Bash", command="make lint", fails=LINT.format(number + 1)),
        *talk.edits(file, "import b", "b = 2"),
        *talk.did("Bash", command="make lint"),
        *talk.did(
            "Bash",
            command="python -m crane",
            fails=f"Exit code 1\nModuleNotFoundError: No module named 'tides{number}'",
        ),
        *talk.did("Bash", command="pump sync"),
        *talk.did("Bash", command="python -m crane"),
        *talk.did("Skill", skill="moor", fails="Unknown skill: moor"),
    ]
    for tool in ("Grep", "Read", "Skill"):
        records += talk.did(tool, path=f"x{number}", fails=CANCELLED)
    return records


def unhelped(number: int) -> list[Record]:
    """What helps with these is not known: one value worked in another session, one is only in a word."""
    talk = Working(f"{number}3333333-abcd", start=number * DAY + DAY // 2)
    return [
        *talk.did("Agent", to="pilot", fails="pilot was interrupted by the harbour"),
        *([*talk.did("Agent", to="pilot")] if number == 1 else []),
        *talk.did("Berth", mode="read", fails="cannot open it for reading"),
    ]


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
        write(tmp_path / f"{number}.jsonl", *session(number), *unhelped(number))
    assert run("import", str(tmp_path)).returncode == 0


@pytest.mark.usefixtures("mistaken")
def test_each_class_has_the_fix_that_worked() -> None:
    """Other words, a look at the file, nothing where nothing worked. None for what a change of files solved.

    The client's words are no class. Advice that the message gives is said with what it leaves out.
    """
    without = "do not call it with `moor`, which never worked"
    fixes = ["`Read` the file first", without, "run `pump sync` first", "leave out `--every`"]
    assert [one["fix"] for one in found()["failures"]] == fixes
    assert found()["without_fix"] == 3
    classes = {one["name"]: one for one in found("--all")["failures"]}
    assert {name: (one["size"], one["sessions"], one["solved"], one["fix"]) for name, one in classes.items()} == {
        "Edit: File has not been read yet. Read it first.": (3, 3, 3, "`Read` the file first"),
        "tide: error: unexpected argument '--every' found": (3, 3, 3, "leave out `--every`"),
        "python: ModuleNotFoundError: No module named …": (3, 3, 3, "run `pump sync` first"),
        "make lint: error: … unused imports found in berths": (3, 3, 3, None),
        "Skill: Unknown skill: moor": (3, 3, 0, without),
        "Agent: pilot was interrupted by the harbour": (3, 3, 1, None),
        "Berth: cannot open it for reading": (3, 3, 0, None),
    }
    unread = classes["Edit: File has not been read yet. Read it first."]["sentence"]
    assert unread.endswith("of `Edit`: `Read` the file first. What `Grep` shows of it is not enough.")
    lint = classes["make lint: error: … unused imports found in berths"]
    assert (lint["trend"], lint["calls"]) == ({"earlier_half": 2, "later_half": 1}, 6)
    tide = classes["tide: error: unexpected argument '--every' found"]
    assert tide["sentence"] == "Avoid “error: unexpected argument '--every' found” of `tide`: leave out `--every`."


@pytest.mark.usefixtures("mistaken")
def test_what_failed_in_one_session_only_is_no_pattern() -> None:
    """A time leaves sessions out; and for people it is said in words."""
    assert found("--since", "2026-03-05")["failures"] == []
    said = run("patterns", "--all-projects", "--limit", "1").stdout
    assert "3 times in 3 sessions" in said
    assert "3 more: --limit 4" in said
    assert run("patterns", "--all-projects", "--since", "2026-03-05").stdout.startswith("Nothing failed in two")


EDITED = "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false.</tool_use_error>"
GONE = "<tool_use_error>String to replace not found in file.</tool_use_error>"
FOLDER = "EISDIR: illegal operation on a directory, read"
AGAIN = (
    "`Read` the file again first, then give `old_string` the tabs and spaces that the file has, or few words that begin"
    " after them"
)
AWAY = "File does not exist."
NO_TYPE = "Agent type 'porter{0}' not found. Available agents: pilot{0}, harbor:porter{0}"


def field_session(number: int) -> list[Record]:
    """One whose calls worked with other fields, or after a look at what was seen before."""
    talk = Working(f"{number}2222222-abcd", start=number * DAY)
    file, real = f"/srv/harbor/gauge{number}.py", f"/srv/harbor/gauges/tide{number}.py"
    return [
        talk.user("go on"),
        *talk.did("Read", file_path=file),
        *talk.edits(file, "a = 1", "b = 1", fails=EDITED),
        *talk.edits(file, "def f():\n    a = 1", "b = 1"),
        *talk.edits(file, "tide = 1\nhook = None  # of the crane", "d = 4", fails=GONE),
        *talk.did("Read", file_path=file),
        *talk.edits(file, "hook  = None  # of the crane", "d = 4"),
        *talk.did("Read", file_path=f"/srv/tide{number}.py", fails=AWAY),
        *talk.did("Glob", says=real, pattern="**/tide*.py"),
        *talk.did("Read", file_path=real),
        *talk.did("Task", prompt=f"count {number}", subagent_type=f"porter{number}", fails=NO_TYPE.format(number)),
        *talk.did("Task", prompt=f"count {number}", subagent_type=f"harbor:porter{number}"),
        *talk.did("Read", file_path="/srv/harbor/logs", fails=FOLDER),
        *talk.did("Bash", command="ls /srv/harbor/logs", says=f"crane{number}.log"),
        *talk.did("Read", file_path=f"/srv/harbor/logs/crane{number}.log"),
        *talk.did("Skill", skill=f"moor{number}", fails="Unknown skill of the harbor"),
        *talk.did("Skills", says=f"mooring{number}", about="moor"),
        *talk.did("Skill", skill=f"mooring{number}"),
        *talk.did("Write", file_path="/srv/harbor/plan.md", content="a", fails=UNREAD),
        *talk.did("Read", file_path="/srv/harbor/plan.md"),
        *talk.did("Write", file_path="/srv/harbor/plan.md", content="b"),
        *talk.edits(f"/srv/harbor/boat{number}.py", "a = 1", "b = 1", fails=UNREAD),
        *talk.did("Read", file_path=f"/srv/harbor/boat{number}.py"),
        *talk.edits(f"/srv/harbor/boat{number}.py", "a = 1", "b = 1"),
        *talk.did("Bash", command="make check", fails="Exit code 1\nFound 1 error."),
        *talk.did("Bash", command="make check --fix"),
        *talk.did("Bash", command="make check", fails="Exit code 1\nerror: problems were emitted by it"),
        *talk.did("Bash", command="make check --fix"),
        *talk.did("Read", file_path="/srv/harbor/conf/tide.yml", fails=AWAY),
        *talk.did("Glob", says="/srv/harbor/conf/tide.yaml", pattern="**/tide*"),
        *talk.did("Read", file_path="/srv/harbor/conf/tide.yaml"),
        *talk.did("Bash", command=f"crane --lift {number}", fails="Exit code 1\nerror: no hook on crane"),
        *talk.did("Bash", command="git status"),
        *talk.did("Bash", command=f"crane --lift {number}"),
    ]


def test_a_fix_is_what_was_different_and_nothing_that_says_nothing(tmp_path: Path, store_folder: Path) -> None:
    """A longer value, the same file once more, a search, a value of a list; what ran in between by chance is none.

    What one thing helps is one class, and what was wrong several times is named with what was right.
    And the name of a class leaves out what was said of one case only.
    """
    assert store_folder
    for number in (1, 2, 3):
        write(tmp_path / f"{number}.jsonl", *field_session(number))
    assert run("import", str(tmp_path)).returncode == 0
    every = found("--all")["failures"]
    fixes = {one["name"].partition(": ")[2][:14]: one["fix"] for one in every}
    assert fixes == {
        "Found 2 matche": "use a longer `old_string`",
        "String to repl": AGAIN,
        "File does not ": "find it with `Glob` first",
        "Agent type … n": "give the `subagent_type` in full",
        "Unknown skill ": "find it with `Skills` first",
        "EISDIR: illega": "list that folder first, then name a file in it",
        "File has not b": None,  # the message says it
        "error: problem": "add `--fix`",
        "error: no hook": None,
    }
    classes = {one["name"].partition(":")[0]: one for one in every}
    assert classes["Edit, Write"]["size"] == 6
    assert classes["make check"]["size"] == 6
    read = next(one["sentence"] for one in every if one["name"] == f"Read: {AWAY}")
    assert read.endswith("find it with `Glob` first. It is `conf/tide.yaml`, not `conf/tide.yml`.")
    assert "in full. It is `harbor:porter1`, not `porter1`." in classes["Task"]["sentence"]
    assert "Task: Agent type … not found. Available agents: …" in [one["name"] for one in every]
