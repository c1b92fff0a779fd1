"""What each line of a GitHub Copilot CLI session says, and that sessions are found and read."""

from pathlib import Path
from typing import Any

import pytest
from tests.builders import CWD, Record, moment, record_uuid, write
from tests.checks import timeline
from tests.conftest import Ingest

from howcome.clients.copilot import CLIENT
from howcome.clients.copilot_records import read_record
from howcome.clients.discover import known_transcripts, named_transcripts, sniff
from howcome.clients.records import ReaderState
from howcome.domain.events import Event
from howcome.store.sqlite import SqliteStore

SESSION = "5b1d0000-0000-4000-8000-00000000d001"
GUIDANCE = '\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\nremember the crane'


class Copilot:
    """Lines of one session, numbered and timed in the order in which they are made."""

    def __init__(self) -> None:
        self.number = 0

    def line(self, kind: str, agent: str | None = None, **data: Any) -> Record:
        """One line with its envelope."""
        self.number += 1
        parent = record_uuid(self.number - 1, SESSION) if self.number > 1 else None
        head = {"type": kind, "data": data, "id": record_uuid(self.number, SESSION), "timestamp": moment(self.number)}
        return {**head, "parentId": parent, **({"agentId": agent} if agent else {})}

    def start(self) -> Record:
        """The head of a session."""
        context = {"cwd": CWD, "gitRoot": CWD, "branch": "main"}
        return self.line("session.start", sessionId=SESSION, copilotVersion="1.0.102", context=context)

    def typed(self, text: str, **fields: Any) -> Record:
        """A prompt, with what the model got of it."""
        given = f"<current_datetime>now</current_datetime>\n\n{text}\n\n<system_reminder>crane</system_reminder>"
        return self.line("user.message", **{"content": text, "transformedContent": given, **fields})

    def call(self, tool: str, call_id: str, **values: Any) -> Record:
        """A tool call."""
        return self.line("tool.execution_start", toolCallId=call_id, toolName=tool, arguments=values)

    def result(self, call_id: str, result: Any, code: int | None = None, **fields: Any) -> Record:
        """What it returned."""
        shell = {} if code is None else {"shellExecution": {"exitCode": code}}
        return self.line(
            "tool.execution_complete", toolCallId=call_id, **{"success": True, "result": result, **shell, **fields}
        )

    def session(self) -> list[Record]:
        """A session with one call."""
        return [
            self.start(),
            self.line("hook.start", hookType="userPromptSubmitted", input={"prompt": "the hook's words"}),
            self.typed("why does the berth fail?"),
            self.line("system.message", content="You are …"),
            self.line("assistant.message", content="I look.", reasoningText="hm", toolRequests=[{"name": "bash"}]),
            self.call("bash", "c1", command="make check"),
            self.line("hook.end", output="the hook's words"),
            self.result("c1", {"content": f"no rule\n<shellId: 0 completed with exit code 2>{GUIDANCE}"}, 2),
            self.line("assistant.message", content="There is no rule for it.", toolRequests=[]),
            self.line("session.compaction_complete", success=True, trigger="threshold", preCompactionTokens=900,
                      summaryContent="the summary"),
            self.line("session.shutdown", totalApiDurationMs=3),
        ]  # fmt: skip


def read(*records: Record) -> list[Event]:
    """The events of records read one after the other."""
    state = ReaderState()
    return [event for record in records for event in read_record(record, state) or []]


SAID = [
    ("user_prompt", "why does the berth fail?"),
    ("assistant_thinking", "hm"),
    ("assistant_text", "I look."),
    ("tool_call", '{"command":"make check"}'),
    ("tool_result", "no rule"),
    ("assistant_text", "There is no rule for it."),
    ("compaction", "Conversation compacted (threshold, 900 tokens before)"),
]


def test_a_session_is_found_and_read(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Below its home, by its name, in pieces; nothing twice, and nothing of what hooks said."""
    home, records = tmp_path / "home", Copilot().session()
    path = write(home / "session-state" / SESSION / "events.jsonl", *records[:5])
    write(home / "session-state" / SESSION / "files" / "own.jsonl", {"type": "a.b"})
    found = known_transcripts(str(tmp_path), {"COPILOT_HOME": str(home)}, "copilot")
    assert [item.path for item in found] == [str(path)]
    ingest(path, "copilot")
    write(path, *records[5:], append=True)
    assert ingest(path, "copilot").counts["unknown"] == 0
    assert timeline(store, SESSION) == SAID
    ingest(write(tmp_path / "backup.jsonl", *records), "copilot")
    assert store.accounts.counts()["events"] == len(SAID)


def test_it_is_told_by_its_records(tmp_path: Path) -> None:
    """Whatever its file is called."""
    path = write(tmp_path / "a.jsonl", *Copilot().session())
    assert sniff(str(path)) == "copilot"
    assert [item.client for item in named_transcripts([str(tmp_path)])] == ["copilot"]


def test_a_call_and_its_result_share_tool_file_and_end() -> None:
    """`success` is true for a command that failed; its exit code is not."""
    copilot = Copilot()
    _, call, result, refused = read(
        copilot.typed("go"), copilot.call("edit", "c1", path="/a/b.py"), copilot.result("c1", {"content": "done"}),
        copilot.result("c2", None, success=False, error={"message": "Permission denied", "code": "denied"}),
    )  # fmt: skip
    assert (call.tool, call.file, result.tool, result.file, result.failed) == (
        "edit", "/a/b.py", "edit", "/a/b.py", False
    )  # fmt: skip
    assert (refused.text, refused.failed, refused.origin) == ("Permission denied", True, "external")
    _, failed = read(copilot.call("bash", "c3"), copilot.result("c3", {"content": "no", "detailedContent": "no\n"}, 3))
    assert (failed.exit_code, failed.failed, failed.origin) == (3, True, "tool")


def test_a_subagents_task_is_its_agents() -> None:
    """And what comes from neither is nobody's."""
    copilot = Copilot()
    task = copilot.line("user.message", "sub", content="look for the limit", source=f"agent-{SESSION}")
    (event,) = read(task, copilot.typed("the skill's body", source="skill-review"))
    assert (event.kind, event.origin, event.agent_id) == ("assistant_text", "task", "sub")


@pytest.mark.parametrize("kind", ["hologram", "", None, 7, [], {}], ids=repr)
def test_an_unknown_type_is_told_apart_from_an_ignored_one(kind: object) -> None:
    """A line of a type that nobody has seen is unknown."""
    assert read_record({"type": kind, "data": {}}, ReaderState()) is None
    assert read_record(Copilot().line("session.new_thing"), ReaderState()) == []


@pytest.mark.parametrize("shape", [None, 7, "text", [], {}, [7], {"content": 7}], ids=repr)
def test_fields_of_the_wrong_type_are_survived(shape: object) -> None:
    """Lines may hold anything."""
    for line in Copilot().session():
        read_record({**line, "data": shape}, ReaderState())
        for name in line["data"]:
            read_record({**line, "id": shape, "agentId": shape, "data": {**line["data"], name: shape}}, ReaderState())


def test_its_place_names_the_session() -> None:
    """Where the head of a file is gone."""
    history = CLIENT.history
    assert history is not None
    assert history.place_of(f"/x/session-state/{SESSION}/events.jsonl") == {"session_id": SESSION}
    assert history.place_of("/x/events-of-mine.jsonl") == {}
