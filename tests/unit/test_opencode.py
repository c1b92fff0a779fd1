"""What each line of an OpenCode session says, and how its database and its older files become lines."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.builders import CWD, Record
from tests.histories import START_MS, OpenCode

from howcome.clients import opencode_store
from howcome.clients.base import split_member
from howcome.clients.opencode_records import read_record
from howcome.clients.records import ReaderState
from howcome.domain.events import Event
from howcome.errors import TranscriptError


def read(lines: bytes) -> list[Event]:
    """The events of a session's lines, an unfinished last one left out."""
    state = ReaderState()
    whole = lines[: lines.rfind(b"\n") + 1].splitlines()
    return [event for line in whole for event in read_record(json.loads(line), state) or []]


def identity(event: Event) -> tuple[object, ...]:
    """What an event's key is made of."""
    return (event.record_id, event.block, event.kind, event.tool_use_id, event.text, str(event.input))


def part(role: str = "assistant", state: ReaderState | None = None, /, **fields: Any) -> list[Event] | None:
    """The events of one part."""
    return read_record({"type": "part", "role": role, "at": START_MS, "part": fields}, state or ReaderState())


def saved(chat: OpenCode, tmp_path: Path) -> bytes:
    """The session's lines, by way of a database."""
    return opencode_store.database_session(str(chat.save(tmp_path / "opencode.db")), chat.session)


def test_a_session_becomes_its_events(tmp_path: Path) -> None:
    """Prompt, thought, call, result and answer, in the session and folder that its head names."""
    chat = OpenCode()
    chat.exchange("berth")
    found = read(saved(chat, tmp_path))
    assert [(event.kind, event.text) for event in found] == [
        ("user_prompt", "why does berth fail?"), ("assistant_thinking", "look at berth first"), ("tool_call", ""),
        ("tool_result", "berth: assertion failed"),
        ("assistant_text", "berth fails because its fixture is stale; regenerate it."),
    ]  # fmt: skip
    assert {(event.session_id, event.cwd, event.agent_id) for event in found} == {("ses_b1", CWD, None)}
    assert (found[2].tool, found[2].input) == ("bash", {"command": "make check-berth"})
    assert (found[3].failed, found[3].exit_code, found[3].origin) == (True, 2, "tool")
    assert [event.ts_ms for event in found] == sorted(event.ts_ms or 0 for event in found)


def test_the_older_files_and_a_fork_say_the_same_as_the_database(tmp_path: Path) -> None:
    """Whatever ids and whatever form a copy has: its events are the same, and so is the head of a moved session."""
    chat = OpenCode()
    chat.exchange("berth")
    lines = saved(chat, tmp_path)
    files = opencode_store.session_file(str(chat.save_files(tmp_path / "storage")))
    assert files == lines
    fork = read(saved(chat.fork("ses_f1"), tmp_path))
    assert [identity(event) for event in fork] == [identity(event) for event in read(lines)]
    assert {event.session_id for event in fork} == {"ses_f1"}


def test_a_subagents_session_belongs_to_the_one_a_person_speaks_in(tmp_path: Path) -> None:
    """However deep; its task was written by an agent. A circle of parents ends."""
    top, child, grandchild = OpenCode("ses_1"), OpenCode("ses_2", parent="ses_1"), OpenCode("ses_3", parent="ses_2")
    for chat in (top, child, grandchild):
        chat.message("user", {"type": "text", "text": "find the table"})
        chat.save(tmp_path / "opencode.db")
        chat.save_files(tmp_path / "storage")
    for lines in (
        opencode_store.database_session(str(tmp_path / "opencode.db"), "ses_3"),
        opencode_store.session_file(str(tmp_path / "storage" / "session" / "prj" / "ses_3.json")),
    ):
        (event,) = read(lines)
        assert (event.kind, event.session_id, event.agent_id) == ("assistant_text", "ses_1", "ses_3")
        assert event.origin == "task"
    OpenCode("ses_4", parent="ses_4").save(tmp_path / "opencode.db")
    assert opencode_store.database_session(str(tmp_path / "opencode.db"), "ses_4")


