"""The Messages API on loopback, answered from a script; every request is kept."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tests.client.script import Body, Script, Turn

SECRET_HEADERS = frozenset({"x-api-key", "authorization", "cookie", "proxy-authorization"})
SUBAGENT_HEADER = "x-claude-code-agent-id"
BASE_USAGE = {
    "input_tokens": 900,
    "output_tokens": 24,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
ERROR_KINDS = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


@dataclass(frozen=True)
class Exchange:
    """One request as it came in, and the route that answered it."""

    number: int
    route: str
    method: str
    path: str
    headers: dict[str, str]
    body: Body


class StubModel:
    """Serves one script between `__enter__` and `__exit__`.

    The listening socket may be made elsewhere: a socket belongs to the network namespace it was created in.
    """

    def __init__(self, script: Script, listener: socket.socket | None = None) -> None:
        self.script = script
        self.exchanges: list[Exchange] = []
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._server = _Server(self, listener or listen())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Base URL for the client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def bodies(self, route: str = "main") -> list[Body]:
        """Return the bodies that one route answered, in order."""
        with self._lock:
            return [exchange.body for exchange in self.exchanges if exchange.route == route]

    def record(self, route: str, method: str, path: str, headers: dict[str, str], body: Body) -> None:
        """Keep a request, without its credentials."""
        shown = {k.lower(): ("(hidden)" if k.lower() in SECRET_HEADERS else v) for k, v in headers.items()}
        with self._lock:
            self.exchanges.append(Exchange(len(self.exchanges), route, method, path, shown, body))

    def new_id(self, prefix: str) -> str:
        """Make an identifier that no other answer of this process has."""
        return f"{prefix}_{time.time_ns():x}{next(self._ids):04x}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def listen() -> socket.socket:
    """Open a listening socket on a free loopback port."""
    return socket.create_server(("127.0.0.1", 0), backlog=64)


class _Server(ThreadingHTTPServer):
    """A threading server over a socket that is already listening."""

    daemon_threads = True

    def __init__(self, model: StubModel, listener: socket.socket) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.server_address = listener.getsockname()
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the few paths that the client asks for."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_args: Any) -> None:
        """Keep quiet."""

    def do_HEAD(self) -> None:
        """Answer the connection probe of older clients."""
        self._record("probe", {})
        self._send_json(200, {})

    def do_GET(self) -> None:
        """Answer that nothing is there."""
        self._record("get", {})
        self._send_json(404, _error("not_found_error", "nothing here"))

    def do_POST(self) -> None:
        """Answer a Messages API request."""
        body = self._read_body()
        path = self.path.split("?", 1)[0]
        if path.endswith("/v1/messages/count_tokens"):
            self._record("count", body)
            self._send_json(200, {"input_tokens": 1 + len(json.dumps(body)) // 4})
        elif path.endswith("/v1/messages"):
            self._answer(body)
        else:
            self._record("other", body)
            self._send_json(404, _error("not_found_error", "nothing here"))

    def _answer(self, body: Body) -> None:
        """Send the scripted turn in the form that was asked for."""
        model = self.server.model
        route, turn = model.script.answer(body, from_subagent=SUBAGENT_HEADER in self.headers)
        self._record(route, body)
        if turn.delay:
            time.sleep(turn.delay)
        if turn.status != 200:
            kind = ERROR_KINDS.get(turn.status, "api_error")
            return self._send_json(turn.status, _error(kind, turn.text or "scripted error"))
        message = _message(model, turn, str(body.get("model", "scripted")))
        if body.get("stream"):
            return self._send_stream(message)
        return self._send_json(200, message)

    def _read_body(self) -> Body:
        """Read a request body, plain or chunked."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw or b"{}")
        return body if isinstance(body, dict) else {"value": body}

    def _chunks(self) -> Iterator[bytes]:
        """Yield the chunks of a chunked body."""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _record(self, route: str, body: Body) -> None:
        """Hand the request to the owner of the server."""
        self.server.model.record(route, self.command, self.path, dict(self.headers.items()), body)

    def _send_json(self, status: int, value: Any) -> None:
        """Send a whole JSON answer."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _send_stream(self, message: Body) -> None:
        """Send a message as server-sent events and close."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("request-id", self.server.model.new_id("req"))
        self.send_header("Connection", "close")
        self.end_headers()
        for event in stream_events(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True


def _error(kind: str, message: str) -> Body:
    """Build an error answer."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def _message(model: StubModel, turn: Turn, name: str) -> Body:
    """Build the finished message of a turn."""
    blocks: list[Body] = []
    if turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": "c2NyaXB0ZWQ="})
    if turn.text or not turn.calls:
        blocks.append({"type": "text", "text": turn.text})
    blocks.extend(
        {"type": "tool_use", "id": model.new_id("toolu"), "name": tool.name, "input": dict(tool.input)}
        for tool in turn.calls
    )
    return {
        "id": model.new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": blocks,
        "stop_reason": turn.stop_reason,
        "stop_sequence": None,
        "usage": {**BASE_USAGE, **turn.usage},
    }


def stream_events(message: Body) -> Iterator[Body]:
    """Cut a finished message into the events of a streamed one."""
    usage = message["usage"]
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}},
    }
    for index, block in enumerate(message["content"]):
        opening, deltas = _block_events(block)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _block_events(block: Body) -> tuple[Body, list[Body]]:
    """Return the empty block that opens a content block and the deltas that fill it."""
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if kind == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    opening = {**block, "input": {}}
    return opening, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
