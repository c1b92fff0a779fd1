"""What each record of a Gemini CLI recording says, and how a whole document becomes lines."""

import json
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.builders import CWD, Record, moment, write
from tests.histories import GEMINI_SESSION, Gemini, call, gemini_project

from howcome.clients import gemini_records as gemini
from howcome.clients.gemini_records import read_record
from howcome.clients.records import ReaderState
from howcome.clients.registry import history_of
from howcome.domain.events import Event
from howcome.errors import TranscriptError


def read(*records: Record, state: ReaderState | None = None) -> list[Event]:
    """The events of lines read one after the other."""
    state = state or ReaderState()
    return [event for record in records for event in read_record(record, state) or []]


def result_of(**fields: Any) -> Event:
    """The event of one tool call's result."""
    return read(Gemini().said("", toolCalls=[{**call("run_shell_command", "c", "x"), **fields}]))[-1]


def test_a_recording_becomes_the_events_of_one_session() -> None:
    """Prompt, thought, answer, call, result and conclusion, under the session that the head names."""
    chat = Gemini()
    asked, _, _, called, concluded = chat.exchange("berth")
    found = read(chat.head(), asked, called, concluded, state=ReaderState({"cwd": CWD}))
    assert [(event.kind, event.text) for event in found] == [
        ("user_prompt", "why does berth fail?"), ("assistant_thinking", "Check berth\n…"),
        ("assistant_text", "I look at berth."), ("tool_call", ""),
        ("tool_result", "Output: berth: assertion failed\nExit Code: 2"),
        ("assistant_text", "berth fails because its fixture is stale; regenerate it."),
    ]  # fmt: skip
    assert {(event.session_id, event.cwd) for event in found} == {(GEMINI_SESSION, CWD)}
    assert (found[3].tool, found[3].input) == ("run_shell_command", {"command": "make check-berth"})
    result = found[4]
    assert (result.tool, result.failed, result.exit_code, result.origin) == ("run_shell_command", True, 2, "tool")


def test_a_message_that_is_written_again_says_the_same_once_more() -> None:
    """What is added to a message comes with equal identities of what was there, so that only the addition is new."""
    chat = Gemini()
    _, first, again, called, _ = chat.exchange("berth")
    seen = [(event.kind, event.record_id, event.block, event.tool_use_id, event.text) for event in read(first)]
    assert [(e.kind, e.record_id, e.block, e.tool_use_id, e.text) for e in read(again)] == seen
    assert [(e.kind, e.record_id, e.block, e.tool_use_id, e.text) for e in read(called)][: len(seen)] == seen


def test_the_history_written_anew_says_nothing_new_but_what_is() -> None:
    """After a compression the whole history follows, each content as parts: known messages keep their identity."""
    chat = Gemini()
    said = chat.said("I look at berth.")
    parts = [{"thought": True, "text": "hm"}, {"text": "I look at berth."}, {"functionCall": {}}]
    as_parts = {**said, "content": parts}
    summary = chat.user("<state_snapshot>\n<overall_goal>…</overall_goal>")
    answers = chat.message("user", [{"functionResponse": {"id": "c", "response": {"output": "x"}}}])
    found = read({"$set": {"messages": [as_parts, summary, answers], "lastUpdated": moment(9)}})
    assert [(event.kind, event.record_id) for event in found] == [
        ("assistant_text", said["id"]), ("compaction", summary["id"])
    ]  # fmt: skip
    assert found[0].text == read(said)[0].text


def test_bookkeeping_is_ignored_by_rule() -> None:
    """Metadata, rewinds and the client's notices are not unknown."""
    chat = Gemini()
    for record in (
        chat.head(), {"$set": {"lastUpdated": moment(1)}}, {"$rewindTo": "x"}, chat.message("info", "updated"),
        chat.message("error", "quota"), chat.message("warning", "slow"), chat.said(""), {"$set": {"messages": [7]}},
        {"$set": {}},
    ):  # fmt: skip
        assert read_record(record, ReaderState()) == []


@pytest.mark.parametrize("kind", ["hologram", None, 7, [], {}], ids=repr)
def test_an_unknown_line_is_told_apart_from_an_ignored_one(kind: object) -> None:
    """Whatever its type is."""
    assert read_record({"id": "x", "type": kind}, ReaderState()) is None
    if not isinstance(kind, dict):
        assert read_record({"$set": kind}, ReaderState()) is None


