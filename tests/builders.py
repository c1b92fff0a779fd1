"""Invented transcripts: records of Claude Code and Codex as the clients write them, one function a kind of record."""

from __future__ import annotations

import gzip
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Record = dict[str, Any]
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CWD = "/home/mara/harbour"
SESSION = "7d4f1c1e-0000-4000-8000-00000000a001"


def moment(number: int) -> str:
    """The time of the n-th record, as both clients write it."""
    return (START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_uuid(number: int, session: str = SESSION) -> str:
    """A stable uuid for the n-th record of a session."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}/{number}"))


def lines(records: Iterable[Record]) -> bytes:
    """Records as JSON Lines."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def write(path: Path, *content: Record | bytes, append: bool = False) -> Path:
    """A transcript at `path`: records as lines, bytes as they are; packed when its name ends in .gz."""
    data = b"".join(item if isinstance(item, bytes) else lines([item]) for item in content)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        gzip.open(path, "ab" if append else "wb")
        if path.suffix == ".gz"
        else path.open("ab" if append else "wb") as stream
    ):
        stream.write(data)
    return path


class Claude:
    """Records of one Claude Code session, numbered and timed in the order in which they are made."""

    def __init__(self, session: str = SESSION, cwd: str = CWD, *, start: int = 0, **envelope: Any) -> None:
        self.session, self.cwd, self.number, self.envelope = session, cwd, start, envelope

    def record(self, kind: str, **fields: Any) -> Record:
        """Any record with the envelope that the client puts around it."""
        self.number += 1
        record: Record = {
            "parentUuid": record_uuid(self.number - 1, self.session), "isSidechain": False, "userType": "external",
            "cwd": self.cwd, "sessionId": self.session, "version": "2.1.329", "gitBranch": "main", "type": kind,
            "uuid": record_uuid(self.number, self.session), "timestamp": moment(self.number),
        }  # fmt: skip
        return {**record, **self.envelope, **fields}

    def user(self, content: Any, **fields: Any) -> Record:
        """What somebody typed (a string or blocks)."""
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: Any, **fields: Any) -> Record:
        """Blocks that the agent wrote."""
        message = {"id": f"msg_{self.number}", "role": "assistant", "model": "claude-opus-5-5", "content": list(blocks)}
        return self.record("assistant", **{"message": message, **fields})

    def text(self, text: str, **fields: Any) -> Record:
        """What the agent said."""
        return self.assistant({"type": "text", "text": text}, **fields)

    def thinking(self, text: str) -> Record:
        """What the agent thought."""
        return self.assistant({"type": "thinking", "thinking": text, "signature": "c2ln"})

    def call(self, tool: str, call_id: str, **values: Any) -> Record:
        """A tool call."""
        return self.assistant(tool_use(tool, call_id, **values))

    def result(self, call_id: str, content: Any, **block: Any) -> Record:
        """A tool's result."""
        return self.user([{"type": "tool_result", "tool_use_id": call_id, "content": content, **block}])

    def compact_boundary(self, trigger: str = "manual", tokens: int = 51234) -> Record:
        """Where the conversation was compacted."""
        metadata = {"trigger": trigger, "preTokens": tokens}
        return self.record(
            "system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=metadata
        )

    def compact_summary(self, text: str) -> Record:
        """The summary that the client puts in the user's mouth."""
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def meta(self, text: str) -> Record:
        """A `user` record that the client wrote."""
        return self.user(text, isMeta=True)

    def attachment(self, **attachment: Any) -> Record:
        """Something attached to a prompt."""
        return self.record("attachment", attachment=attachment)

    def bookkeeping(self, kind: str, **fields: Any) -> Record:
        """A record without an envelope."""
        return {"type": kind, "sessionId": self.session, **fields}

    def exchange(self, subject: str) -> list[Record]:
        """A prompt, a thought, a call with its result, an answer."""
        call_id = f"toolu_{self.session[-4:]}_{self.number}"
        return [
            self.user(f"why does {subject} fail?"),
            self.thinking(f"look at {subject} first"),
            self.call("Bash", call_id, command=f"make check-{subject}", description=f"check {subject}"),
            self.result(call_id, f"Exit code 2\n{subject}: assertion failed", is_error=True),
            self.text(f"{subject} fails because its fixture is stale; regenerate it."),
        ]

    def conversation(self, exchanges: int, subject: str = "berth") -> list[Record]:
        """Several exchanges with the client's bookkeeping between them."""
        found: list[Record] = [self.bookkeeping("mode", mode="default")]
        for number in range(exchanges):
            found += self.exchange(f"{subject}{number}")
            found.append(self.bookkeeping("last-prompt", lastPrompt=f"why does {subject}{number} fail?"))
        return found


