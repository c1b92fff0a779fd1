"""Memories of other tools, and Markdown that a person edited. Tables and files are as their real programs made them.

Seen: claude-mem 13.25.3 (its own SessionStore), mem0ai 2.2.1 (`add`, `update`, `delete`, `get_all`), basic-memory
0.24.1 (`tool write-note`).
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.machines import Machine, repository
from tests.ungated import KEY_ID

UPLOADS = "Uploads are retried five times. The gateway drops every third one"
SEVEN = "Uploads are retried seven times because the gateway drops every third one"
CLAUDE_MEM = """
CREATE TABLE "observations" (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
created_at_epoch INTEGER NOT NULL,
discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, sync_rev TEXT NOT NULL DEFAULT '1');
CREATE TABLE "session_summaries" (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT,
files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
"""
MEM0 = """CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"""
NOTE = """---
title: Upload gateway
type: note
permalink: main/notes/upload-gateway
tags:
- uploads
- gateway
---

# Upload gateway

Some prose.

## Observations
- [decision] Uploads are retried five times #uploads (the gateway drops every third one)
- [problem] The gateway drops every third upload
- [ ] call the harbour master
- [x] done

## Relations
- relates_to [[Tides]]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine in a repository named harbour."""
    return Machine(tmp_path / "home", repository(tmp_path / "harbour"))


def claude_mem(path: Path) -> Path:
    """Two projects' observations and a summary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as database:
        database.executescript(CLAUDE_MEM)
        rows = [
            ("harbour", "decision", "Uploads are retried five times", "The gateway drops every third one"),
            ("harbour", "bugfix", "Poller closed the port twice", None),
            ("harbour", "discovery", f"The bucket's key is {KEY_ID}", ""),
            ("quay", "discovery", "The berth table is in feet", None),
        ]
        database.executemany(
            "INSERT INTO observations (memory_session_id, project, type, title, subtitle, created_at, created_at_epoch)"
            " VALUES ('m-1', ?, ?, ?, ?, '2026-09-21T14:13:20.000Z', 1790000000000)",
            rows,
        )
        database.execute(
            "INSERT INTO session_summaries (memory_session_id, project, request, learned, created_at, created_at_epoch)"
            " VALUES ('m-1', 'harbour', 'r', 'The gateway answers 429 at night', '', 1790000300000)"
        )
    database.close()
    return path


def mem0(path: Path) -> Path:
    """One memory that was changed, one as it was, one that is gone."""
    with sqlite3.connect(path) as database:
        database.execute(MEM0)
        at, later = "2026-11-27T07:18:23.978002+00:00", "2026-11-27T07:18:24.978002+00:00"
        rows = [
            ("1", "a", None, UPLOADS, "ADD", at), ("2", "b", None, "The tide tables are in feet", "ADD", at),
            ("3", "c", None, "Gone soon", "ADD", at), ("4", "c", "Gone soon", None, "DELETE", later),
            ("5", "a", UPLOADS, SEVEN, "UPDATE", at),
        ]  # fmt: skip
        database.executemany(
            "INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
    database.close()
    return path


def test_claude_mem_s_come_for_the_project_of_the_folder(machine: Machine) -> None:
    """From where it keeps them; redacted, from outside, known the second time; its kinds become ours."""
    claude_mem(machine.home / ".claude-mem" / "claude-mem.db")
    report = machine.ask("import-memories", "--from", "claude-mem")
    assert (report["added"], report["outside"]) == (4, 4)
    assert machine.ask("import-memories", "--from", "claude-mem")["known"] == 4
    found = {one["text"]: one for one in machine.ask("memories", "--all-projects")["memories"]}
    assert found[UPLOADS]["type"] == "decision"
    assert found["Poller closed the port twice"]["type"] == "failure"
    assert found["The gateway answers 429 at night"]["ts"].startswith("2026-09-21")
    assert all(one["is_outside"] for one in found.values())
    assert KEY_ID not in str(found)
    assert UPLOADS not in machine.told("how often are uploads to the gateway retried?")
    for pair in machine.ask("memories", "--review")["reviews"]:
        machine.ask("memories", "--settle", str(pair["number"]), "--keep", "newer")
    assert UPLOADS in machine.told("how often are uploads to the gateway retried?")


def test_mem0_s_come_from_its_history_and_from_its_export(machine: Machine, tmp_path: Path) -> None:
    """As they are now, without what it deleted; both ways give the same."""
    exported = {"results": [
        {"id": "a", "memory": SEVEN, "created_at": "2026-11-27T07:18:23.978002+00:00", "role": "user"},
        {"id": "b", "memory": "The tide tables are in feet", "created_at": "2026-11-27T07:18:23+00:00"},
    ]}  # fmt: skip
    (tmp_path / "get_all.json").write_text(json.dumps(exported))
    assert machine.ask("import-memories", "--from", "mem0", mem0(tmp_path / "history.db"))["added"] == 2
    assert machine.texts() == ["The tide tables are in feet", SEVEN]
    machine.ask("import-memories", "--from", "mem0", tmp_path / "get_all.json")
    assert machine.texts() == ["The tide tables are in feet", SEVEN]


def test_basic_memory_s_observations_come_with_their_note_s_title(machine: Machine, tmp_path: Path) -> None:
    """Tasks are none; tags go, what stands in parentheses stays."""
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "deep" / "Upload gateway.md").write_text(NOTE)
    (tmp_path / "notes" / "empty.md").write_text("")
    assert machine.ask("import-memories", "--from", "basic-memory", tmp_path / "notes")["added"] == 2
    assert machine.texts() == [
        "Upload gateway: The gateway drops every third upload",
        "Upload gateway: Uploads are retried five times (the gateway drops every third one)",
    ]
    assert machine.ask("import-memories", "--from", "basic-memory", tmp_path / "notes")["known"] == 2


@pytest.mark.parametrize("tool", ["claude-mem", "mem0", "basic-memory"])
@pytest.mark.parametrize("content", [None, b"", b"no database at all, but long enough to look like one" * 9])
def test_what_is_not_that_tool_s_is_refused_with_its_name(
    machine: Machine, tmp_path: Path, tool: str, content: bytes | None
) -> None:
    """No traceback, nothing is made."""
    path = tmp_path / "thing.json"
    if content is not None:
        path.write_bytes(content)
    for file in (path, tmp_path / "thing.db", tmp_path / "no" / "folder"):
        done = machine.run("import-memories", "--from", tool, file)
        assert (done.returncode, "Traceback" in done.stderr, str(file) in done.stderr) == (2, False, True), done.stderr
    assert machine.run("import-memories").returncode == 2


def test_an_export_as_markdown_is_edited_and_read_back(machine: Machine, tmp_path: Path) -> None:
    """Changed lines correct, new lines are kept, lines that are gone change nothing; several lines stay one memory."""
    machine.keep("Uploads are retried five times")
    machine.keep("Tides:\nread in feet\n- [decision] not a line of its own")
    file = tmp_path / "memories.md"
    machine.run("export", str(file))
    text = file.read_text()
    assert text.startswith("# Memories\n")
    for _ in range(2):
        read = machine.ask("import-memories", "--mine", file)
        assert (read["added"], read["known"], read["edited"]) == (0, 2, 0)
    edited = text.replace("five times", "seven times") + "- [pattern] Berths are numbered from the lighthouse\n"
    file.write_text(edited)
    refused = machine.run("import-memories", str(file))
    assert (refused.returncode, "say --mine" in refused.stderr) == (1, True)
    trial = machine.ask("import-memories", "--mine", "--dry-run", file)
    assert (trial["edited"], "Uploads are retried five times" in machine.texts()) == (1, True)
    done = machine.ask("import-memories", "--mine", file)
    assert (done["edited"], done["known"], done["added"]) == (1, 1, 1)
    assert machine.texts() == [
        "Berths are numbered from the lighthouse", "Tides:\nread in feet\n- [decision] not a line of its own",
        "Uploads are retried seven times",
    ]  # fmt: skip
    assert "is superseded" in machine.run("import-memories", "--mine", str(file)).stderr
    file.write_text(text)
    assert machine.ask("import-memories", "--mine", file)["known"] == 1  # the other one is no longer live
    machine.run("export", str(file))
    assert "seven times" in file.read_text()
    (tmp_path / "other.md").write_text("# My diary\n")
    assert machine.run("import-memories", str(tmp_path / "other.md")).returncode == 2
    assert machine.run("export", str(tmp_path / "other.md")).returncode == 2
    assert (tmp_path / "other.md").read_text() == "# My diary\n"
