"""A project that is excluded late: no hook tells it, and what stays of it is said."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.builders import Shell, write
from tests.processes import HOOK_FIELDS, answer_of, hook, payload, run

from howcome.app import open_app
from howcome.mcp.session import Session
from howcome.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

OPEN, CLIENT = "/home/mara/harbour", "/home/mara/clients/quince"
DECIDED = "Always use the zanzibar ledger for the tide invoices, because the auditor of Quince wants it so."
ASKED = "What did we decide about the ledger of the tide invoices?"


@pytest.fixture
def told_all(tmp_path: Path, store_folder: Path) -> Path:
    """Two projects that speak of the same things."""
    for name, cwd, text in (("open", OPEN, DECIDED.replace("zanzibar", "plain")), ("client", CLIENT, DECIDED)):
        talk = Shell(name, cwd)
        write(
            tmp_path / "talks" / f"{name}.jsonl", talk.user("let's look at the invoices"), talk.text("None so far."),
            talk.user(text), *talk.edited("ledger.py"), *talk.ran(f"git commit -m '{text}'"),
            talk.text(f"Done: {text}"),
        )  # fmt: skip
    assert run("import", tmp_path / "talks").returncode == 0
    assert run("distil").returncode == 0
    assert store_folder.is_dir()
    return tmp_path


def told(folder: Path, event: str, cwd: str, **fields: str) -> str:
    """What a session in a folder is told."""
    whole = {**HOOK_FIELDS[event], "cwd": cwd, **fields}
    answer = answer_of(event, hook(event, payload(event, folder / "new.jsonl", "new", **whole)))
    return "" if answer is None else str(answer["additionalContext"])


def test_an_excluded_project_is_told_nowhere(told_all: Path) -> None:
    """Not in its folder, not to who asks of all projects; what stays is counted."""
    assert "zanzibar" in told(told_all, "UserPromptSubmit", CLIENT, prompt=ASKED)
    assert "zanzibar" in run("search", "--all-projects", ASKED).stdout
    done = run("config", "set", "exclude", CLIENT)
    assert f"8 events and 1 memory of {CLIENT} stay stored. No hook tells them" in done.stdout
    assert "howcome uninstall --purge" in done.stdout
    for event, fields in (("UserPromptSubmit", {"prompt": ASKED}), ("SessionStart", {"source": "startup"})):
        assert told(told_all, event, CLIENT, **fields) == ""
    assert "plain ledger" in told(told_all, "UserPromptSubmit", OPEN, prompt=ASKED)
    found = run("search", "--all-projects", "--limit", "1", ASKED).stdout
    assert "plain" in found
    assert "zanzibar" not in found
    assert "zanzibar" in run("search", "--project", CLIENT, ASKED).stdout
    with Session(dict(os.environ), str(told_all)) as session:
        answer = str(session.call("search_memory", {"query": ASKED, "project": "all"}))
    assert "plain ledger" in answer
    assert "zanzibar" not in answer


def test_another_root_of_a_project_that_is_excluded_counts(told_all: Path) -> None:
    """The project that the excluded one was joined to holds all that was said in both."""
    assert told_all.is_dir()
    assert run("projects", "join", OPEN, CLIENT, "--yes").returncode == 0
    assert f"of {OPEN} stay stored" in run("config", "set", "exclude", CLIENT).stdout
    with open_app(read_settings(os.environ)) as app:
        assert list(app.projects.excluded().values()) == [OPEN]
    assert "ledger" not in run("search", "--all-projects", "tide invoices auditor").stdout