WORDS = {
    "<session_context>\nThis is the Gemini CLI.": "",
    "This is the Gemini CLI. We are setting up the context for our chat.": "",
    "Here is the user's editor context as a JSON object.": "",
    "System: Please continue.": "", " \n": "",
    "fix it\n\n<hook_context>&lt;x&gt; remembered</hook_context>": "fix it",
    "explain @a.py\n--- Content from referenced files ---\nsecret plans": "explain @a.py",
    "why <howcome-memory id=1>old</howcome-memory>now?": "why now?",
}  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
def test_only_a_persons_words_are_a_persons(text: str) -> None:
    """The client's context, hooks' context, contents of files and our own blocks are taken out."""
    assert [event.text for event in read(Gemini().user(text))] == ([WORDS[text]] if WORDS[text] else [])


def test_what_was_typed_is_what_was_shown() -> None:
    """Where the client kept what was typed beside what it made of it."""
    (event,) = read(Gemini().user("expanded by a command", displayContent="/review harbour"))
    assert event.text == "/review harbour"


def test_a_subagents_recording_belongs_to_its_session() -> None:
    """Its place names the session; its task was written by an agent."""
    chat = Gemini("sub-1", kind="subagent")
    state = ReaderState({"session_id": "parent-1", "cwd": CWD})
    found = read(chat.head(), chat.user("find the table"), chat.said("here"), state=state)
    assert [(e.kind, e.session_id, e.agent_id) for e in found] == [("assistant_text", "parent-1", "sub-1")] * 2
    assert [e.origin for e in found] == ["task", "assistant"]
    again = ReaderState(state.to_values())
    assert read(chat.user("and?"), state=again)[0].agent_id == "sub-1"


def test_what_the_client_says_for_itself_is_nobodys() -> None:
    """Its warning of a loop shows the last prompt once more; after a compression it answers in the model's place."""
    chat = Gemini()
    warned = chat.user("System: Potential loop detected. Details: …", displayContent=[{"text": "go on"}])
    summary = chat.user("<state_snapshot>\n…")
    history = [summary, chat.said("Got it. Thanks for the additional context!"), chat.said("<state_snapshot>\n…")]
    found = read(warned, {"$set": {"messages": history}}, chat.said("I go on."))
    assert [(event.kind, event.text) for event in found] == [
        ("compaction", "Conversation compacted"), ("assistant_text", "I go on.")
    ]  # fmt: skip


