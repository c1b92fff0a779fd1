"""What is never told of the ledger of commands, and which command of a line is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.test_command_ledger import earlier, failing, kept
from tests.processes import ask, run

from howcome.domain.stored import Scope
from howcome.recall.failing import failing as failing_commands
from howcome.store.sqlite import SqliteStore

FAILED, ERROR = "tide up", "Exit code 1\nerror: unsupported level 67"


@pytest.mark.parametrize(
    "ran",
    [
        ["tide up --reset --yes"],
        ["sudo tide up"],
        ["DATABASE_URL=quay tide up"],
        ["DATABASE_URL=quay uv run tide up"],
        ["tide up -k"],
        ["TIDE_ENV=quay tide sync", "tide up"],
        ["tide install --overwrite", "tide up", "tide up --level 3"],
        ["tide login mara k3jh28dkw", "tide up"],
    ],
)
def test_what_removes_forces_or_acts_elsewhere_is_never_told(
    ran: list[str], tmp_path: Path, store_folder: Path
) -> None:
    """Neither where the command fails again, nor in a memory, nor in what is listed."""
    assert store_folder
    for number in (1, 2):
        kept(tmp_path, earlier(number, (FAILED, ERROR), *((command, "") for command in ran)), name=f"past{number}")
    assert failing(FAILED, ERROR) == ""
    assert run("distil").returncode == 0
    assert not [one for one in ask("memories", "--all-projects")["memories"] if one["type"] == "failure"]
    told = json.dumps(ask("patterns", "--all", "--all-projects"))
    assert not [command for command in ran if command != FAILED and command in told]
    store = SqliteStore(str(store_folder))
    assert {one.fix for one in failing_commands(store, Scope.everything(), 9)} == {""}
    store.close()


def test_the_command_that_mended_is_told_not_one_of_its_form(tmp_path: Path, store_folder: Path) -> None:
    """The last that decides whether the line worked."""
    assert store_folder
    kept(tmp_path, earlier(1, ("tide up 1", ERROR), ("TIDE_DIR=/a tide up 2; TIDE_DIR=/b tide up 1", "")))
    assert "`TIDE_DIR=/b tide up 1` then worked." in failing("tide up 1", ERROR)


def test_what_is_set_for_a_command_that_prepares_is_told_with_it(tmp_path: Path, store_folder: Path) -> None:
    """In the memory of the failure, too."""
    assert store_folder
    kept(tmp_path, earlier(1, (FAILED, ERROR), ("TIDE_LEVEL=7 tide sync", ""), ("tide up", "")))
    assert run("distil").returncode == 0
    texts = [one["text"] for one in ask("memories", "--all-projects")["memories"]]
    assert "`tide up` failed: error: unsupported level 67. It worked after `TIDE_LEVEL=7 tide sync`." in texts