def test_a_message_that_streams_is_read_up_to_what_is_finished(tmp_path: Path) -> None:
    """Its lines only grow; what comes next waits as an unfinished line, also when no part has begun."""
    chat = OpenCode()
    chat.message("user", {"type": "text", "text": "why?"})
    message = chat.message("assistant", completed=False)
    versions = [saved(chat, tmp_path)]
    name = chat.add(message, chat.text("I lo", finished=False))
    versions.append(saved(chat, tmp_path))
    chat.parts[message][name] |= {"text": "I look.", "time": {"start": START_MS, "end": START_MS + 1}}
    running = chat.add(message, chat.tool("bash", "", status="running", command="make"))
    versions.append(saved(chat, tmp_path))
    chat.parts[message][running]["state"] |= {"status": "completed", "output": "ok"}
    versions.append(saved(chat, tmp_path))
    chat.messages[message]["time"]["completed"] = START_MS + 9
    whole = saved(chat, tmp_path)
    assert whole.endswith(b"\n")
    assert not any(version.endswith(b"\n") for version in versions)
    for version in versions:
        assert whole.startswith(version[: version.rfind(b"\n") + 1])
    assert [len(read(version)) for version in (*versions, whole)] == [1, 1, 2, 4, 4]


def test_what_changes_later_is_not_in_the_lines(tmp_path: Path) -> None:
    """Titles, costs, and the mark of an output that the client took out of its context."""
    chat = OpenCode()
    chat.exchange("berth")
    before = saved(chat, tmp_path)
    (_, ran), *_ = [(m, p) for m in chat.parts.values() for p in m.values() if p["type"] == "tool"]
    ran["state"]["time"]["compacted"] = START_MS + 10**6
    ran["state"]["metadata"]["diff"] = "x"
    for message in chat.messages.values():
        message["cost"] = 7
    assert saved(chat, tmp_path) == before


def test_a_message_that_was_left_behind_is_read_as_it_is(tmp_path: Path) -> None:
    """Once another of the agent's follows it, nothing more comes: a call without a result is one."""
    chat = OpenCode()
    chat.message("assistant", chat.text("hal", finished=False), chat.tool("bash", "", "running"), completed=False)
    chat.message("user", {"type": "text", "text": "go on"})
    chat.message("assistant", chat.text("I do."))
    said = ["assistant_text", "tool_call", "user_prompt", "assistant_text"]
    assert [event.kind for event in read(saved(chat, tmp_path))] == said


NOT_SAID: list[tuple[str, Record]] = [
    ("user", {"type": "text", "text": "Called the Read tool", "synthetic": True}),
    ("user", {"type": "text", "text": "<system-reminder>plan</system-reminder>"}),
    ("assistant", {"type": "text", "text": "notice", "ignored": True}), ("assistant", {"type": "text", "text": " "}),
    ("assistant", {"type": "reasoning", "text": ""}), ("nobody", {"type": "text", "text": "x"}),
    *[("assistant", {"type": kind}) for kind in ("step-start", "step-finish", "snapshot", "patch", "agent", "retry")],
    ("user", {"type": "file", "url": "data:…"}), ("user", {"type": "subtask", "prompt": "x"}),
]  # fmt: skip


@pytest.mark.parametrize("said", NOT_SAID, ids=str)
def test_what_nobody_said_is_ignored_by_rule(said: tuple[str, Record]) -> None:
    """What the client adds in somebody's name, and its bookkeeping."""
    assert part(said[0], **said[1]) == []


def test_a_compaction_is_told_and_its_summary_is_not() -> None:
    """The summary is the agent's view of what is there already."""
    (event,) = part("user", type="compaction", auto=True) or []
    assert (event.kind, event.text) == ("compaction", "Conversation compacted (auto)")
    record = {"type": "part", "role": "assistant", "summary": True, "part": {"type": "text", "text": "## Goal"}}
    assert read_record(record, ReaderState()) == []


@pytest.mark.parametrize("kind", ["hologram", None, 7, [], {}], ids=repr)
def test_an_unknown_part_is_told_apart_from_an_ignored_one(kind: object) -> None:
    """Whatever its type is."""
    assert part(type=kind) is None
    assert read_record({"type": kind}, ReaderState()) is None


def test_a_call_is_found_by_its_file() -> None:
    """The client's names for a tool's fields become those that other clients have for them."""
    state = {"status": "error", "input": {"filePath": "/a.py", "oldString": "x", "newString": "y"}, "error": "no"}
    made, result = part(type="tool", tool="edit", callID="c", state=state) or []
    assert (made.file, made.input) == ("/a.py", {"file_path": "/a.py", "old_string": "x", "new_string": "y"})
    assert (result.text, result.failed, result.exit_code) == ("no", True, None)