WRAPPED = "<untrusted_context>\n{}\nProcess Group PGID: 4711\n</untrusted_context>"
OUTCOMES = {
    "wrapped": ({"result": WRAPPED.format("Output: ok")}, "Output: ok", False, 0),
    "wrapped, failed": ({"result": WRAPPED.format("no\nExit Code: 3")}, "no\nExit Code: 3", True, 3),
    "with a hook's words": (
        {"result": WRAPPED.format("Output: ok") + "\n<hook_context>&lt;x&gt;</hook_context>"}, "Output: ok", False, 0),
    "succeeded": ({"result": "Output: ok"}, "Output: ok", False, 0),
    "failed": ({"status": "error", "result": [{"functionResponse": {"response": {"error": "no"}}}]}, "no", True, None),
    "cancelled": ({"status": "cancelled", "result": None, "resultDisplay": "stopped"}, "stopped", True, None),
    "exit at the end": ({"result": "Exit Code: 9\nExit Code: 3"}, "Exit Code: 9\nExit Code: 3", True, 3),
    "of another tool": ({"name": "read_file", "result": "Exit Code: 3"}, "Exit Code: 3", False, None),
    "media": ({"result": [{"inlineData": {"mimeType": "i/png", "data": "AAAA"}}]}, "[i/png, 3 bytes]", False, None),
    "an object": ({"result": {"functionResponse": {"response": {"rows": [1]}}}}, '{"rows": [1]}', False, None),
    "nothing": ({"result": None}, "", False, None),
    "among others": (
        {"result": [{"functionResponse": {"id": "d", "response": {"output": "of d"}}},
                    {"functionResponse": {"id": "c", "response": {"output": "of c"}}}]}, "of c", False, None),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_result_knows_its_text_and_how_it_ended(name: str) -> None:
    """In each shape that results have."""
    fields, text, failed, code = OUTCOMES[name]
    found = result_of(**fields)
    assert (found.kind, found.text, found.failed, found.exit_code) == ("tool_result", text, failed, code)


@pytest.mark.parametrize("fields", [{"status": "executing"}, {"result": "<tool_output_masked>\n[…]"}], ids=repr)
def test_a_result_that_is_none_is_not_told(fields: dict[str, Any]) -> None:
    """A running call has none yet; a masked one was told before."""
    assert result_of(**fields).kind == "tool_call"


@pytest.mark.parametrize(
    ("tool", "origin"),
    [("read_file", "tool"), ("update_topic", "tool"), ("web_fetch", "external"), ("tide__read", "external")],
)
def test_results_from_outside_are_marked(tool: str, origin: str) -> None:
    """What came from a server or the web is never taken for the machine's own."""
    assert result_of(name=tool).origin == origin


@pytest.mark.parametrize("name", ["file_path", "absolute_path", "path"])
def test_a_call_names_its_file(name: str) -> None:
    """By each name that the tools have had for it."""
    assert read(Gemini().said("", toolCalls=[call("read_file", "c", "x", **{name: "/a.py"})]))[0].file == "/a.py"


SHAPES: list[object] = [None, 7, "text", [], {}, [7], [None], [[]], [{}], {"text": []}]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_fields_of_the_wrong_type_are_survived(shape: object) -> None:
    """A line whose fields hold anything at all is read or ignored, never an error."""
    fields = dict.fromkeys(("id", "timestamp", "content", "displayContent", "thoughts", "toolCalls"), shape)
    for kind in ("user", "gemini", "info", shape):
        read_record({**fields, "type": kind}, ReaderState())
    for name in ("id", "name", "args", "result", "status", "timestamp", "resultDisplay"):
        read(Gemini().said("", toolCalls=[{**call("run_shell_command", "c", "x"), name: shape}]))
    read(Gemini().said("", toolCalls=[call("read_file", "c", shape)]))
    for record in ({"$set": shape}, {"$set": {"messages": shape}}, {"sessionId": shape, "projectHash": shape}):
        read_record(record, ReaderState())
    gemini.unfold(json.dumps({"sessionId": shape, "messages": shape}).encode())
    gemini.unfold(json.dumps({"messages": [shape, {"toolCalls": shape}]}).encode())


def test_a_document_becomes_lines_that_only_grow() -> None:
    """However often it is written anew with more in it."""
    chat = Gemini()
    messages = [*chat.exchange("berth"), *chat.exchange("quay")]
    versions = [gemini.unfold(chat.document(*messages[:count])) for count in range(1, len(messages) + 1)]
    for before, after in pairwise(versions):
        assert after.startswith(before)
    records = [json.loads(line) for line in versions[-1].splitlines()]
    assert read(*records) != []
    assert [(e.kind, e.record_id, e.text) for e in read(*records)] == [
        (e.kind, e.record_id, e.text) for e in read(chat.head(), *[messages[i] for i in (0, 3, 4, 5, 8, 9)])
    ]


def test_a_running_call_is_an_unfinished_line() -> None:
    """Until it is over; one that was left behind is told as it is."""
    chat = Gemini()
    running = chat.said("I look.", toolCalls=[call("glob", "c", "", status="executing")])
    assert not gemini.unfold(chat.document(running)).endswith(b"\n")
    assert gemini.unfold(chat.document(running, chat.user("well?"))).endswith(b"\n")


@pytest.mark.parametrize("document", [b"", b"{", b'{"sessionId": "x", "mess', b"[1]", b"not json"], ids=repr)
def test_what_is_no_whole_document_is_tried_again(document: bytes) -> None:
    """Caught half-written."""
    with pytest.raises(TranscriptError, match="not a whole document"):
        gemini.unfold(document)


def test_the_place_names_the_project(tmp_path: Path) -> None:
    """By its marker, by the list of projects, or by the hash that older versions named the folder with."""
    place_of, chats = history_of("gemini").place_of, gemini_project(tmp_path)
    assert place_of(str(chats / "session-1.jsonl")) == {"cwd": CWD}
    assert place_of(str(chats / "parent-1" / "sub-1.jsonl")) == {
        "session_id": "parent-1",
        "cwd": CWD,
    }
    write(tmp_path / ".gemini" / "projects.json", {"projects": {"/home/mara/quay": "quay", "/home/mara/old": "old"}})
    write(tmp_path / ".gemini" / "trustedFolders.json", {"/home/mara/crane": "TRUST_FOLDER"})
    tmp = tmp_path / ".gemini" / "tmp"
    assert place_of(str(tmp / "quay" / "chats" / "s.json")) == {"cwd": "/home/mara/quay"}
    for path in ("/home/mara/old", "/home/mara/crane"):
        assert place_of(str(tmp / sha256(path.encode()).hexdigest() / "chats" / "s.json")) == {"cwd": path}
    assert place_of(str(tmp / "nobody" / "chats" / "s.json")) == {}
    assert place_of("/backup/session-1.jsonl") == {}
