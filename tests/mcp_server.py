"""The MCP server as a client starts it, spoken to in raw lines: what comes back is checked to be the protocol."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from tests.processes import COMMAND, HOOK

from howcome.clients.records import without_own_blocks
from howcome.mcp.session import FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

INSTALLED = [*HOOK, "mcp"]
"""As `howcome init` writes it into an agent's settings."""

TYPED = [*COMMAND, "mcp"]
"""As a person types it."""

LIMIT_S = 60.0
MAX_ANSWER_CHARS = 33_000


class Answer:
    """What a tool answered."""

    def __init__(self, text: str, *, is_error: bool) -> None:
        self.text, self.is_error = text, is_error

    def __contains__(self, text: str) -> bool:
        return text in self.text

    def __repr__(self) -> str:
        return f"{'error ' if self.is_error else ''}{self.text[:2000]!r}"


class McpServer:
    """One server, and the only client it has. Killed at the end if a test has not ended it."""

    def __init__(
        self, words: list[str] | None = None, *, cwd: Path | str | None = None, environment: Mapping[str, str] = {},
        start: bool = True,
    ) -> None:  # fmt: skip
        self.process = subprocess.Popen(
            words or INSTALLED, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
            env={**os.environ, **environment}, bufsize=0,
        )  # fmt: skip
        self._numbers, self._rest = count(1), b""
        self.first: dict[str, Any] = self.initialize() if start else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    # -- lines -------------------------------------------------------------------------------------------------------
    def send(self, data: bytes) -> None:
        """Writes bytes as they are; reads answers meanwhile, so that neither side waits for the other."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        descriptor = self.process.stdin.fileno()
        left = memoryview(data)
        while left:
            readable, writable, _ = select.select([self.process.stdout], [descriptor], [], LIMIT_S)
            assert readable or writable, "the server neither reads nor writes"
            if readable:
                assert self._read(), self._last_words()
            if writable:
                left = left[os.write(descriptor, left[: select.PIPE_BUF]) :]

    def _read(self) -> bool:
        assert self.process.stdout is not None
        part = os.read(self.process.stdout.fileno(), 1 << 16)
        self._rest += part
        return bool(part)

    def _last_words(self) -> str:
        assert self.process.stderr is not None
        return f"the server is gone: {self.process.wait(LIMIT_S)}, {self.process.stderr.read()[-3000:]!r}"

    def line(self, limit_s: float = LIMIT_S) -> bytes:
        """The next line that the server wrote; b'' at its end."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            assert left > 0, "no answer in time"
            if select.select([self.process.stdout], [], [], left)[0] and not self._read():
                return b""
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def answer(self, limit_s: float = LIMIT_S) -> Any:
        """The next line, which has to be one JSON-RPC answer, or a list of them."""
        value = json.loads(self.line(limit_s).decode("utf-8"))
        for one in value if isinstance(value, list) else [value]:
            assert one["jsonrpc"] == "2.0"
            assert ("result" in one) != ("error" in one)
            assert set(one) <= {"jsonrpc", "id", "result", "error"}
        return value

    def exchange(self, data: bytes) -> Any:
        """Sends one line and takes the next one."""
        self.send(data + b"\n")
        return self.answer()

    def is_silent(self) -> bool:
        """Whether nothing came but the answer to this ping."""
        return bool(self.exchange(b'{"jsonrpc":"2.0","id":"still there?","method":"ping"}')["id"] == "still there?")

    # -- requests ----------------------------------------------------------------------------------------------------
    def request(self, method: str, params: Any = None, ident: Any = None) -> Any:
        """Asks, and takes the answer to just that."""
        ident = next(self._numbers) if ident is None else ident
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        answer = self.exchange(json.dumps(message if params is None else {**message, "params": params}).encode())
        assert answer["id"] == ident
        return answer

    def initialize(self, version: str = "2025-11-25", client: str = "test") -> dict[str, Any]:
        """The handshake."""
        about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        result: dict[str, Any] = self.request("initialize", about)["result"]
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return result

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Calls a tool; whatever it says is one bounded text without a trace of Python."""
        return self.checked(self.request("tools/call", {"name": tool, "arguments": arguments}))

    def checked(self, answer: Any) -> Answer:
        """A tool's answer, checked."""
        result = answer["result"]
        [content] = result["content"]
        assert content["type"] == "text"
        assert set(result) <= {"content", "isError"}
        text = content["text"]
        assert len(text) <= MAX_ANSWER_CHARS, f"{len(text)} characters"
        assert text != FAILED  # nothing gets as far as the edge that catches everything
        own = without_own_blocks(text)  # what is quoted may well hold a trace
        assert "Traceback" not in own
        assert '.py", line' not in own
        return Answer(text, is_error=result.get("isError", False))

    # -- the end -----------------------------------------------------------------------------------------------------
    def end(self, limit_s: float = LIMIT_S) -> tuple[int, bytes, bytes, float]:
        """Closes its input: its exit code, what it still wrote on both streams, and how many seconds it took."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        started = time.monotonic()
        self.process.stdin.close()
        code = self.process.wait(limit_s)
        seconds = time.monotonic() - started
        while self._read():
            pass
        return code, self._rest, self.process.stderr.read(), seconds


def python_server(script: str) -> list[str]:
    """The words that run a server within a script that does something else first."""
    return [sys.executable, "-c", script + "\nfrom howcome.mcp.server import main\nraise SystemExit(main())"]
