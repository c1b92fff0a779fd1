"""An event as said becomes a row ready to be stored: private spans dropped, secrets redacted, keyed, cut, packed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import zstandard

from howcome.domain import events
from howcome.domain.events import Event
from howcome.domain.sources import NewEvent
from howcome.redact.gate import Gate
from howcome.redact.private_spans import strip_private, strip_private_value

KEY_BYTES = 16
PLAIN_PAYLOAD_CHARS = 200
"""Shorter payloads do not get smaller by compression."""

_KIND_NUMBERS = {kind: number for number, kind in enumerate(events.KINDS)}
_ORIGIN_NUMBERS = {origin: number for number, origin in enumerate(events.ORIGINS)}


class Preparer:
    """Turns events into rows with one store's key: equal events get equal keys, equal secrets equal placeholders."""

    def __init__(self, key: bytes, gate: object = None) -> None:
        """Keeps the key; a store's own `gate` knows its settings, too."""
        self._key = key
        self.gate = gate if isinstance(gate, Gate) else Gate(lambda: key)
        self._compress = zstandard.ZstdCompressor(level=1, write_content_size=True).compress

    def foresee(self, events: Iterable[Event]) -> None:
        """Looks for secrets in all events that are prepared next at once."""
        self.gate.redactor.foresee(event.text if event.input is None else event.input for event in events)

    def prepare(self, event: Event, order_ms: int) -> NewEvent:
        """The row of an event. `order_ms` places it in its session whatever the clock did."""
        said = event.text
        if event.input is not None:
            said = json.dumps(event.input, ensure_ascii=False, separators=(",", ":"), default=str)
        key = self._identify(event, said)
        name = self.gate.name
        tool, file = name(event.tool), name(event.file)
        text, words = self._redact(said, event.input, event.tool)
        excerpt = events.cut(words, events.excerpt_limit(event.kind))
        new = NewEvent()
        new.key, new.session, new.cwd = key, self.gate.text(event.session_id), name(event.cwd)
        new.kind, new.origin = _KIND_NUMBERS[event.kind], _ORIGIN_NUMBERS[event.origin]
        new.ts_ms, new.order_ms = event.ts_ms, order_ms
        new.tool, new.tool_use_id, new.file = tool, name(event.tool_use_id), file
        new.branch, new.agent_id = name(event.branch), name(event.agent_id)
        new.failed, new.exit_code, new.text_chars = event.failed, event.exit_code, len(text)
        new.excerpt, new.payload = excerpt, self._pack(event.kind, text, excerpt)
        new.search_text = events.searchable(event.kind, tool, file, words)
        return new

    def _identify(self, event: Event, said: str) -> bytes:
        """Identity is what was said, by whom, in which record: never the envelope, never the session (forks copy)."""
        head = f"{event.client}\0{event.record_id}\0{event.block}\0{event.kind}\0{event.tool_use_id or ''}\0"
        if not event.record_id:
            head += f"{event.session_id}\0{event.ts_ms}\0"
        return blake2b((head + said).encode("utf-8", "replace"), digest_size=KEY_BYTES, key=self._key).digest()

    def prepare_again(
        self, kind: str, tool: str | None, said: str, excerpt: str
    ) -> tuple[str, str, bytes | str | None] | None:
        """Text, excerpt and payload of a stored event by the rules as they are now; None when they may stay."""
        values = None
        if kind == events.TOOL_CALL and said.startswith("{"):
            with contextlib.suppress(ValueError):
                values = json.loads(said)
        text, words = self._redact(said, values, tool)
        if text == said and self.gate.redactor.redact(excerpt) == excerpt:
            return None
        excerpt = events.cut(words, events.excerpt_limit(kind))
        return text, excerpt, self._pack(kind, text, excerpt)

    def _redact(self, said: str, values: Mapping[str, object] | None, tool: str | None) -> tuple[str, str]:
        """The whole text to keep, and the words of it that are shown and searched; `values` are a call's input."""
        if values is None:
            text = self.gate.redactor.redact(strip_private(said))
            return text, text
        given: Any = strip_private_value(values) if "<private" in said else values
        gated = self.gate.text  # a part of a path may be a secret where the whole is none
        given = {
            name: gated(item) if isinstance(item, str) and item[:1] == "/" else item for name, item in given.items()
        }
        redacted = self.gate.value(given)
        text = said
        if redacted != values:
            text = json.dumps(redacted, ensure_ascii=False, separators=(",", ":"), default=str)
        return text, events.call_text(self.gate.name(tool), redacted)  # type: ignore[arg-type]

    def _pack(self, kind: str, text: str, excerpt: str) -> bytes | str | None:
        """Turns stay plain: a prompt hook cuts passages from them and must not load a decompressor for it."""
        if text == excerpt:
            return None
        if len(text) <= PLAIN_PAYLOAD_CHARS or kind in events.TURN_KINDS:
            return text
        return self._compress(text.encode())
