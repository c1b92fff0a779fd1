"""What each line of a Codex rollout says, with and without its envelope."""

import json
from pathlib import Path

import pytest
from tests.builders import CWD, Codex, Record, moment, write

from howcome.clients.codex import CLIENT
from howcome.clients.codex_records import read_record
from howcome.clients.records import ReaderState
from howcome.domain.events import Event


def read(*records: Record, state: ReaderState | None = None) -> list[Event]:
    """The events of lines read one after the other."""
    state = state or ReaderState()
    return [event for record in records for event in read_record(record, state) or []]


def result_of(output: object) -> Event:
    """The event of one tool output."""
    codex = Codex()
    return read(codex.call("c1", ["ls"]), codex.item("function_call_output", call_id="c1", output=output))[-1]


def test_a_rollout_becomes_the_events_of_one_session() -> None:
    """Prompt, thought, call, result and answer, under the session and folder that the head names."""
    codex = Codex()
    found = read(
        codex.meta(), codex.context("/home/mara/quay"), codex.message("user", "why is the crane slow?"),
        codex.item("reasoning", summary=[{"type": "summary_text", "text": "look at the log"}], encrypted_content="x"),
        codex.call("c1", ["bash", "-lc", "make crane"]), codex.output("c1", "no rule", 2),
        codex.message("assistant", "the queue is full"), codex.line("compacted", {"message": "…"}),
    )  # fmt: skip
    assert [(event.kind, event.text) for event in found] == [
        ("user_prompt", "why is the crane slow?"), ("assistant_thinking", "look at the log"), ("tool_call", ""),
        ("tool_result", "no rule"), ("assistant_text", "the queue is full"), ("compaction", "Conversation compacted"),
    ]  # fmt: skip
    assert {(event.session_id, event.cwd, event.branch) for event in found} == {
        (codex.session, "/home/mara/quay", "main")
    }
    assert (found[2].tool, found[2].input) == ("shell", {"command": "make crane"})
    assert (found[3].tool, found[3].failed, found[3].exit_code) == ("shell", True, 2)


def test_what_is_shown_again_is_ignored_by_rule() -> None:
    """Event messages repeat response items; they, and other known lines, are not unknown."""
    codex = Codex()
    for record in (
        codex.line("event_msg", {"type": "user_message", "message": "why?"}), codex.line("world_state", {}),
        codex.item("ghost_snapshot"), codex.item("message", role="developer", content="rules"),
        codex.item("reasoning", summary=[], encrypted_content="x"), codex.item("message", role="user", content=[]),
        {"record_type": "state"},
    ):  # fmt: skip
        assert read_record(record, ReaderState()) == []


@pytest.mark.parametrize("kind", ["hologram", None, 7, [], {}, ["message"]], ids=repr)
def test_an_unknown_line_is_told_apart_from_an_ignored_one(kind: object) -> None:
    """A line, an item or a bare item of an unknown type is unknown, whatever its type is."""
    codex = Codex()
    assert read_record(codex.line("response_item", {"type": kind}), ReaderState()) is None
    assert read_record({"type": kind, "payload": {}}, ReaderState()) is None
    assert read_record({"type": kind, "x": 1}, ReaderState()) is None


@pytest.mark.parametrize(
    "text",
    ["<environment_context>\n<cwd>/x</cwd></environment_context>", "<user_instructions>x</user_instructions>",
     "# AGENTS.md instructions for /x", "<turn_aborted>", "<user_shell_command>ls</user_shell_command>", " \n"],
)  # fmt: skip
def test_the_clients_context_is_not_a_persons_words(text: str) -> None:
    """What the client puts in as `user` is ignored by rule."""
    assert read_record(Codex().message("user", text), ReaderState()) == []


def test_a_fork_keeps_the_session_that_its_own_head_names() -> None:
    """The parent's copied head does not take the session over."""
    parent, fork = Codex("parent"), Codex("fork", "/home/mara/fork")
    found = read(fork.meta(), parent.meta(), parent.message("user", "hello there"))
    assert [(event.session_id, event.cwd) for event in found] == [("fork", "/home/mara/fork")]


def test_older_lines_have_no_envelope() -> None:
    """The first rollouts were bare items after a bare head."""
    found = read(
        {"id": "old-1", "timestamp": moment(1), "instructions": None, "git": {"branch": "old"}, "cwd": CWD},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello there"}]},
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command":["ls","-l"]}'},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"a","metadata":{"exit_code":0}}'},
    )  # fmt: skip
    assert [(event.kind, event.session_id, event.branch) for event in found] == [
        ("user_prompt", "old-1", "old"), ("tool_call", "old-1", "old"), ("tool_result", "old-1", "old")
    ]  # fmt: skip
    assert found[1].input == {"command": "ls -l"}


