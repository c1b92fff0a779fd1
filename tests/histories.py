"""Invented histories of Gemini CLI and OpenCode, written where and as those clients keep them."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

from tests.builders import CWD, START, moment, record_uuid, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builders import Record

GEMINI_SESSION = "9e1f0000-0000-4000-8000-00000000b001"
START_MS = int(START.timestamp() * 1000)


class Gemini:
    """Records of one Gemini CLI session, numbered and timed in the order in which they are made."""

    def __init__(self, session: str = GEMINI_SESSION, *, kind: str | None = None) -> None:
        self.session, self.kind, self.number = session, kind, 0

    def head(self) -> Record:
        """The first line of a recording."""
        head = {"sessionId": self.session, "projectHash": "5f" * 32, "startTime": moment(0), "lastUpdated": moment(0)}
        return head | ({"kind": self.kind} if self.kind else {})

    def message(self, kind: str, content: Any, **fields: Any) -> Record:
        """Any message."""
        self.number += 1
        identity = {"id": record_uuid(self.number, self.session), "timestamp": moment(self.number), "type": kind}
        return {**identity, "content": content, **fields}

    def user(self, text: str, **fields: Any) -> Record:
        """What somebody typed."""
        return self.message("user", [{"text": text}], **fields)

    def said(self, text: str, *thoughts: str, **fields: Any) -> Record:
        """What the model said, after what it thought."""
        found = [{"subject": thought, "description": "…", "timestamp": moment(self.number)} for thought in thoughts]
        return self.message("gemini", text, thoughts=found, tokens=None, model="gemini-3-pro", **fields)

    def exchange(self, subject: str) -> list[Record]:
        """A prompt; an answer, and again with its call; a conclusion."""
        asked = self.user(f"why does {subject} fail?")
        answer = self.said(f"I look at {subject}.", f"Check {subject}")
        output = f"Output: {subject}: assertion failed\nExit Code: 2"
        called = call("run_shell_command", f"call-{self.number}", output, command=f"make check-{subject}")
        concluded = self.said(f"{subject} fails because its fixture is stale; regenerate it.")
        return [asked, answer, {**answer, "tokens": {"total": 7}}, {**answer, "toolCalls": [called]}, concluded]

    def document(self, *messages: Record) -> bytes:
        """A whole document of the last state of these messages, as older versions wrote it."""
        latest = {message["id"]: message for message in messages}
        record = {**self.head(), "lastUpdated": moment(self.number), "messages": list(latest.values())}
        return json.dumps(record, indent=2, ensure_ascii=False).encode()


def call(name: str, call_id: str, output: Any, status: str = "success", **args: Any) -> Record:
    """A tool call of a Gemini message, with its result."""
    answer = {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}
    return {"id": call_id, "name": name, "args": args, "result": [answer], "status": status, "timestamp": moment(90)}


def gemini_project(home: Path, name: str = "harbour", root: str = CWD) -> Path:
    """The folder of a project's recordings."""
    project = home / ".gemini" / "tmp" / name
    write(project / ".project_root", root.encode())
    return project / "chats"


