"""A broken, slow or missing howcome changes nothing that the user sees."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.client import Client, call, say
from tests.client.install import installed
from tests.e2e.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client import Run

PROMPT = "which pump drains the TidalClock basin?"
EXTRA_SECONDS = 12.0


def work(desk: Desk) -> Run:
    """Run the session whose outcome must not change."""
    command = call("Bash", "Looking.", command="echo pump four; exit 3", description="Ask the pump")
    return desk.try_to_ask(PROMPT, [command, say("Pump four.")])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, version: str) -> Run:
    """Run the session once where howcome was never installed."""
    return work(Desk(tmp_path_factory.mktemp("undisturbed"), installed(version), version))


@pytest.fixture
def filled(desk: Desk) -> Desk:
    """Connect a desk and give its store one session."""
    desk.howcome("init", "--yes")
    desk.ask(
        "what drains the basin?", [say("We decided that pump four drains the TidalClock basin, as it is quieter.")]
    )
    return desk


def assert_unchanged(run: Run, undisturbed: Run) -> None:
    """Compare what the user sees with the run without howcome."""
    assert (run.exit_code, run.result) == (undisturbed.exit_code, undisturbed.result)
    assert len(run.bodies("main")) == len(undisturbed.bodies("main"))
    assert run.stderr == undisturbed.stderr
    assert run.notices() == []
    assert run.seconds < undisturbed.seconds + EXTRA_SECONDS


def databases(desk: Desk) -> list[Path]:
    """List the SQLite files of the store."""
    files = [path for path in desk.store.rglob("*") if path.is_file()]
    return [path for path in files if path.read_bytes()[:15] == b"SQLite format 3"]


def test_a_store_of_garbage_changes_nothing(filled: Desk, undisturbed: Run) -> None:
    """Every file of the store is overwritten with noise."""
    assert databases(filled)
    for path in filled.store.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\x00not a database\xff" * 700)
    assert_unchanged(work(filled), undisturbed)


@pytest.mark.parametrize("place", ["/proc/no-such-place/store", "{home}/a-file", "{home}/a-file/store"])
def test_a_store_that_cannot_be_written_changes_nothing(filled: Desk, undisturbed: Run, place: str) -> None:
    """HOWCOME_HOME names a place where nothing can be made, a file, or something below a file."""
    (filled.home / "a-file").write_text("in the way", encoding="utf-8")
    settings = filled.settings.read_text(encoding="utf-8")
    assert "HOWCOME_HOME" not in settings
    env = {"HOWCOME_HOME": place.format(home=filled.home)}
    filled.client = Client(filled.client.executable, filled.home, env)
    assert_unchanged(work(filled), undisturbed)
    assert (filled.home / "a-file").read_text(encoding="utf-8") == "in the way"


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no interpreter without howcome")
def test_a_package_that_is_gone_changes_nothing(filled: Desk, undisturbed: Run) -> None:
    """The interpreter starts, and the script that it is given is not there."""
    change_commands(filled, "/howcome/launch.py", "/howcome-gone/launch.py")
    assert_unchanged(work(filled), undisturbed)


def test_an_interpreter_that_is_gone_changes_nothing(filled: Desk, undisturbed: Run) -> None:
    """The command names a program that does not exist."""
    change_commands(filled, str(Path(sys.executable).parent), "/no/such/environment/bin")
    assert_unchanged(work(filled), undisturbed)


def change_commands(desk: Desk, old: str, new: str) -> None:
    """Replace a part of the installed commands."""
    text = desk.settings.read_text(encoding="utf-8")
    assert old in text
    desk.settings.write_text(text.replace(old, new), encoding="utf-8")


def test_a_locked_store_changes_nothing(filled: Desk, undisturbed: Run) -> None:
    """Another process holds the write lock all the while; what was said meanwhile is read afterwards."""
    with locked(filled):
        run = work(filled)
    assert_unchanged(run, undisturbed)
    filled.howcome("import")
    assert run.session_id in {hit["session_id"] for hit in filled.found("ask the pump")}


@contextlib.contextmanager
def locked(desk: Desk) -> Iterator[None]:
    """Hold a write transaction on every database of the store."""
    with contextlib.ExitStack() as stack:
        for path in databases(desk):
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))
            connection.execute("BEGIN IMMEDIATE")
        yield
