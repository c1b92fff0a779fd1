"""A real HTTP server that embeds, or misbehaves as a test scripts it; others are made of it by what they answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from tests.hashing import HashingEmbedder

Answer = dict[str, Any]
Server = TypeVar("Server", bound="Embeddings")


class Embeddings(ThreadingHTTPServer):
    """Answers in the form of its path; each `script` entry is what happens instead, once, in turn.

    An entry may have: status, headers, body (bytes), value (as JSON), hang_s, drip_s (between bytes), close (silence).
    Whatever it waits for, it ends with the server.
    """

    daemon_threads = True
    status = 200

    def __init__(self, *script: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.embedder = HashingEmbedder(24)
        self.over = threading.Event()

    def url(self, path: str = "/v1/embeddings") -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}{path}"

    def answer(self, path: str, question: dict[str, Any]) -> Answer:
        """What it answers when nothing is scripted."""
        rows = (3 * self.embedder.embed(question["input"])).tolist()
        if path == "/api/embed":
            return {"model": question["model"], "embeddings": rows}
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        return {"object": "list", "data": data[::-1], "model": question["model"]}


class _Handler(BaseHTTPRequestHandler):
    server: Embeddings
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(question)
        self.server.headers.append(dict(self.headers))
        todo = self.server.script.pop(0) if self.server.script else {}
        if self.server.over.wait(todo.get("hang_s", 0)) or todo.get("close"):
            self.close_connection = True
            return
        body = todo.get("body") or json.dumps(todo.get("value") or self.server.answer(self.path, question)).encode()
        self.send_response(todo.get("status", self.server.status))
        for name, value in {"Content-Length": str(len(body)), **todo.get("headers", {})}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._write(body, todo.get("drip_s", 0))
        except OSError:  # who asked has left
            self.close_connection = True

    def do_GET(self) -> None:
        """Where a followed redirect would end."""
        self.server.asked.append({"method": "GET"})
        self.send_error(400)

    def _write(self, body: bytes, drip_s: float) -> None:
        if not drip_s:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            if self.server.over.wait(drip_s):
                raise TimeoutError("the server ends")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in http.server
        """Says nothing."""


@contextmanager
def serving(*script: Answer) -> Iterator[Embeddings]:
    """A server of the script, until the block ends."""
    with running(Embeddings(*script)) as server:
        yield server


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """A server, until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