class OpenCode:
    """The messages of one OpenCode session, to be kept in a database or in the older JSON files."""

    def __init__(self, session: str = "ses_b1", *, directory: str = CWD, parent: str | None = None) -> None:
        self.session, self.directory, self.parent = session, directory, parent
        self.number = 0
        self.messages: dict[str, Record] = {}
        self.parts: dict[str, dict[str, Record]] = {}

    def now(self) -> int:
        """The next moment in milliseconds."""
        self.number += 1
        return START_MS + self.number * 1000

    def message(self, role: str, *parts: Record, completed: bool = True, **fields: Any) -> str:
        """A message with its parts; its id."""
        made = self.now()
        name = f"msg_{self.session[4:]}_{self.number:04}"
        over = {"completed": made + 900} if role == "assistant" and completed else {}
        self.messages[name] = {"role": role, "time": {"created": made, **over}, **fields}
        self.parts[name] = {}
        for part in parts:
            self.add(name, part)
        return name

    def add(self, message: str, part: Record) -> str:
        """One more part of a message; its id."""
        name = f"prt_{message[4:]}_{len(self.parts[message]):02}"
        self.parts[message][name] = part
        return name

    def text(self, text: str, *, finished: bool = True) -> Record:
        """What the agent says, or is about to."""
        start = self.now()
        over = {"end": start + 5} if finished else {}
        return {"type": "text", "text": text, "time": {"start": start, **over}}

    def tool(
        self, tool: str, output: str, status: str = "completed", exit_code: int | None = None, **values: Any
    ) -> Record:
        """A tool call in some state."""
        start = self.now()
        state: Record = {"status": status, "input": values, "time": {"start": start}}
        if status in ("completed", "error"):
            state |= {"output" if status == "completed" else "error": output, "title": tool, "metadata": {}}
            state["time"]["end"] = start + 50
        if exit_code is not None:
            state["metadata"] = {"exit": exit_code, "output": output}
        return {"type": "tool", "tool": tool, "callID": f"call_{self.session}_{self.number}", "state": state}

    def exchange(self, subject: str) -> None:
        """A prompt; a thought, a call and an answer."""
        self.message("user", {"type": "text", "text": f"why does {subject} fail?"})
        thought = {**self.text(f"look at {subject} first"), "type": "reasoning"}
        ran = self.tool("bash", f"{subject}: assertion failed", exit_code=2, command=f"make check-{subject}")
        said = self.text(f"{subject} fails because its fixture is stale; regenerate it.")
        self.message("assistant", {"type": "step-start"}, thought, ran, said, {"type": "step-finish", "cost": 0})

    def fork(self, session: str) -> OpenCode:
        """A session that copies all of this one under new ids, as the client forks."""
        other = OpenCode(session, directory=self.directory)
        other.number = self.number
        for name, message in self.messages.items():
            copied = f"{name}_{session}"
            other.messages[copied] = message
            other.parts[copied] = {f"{part}_{session}": value for part, value in self.parts[name].items()}
        return other

    # -- the database ------------------------------------------------------------------------------------------------
    def save(self, path: Path, *, schema: str | None = None) -> Path:
        """The session as it is now, in a database."""
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path)
        database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        database.executescript(schema or SCHEMA)
        head = (self.session, self.parent, self.directory, START_MS, START_MS + self.number * 1000)
        database.execute("INSERT OR REPLACE INTO session VALUES (?, 'prj', ?, 's', ?, 'title', '1.2', ?, ?)", head)
        for name, message in self.messages.items():
            made = message["time"]["created"]
            row = (name, self.session, made, made, json.dumps(message))
            database.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)
            for part, value in self.parts[name].items():
                row = (part, name, self.session, made, made, json.dumps(value))
                database.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
        database.commit()
        database.close()
        return path

    # -- the older files ---------------------------------------------------------------------------------------------
    def save_files(self, storage: Path) -> Path:
        """The session as it is now, in JSON files."""
        head = {"id": self.session, "directory": self.directory, "title": "t", "time": {"created": START_MS}}
        head |= {"parentID": self.parent} if self.parent else {}
        path = storage / "session" / "prj" / f"{self.session}.json"
        _save(path, head)
        for name, message in self.messages.items():
            _save(storage / "message" / self.session / f"{name}.json", {"id": name, **message})
            for part, value in self.parts[name].items():
                _save(storage / "part" / name / f"{part}.json", {"id": part, "messageID": name, **value})
        return path


def _save(path: Path, record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".tmp")
    new.write_text(json.dumps(record, indent=2))
    os.replace(new, path)


SCHEMA = """
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT,
    title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS message_session_idx ON message (session_id);
CREATE INDEX IF NOT EXISTS part_session_idx ON part (session_id);
CREATE INDEX IF NOT EXISTS part_message_idx ON part (message_id);
"""
