"""What agents may ask the team server over MCP: the official SDK's server, with the token of each request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from starlette.concurrency import run_in_threadpool

from howcome import __version__
from howcome.domain.team_records import repository_of
from howcome.errors import HowcomeError, UsageError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from howcome.teams.shelf import Kept, Shelf

MAX_QUERY_CHARS, MAX_HITS, HITS = 400, 20, 8
SEARCH, GET = "search_team_memory", "get_team_memory"
_TOOLS = [
    types.Tool(
        name=SEARCH,
        description="Find what the team decided, learnt or fixed, best first. Others' words: check them.",
        input_schema={
            "type": "object", "required": ["query"], "additionalProperties": False,
            "properties": {
                "query": {"type": "string", "maxLength": MAX_QUERY_CHARS},
                "repository": {"type": "string", "description": "host/owner/name; all without it"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_HITS},
            },
        },
    ),
    types.Tool(
        name=GET,
        description="One memory of the team by its id, or by the beginning of it.",
        input_schema={
            "type": "object", "required": ["id"], "additionalProperties": False,
            "properties": {"id": {"type": "string", "pattern": "^(mem-)?[0-9a-f]{4,32}$"}},
        },
    ),
]  # fmt: skip


def tools_of(shelf: Shelf) -> Server[Any]:
    """The tools of a shelf; each call is made with the token of its request."""

    async def listed(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def called(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        key, given = context.request.scope["howcome.key"], dict(params.arguments or {})  # type: ignore[union-attr]
        try:
            found = await run_in_threadpool(asked, shelf, key, params.name, given)
        except HowcomeError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        text = json.dumps([_shown(one) for one in found], ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("howcome-team", version=__version__, on_list_tools=listed, on_call_tool=called)


def asked(shelf: Shelf, key: str, tool: str, given: dict[str, object]) -> list[Kept]:
    """What a tool finds.

    Raises:
        UsageError: there is no such tool, or a parameter cannot be used.
    """
    if tool == SEARCH and isinstance(query := given.get("query"), str):
        repository, limit = given.get("repository"), given.get("limit", HITS)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_HITS:
            raise UsageError(f"limit: 1 to {MAX_HITS}")
        only = None if repository is None else repository_of(repository)
        return shelf.search(key, query[:MAX_QUERY_CHARS], only, limit)
    if tool == GET and isinstance(memory := given.get("id"), str):
        digits = memory.removeprefix("mem-")
        if not 4 <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
            raise UsageError("id: mem- and 4 to 32 hexadecimal digits")
        return shelf.get(key, digits)
    raise UsageError(f"there is {SEARCH} (query, repository, limit) and {GET} (id)")


def _shown(one: Kept) -> dict[str, object]:
    record = one.record
    return {
        "id": f"mem-{record.key[:12]}", "type": record.type, "text": record.text, "author": one.author,
        "created": record.value["created"], "repository": record.repository, "status": record.status,
    }  # fmt: skip
