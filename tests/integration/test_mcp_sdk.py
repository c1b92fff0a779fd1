"""The protocol's official client against our server: what it lists, what each tool answers, whether it agrees."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from jsonschema import Draft202012Validator, ValidationError
from mcp import Client, MCPError, StdioServerParameters
from tests.builders import Claude, write
from tests.mcp_server import INSTALLED, TYPED
from tests.processes import ask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

CWD = "/home/mara/harbour"
SNAKE_CASE = re.compile(r"[a-z]+(_[a-z]+)*")
LOADED = {"search_memory", "get_memories"}


@pytest.fixture
def berth(store_folder: Path, tmp_path: Path) -> Path:
    """A store that knows an earlier session."""
    ask("import", write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6)))
    return store_folder


def talk(to: Callable[[Client], Awaitable[None]], words: list[str] = INSTALLED, mode: str = "auto") -> None:
    """One conversation of the official client with a new server."""
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": CWD}
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=environment)

    async def conversation() -> None:
        with anyio.fail_after(90):
            async with Client(parameters, mode=mode) as client:
                await to(client)

    anyio.run(conversation)


async def said(client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
    """A tool's text, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert content.type == "text"
    assert result.structured_content is None
    return content.text, bool(result.is_error)


@pytest.mark.parametrize("words", [INSTALLED, TYPED], ids=["as installed", "as typed"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.usefixtures("berth")
def test_the_official_client_connects(words: list[str], mode: str) -> None:
    """With the handshake at once, and after its probe for a newer protocol was refused."""

    async def to(client: Client) -> None:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "howcome"
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.resources is None
        assert client.instructions is not None
        assert len(client.instructions.encode()) < 2048
        await client.session.send_ping()
        assert "berth1" in (await said(client, "search_memory", query="berth1 fixture"))[0]

    talk(to, words, mode)


@pytest.mark.usefixtures("berth")
def test_the_tools_are_few_well_named_and_valid() -> None:
    """At most 12; schemas are JSON Schema, described, closed; two are always loaded."""

    async def to(client: Client) -> None:
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert len(set(names)) == len(names)
        assert len(names) <= 12
        for tool in tools:
            assert SNAKE_CASE.fullmatch(tool.name)
            assert tool.description
            assert tool.title
            assert tool.annotations is not None
            assert tool.annotations.open_world_hint is False
            Draft202012Validator.check_schema(tool.input_schema)
            assert tool.input_schema["type"] == "object"
            assert all(one["description"] for one in tool.input_schema["properties"].values())
        assert {tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad")} == LOADED
        writing = {tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint}
        assert writing == {"remember", "update_memory", "forget"}

    talk(to)


def sample_arguments(event: str, memory: str) -> dict[str, list[dict[str, Any]]]:
    """Arguments that each tool takes."""
    return {
        "search_memory": [{"query": "berth1"}, {"query": ["berth1", "fixture"], "limit": 3, "type": ["assistant_text"]},
                          {"query": "berth1", "since": "2026-01-01", "before": "2027-01-01", "project": "all"},
                          {"query": "berth1", "session": "earlier", "agent": "claude-code"}],
        "get_context": [{"id": event}, {"id": event, "before": 0, "after": 200, "full": True}],
        "get_memories": [{"ids": [event, memory]}, {"ids": [event], "offset": 3}],
        "replay_session": [{"id": event}, {"id": "earlier", "offset": 2, "limit": 4, "full": True}],
        "get_timeline": [{}, {"session": "earlier", "type": ["user_prompt"], "limit": 2, "offset": 1}],
        "expand_memory": [{"id": event}, {"id": memory}],
        "remember": [{"text": "The berth is swept on Sundays.", "type": "pattern", "scope": "global",
                      "evidence": [event], "agent_id": "sweeper"}],
        "update_memory": [{"id": memory, "status": "resolved"}, {"id": memory, "text": "The berth is deep enough."}],
        "list_stale": [{}, {"contradictions": True, "limit": 3}, {"project": "all"}],
        "memory_status": [{}],
        "forget": [{"id": memory}],
    }  # fmt: skip


WRONG: list[Any] = [None, 7, True, [], {}, [7], {"a": 1}, "x" * 30_000, "\0", "…"]


@pytest.mark.usefixtures("berth")
def test_every_tool_takes_what_its_schema_allows() -> None:
    """Each sample is valid by the schema and is answered without an error."""

    async def to(client: Client) -> None:
        found, _ = await said(client, "search_memory", query="berth1", type=["assistant_text"])
        kept, _ = await said(client, "remember", text="The berth was dredged in May.")
        samples = sample_arguments(re.findall(r"ev-\w+", found)[0], re.findall(r"mem-\w+", kept)[0])
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(samples) == set(tools) - {"hook"}
        for name, several in samples.items():
            for arguments in several:
                Draft202012Validator(tools[name].input_schema).validate(arguments)
                text, is_error = await said(client, name, **arguments)
                assert not is_error, (name, arguments, text)
                assert text

    talk(to)


@pytest.mark.usefixtures("berth")
def test_what_the_schema_forbids_is_an_error_that_says_what_to_do() -> None:
    """Missing, unknown and wrong arguments of every tool: an answer in words, and the connection stays."""

    async def to(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            properties = tool.input_schema["properties"]
            for name in {*properties, "no_such"} if tool.name != "hook" else ():
                for value in WRONG:
                    arguments = {name: value}
                    text, is_error = await said(client, tool.name, **arguments)
                    assert text
                    if not is_allowed(tool.input_schema, arguments) and value is not None:
                        assert is_error, (tool.name, name, value, text[:200])
                        assert "Traceback" not in text
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("no_such_tool", {})
        await client.session.send_ping()

    talk(to)


def is_allowed(schema: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether arguments are valid by a schema."""
    try:
        Draft202012Validator(schema).validate(arguments)
    except ValidationError:
        return False
    return True
