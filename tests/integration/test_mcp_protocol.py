"""The MCP server's side of the protocol: every line is answered as it should be, and nothing else is ever written."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.mcp_fuzz import Fuzz
from tests.mcp_server import INSTALLED, TYPED, McpServer, python_server
from tests.processes import ask
from tests.warm import eventually

from howcome.clients.records import without_own_blocks
from howcome.domain.text import tokens
from howcome.mcp.server import MAX_LINE_BYTES, PROTOCOLS

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
FUZZED_LINES = int(os.environ.get("HOWCOME_TEST_FUZZED_LINES", "4000"))
CWD = "/home/mara/harbour"
HERE = {"CLAUDE_PROJECT_DIR": CWD}


@pytest.fixture
def server(store_folder: Path) -> Any:  # noqa: ARG001 - sets where the store is
    """A server that has said hello."""
    with McpServer(environment=HERE) as running:
        yield running


# -- the handshake -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", PROTOCOLS)
@pytest.mark.usefixtures("store_folder")
def test_each_version_of_the_protocol_is_spoken(version: str) -> None:
    """The client's version is answered with the same."""
    with McpServer(start=False) as server:
        assert server.initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", "", None, 7, ["2025-11-25"], {"a": 1}])
@pytest.mark.usefixtures("store_folder")
def test_an_unknown_version_is_answered_with_the_newest_that_is_known(version: object) -> None:
    """The client decides whether it can live with that."""
    with McpServer(start=False) as server:
        result = server.request("initialize", {"protocolVersion": version})["result"]
    assert result["protocolVersion"] == PROTOCOLS[0]


def test_the_handshake_says_who_it_is_and_how_to_use_it(server: McpServer) -> None:
    """Tools only, and instructions that a client which cuts them at 2 KB shows whole."""
    first = server.first
    assert first["capabilities"] == {"tools": {"listChanged": False}}
    assert first["serverInfo"]["name"] == "howcome"
    assert len(first["instructions"].encode()) < 2048
    tools = server.request("tools/list")["result"]["tools"]
    for tool in tools:
        assert tool["name"] in first["instructions"] or tool["name"] in ("memory_status", "hook")


