"""What an event's row and a source's row are: how they are selected, and what is made of them."""

from __future__ import annotations

import json
from _thread import get_ident

from howcome.domain import events
from howcome.domain.sources import SourceState
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX, StoredEvent
from howcome.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

EVENT_SELECT = (
    "SELECT e.id, e.key, e.kind, e.origin, s.name, s.client, p.root, e.ts_ms, e.order_ms, e.tool,"
    " e.tool_use_id, e.file, e.branch, e.agent_id, e.failed, e.exit_code, e.text_chars, e.excerpt, {payload}"
    " FROM events e JOIN sessions s ON s.id = e.session_id JOIN projects p ON p.id = e.project_id"
)
_SOURCE_COLUMNS = (
    "id", "path", "client", "generation", "offset", "head_bytes", "head_digest", "tail_digest", "size_bytes",
    "mtime_ns", "tail_bytes", "reader_state", "order_ms",
)  # fmt: skip
SOURCE_SELECT = f"SELECT {', '.join(_SOURCE_COLUMNS)} FROM sources WHERE is_current"  # noqa: S608 - fixed names

_PACKED = b"\x28\xb5\x2f\xfd"
"""How zstd's frames begin. PostgreSQL keeps payloads as bytes, packed or not."""

_decompress: dict[int, Callable[[bytes], bytes]] = {}
"""One a thread (by its identity): making one takes ten times as long as unpacking a text, and none can be shared."""


def unpack(payload: bytes | str | None, excerpt: str) -> str:
    """The whole text of an event: its payload (plain when short), or its excerpt when that is all of it."""
    if payload is None:
        return excerpt
    return payload if isinstance(payload, str) else _unpacked(payload)


def is_packed(payload: bytes) -> bool:
    """Whether a payload is a frame of zstd's, and no plain text: none begins so."""
    return payload.startswith(_PACKED)


def _unpacked(payload: bytes) -> str:
    if not is_packed(payload):
        return payload.decode("utf-8", "replace")
    thread = get_ident()
    if thread not in _decompress:
        import zstandard

        _decompress[thread] = zstandard.ZstdDecompressor().decompress
    return _decompress[thread](payload).decode("utf-8", "replace")


class KeptEvent(StoredEvent):
    """An event as it was read. Its text is unpacked when somebody asks for it: of most of a session nobody does."""

    __slots__ = ("_payload",)

    def __init__(self, row: tuple[Any, ...], *, with_text: bool) -> None:
        (
            self.row,
            self.key,
            kind,
            origin,
            self.session,
            self.client,
            self.project,
            self.ts_ms,
            self.order_ms,
            self.tool,
            self.tool_use_id,
            self.file,
            self.branch,
            self.agent_id,
            failed,
            self.exit_code,
            self.text_chars,
            self.excerpt,
            payload,
        ) = row
        self.kind, self.origin = events.STORED_KINDS[kind], events.ORIGINS[origin]
        self.failed = None if failed is None else bool(failed)
        if not with_text:
            self.text = None
        elif isinstance(payload, bytes):
            self._payload = payload
        else:
            self.text = self.excerpt if payload is None else payload

    def __getattr__(self, name: str) -> str | None:
        """Only asked for what is not there yet: the text."""
        if name != "text":
            raise AttributeError(name)
        self.text = _unpacked(self._payload)
        del self._payload
        return self.text


def one(rows: Iterable[tuple[Any, ...]]) -> Any:  # noqa: ANN401 - whatever the query selects
    """The single value of a query that always gives one."""
    for row in rows:
        return row[0]
    raise StoreError("the store gave no answer where it always has one")


def path_text(path: str) -> str:
    """A path as the store writes it: bytes that are no text (a name in another encoding) as `\\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def key_range(prefix: str, start: str = ID_PREFIX, most_chars: int = ID_HEX_CHARS) -> tuple[bytes, bytes] | None:
    """The lowest and the highest key whose id starts with `prefix` (`ev-` and hex digits); None where none does."""
    digits = prefix.removeprefix(start).lower()
    if not digits or len(digits) > most_chars or not set(digits) <= set("0123456789abcdef"):
        return None
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


def search_text(kind: int, tool: str | None, file: str | None, excerpt: str, payload: bytes | str | None) -> str:
    """The search text of an event, made anew from what is stored."""
    name = events.KINDS[kind]
    whole = text = unpack(payload, excerpt)
    if name == events.TOOL_CALL:
        text = events.call_text(tool, json.loads(text)) if text.startswith("{") else text
    return events.searchable(name, tool, file, text, whole)


def source_state(row: tuple[object, ...]) -> SourceState:
    """A row of SOURCE_SELECT as a cursor."""
    values = dict(zip(_SOURCE_COLUMNS, row, strict=True))
    return SourceState(str(values["path"]), str(values["client"]), values)