def tool_use(tool: str, call_id: str, **values: Any) -> Record:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": values}


class Shell(Claude):
    """A session that runs commands and changes files."""

    def ran(self, command: str, failure: str = "") -> list[Record]:
        """A command with its result."""
        ident = f"toolu_{self.number}_{self.session}"
        call = self.call("Bash", ident, command=command)
        return [call, self.result(ident, failure, is_error=True) if failure else self.result(ident, "done")]

    def edited(self, file: str) -> list[Record]:
        """A file that was changed."""
        ident = f"toolu_{self.number}_{self.session}"
        return [self.call("Edit", ident, file_path=file, old_string="a", new_string="b"), self.result(ident, "done")]


class Codex:
    """Lines of one Codex rollout, timed in the order in which they are made."""

    def __init__(self, session: str = "0199c0de-0000-7000-8000-00000000c001", cwd: str = CWD) -> None:
        self.session, self.cwd, self.number = session, cwd, 0

    def line(self, kind: str, payload: Any) -> Record:
        """One line with its envelope."""
        self.number += 1
        return {"timestamp": moment(self.number), "type": kind, "payload": payload}

    def meta(self, **fields: Any) -> Record:
        """The head of a rollout."""
        payload = {"id": self.session, "cwd": self.cwd, "originator": "codex_cli_rs", "git": {"branch": "main"}}
        return self.line("session_meta", {**payload, **fields})

    def context(self, cwd: str) -> Record:
        """The context of a turn."""
        return self.line("turn_context", {"cwd": cwd, "model": "gpt-5-codex"})

    def item(self, kind: str, **fields: Any) -> Record:
        """What the model saw or said."""
        return self.line("response_item", {"type": kind, **fields})

    def message(self, role: str, text: str) -> Record:
        """A message."""
        kind = "output_text" if role == "assistant" else "input_text"
        return self.item("message", role=role, content=[{"type": kind, "text": text}])

    def call(self, call_id: str, command: list[str]) -> Record:
        """A shell call."""
        return self.item("function_call", name="shell", call_id=call_id, arguments=json.dumps({"command": command}))

    def output(self, call_id: str, text: str, exit_code: int = 0) -> Record:
        """A shell call's output."""
        output = json.dumps({"output": text, "metadata": {"exit_code": exit_code, "duration_seconds": 0.4}})
        return self.item("function_call_output", call_id=call_id, output=output)


def wrapped(folder: Path, sessions: int, cwd: str, start: int = 0) -> None:
    """Writes sessions in each of which a command fails behind a wrapper, and works without it."""
    for at in range(sessions):
        talk = Claude(f"tests-{at}", cwd=cwd, start=start + 100 * at)
        write(
            folder / f"{at}.jsonl", talk.user("run the tests of the gauges"),
            talk.call("Bash", f"a{at}", command="wrap pytest -q"),
            talk.result(f"a{at}", "error: unknown word, obey banana", is_error=True),
            talk.call("Bash", f"b{at}", command="pytest -q"), talk.result(f"b{at}", "3 passed"), talk.text("Passed."),
        )  # fmt: skip