@pytest.mark.parametrize(("tool", "origin"), [("read", "tool"), ("webfetch", "external"), ("tide_read", "external")])
def test_results_from_outside_are_marked(tool: str, origin: str) -> None:
    """What came from a server or the web is never taken for the machine's own."""
    state = {"status": "completed", "input": {}, "output": "x"}
    assert (part(type="tool", tool=tool, callID="c", state=state) or [])[-1].origin == origin


SHAPES: list[object] = [None, 7, "text", [], {}, [7], [None], [[]], [{}], {"text": []}, 10**40]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_fields_of_the_wrong_type_are_survived(shape: Any, tmp_path: Path) -> None:
    """Rows and files that hold anything at all are read, ignored or waited for; never an error."""
    chat = OpenCode()
    for kind in ("text", "reasoning", "tool", "compaction", "shell", shape):
        fields = dict.fromkeys(("text", "time", "callID", "tool", "state", "command", "auto"), shape)
        inner = dict.fromkeys(("status", "input", "output", "error", "metadata", "time"), shape)
        for value in ({"type": kind, **fields}, {"type": kind, "state": inner, "time": {"start": shape, "end": shape}}):
            chat.message("user", value)
    for role in ("user", "assistant", shape):
        name = chat.message(role, {"type": "text", "text": "x"})
        chat.messages[name] = {"role": role, "time": shape, "path": shape, "error": shape}
    chat.save_files(tmp_path / "storage")
    read(opencode_store.session_file(str(tmp_path / "storage" / "session" / "prj" / f"{chat.session}.json")))
    read_record({"type": "session", "id": shape, "directory": shape, "parent": shape}, ReaderState())
    read_record({"type": "part", "part": shape, "at": shape, "role": shape, "cwd": shape}, ReaderState())


def test_the_newest_rows_say_the_same(tmp_path: Path) -> None:
    """One row a message: prompts, answers with their calls, what a person ran, compactions."""
    path = OpenCode().save(tmp_path / "opencode.db")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, data TEXT)")
    tool = {
        "type": "tool", "id": "c1", "name": "shell", "time": {"created": 1, "ran": START_MS, "completed": START_MS + 5},
        "state": {"status": "completed", "input": {"command": "make"}, "content": [{"type": "text", "text": "no"}],
                  "metadata": {"exit": 2}},
    }  # fmt: skip
    made = {"created": START_MS}
    over = {"created": START_MS + 1, "completed": START_MS + 2}
    rows: list[tuple[str, Record]] = [
        ("agent-switched", {"agent": "build", "time": made}), ("user", {"text": "why?", "time": made}),
        ("synthetic", {"text": "notice", "time": made}), ("shell", {"command": "ls", "time": made}),
        ("assistant", {"content": [{"type": "text", "text": "I look."}, tool, {"type": "text", "text": "I look."}],
                       "time": over}),
        ("compaction", {"reason": "auto", "summary": "…", "time": made}),
        ("assistant", {"content": [{"type": "text", "text": "hal"}], "time": {"created": START_MS + 3}}),
    ]  # fmt: skip
    for seq, (kind, data) in enumerate(rows):
        row = (f"m{seq}", kind, seq, json.dumps(data))
        database.execute("INSERT INTO session_message VALUES (?, 'ses_b1', ?, ?, ?)", row)
    database.commit()
    database.close()
    lines = opencode_store.database_session(str(path), "ses_b1")
    found = read(lines)
    assert [(event.kind, event.text, event.exit_code) for event in found] == [
        ("user_prompt", "why?", None), ("user_prompt", "! ls", None), ("assistant_text", "I look.", None),
        ("tool_call", "", None), ("tool_result", "no", 2), ("assistant_text", "I look.", None),
        ("compaction", "Conversation compacted (auto)", None),
    ]  # fmt: skip
    assert len({identity(event) for event in found}) == len(found)
    assert not lines.endswith(b"\n")


def sessions(path: str) -> list[tuple[str, int, int]]:
    """The sessions of a database, with what shows a change."""
    return [(name, status.size_bytes, status.mtime_ns) for name, status in opencode_store.sessions_in(path)]