CALLS = {
    "a script": ({"arguments": '{"command":["bash","-lc","make test"]}'}, {"command": "make test"}),
    "words": ({"arguments": '{"command":["git","status"]}'}, {"command": "git status"}),
    "cmd": ({"arguments": '{"cmd":"ls"}'}, {"command": "ls"}),
    "free text": ({"input": "*** Begin Patch"}, {"input": "*** Begin Patch"}),
    "an action": ({"action": {"type": "exec", "command": ["ls"]}}, {"type": "exec", "command": "ls"}),
    "a list": ({"arguments": "[1]"}, {"input": [1]}),
    "nothing": ({}, {"input": None}),
    "lone surrogate": ({"arguments": '{"cmd":"x\\ud800"}'}, {"command": "x\ufffd"}),
    "NUL": ({"arguments": '{"cmd":"x\\u0000"}'}, {"command": "x\u2400"}),
    "5,000 digits": ({"arguments": "9" * 5000}, {"input": "9" * 5000}),
    "100,000 deep": ({"arguments": "[" * 100_000}, {"input": "[" * 100_000}),
    "500 deep": ({"arguments": "[" * 500 + "]" * 500}, {"input": "[" * 500 + "]" * 500}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_calls_arguments_are_read_from_json_inside_json(name: str) -> None:
    """Arguments that decode become values that every store can hold; others stay the text that they are."""
    fields, expected = CALLS[name]
    (call,) = read(Codex().item("function_call", name="shell", call_id="c", **fields))
    assert call.input == expected


OUTPUTS = {
    "json text": (json.dumps({"output": "ok", "metadata": {"exit_code": 0}}), "ok", False, 0),
    "failed": (json.dumps({"output": "no", "metadata": {"exit_code": 3}}), "no", True, 3),
    "plain": ("Process exited with code 7\nno", "Process exited with code 7\nno", True, 7),
    "an object": ({"content": "no", "success": False}, "no", True, None),
    "blocks": ([{"type": "input_text", "text": "a"}, {"type": "input_image"}], "a", False, None),
    "braces that are not JSON": ("{not json", "{not json", False, None),
    "json of something else": ('{"a": 1}', '{"a": 1}', False, None),
    "nothing": (None, "", False, None),
    "a number": (7, "", False, None),
    "lone surrogate": ('{"output":"x\\ud800"}', "x\ufffd", False, None),
    "NUL": ('{"output":"x\\u0000"}', "x\u2400", False, None),
    "an absurd code": ('{"output":"x","metadata":{"exit_code":1' + "0" * 40 + "}}", "x", False, None),
    "100,000 deep": ('{"a":' * 100_000, '{"a":' * 100_000, False, None),
    "500 deep": ('{"a":' * 500 + "1" + "}" * 500, '{"a":' * 500 + "1" + "}" * 500, False, None),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_knows_its_text_and_how_it_ended(name: str) -> None:
    """Text, failure and exit code are found in each shape that outputs have had."""
    output, text, failed, code = OUTPUTS[name]
    found = result_of(output)
    assert (found.text, found.failed, found.exit_code) == (text, failed, code)


@pytest.mark.parametrize(
    ("tool", "origin"), [("shell", "tool"), ("tide__read", "external"), ("web_search", "external")]
)
def test_results_from_outside_are_marked(tool: str, origin: str) -> None:
    """What came from a server or the web is never taken for the machine's own."""
    codex = Codex()
    call = codex.item("function_call", name=tool, call_id="c", arguments="{}")
    assert read(call, codex.item("function_call_output", call_id="c", output="x"))[-1].origin == origin
    assert read(codex.item("function_call_output", call_id="never", output="x"))[0].origin == "external"


SHAPES: list[object] = [None, 7, "text", [], {}, [7], [None], [[]], [{}], {"text": []}]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_fields_of_the_wrong_type_are_survived(shape: object) -> None:
    """A line whose fields hold anything at all is read or ignored, never an error."""
    kinds = (
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "web_search_call",
        shape,
    )
    for kind in kinds:
        fields = dict.fromkeys(
            ("role", "content", "summary", "name", "call_id", "arguments", "output", "action"), shape
        )
        payload = {**fields, "type": kind}
        for role in ("user", "assistant", shape):
            read_record(
                {"timestamp": shape, "type": "response_item", "payload": payload | {"role": role}}, ReaderState()
            )
            read_record(payload | {"role": role}, ReaderState())
    for kind in ("session_meta", "turn_context", "compacted"):
        read_record(
            {"type": kind, "timestamp": shape, "payload": {"id": shape, "cwd": shape, "git": shape}}, ReaderState()
        )


def spoken(codex: Codex, text: str, provenance: dict[str, object], role: str = "user") -> Record:
    """A message of 0.169, which says who spoke."""
    passed = {"content_item_metadata": [{"provenance": provenance}]}
    content = [{"type": "input_text", "text": text}]
    return codex.item("message", role=role, content=content, internal_chat_message_metadata_passthrough=passed)


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [({"type": "user"}, ["run the linter"]), ({"type": "harness", "hook": True}, []), ({"type": "tool"}, [])],
)
def test_who_spoke_is_known_by_what_the_record_says_of_it(provenance: dict[str, object], expected: list[str]) -> None:
    """What a hook or a tool put in as `user` is no person's prompt, in whatever words."""
    codex = Codex()
    assert [event.text for event in read(codex.meta(), spoken(codex, "run the linter", provenance))] == expected


def test_what_a_hook_asked_for_is_no_prompt_in_older_rollouts() -> None:
    """A Stop hook's reason comes back as `user`, in a tag of the client's."""
    text = '<hook_prompt hook_run_id="stop:0:/x/hooks.json">Please lint.</hook_prompt>'
    assert read_record(Codex().message("user", text), ReaderState()) == []


def test_a_subagents_rollout_belongs_to_its_parents_session() -> None:
    """Its task was written by the agent that started it, and its thread is no session of a person."""
    codex = Codex("thread-2")
    head = codex.meta(session_id="thread-1", parent_thread_id="thread-1", thread_source="subagent")
    state = ReaderState()
    found = read(
        head, spoken(codex, "Count the files.", {"type": "user"}), codex.message("assistant", "9"), state=state
    )
    assert [(event.kind, event.origin, event.session_id, event.agent_id) for event in found] == [
        ("assistant_text", "task", "thread-1", "thread-2"), ("assistant_text", "assistant", "thread-1", "thread-2"),
    ]  # fmt: skip
    assert ReaderState(state.to_values()).agent_id == "thread-2"


def test_a_compactions_summary_is_not_what_the_agent_said() -> None:
    """It is marked; the compaction itself has a line of its own."""
    codex = Codex()
    summary = {**codex.message("assistant", "SUMMARY: all is well"), "metadata": {"compaction_output": True}}
    assert [event.kind for event in read(codex.meta(), summary, codex.line("compacted", {}))] == ["compaction"]


def test_a_servers_tool_is_named_with_its_server() -> None:
    """The call names the server apart; its result comes from outside, in blocks after a head of the client's."""
    codex = Codex()
    call = codex.item("function_call", name="read_tide", namespace="mcp__tides", call_id="c", arguments="{}")
    blocks = [{"type": "input_text", "text": "Wall time: 0.05 seconds\nOutput:"}, {"type": "input_text", "text": "low"}]
    found = read(call, codex.item("function_call_output", call_id="c", output=blocks))
    assert [event.tool for event in found] == ["mcp__tides__read_tide"] * 2
    assert (found[1].origin, found[1].text) == ("external", "low")


def test_the_head_of_a_shells_output_is_not_the_output() -> None:
    """The client's own lines go; the exit code in them stays, 0 too."""
    head = (
        "Chunk ID: f66f7a\nWall time: 0.0000 seconds\nProcess exited with code {}\nOriginal token count: 3\nOutput:\n"
    )
    found = [result_of(head.format(code) + "readme.txt\n") for code in (0, 4)]
    assert [(event.text, event.failed, event.exit_code) for event in found] == [
        ("readme.txt\n", False, 0), ("readme.txt\n", True, 4)
    ]  # fmt: skip


def test_what_a_request_cost_is_a_known_line() -> None:
    """It is ignored by rule, not unknown."""
    assert read_record(Codex().line("token_usage_record", {}), ReaderState()) == []


def test_the_last_words_of_a_running_rollout_are_read(tmp_path: Path) -> None:
    """What was said and called last, for a prompt that only points at it; no line of the client's own."""
    codex = Codex()
    lines = [
        codex.meta(), codex.message("user", "why is the crane slow?"), codex.call("c1", ["bash", "-lc", "make crane"]),
        codex.output("c1", "no rule"), codex.message("assistant", "the winch queue is full"),
        codex.item("message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
    ]  # fmt: skip
    path = write(tmp_path / "rollout.jsonl", *lines)
    history = CLIENT.history
    assert history is not None
    text = history.recent_text(str(path))
    assert [word in text for word in ("crane slow", "make crane", "winch queue", "rules")] == [True, True, True, False]
