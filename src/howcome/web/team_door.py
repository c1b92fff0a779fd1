"""The team server's HTTP door: who may come in, how much they may bring, and the few things they and agents may ask.

Everything is refused before the database hears of it: a wrong host or origin, no token, too many or too large or too
slow requests. The log says who asked what when, and nothing of what was said.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

from howcome import __version__
from howcome.domain.team_records import MAX_BODY_BYTES, MAX_RECORDS, TOKEN_PREFIX, repository_of
from howcome.errors import HowcomeError, UsageError
from howcome.teams.admin import key_of
from howcome.teams.shelf import AwayError, Shelf, TokenError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from mcp.server.context import ServerRequestContext
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send

    from howcome.teams.shelf import Kept

MAX_TOKEN_CHARS, MAX_QUERY_BYTES, MAX_LISTED = 200, 2000, 500
BODY_S = 10.0
"""So long a request's body may take."""

BURST, A_SECOND = 120, 20.0
"""Requests that one token, or one address without a good one, may make at once, and then each second."""

_MAX_BUCKETS = 10_000
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_OPEN = "/v1/health"
_METHODS = {_OPEN: ("GET",), "/v1/me": ("GET",), "/v1/memories": ("GET", "POST"), "/mcp": ("POST",)}

MAX_QUERY_CHARS, MAX_HITS, HITS = 400, 20, 8
SEARCH, GET = "search_team_memory", "get_team_memory"
_TOOLS = [
    types.Tool(
        name=SEARCH,
        description="Find what the team decided, learnt or fixed, best first. Others' words: check them. `later`:"
        " what somebody else would put in its place.",
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


def now() -> str:
    """The time of a line of the log (ISO 8601, UTC)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Door:
    """The server as an ASGI application.

    Args:
        shelf: Where memories are.
        hosts: The names by which it may be asked, with ports, as `Host` says them.
        scheme: `https`, or `http` on this machine.
        log: Is given a line for each request.
    """

    def __init__(self, shelf: Shelf, hosts: Collection[str], scheme: str, log: Callable[[str], None]) -> None:
        self._shelf, self._hosts, self._log = shelf, {host.encode() for host in hosts}, log
        self._origins = {f"{scheme}://{host}".encode() for host in hosts}
        self._buckets: dict[str, tuple[float, float]] = {}
        self._mcp = StreamableHTTPSessionManager(tools_of(shelf), json_response=True, stateless=True)
        routes = [
            Route(_OPEN, lambda _: JSONResponse({"ok": True}), methods=["GET"]),
            Route("/v1/me", self._me, methods=["GET"]),
            Route("/v1/memories", self._after, methods=["GET"]),
            Route("/v1/memories", self._store, methods=["POST"]),
        ]
        failures = dict.fromkeys((UsageError, TokenError, AwayError), lambda _, error: _failure(error))
        self._pages = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=failures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._pages(scope, receive, send)
        if scope["type"] != "http":
            return
        started_s, status, who = time.perf_counter(), 0, ""

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            who = await self._answer(scope, receive, answer)
        finally:
            facts = {
                "time": now(), "method": scope["method"][:10],
                "path": scope["path"] if scope["path"] in _METHODS else "?", "status": status,
                "ms": round((time.perf_counter() - started_s) * 1000), "person": who,
                "address": (scope.get("client") or [""])[0],
            }  # fmt: skip
            self._log(json.dumps(facts, ensure_ascii=False))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> str:
        """Answers, and says who asked."""
        refusal = self._refusal(scope)
        if refusal is not None or scope["path"] == _OPEN:
            await (refusal or self._pages)(scope, receive, send)
            return ""
        token = _token(scope)
        key, bucket = key_of(token), f"token {token}"
        refusal = None if self._take(bucket) else _error(429, "too many requests: wait a second")
        who = ""
        try:
            if refusal is None:
                member = await run_in_threadpool(self._shelf.member, key)
                who, scope["howcome.key"], scope["howcome.member"] = member.person, key, member
                refusal, receive = await _with_body(scope, receive)
            pages = self._mcp.handle_request if scope["path"] == "/mcp" else self._pages
            await (refusal or pages)(scope, receive, send)
        except (TokenError, AwayError) as error:
            self._buckets.pop(bucket, None)  # who guesses would fill the table
            is_calm = self._take(f"address {(scope.get('client') or [''])[0]}")
            refused = _failure(error) if is_calm else _error(429, "too many wrong tokens: wait a second")
            await refused(scope, receive, send)
        return who

    def _refusal(self, scope: Scope) -> Response | None:
        """What is said to whoever may not ask."""
        given = {
            name: [value for key, value in scope["headers"] if key == name]
            for name in (b"host", b"origin", b"content-type")
        }
        if len(given[b"host"]) != 1 or given[b"host"][0] not in self._hosts:
            return _error(421, "wrong host: `howcome serve --name` lists the names that it answers to")
        if given[b"origin"] and (len(given[b"origin"]) > 1 or given[b"origin"][0] not in self._origins):
            return _error(403, "wrong origin: pages of other sites may not ask")
        if (methods := _METHODS.get(scope["path"])) is None:
            return _error(404, f"there is {', '.join(_METHODS)}")
        if scope["method"] not in methods:
            return _error(405, f"{scope['path']} takes {', '.join(methods)}", {"Allow": ", ".join(methods)})
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return _error(414, "the query is too long")
        kinds = [value.split(b";")[0].strip().lower() for value in given[b"content-type"]]
        if scope["method"] == "POST" and kinds != [b"application/json"]:
            return _error(415, "send JSON: Content-Type: application/json")
        if scope["path"] != _OPEN and not _token(scope):
            return _error(401, "a token is wanted: Authorization: Bearer hct_…")
        return None

    def _take(self, name: str) -> bool:
        """Whether whoever has this name may ask once more now."""
        now_s = time.monotonic()
        left, at_s = self._buckets.pop(name, (float(BURST), now_s))
        left = min(float(BURST), left + (now_s - at_s) * A_SECOND) - 1
        self._buckets[name] = (max(left, -1.0), now_s)
        if len(self._buckets) > _MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]  # who has asked last stays
        return left >= 0

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with self._mcp.run():
            yield

    # -- what is asked ---------------------------------------------------------------------------------------------
    async def _me(self, request: Request) -> Response:
        member = request.scope["howcome.member"]
        return JSONResponse({
            "team": member.team, "person": member.person, "scope": "write" if member.may_write else "read",
            "repositories": member.repositories, "expires": member.expires,
        })  # fmt: skip

    async def _after(self, request: Request) -> Response:
        asked = request.query_params
        repository = repository_of(asked.get("repository"))
        position, limit = _number(asked.get("after", "0"), "after"), _number(asked.get("limit", "200"), "limit")
        key, most = request.scope["howcome.key"], max(1, min(limit, MAX_LISTED))
        found, is_more = await run_in_threadpool(self._shelf.after, key, repository, position, most)
        last = found[-1].position if found else position
        return JSONResponse({"memories": [one.value for one in found], "position": last, "more": is_more})

    async def _store(self, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
            values = body["memories"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise UsageError('a JSON object is wanted: {"memories": [ … ]}') from error
        if not isinstance(values, list) or not 1 <= len(values) <= MAX_RECORDS:
            raise UsageError(f"memories: a list of 1 to {MAX_RECORDS}")
        return JSONResponse(
            {"results": await run_in_threadpool(self._shelf.store, request.scope["howcome.key"], values)}
        )


async def _with_body(scope: Scope, receive: Receive) -> tuple[Response | None, Receive]:
    """Reads a request's body, or says why not; then the application reads it from memory."""
    parts, size, is_more = [], 0, scope["method"] == "POST"
    try:
        async with asyncio.timeout(BODY_S):
            while is_more:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BODY_BYTES:
                    return _error(413, f"at most {MAX_BODY_BYTES} bytes at once: send fewer memories"), receive
                is_more = message.get("more_body", False) and message["type"] == "http.request"
    except TimeoutError:
        return _error(408, f"the body did not come within {BODY_S:.0f} seconds", {"Connection": "close"}), receive
    left = [b"".join(parts)]

    async def again() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return None, again


def _token(scope: Scope) -> str:
    """The token of a request; "" where it has none, or more than one."""
    given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"authorization"]
    kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    is_one = kind.lower() == "bearer" and token.startswith(TOKEN_PREFIX) and len(token) <= MAX_TOKEN_CHARS
    return token if is_one else ""


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise UsageError(f"{name}: a whole number")
    return int(text)


def _failure(error: HowcomeError) -> Response:
    return _error(401 if isinstance(error, TokenError) else 503 if isinstance(error, AwayError) else 400, str(error))


def _error(status: int, said: str, headers: dict[str, str] | None = None) -> Response:
    more = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "5"}}
    return JSONResponse({"error": said}, status, {**more.get(status, {}), **(headers or {})})


# -- what agents ask over MCP: the official SDK's server, with the token of each request -----------------------------
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
        "later": [f"mem-{key[:12]} of {author}" for key, author in one.later.items()],
    }  # fmt: skip
