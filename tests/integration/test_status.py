"""`howcome status`: stable keys for programs, a short aligned form for people, and facts that are true."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.processes import ask, hook, run

from howcome.app import open_app
from howcome.clients import spool
from howcome.settings import read_settings
from howcome.worker.thread import take_lock

KEYS = {
    "home", "store", "counts", "records", "bytes", "sizes", "last_ingest", "unread", "index_lag_rows", "quarantine",
    "vanished_memories", "unknown_files",
    "hook_errors", "memories", "agents", "last_hook", "spool", "team", "worker", "embedding",
    "distil_batches", "projects_in_doubt", "prompts", "last_week",
}  # fmt: skip
VALUE_COLUMN = 12


def human(*, fresh: bool = False) -> dict[str, str]:
    """The human form, by the names of its lines; every value begins in one column."""
    done = run("status", fresh=fresh)
    assert (done.returncode, done.stderr) == (0, "")
    found = {}
    for line in done.stdout.splitlines():
        assert line[VALUE_COLUMN - 1] == " ", line
        assert line[VALUE_COLUMN] != " ", line
        found[line[:VALUE_COLUMN].strip()] = line[VALUE_COLUMN:]
    return found


@pytest.mark.usefixtures("store_folder")
def test_an_empty_store_says_so() -> None:
    """Every key is there, nothing is counted, nobody is connected."""
    found = ask("status")
    assert set(found) == KEYS
    assert found["counts"]["events"] == sum(found["counts"]["events_by_type"].values()) == 0
    assert found["memories"] == {"by_type": {}, "by_status": {}, "by_state": {}}
    assert (found["agents"], found["last_hook"], found["last_ingest"]) == ([], None, None)
    assert found["spool"]["waiting"] == found["spool"]["dead"] == 0
    assert found["worker"] == {"working": False, "pid": None, "started_ms": None, "socket": False}
    shown = human()
    assert (shown["last read"], shown["last hook"], shown["memories"]) == ("never", "not known", "none")
    assert shown["agents"] == "none: howcome init"
    assert "quarantine" not in shown


@pytest.mark.usefixtures("past")
def test_memories_are_counted_by_type_and_status() -> None:
    """Live ones; what was forgotten is counted apart."""
    with open_app(read_settings(os.environ)) as app:
        for text, kind in (("a queue keeps order", "decision"), ("berths are dredged in May", "context")):
            app.memories.add(text, type=kind, project=None)
        app.memories.add("the quay needs the crane", type="dependency", project=None)
        app.memories.add("the crane needs the rail", type="dependency", project=None)
        gone, _ = app.memories.add("no longer", type="context", project=None)
        app.memories.forget(gone.id)
    found = ask("status")["memories"]
    assert found["by_type"] == {"decision": 1, "context": 1, "dependency": 2}
    assert sum(found["by_status"].values()) == 4
    assert found["by_state"] == {"live": 4, "forgotten": 1}
    assert human()["memories"].startswith("4 (")
    assert "1 decision" in human()["memories"]
    assert "2 dependencies" in human()["memories"]


@pytest.mark.usefixtures("past")
def test_connected_agents_are_named() -> None:
    """With their hooks, and whether they have the server."""
    assert run("init", "--yes", "--no-import").returncode == 0
    (agent,) = ask("status")["agents"]
    assert (agent["agent"], agent["scope"], agent["mcp"]) == ("claude-code", "user", True)
    assert {"UserPromptSubmit", "Stop", "SessionStart"} <= set(agent["hooks"])
    assert human()["agents"] == f"claude-code ({len(agent['hooks'])} hooks, MCP)"


@pytest.mark.parametrize("newer", [1, 40])
def test_the_last_hook_is_the_newest_that_a_transcript_tells_of(home: Path, store_folder: Path, newer: int) -> None:
    """Also behind a long turn of another's; a hook of somebody else's is not ours."""
    assert store_folder.parent.is_dir()
    ours = {"command": "/x/python -I -S -E /y/howcome/launch.py Stop 2>/dev/null || true", "durationMs": 31}
    talk = Claude("told")
    told = talk.record("system", subtype="stop_hook_summary", hookInfos=[ours])
    other = talk.record("system", subtype="stop_hook_summary", hookInfos=[{"command": "say done", "durationMs": 3}])
    records = [talk.user("the harbour plan"), told, other, *talk.conversation(newer)]
    write(home / ".claude" / "projects" / "-harbour" / "told.jsonl", *records)
    assert ask("status")["last_hook"] == told["timestamp"]
    assert human()["last hook"] != "not known"


def test_a_prompt_that_was_looked_at_had_a_hook(past: Path) -> None:
    """Whoever's it was: not every agent notes its hooks in its transcripts."""
    assert past.exists()
    assert ask("status")["last_hook"] is None
    data = {"hook_event_name": "UserPromptSubmit", "prompt": "the harbour plan", "session_id": "c1", "cwd": "/x"}
    hook("UserPromptSubmit", json.dumps(data).encode(), "--agent", "codex")
    assert ask("status")["last_hook"] is not None


def test_a_hook_that_failed_ran_all_the_same(past: Path, store_folder: Path) -> None:
    """Its line in the log tells when."""
    assert past.exists()
    (store_folder / "hook-errors.log").write_text("2026-11-20T10:00:00Z Stop StoreLockedError BusyError hooks.py:1\n")
    assert ask("status")["last_hook"] == "2026-11-20T10:00:00.000Z"
    assert "T10:00" not in human()["hook error"]
    assert human()["hook error"].endswith("  Stop StoreLockedError BusyError hooks.py:1")


def test_observations_that_wait_are_shown(past: Path, store_folder: Path) -> None:
    """How many, and how many are dead."""
    assert past.exists()
    spool.append(str(store_folder), [{"agent": "cursor", "session_id": "s", "text": "the harbour plan"}] * 2)
    assert ask("status")["spool"]["waiting"] == 2
    assert human()["spool"] == "2 observations waiting, 0 dead"


def test_who_works_is_shown(past: Path, store_folder: Path) -> None:
    """By the lock that it holds; a lock file alone is nobody."""
    assert past.exists()
    lock = take_lock(str(store_folder))
    assert lock is not None
    assert ask("status")["worker"]["pid"] == os.getpid()
    assert human()["worker"] == f"process {os.getpid()}"
    os.close(lock)
    assert ask("status")["worker"]["working"] is False
    assert human()["worker"] == "none"


def test_unread_bytes_and_quarantine_are_shown(home: Path, past: Path) -> None:
    """What no pass has read, and what could not be read."""
    assert past.exists()
    path = write(home / ".claude" / "projects" / "-harbour" / "torn.jsonl", b"{broken\n", *Claude("t").conversation(1))
    assert human()["unread"].endswith(" in 1 file")
    ask("import")
    shown = human()
    assert shown["unread"] == "none"
    assert shown["quarantine"].startswith("1 record (")
    found = ask("status")["quarantine"]
    assert (found["records"], found["newest"][0]["path"]) == (1, str(path))


def test_what_a_name_holds_does_not_reach_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control characters in a folder's name stay where they are."""
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "a\x1b[31mred"))
    assert "\x1b" not in run("status").stdout


@pytest.mark.usefixtures("past")
def test_it_is_quick() -> None:
    """Well under a second with the interpreter's start; the human form reads no row."""
    took = []
    while not took or (took[-1] >= 5 and len(took) < 5):
        started = time.monotonic()
        human(fresh=True)
        took.append(time.monotonic() - started)
    assert min(took) < 5
    assert "events_by_type" not in json.dumps(human())