def test_the_sessions_of_a_database_are_listed_with_what_shows_a_change(tmp_path: Path) -> None:
    """Longest untouched first; a session that was not touched shows the same again."""
    first, second = OpenCode("ses_1"), OpenCode("ses_2")
    second.exchange("berth")
    path = str(second.save(first.save(tmp_path / "opencode.db")))
    before = sessions(path)
    assert [name for name, _, _ in before] == [f"{path}#ses_1", f"{path}#ses_2"]
    second.exchange("quay")
    second.save(tmp_path / "opencode.db")
    after = sessions(path)
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)


def test_a_schema_with_other_columns_is_read(tmp_path: Path) -> None:
    """Only ids and JSON are needed; what is not there is unknown."""
    database = sqlite3.connect(tmp_path / "opencode.db")
    database.executescript(
        "CREATE TABLE session (id TEXT, novelty TEXT); CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data BLOB, novelty TEXT);"
        "INSERT INTO session VALUES ('ses_1', 'x'); INSERT INTO message VALUES ('m', 'ses_1', '{\"role\": \"user\"}');"
        "INSERT INTO part VALUES ('p', 'm', 'ses_1', CAST('{\"type\": \"text\", \"text\": \"why?\"}' AS BLOB), 'x')"
    )
    database.close()
    path = str(tmp_path / "opencode.db")
    assert sessions(path) == [(f"{path}#ses_1", 2, 0)]
    assert [event.text for event in read(opencode_store.database_session(path, "ses_1"))] == ["why?"]


@pytest.mark.parametrize("kind", ["foreign", "empty", "garbage", "missing", "symlink", "folder"])
def test_what_is_no_database_of_sessions_is_an_error_with_its_name(kind: str, tmp_path: Path) -> None:
    """Never anything else than a TranscriptError."""
    path = tmp_path / "opencode.db"
    if kind == "foreign":
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE other (id TEXT)")
        database.commit()
        database.close()
    elif kind in ("empty", "garbage"):
        path.write_bytes(b"" if kind == "empty" else b"SQLite format 3\0" + b"x" * 5000)
    elif kind == "symlink":
        path.symlink_to(OpenCode().save(tmp_path / "real.db"))
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(TranscriptError, match=r"opencode\.db"):
        opencode_store.sessions_in(str(path))
    with pytest.raises(TranscriptError, match=r"opencode\.db"):
        opencode_store.database_session(str(path), "ses_1")


def test_the_database_is_left_as_it_is(tmp_path: Path) -> None:
    """Reading writes nothing into it, and does not wait for, nor hold up, the agent that writes."""
    chat = OpenCode()
    chat.exchange("berth")
    path = chat.save(tmp_path / "opencode.db")
    agent = sqlite3.connect(path, isolation_level=None)
    agent.execute("PRAGMA journal_mode = WAL")
    agent.execute("BEGIN IMMEDIATE")
    agent.execute("UPDATE session SET title = 'new'")
    before = path.read_bytes()
    assert len(read(opencode_store.database_session(str(path), "ses_b1"))) == 5
    agent.execute("COMMIT")
    assert path.read_bytes() == before
    agent.close()


def test_nothing_can_be_written_through_a_reading(tmp_path: Path) -> None:
    """Whatever a mistake here would try."""
    path = str(OpenCode().save(tmp_path / "opencode.db"))
    with pytest.raises(TranscriptError, match="readonly"), opencode_store._reading(path) as database:
        database.execute("DELETE FROM session")
    assert len(opencode_store.sessions_in(path)) == 1


def test_an_empty_log_beside_the_database_is_no_change(tmp_path: Path) -> None:
    """A reader leaves one behind; a log with something in it is one."""
    path = OpenCode().save(tmp_path / "opencode.db")
    os.utime(path, (1, 1))

    def state() -> tuple[int, int]:
        status = opencode_store.database_state(str(path))
        return status.size_bytes, status.mtime_ns

    before = state()
    log = tmp_path / "opencode.db-wal"
    log.write_bytes(b"")
    assert state() == before
    log.write_bytes(b"x")
    assert state() != before


@pytest.mark.parametrize(
    ("path", "member"),
    [("/d/opencode.db#ses_1", ("/d/opencode.db", "ses_1")), ("/c#/opencode.db", None), ("/d/a.jsonl#x", None),
     ("/c#/opencode.db#ses_1", ("/c#/opencode.db", "ses_1")), ("/d/my.db#x/y.jsonl", None), ("/d/a.jsonl", None)],
)  # fmt: skip
def test_a_session_within_a_database_is_told_by_its_name(path: str, member: tuple[str, str] | None) -> None:
    """And no other path is taken for one."""
    assert split_member(path) == member
