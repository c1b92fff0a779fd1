"""Lines that no sane client sends to the MCP server: the same ones for the same seed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ODD_TEXTS = (
    "", " ", "\0", "\ud800", "\udfff lone", "\u202e\u200b", "\u2019 ' \" ` ; --", "' OR 1=1 --", "NEAR(a b) AND *",
    "a* OR (", "%_%", "ev-", "mem-", "ev-ffffffffffff", "../../../etc/passwd", "/", "all", "7d", "9" * 40, "-1d",
    "2026-13-45", "0001-01-01", "9999-12-31T23:59:59-23:59", "日本語の検索", "e\u0301" * 50, "🌊" * 100, "x" * 25_000,
    "<&" * 9000, "</howcome-memory>", "${prompt}", "a\nb\r\n\tc", "\x1b[31m", "NaN", "null", "[]", "{}",
    "UserPromptSubmit", "Stop", "SessionStart", "\N{ARABIC-INDIC DIGIT FIVE}", "İıſß",
)  # fmt: skip
ODD_VALUES = (
    None, True, False, 0, -1, 1, 7, 10**6, 10**30, -(10**18), 0.5, 3.0, 1e308, -1e308, float("nan"), float("inf"),
    [], {}, [[]], [None], [{}], {"a": 1},
)  # fmt: skip
METHODS = (
    "ping", "tools/list", "initialize", "server/discover", "resources/list", "prompts/list", "logging/setLevel", "",
    "tools/call/", "notifications/initialized", "x" * 5000, "\ud800", "tools\0call",
)  # fmt: skip
BATCH = 40


class Fuzz:
    """Invents lines for a server.

    Args:
        seed: Of everything.
        tools: As `tools/list` gives them.
        known: Texts and ids that the store holds.
    """

    def __init__(self, seed: int, tools: Sequence[dict[str, Any]], known: Sequence[str]) -> None:
        self.source, self.tools, self.known = random.Random(seed), tools, known
        self.number = 20_000_000  # beside every odd value

    def batches(self, count: int) -> Iterator[tuple[bytes, list[int | str]]]:
        """`count` lines in bunches: the bytes, and the ids that each have to be answered once."""
        while count > 0:
            lines, idents = [], []
            for _ in range(min(BATCH, count)):
                line, wanted = self.line()
                lines.append(line.replace(b"\n", b" ") + self.source.choice((b"\n", b"\n", b"\r\n", b"\n\n")))
                idents += wanted
            count -= BATCH
            yield b"".join(lines), idents

    def line(self) -> tuple[bytes, list[int | str]]:
        """One line, and the ids in it that have to be answered."""
        kind = self.source.random()
        if kind < 0.75:
            message = self.call()
            return self.encoded(message), [message["id"]]
        if kind < 0.82:
            message = self.message(self.source.choice(METHODS))
            return self.encoded(message), [message["id"]]
        if kind < 0.87:
            several = [self.call() for _ in range(self.source.randint(1, 3))]
            return self.encoded(several), [message["id"] for message in several]
        message = self.call()
        if kind < 0.90:
            del message["id"]
            return self.encoded(message), []
        message["id"] = self.value(2) if kind < 0.94 else f"damaged {message['id']}"
        return (self.encoded(message) if kind < 0.94 else self.damaged(self.encoded(message))), []

    def message(self, method: str) -> dict[str, Any]:
        """A request with an id that no other has."""
        self.number += 1
        ident = self.number if self.source.random() < 0.7 else f"t{self.number}"
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": self.value(3)}
        if self.source.random() < 0.3:
            message["_"] = self.value(2)
        return message

    def call(self) -> dict[str, Any]:
        """A call of a tool with arguments that are partly right."""
        tool = self.source.choice(self.tools)
        properties = tool["inputSchema"].get("properties", {})
        is_right = self.source.random() < 0.5
        given = {
            name: self.fitting(schema) if is_right or self.source.random() < 0.6 else self.value(3)
            for name, schema in properties.items()
            if name in tool["inputSchema"].get("required", ()) or self.source.random() < (0.2 if is_right else 0.4)
        }
        if tool["name"] == "hook":
            fields = ("hook_event_name", "session_id", "cwd", "prompt", "transcript_path", "agent")
            given = {name: self.value(2) if self.source.random() < 0.5 else self.text() for name in fields}
        if not is_right and self.source.random() < 0.15:
            given[self.text()[:50]] = self.value(2)
        message = self.message("tools/call")
        message["params"] = {"name": tool["name"], "arguments": given}
        if not is_right and self.source.random() < 0.1:
            message["params"][self.source.choice(("name", "arguments"))] = self.value(4)
        return message

    def fitting(self, schema: dict[str, Any]) -> Any:
        """A value that the schema allows, more or less."""
        schema = self.source.choice(schema.get("anyOf", [schema]))
        if "enum" in schema:
            return self.source.choice(schema["enum"])
        if schema["type"] == "array":
            return [self.fitting(schema["items"]) for _ in range(self.source.randint(1, 4))]
        if schema["type"] == "integer":
            return self.source.choice((0, 1, 5, 20, 1000, 1_000_000))
        return self.source.random() < 0.5 if schema["type"] == "boolean" else self.text()

    def text(self) -> str:
        """Something that is known, or odd, or both."""
        chosen = self.source.choice(self.known if self.source.random() < 0.6 else ODD_TEXTS)
        return chosen if self.source.random() < 0.8 else chosen[: self.source.randint(0, 60)] + self.text()

    def value(self, depth: int) -> Any:
        """Any JSON value, and some that are none."""
        kind = self.source.random()
        if kind < 0.45 or depth == 0:
            return self.source.choice(ODD_VALUES)
        if kind < 0.75:
            return self.text()
        if kind < 0.77:
            return self.nested(self.source.choice((60, 400)))
        if kind < 0.9:
            return [self.value(depth - 1) for _ in range(self.source.randint(0, 5))]
        return {self.text()[:40]: self.value(depth - 1) for _ in range(self.source.randint(0, 5))}

    def nested(self, depth: int) -> Any:
        """Lists and objects within each other."""
        value: Any = 1
        for _ in range(depth):
            value = [value] if self.source.random() < 0.5 else {"a": value}
        return value

    def encoded(self, value: object) -> bytes:
        """As one client or another writes it."""
        is_ascii = self.source.random() < 0.5
        return json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")

    def damaged(self, data: bytes) -> bytes:
        """Cut short, with bytes changed, or something else altogether."""
        kind = self.source.random()
        if kind < 0.4:
            return data[: self.source.randrange(len(data))]
        if kind < 0.8:
            changed = bytearray(data)
            for _ in range(self.source.randint(1, 8)):
                changed[self.source.randrange(len(changed))] = self.source.randrange(256)
            return bytes(changed)
        return self.source.randbytes(self.source.choice((1, 10, 300, 5000)))