def test_the_tools_cost_a_session_little(server: McpServer) -> None:
    """Names, descriptions and schemas as compact JSON, and the instructions: characters divided by four."""
    listed = server.request("tools/list")["result"]["tools"]
    sent = [
        {"name": one["name"], "description": one["description"], "input_schema": one["inputSchema"]} for one in listed
    ]
    schemas = sum(tokens(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in sent)
    assert schemas + tokens(server.first["instructions"]) <= 1200


@pytest.mark.parametrize("client", ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode"])
def test_the_tool_of_the_clients_hooks_is_offered_to_no_other_clients_model(client: str) -> None:
    """Only Claude Code's hooks call tools; it can be called all the same."""
    with McpServer(start=False, environment=HERE) as server:
        server.initialize(client=client)
        listed = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert ("hook" in listed) == (client == "claude-code")
        assert server.call("hook", hook_event_name="Stop").text == ""


def test_what_is_not_listed_is_taken(server: McpServer) -> None:
    """Arguments that an answer names when they are needed."""
    listed = {
        one["name"]: one["inputSchema"].get("properties", {}) for one in server.request("tools/list")["result"]["tools"]
    }
    assert "agent_id" not in listed["memory_status"]
    assert "Agent nobody" in server.call("memory_status", agent_id="nobody")


@pytest.mark.usefixtures("store_folder")
def test_tools_can_be_used_without_a_handshake_and_after_a_second_one() -> None:
    """A client that is out of step is answered all the same."""
    with McpServer(start=False) as server:
        assert "howcome import" in server.call("memory_status")
        server.initialize()
        server.initialize()
        assert len(server.request("tools/list")["result"]["tools"]) == 11


# -- messages ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "method",
    ["server/discover", "resources/list", "prompts/list", "logging/setLevel", "", "PING", "x" * 9999],
)
def test_an_unknown_method_is_refused(server: McpServer, method: str) -> None:
    """-32601, with the id; clients that probe for newer protocols fall back on it."""
    error = server.request(method, {})["error"]
    assert error["code"] == -32601
    assert len(error["message"]) <= 500


@pytest.mark.parametrize("params", [[], [1], "text", 7, True, 0.5])
@pytest.mark.parametrize("method", ["initialize", "tools/call", "tools/list", "ping"])
def test_params_that_are_no_object_are_refused(server: McpServer, method: str, params: object) -> None:
    """-32602, with the id."""
    assert server.request(method, params)["error"]["code"] == -32602


def test_params_may_be_missing_or_null(server: McpServer) -> None:
    """As some clients write them when there are none."""
    assert server.request("ping")["result"] == {}
    assert server.exchange(b'{"jsonrpc":"2.0","id":8,"method":"ping","params":null}')["result"] == {}


@pytest.mark.parametrize(
    "params", [{}, {"name": None}, {"name": 7}, {"name": ["hook"]}, {"name": "no_such_tool"}, {"name": "x" * 9999}]
)
def test_a_call_of_no_tool_is_refused(server: McpServer, params: dict[str, Any]) -> None:
    """-32602; the message says where the names are."""
    error = server.request("tools/call", params)["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("no tool")


@pytest.mark.parametrize("arguments", [[], "text", 7, True])
def test_arguments_that_are_no_object_are_an_error_of_the_tool(server: McpServer, arguments: object) -> None:
    """The model is told, and can do better."""
    answer = server.checked(server.request("tools/call", {"name": "search_memory", "arguments": arguments}))
    assert answer.is_error
    assert "expected an object" in answer


@pytest.mark.parametrize("arguments", [b"", b',"arguments":null'])
def test_arguments_may_be_left_out(server: McpServer, arguments: bytes) -> None:
    """For a tool that needs none."""
    line = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"memory_status"' + arguments + b"}}"
    assert not server.checked(server.exchange(line)).is_error


@pytest.mark.parametrize("ident", ["", "text", "港", 0, -1, 2**63, 10**400, "x" * 100_000])
def test_an_id_comes_back_as_it_was(server: McpServer, ident: str | int) -> None:
    """Texts and whole numbers of any size."""
    assert server.request("ping", ident=ident)["id"] == ident


@pytest.mark.parametrize("ident", [b"null", b"1.5", b"1e400", b"NaN", b"true", b"[1]", b'{"a":1}'])
def test_an_id_that_is_none_is_refused(server: McpServer, ident: bytes) -> None:
    """-32600 without an id: the protocol allows texts and whole numbers."""
    answer = server.exchange(b'{"jsonrpc":"2.0","id":' + ident + b',"method":"ping"}')
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_half_a_character_in_an_id_is_answered_in_valid_utf_8(server: McpServer) -> None:
    """What cannot be written is replaced; the line is JSON all the same."""
    assert server.exchange(b'{"jsonrpc":"2.0","id":"a\\ud800","method":"ping"}')["id"] == "a?"


def test_notifications_and_answers_are_not_answered_and_do_nothing(server: McpServer) -> None:
    """Also one that names a tool, also ones that nobody knows."""
    call = {"name": "remember", "arguments": {"text": "never asked for"}}
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/no_such", "params": [1]},
        {"jsonrpc": "2.0", "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 6, "error": {"code": 1, "message": "no"}},
    ):
        server.send(json.dumps(message).encode() + b"\n")
    assert server.is_silent()
    assert "howcome import" in server.call("memory_status")


def test_a_batch_is_answered_as_one(server: McpServer) -> None:
    """Each request in it once, in order; notifications not at all; nothing at all when there is nothing to answer."""
    ping = {"jsonrpc": "2.0", "method": "ping"}
    answers = server.exchange(json.dumps([{**ping, "id": 1}, ping, 7, {**ping, "id": "b"}, {"id": 3}]).encode())
    assert [(answer["id"], "result" in answer) for answer in answers] == [
        (1, True), (None, False), ("b", True), (None, False),
    ]  # fmt: skip
    assert server.exchange(b"[]")["error"]["code"] == -32600
    server.send(json.dumps([ping, ping]).encode() + b"\n")
    assert server.is_silent()


@pytest.mark.parametrize(
    "line",
    [
        b"hello", b"{", b'{"jsonrpc"', b"\xff\xfe\x00", b'{"id":1,"method":"ping\xff"}', b"[" * 100_000,
        b'{"a":' * 100_000, b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', b"\0", b"'ping'",
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_json_is_refused(server: McpServer, line: bytes) -> None:
    """-32700 without an id, whatever it is; the server goes on."""
    answer = server.exchange(line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert server.is_silent()


@pytest.mark.parametrize("line", [b"7", b'"ping"', b"null", b"true", b"{}", b'{"id":1}', b'{"id":1,"method":7}'])
def test_json_that_is_no_request_is_refused(server: McpServer, line: bytes) -> None:
    """-32600 without an id."""
    answer = server.exchange(line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_deeply_nested_arguments_are_answered(server: McpServer) -> None:
    """As deep as the decoder goes; a usage error, not a crash."""
    nested = b'{"a":' * 900 + b"1" + b"}" * 900
    line = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"remember","arguments":{"text":' + nested
    assert server.checked(server.exchange(line + b"}}}")).is_error


# -- lines ---------------------------------------------------------------------------------------------------------
def test_lines_come_as_they_come(server: McpServer) -> None:
    """Ended by CRLF, with blank ones between, several at once, byte by byte, with a byte order mark."""
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    server.send(ping % 1 + b"\r\n\n  \r\n\n" + ping % 2 + b"\n" + ping % 3 + b"\n\t\n" + ping % 4)
    assert [server.answer()["id"] for _ in range(3)] == [1, 2, 3]
    server.send(b"\n")
    assert server.answer()["id"] == 4
    for byte in ping % 5 + b"\n":
        server.send(bytes([byte]))
    assert server.answer()["id"] == 5
    assert server.exchange(b"\xef\xbb\xbf" + ping % 6)["id"] == 6
    assert server.is_silent()


def test_a_line_that_is_too_long_is_refused_and_costs_little(server: McpServer) -> None:
    """40 MB are read over in a few seconds and not kept; the next request is answered; 30 MB are still a request."""
    started = time.monotonic()
    answer = server.exchange(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"y" * (40 << 20) + b'"}')
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert f"{MAX_LINE_BYTES >> 20} MB" in answer["error"]["message"]
    assert server.is_silent()
    assert server.exchange(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"y" * (30 << 20) + b'"}')["id"] == 1
    assert time.monotonic() - started < 30


# -- the streams ---------------------------------------------------------------------------------------------------
NOISE = """
import os, sys, threading, time
def shout():
    while not os.path.sameopenfile(1, 2):
        time.sleep(0.005)
    for _ in range(200):
        print("stray print", flush=True)
        os.write(1, b"stray bytes\\n")
        os.system("echo stray child")
        time.sleep(0.001)
threading.Thread(target=shout, daemon=True).start()
"""


@pytest.mark.usefixtures("store_folder")
def test_what_is_printed_in_the_process_does_not_get_between_the_messages() -> None:
    """Prints, bytes on descriptor 1 and children's output go to standard error."""
    with McpServer(python_server(NOISE), environment=HERE) as server:
        heard = b""

        def is_heard() -> bool:
            nonlocal heard
            assert server.request("ping")["result"] == {}
            if select.select([server.process.stderr], [], [], 0)[0]:
                assert server.process.stderr is not None
                heard += os.read(server.process.stderr.fileno(), 1 << 16)
            return all(stray in heard for stray in (b"stray print", b"stray bytes", b"stray child"))

        for _ in range(300):
            is_heard()
        eventually(is_heard)
        code, out, _, _ = server.end()
    assert (code, out) == (0, b"")


@pytest.mark.parametrize("words", [INSTALLED, TYPED], ids=["as installed", "as typed"])
def test_arguments_are_refused(words: list[str], store_folder: Path) -> None:
    """A mistyped option is said at once, on standard error; nothing is served, nothing is made."""
    words = [*words, "--nonsense"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Usage: howcome mcp" in done.stderr
    assert not store_folder.exists()


@pytest.mark.parametrize("words", [INSTALLED, TYPED], ids=["as installed", "as typed"])
@pytest.mark.usefixtures("store_folder")
def test_it_works_without_standard_error(words: list[str]) -> None:
    """Started with descriptor 2 closed it says the same and opens nothing in the protocol's place."""
    with McpServer(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *words], environment=HERE) as server:
        server.call("remember", text="kept without standard error")
        assert "kept without" in server.call("search_memory", query="kept without")
        assert server.end()[:3] == (0, b"", b"")


@pytest.mark.parametrize("words", [INSTALLED, TYPED], ids=["as installed", "as typed"])
@pytest.mark.usefixtures("store_folder")
def test_it_ends_without_input_without_a_reader_and_when_interrupted(words: list[str]) -> None:
    """Exit 0 and not a word, whichever end of which pipe is gone."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with McpServer(words) as server:
        assert server.process.stdout is not None
        assert server.process.stdin is not None
        server.process.stdout.close()
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert server.process.wait(60) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    with McpServer(words) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
        assert server.end()[1:3] == (b"", b"")


# -- lines that no sane client sends -------------------------------------------------------------------------------
def test_thousands_of_odd_lines_are_each_answered_once(store_folder: Path, tmp_path: Path) -> None:
    """No crash, no trace, nothing that had to be caught at the edge; every id once; only JSON lines on the output."""
    ask("import", write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6)))
    with McpServer(environment=HERE) as server:
        hits = server.call("search_memory", query="berth fails fixture", limit=20).text
        known = [*re.findall(r"ev-\w+", hits), "earlier", "berth1 fails", "fixture is stale", CWD, "harbour", "mem-"]
        known += re.findall(r"mem-\w+", server.call("remember", text="The berth is dredged in May.").text)
        fuzz = Fuzz(1, server.request("tools/list")["result"]["tools"], known)
        for number, (data, idents) in enumerate(fuzz.batches(FUZZED_LINES)):
            server.send(data)
            assert_answered_once(server, idents, f"end of {number}", data)
        assert server.is_silent()
        code, out, err, _ = server.end()
    assert (code, out, err) == (0, b"", b"")
    assert not (store_folder / "hook-errors.log").exists(), (store_folder / "hook-errors.log").read_text()[-3000:]


def assert_answered_once(server: McpServer, idents: list[int | str], mark: str, data: bytes) -> None:
    """Reads up to the answer to a last ping: each id is there once, and every answer is fit to be seen."""
    server.send(json.dumps({"jsonrpc": "2.0", "id": mark, "method": "ping"}).encode() + b"\n")
    answered: Counter[int | str] = Counter()
    while True:
        value = server.answer()
        for answer in value if isinstance(value, list) else [value]:
            ident = answer["id"]
            if ident == mark:
                assert {ident: answered[ident] for ident in idents} == dict.fromkeys(idents, 1), data[:3000]
                return
            answered[ident] += 1
            if "content" in answer.get("result", {}):
                text = server.checked(answer).text
                assert "object at 0x" not in without_own_blocks(text)
